import type { JSX } from 'preact';
import type { ToolServer } from '../../api/api-types.ts';
import { call } from '../../api/request.ts';
import { confirm } from '../../parts/confirm.ts';
import { Button } from '../../parts/button.tsx';
import { formatCount } from '../../parts/text/formats.ts';
import { VisibleText } from '../../parts/text/visible-text.tsx';
import { ComparedTexts } from './compared-texts.tsx';

type Held = NonNullable<ToolServer['report']['held']>[number];

interface ChangedDefinitionsProps {
  server: Pick<ToolServer, 'id'>;
  held: readonly Held[];
  /** Absent where the connection cannot be changed here. */
  onLeaveOut?: ((name: string) => void) | undefined;
  act: (work: () => Promise<unknown>, done: string) => Promise<void>;
}

const partNames: Readonly<Record<string, string>> = {
  title: 'title',
  description: 'description',
  inputSchema: 'parameters',
  outputSchema: 'schema of results',
  annotations: 'hints',
};

/** What an MCP server says of its functions now, beside what it said when somebody last agreed to it. */
export function ChangedDefinitions({ server: { id }, held, onLeaveOut, act }: ChangedDefinitionsProps): JSX.Element {
  const accept = (accepted: readonly Held[]): Promise<void> => {
    const functions = Object.fromEntries(accepted.map(({ name, fingerprint }) => [name, fingerprint]));
    const said =
      accepted.length === 1 ? `${accepted[0]?.name} is offered as it is defined now.` : 'They are offered as they are defined now.';
    return act(() => call('POST /api/tool-servers/:id/accept', { params: { id }, body: { functions } }), said);
  };
  const acceptAll = async (): Promise<void> => {
    const isConfirmed = await confirm({
      title: `Offer all ${held.length} as they are defined now?`,
      text: 'Models will read the new texts. Look at each of them first: a changed text can lead models astray.',
      action: 'Offer them all',
    });
    if (isConfirmed) await accept(held);
  };
  return (
    <section class="card stack held">
      <h2>{formatCount(held.length, 'changed definition')}</h2>
      <p class="soft">
        The server describes {held.length === 1 ? 'this function' : 'these functions'} differently than when somebody last looked. No model
        has {held.length === 1 ? 'it' : 'them'} until you decide: a changed text can lead models astray.
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
              Offer it as it is now
            </Button>
            {onLeaveOut !== undefined && <Button onClick={() => onLeaveOut(each.name)}>Leave it out for good</Button>}
          </div>
        </article>
      ))}
      {held.length > 1 && (
        <div>
          <Button onClick={() => void acceptAll()}>{`Offer all ${held.length} as they are now`}</Button>
        </div>
      )}
    </section>
  );
}

function Definitions({ held: { name, changed, definition, pinned } }: { held: Held }): JSX.Element {
  return (
    <>
      {pinned === null && (
        <p class="soft small">
          What it said before was not kept, by an earlier version or for want of room: only that it has changed is known.
        </p>
      )}
      {changed.map((part) => {
        const title = partNames[part] ?? part;
        return (
          <ComparedTexts
            key={part}
            label={`The ${title} of ${name}, before and now`}
            titles={[`${capital(title)} as accepted`, `${capital(title)} now`]}
            before={pinned === null ? '' : textOf(pinned[part])}
            after={textOf(definition[part])}
          />
        );
      })}
    </>
  );
}

/** A text as it is, anything else as JSON, with its keys in one order: another order is no change. */
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
