import { Component } from 'preact';
import type { ComponentChildren, JSX } from 'preact';
import { ApiError } from '../api/request.ts';
import type { Query } from '../api/use-query.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import type { IconName } from './icon.tsx';

/** Appears after a short delay, so that fast answers do not flicker. */
export function Loading({ label = 'Loading' }: { label?: string }): JSX.Element {
  return (
    <div class="loading" role="status" aria-label={label}>
      <span />
      <span />
      <span />
    </div>
  );
}

/** Shown in place of an empty list: what would be here, and how to add it. */
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
  /** It is the whole page. */
  isPage?: true;
  children?: ComponentChildren;
}

/** An error message of the gateway, which says how to fix it. */
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

/** The answer of a route, or its loading or error state: `<Loaded query={useQuery('GET /api/runs')}>{(runs) => …}</Loaded>`. */
export function Loaded<Value>({ query, children }: { query: Query<Value>; children: (value: Value) => ComponentChildren }): JSX.Element {
  if (query.data === undefined) return query.error === undefined ? <Loading /> : <Problem error={query.error} retry={query.reload} />;
  return (
    <>
      {query.error !== undefined && <Problem error={query.error} retry={query.reload} />}
      {children(query.data)}
    </>
  );
}

/** Shown in place of a page. */
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

/** Keeps an error in one page from breaking the others. */
export class ErrorBoundary extends Component<
  { children: ComponentChildren; /** A new path renders the page again. */ path: string },
  { error?: unknown }
> {
  static override getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error };
  }

  override componentDidUpdate({ path }: { path: string }): void {
    if (path !== this.props.path && this.state.error !== undefined) this.setState({ error: undefined });
  }

  override render(): ComponentChildren {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <SubstitutePage title="Something went wrong on this page">
        <Problem error={error} retry={() => this.setState({ error: undefined })} />
      </SubstitutePage>
    );
  }
}
