import type { JSX } from 'preact';
import type { ToolServer } from '../../api/api-types.ts';
import { call } from '../../api/request.ts';
import { confirm } from '../../parts/confirm.ts';
import { Button } from '../../parts/button.tsx';
import { formatCount } from '../../parts/text/formats.ts';
import { VisibleText } from '../../parts/text/visible-text.tsx';
import { ComparedTexts } from './compared-texts.tsx';

type ChangedDefinition = NonNullable<ToolServer['report']['held']>[number];

interface ChangedDefinitionsProps {
  server: Pick<ToolServer, 'id'>;
  held: readonly ChangedDefinition[];
  /** Absent if the connection cannot be changed here. */
  onLeaveOut?: ((name: string) => void) | undefined;
  act: (work: () => Promise<unknown>, done: string) => Promise<void>;
}

const partNames: Readonly<Record<string, string>> = {
  title: 'title',
  description: 'description',
  inputSchema: 'parameters',
  outputSchema: 'result schema',
  annotations: 'annotations',
};

/** The current definitions of an MCP server's functions, beside the ones that were last accepted. */
export function ChangedDefinitions({ server: { id }, held, onLeaveOut, act }: ChangedDefinitionsProps): JSX.Element {
  const accept = (accepted: readonly ChangedDefinition[]): Promise<void> => {
    const functions = Object.fromEntries(accepted.map(({ name, fingerprint }) => [name, fingerprint]));
    const done = accepted.length === 1 ? `The new definition of ${accepted[0]?.name} was accepted.` : 'The new definitions were accepted.';
    return act(() => call('POST /api/tool-servers/:id/accept', { params: { id }, body: { functions } }), done);
  };
  const acceptAll = async (): Promise<void> => {
    const isConfirmed = await confirm({
      title: `Accept all ${held.length} new definitions?`,
      text: 'Models will read the new texts. Review each one first, because a changed description can manipulate a model.',
      action: 'Accept all',
    });
    if (isConfirmed) await accept(held);
  };
  return (
    <section class="card stack held">
      <h2>{formatCount(held.length, 'changed definition')}</h2>
      <p class="soft">
        The server has changed {held.length === 1 ? 'this definition' : 'these definitions'} since{' '}
        {held.length === 1 ? 'it was' : 'they were'} last accepted. Models can’t use {held.length === 1 ? 'the function' : 'the functions'}{' '}
        until you decide, because a changed description can manipulate a model.
      </p>
      {held.map((each) => (
        <article key={each.name} class="stack held-one" aria-label={each.name}>
          <h3>
            <span class="mono">
              <VisibleText text={each.name} isName />
            </span>{' '}
            <span class="soft small">{each.changed.map((part) => partNames[part] ?? part).join(', ')}</span>
          </h3>
          <Definitions held={each} />
          <div class="row">
            <Button kind="main" onClick={() => void accept([each])}>
              Accept
            </Button>
            {onLeaveOut !== undefined && <Button onClick={() => onLeaveOut(each.name)}>Exclude</Button>}
          </div>
        </article>
      ))}
      {held.length > 1 && (
        <div>
          <Button onClick={() => void acceptAll()}>{`Accept all ${held.length}`}</Button>
        </div>
      )}
    </section>
  );
}

function Definitions({ held: { name, changed, definition, pinned } }: { held: ChangedDefinition }): JSX.Element {
  return (
    <>
      {pinned === null && <p class="soft small">The previous definition was not stored, so only the new one is shown.</p>}
      {changed.map((part) => {
        const title = partNames[part] ?? part;
        return (
          <ComparedTexts
            key={part}
            label={`${capital(title)} of ${name}, accepted and new`}
            titles={[`Accepted ${title}`, `New ${title}`]}
            before={pinned === null ? '' : textOf(pinned[part])}
            after={textOf(definition[part])}
          />
        );
      })}
    </>
  );
}

/** A text as it is, anything else as JSON with sorted keys, so that another order is not a change. */
function textOf(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, inOrder, 2);
}

function inOrder(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
