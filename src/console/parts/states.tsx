import { Component } from 'preact';
import type { ComponentChildren, JSX } from 'preact';
import { ApiError } from '../api/request.ts';
import type { Query } from '../api/use-query.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import type { IconName } from './icon.tsx';

/** Shown after a moment only, so that what is quick does not flicker. */
export function Loading({ label = 'Loading' }: { label?: string }): JSX.Element {
  return (
    <div class="loading" role="status" aria-label={label}>
      <span />
      <span />
      <span />
    </div>
  );
}

/** Where nothing is yet: what would be here, and how it gets here. */
export function Empty({ icon, title, isPage, children }: EmptyProps): JSX.Element {
  return (
    <div class="empty">
      <Icon name={icon} size={28} />
      {isPage === true ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children}
    </div>
  );
}

interface EmptyProps {
  icon: IconName;
  title: string;
  /** It is all that the page has. */
  isPage?: true;
  children?: ComponentChildren;
}

/** What is wrong and what to do about it, in the gateway's words. */
export function Problem({ error, retry }: { error: unknown; retry?: (() => void) | undefined }): JSX.Element {
  const message = error instanceof Error ? error.message : String(error);
  return (
    <div class="problem" role="alert">
      <Icon name="alert" />
      <div>
        <p>{message}</p>
        {error instanceof ApiError && error.requestId !== undefined && <p class="soft small">Request {error.requestId}</p>}
      </div>
      {retry !== undefined && (
        <Button isSmall icon="refresh" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** The answer of a route, or what stands in its place: `<Answered query={useAnswer('GET /api/runs')}>{(runs) => …}</Answered>`. */
export function Loaded<Value>({ query, children }: { query: Query<Value>; children: (value: Value) => ComponentChildren }): JSX.Element {
  if (query.data === undefined) return query.error === undefined ? <Loading /> : <Problem error={query.error} retry={query.reload} />;
  return (
    <>
      {query.error !== undefined && <Problem error={query.error} retry={query.reload} />}
      {children(query.data)}
    </>
  );
}

/** What stands in the place of a page. */
export function SubstitutePage({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="page">
      <header>
        <h1>{title}</h1>
      </header>
      {children}
    </div>
  );
}

/** Keeps a fault of one page from taking the others along. */
export class ErrorBoundary extends Component<
  { children: ComponentChildren; /** Another one tries again. */ place: string },
  { error?: unknown }
> {
  static override getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error };
  }

  override componentDidUpdate({ place }: { place: string }): void {
    if (place !== this.props.place && this.state.error !== undefined) this.setState({ error: undefined });
  }

  override render(): ComponentChildren {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <SubstitutePage title="This page does not work">
        <Problem error={error} retry={() => this.setState({ error: undefined })} />
      </SubstitutePage>
    );
  }
}
