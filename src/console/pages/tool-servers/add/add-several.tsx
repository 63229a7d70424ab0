import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Button } from '../../../parts/button.tsx';
import { Dialog } from '../../../parts/dialog.tsx';
import { Loading, Problem } from '../../../parts/states.tsx';
import { formatCount } from '../../../parts/text/formats.ts';
import { addServer } from './add-server.ts';
import { CommandView } from './command-view.tsx';
import { authOf } from '../credential-fields.tsx';
import { discoverServer } from '../discover-server.ts';
import type { Discovery } from '../discover-server.ts';
import type { CommandServer, PastedServer, RemoteServer } from './pasted-server.ts';
import { ReportView } from '../report-view.tsx';

interface AddSeveralProps {
  servers: readonly PastedServer[];
  /** The field that the text was pasted into. */
  field: ComponentChildren;
  onClose: () => void;
  /** `id`: undefined if several were added. */
  onAdded: (id: string | undefined) => void;
}

/** What became of a remote server. */
type State = { discovery?: Discovery; error?: unknown; isAdded?: true };

/** The servers of a configuration: those at URLs are added, and commands become lines of the configuration file. */
export function AddSeveral({ servers, field, onClose, onAdded }: AddSeveralProps): JSX.Element {
  const remote = servers.filter((server) => server.kind === 'remote');
  const commands = servers.filter((server): server is CommandServer => server.kind === 'command');
  const { states, set } = useDiscoveries(remote);
  const [choices, setChoices] = useState<ReadonlyMap<number, boolean>>(new Map());
  const [isAdding, setAdding] = useState(false);
  const isChosen = (index: number): boolean => choices.get(index) ?? isUsable(states[index]);
  const chosen = remote.flatMap((server, index) => (isChosen(index) && states[index]?.isAdded !== true ? [{ server, index }] : []));
  const isChecking = remote.some((_, index) => states[index] === undefined);
  const add = async (): Promise<void> => {
    setAdding(true);
    const added: string[] = [];
    let hasFailed = false;
    for (const { server, index } of chosen)
      try {
        added.push(await addServer(connectionOf(server, states[index]?.discovery)));
        set(index, { ...states[index], isAdded: true });
      } catch (error) {
        hasFailed = true;
        set(index, { ...states[index], error });
      }
    setAdding(false);
    if (!hasFailed && commands.length === 0) onAdded(added.length === 1 ? added[0] : undefined);
  };
  return (
    <Dialog
      title="Add tool servers"
      isWide
      onClose={onClose}
      actions={
        <>
          <Button kind={chosen.length === 0 ? 'main' : 'plain'} onClick={onClose}>
            {chosen.length === 0 ? 'Done' : 'Cancel'}
          </Button>
          {chosen.length > 0 && (
            <Button kind="main" isBusy={isAdding} isDisabled={isChecking} onClick={() => void add()}>
              {`Add ${formatCount(chosen.length, 'server')}`}
            </Button>
          )}
        </>
      }
    >
      <div class="stack">
        {field}
        {remote.map((server, index) => (
          <Remote
            key={`${server.id} ${server.url}`}
            server={server}
            state={states[index]}
            isChosen={isChosen(index)}
            onChoose={(choice) => setChoices(new Map([...choices, [index, choice]]))}
          />
        ))}
        {commands.length > 0 && <CommandView servers={commands} />}
      </div>
    </Dialog>
  );
}

/** A server that does not work is only added if a person says so. */
function isUsable(state: State | undefined): boolean {
  const report = state?.discovery?.report;
  return state === undefined || (report !== undefined && (report.ok || report.credential !== undefined));
}

function connectionOf({ id, url, headers, key }: RemoteServer, discovery: Discovery | undefined): object {
  return {
    ...(id !== undefined && { id }),
    url: discovery?.url ?? url,
    type: discovery?.kind ?? 'mcp',
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(key !== undefined && authOf('bearer', key)),
  };
}

interface Discoveries {
  states: readonly (State | undefined)[];
  set: (index: number, state: State) => void;
}

/** Asks each server once what it offers. */
function useDiscoveries(remote: readonly RemoteServer[]): Discoveries {
  const [states, setStates] = useState<readonly (State | undefined)[]>([]);
  const set = (index: number, state: State): void =>
    setStates((before) => Array.from({ length: Math.max(before.length, index + 1) }, (_, at) => (at === index ? state : before[at])));
  useEffect(() => {
    const abort = new AbortController();
    setStates([]);
    for (const [index, { url, headers, key }] of remote.entries()) {
      const access = { ...(Object.keys(headers).length > 0 && { headers }), ...(key !== undefined && authOf('bearer', key)) };
      void discoverServer({ url }, access, abort.signal).then(
        (discovery) => set(index, { discovery }),
        (error: unknown) => !abort.signal.aborted && set(index, { error }),
      );
    }
    return () => abort.abort();
  }, [JSON.stringify(remote)]);
  return { states, set };
}

interface RemoteProps {
  server: RemoteServer;
  state: State | undefined;
  isChosen: boolean;
  onChoose: (isChosen: boolean) => void;
}

function Remote({ server: { id, url }, state, isChosen, onChoose }: RemoteProps): JSX.Element {
  const { discovery, error, isAdded } = state ?? {};
  return (
    <section class="card stack">
      <label class="row">
        <input
          type="checkbox"
          checked={isChosen || isAdded === true}
          disabled={isAdded}
          onChange={(event) => onChoose(event.currentTarget.checked)}
        />
        <strong>{id ?? new URL(url).host}</strong>
        <span class="mono small soft cut grow">{url}</span>
        {isAdded === true && <span class="chip good">added</span>}
      </label>
      {state === undefined && <Loading label="Checking the server" />}
      {error !== undefined && <Problem error={error} />}
      {discovery !== undefined && <Preview discovery={discovery} />}
    </section>
  );
}

function Preview({ discovery: { report } }: { discovery: Discovery }): JSX.Element {
  if (report.credential === 'refused')
    return <p>This server needs authentication to list its functions. Add it, then enter a key on its page.</p>;
  if (report.credential === 'own') return <p>This server shows its functions to each person after they connect.</p>;
  if (!report.ok) return <ReportView report={report} />;
  return (
    <details>
      <summary>{formatCount(report.functions.length, 'function')}</summary>
      <ReportView report={report} />
    </details>
  );
}
