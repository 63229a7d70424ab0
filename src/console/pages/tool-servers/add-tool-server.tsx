import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { formatCount } from '../../parts/text/formats.ts';
import { Icon } from '../../parts/icon.tsx';
import { Loading, Problem } from '../../parts/states.tsx';
import { addServer, filterOf } from './add/add-server.ts';
import { AddSeveral } from './add/add-several.tsx';
import { authOf, CredentialField, KeyField } from './credential-fields.tsx';
import type { CredentialKind } from './credential-fields.tsx';
import { discoverServer } from './discover-server.ts';
import type { Discovery } from './discover-server.ts';
import type { Choosing } from './function-list.tsx';
import type { RemoteServer } from './add/pasted-server.ts';
import { PasteField } from './add/paste-field.tsx';
import { readPasted } from './add/read-pasted.ts';
import { ReportView } from './report-view.tsx';

/** The pause after the last key press before the URL is checked, in milliseconds. */
const pauseMs = 350;

interface AddToolServerProps {
  /** What was pasted: a URL, a configuration, or a command. */
  pasted: string;
  onClose: () => void;
  /** `id`: undefined if several were added. */
  onAdded: (id: string | undefined) => void;
}

/** Adds what a person pastes. A URL shows what it offers first; a command becomes lines of the configuration file. */
export function AddToolServer({ pasted, onClose, onAdded }: AddToolServerProps): JSX.Element {
  const [typed, setTyped] = useState(pasted);
  const found = readPasted(typed);
  const field = <PasteField typed={typed} reason={found.kind === 'unreadable' ? found.reason : undefined} onType={setTyped} />;
  const servers = found.kind === 'servers' ? found.servers : [];
  const [first] = servers;
  if (servers.length > 1 || first?.kind === 'command')
    return <AddSeveral servers={servers} field={field} onClose={onClose} onAdded={onAdded} />;
  return <AddOne server={first} isPasted={typed === pasted} field={field} onClose={onClose} onAdded={onAdded} />;
}

interface AddOneProps extends Omit<AddToolServerProps, 'pasted'> {
  /** Undefined as long as there is no URL. */
  server: RemoteServer | undefined;
  /** Nothing was typed since, so it is checked at once. */
  isPasted: boolean;
  /** The field that the URL is typed into. */
  field: ComponentChildren;
}

/** Shows what a URL offers, lets the person select functions, and adds it as a tool server. */
function AddOne({ server, isPasted, field, onClose, onAdded }: AddOneProps): JSX.Element {
  const [entered, setEntered] = useState<{ origin: string | undefined; credential: CredentialKind; key: string }>();
  const [path, setPath] = useState('');
  const [excluded, setExcluded] = useState<ReadonlySet<string>>(new Set());
  const [isAdding, setAdding] = useState(false);
  const { url, id, headers = {}, key: given } = server ?? {};
  const origin = url === undefined ? undefined : new URL(url).origin;
  const initial = given === undefined ? { credential: 'none' as const, key: '' } : { credential: 'bearer' as const, key: given };
  // While another URL is typed, its beginnings are URLs too, of servers that must not get the key.
  const { credential, key } = entered !== undefined && entered.origin === origin ? entered : initial;
  const setCredential = (chosen: CredentialKind): void => setEntered({ origin, credential: chosen, key: '' });
  const auth = {
    ...(credential === 'bearer' && key === '' ? {} : authOf(credential, key)),
    ...(Object.keys(headers).length > 0 && { headers }),
  };
  const sought = { url, ...(path.trim() !== '' && { path: path.trim() }) };
  const { discovery, error, isChecking, setError } = useDiscovery(
    { ...sought, auth, delayMs: isPasted && path === '' ? 0 : pauseMs },
    (found) => {
      setExcluded(new Set());
      if (found?.report.credential === 'refused' && credential === 'none') setCredential('bearer');
    },
  );
  const names = discovery?.report.functions.map(({ name }) => name) ?? [];
  const included = names.filter((name) => !excluded.has(name));
  const add = async (): Promise<void> => {
    if (url === undefined) return;
    setAdding(true);
    try {
      const { kind = 'openapi', url: found = url } = discovery ?? {};
      const named = id === undefined ? {} : { id };
      onAdded(await addServer({ ...named, ...sought, url: found, type: kind, ...auth, ...filterOf(included, excluded) }));
    } catch (failed) {
      setError(failed);
      setAdding(false);
    }
  };
  const isAddable = url !== undefined && !isChecking && (names.length === 0 || included.length > 0);
  const actions = <AddActions discovery={discovery} count={included.length} state={{ isAdding, isAddable }} on={{ add, onClose }} />;
  return (
    <Dialog title="Add a tool server" isWide isForm onClose={onClose} actions={actions}>
      <div class="stack">
        {field}
        {discovery?.report.credential === 'refused' && !isChecking && <CredentialNotice isKeyRefused={key !== ''} />}
        <CredentialField credential={credential} isDisabled={url === undefined} onChange={setCredential} />
        {credential === 'bearer' && (
          <KeyField
            key={origin}
            action={key === '' ? 'Use this key' : 'Use another key'}
            onKey={(changed) => setEntered({ origin, credential, key: changed })}
          />
        )}
        <div aria-live="polite">
          {isChecking && <Loading label="Checking the server" />}
          {error !== undefined && <Problem error={error} />}
          {discovery !== undefined && !isChecking && <Found discovery={discovery} choosing={choosingOf(excluded, setExcluded)} />}
        </div>
        {(path !== '' || isDocumentMissing(discovery)) && <PathField path={path} onType={setPath} />}
      </div>
    </Dialog>
  );
}

interface DiscoveryState {
  discovery: Discovery | undefined;
  error: unknown;
  isChecking: boolean;
  setError: (error: unknown) => void;
}

/** What the URL offers. It is checked again when the URL or the credential changes. `onChange`: undefined when a check begins. */
function useDiscovery(
  { url, path, auth, delayMs }: { url: string | undefined; path?: string; auth: object; delayMs: number },
  onChange: (found: Discovery | undefined) => void,
): DiscoveryState {
  const [discovery, setDiscovery] = useState<Discovery>();
  const [error, setError] = useState<unknown>();
  const [isChecking, setChecking] = useState(false);
  useEffect(() => {
    setDiscovery(undefined);
    setError(undefined);
    onChange(undefined);
    if (url === undefined) return undefined;
    const abort = new AbortController();
    setChecking(true);
    const check = async (): Promise<void> => {
      try {
        const found = await discoverServer({ url, path }, auth, abort.signal);
        setDiscovery(found);
        onChange(found);
      } catch (failed) {
        if (!abort.signal.aborted) setError(failed);
      }
      if (!abort.signal.aborted) setChecking(false);
    };
    const timer = setTimeout(() => void check(), delayMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
      setChecking(false);
    };
  }, [JSON.stringify([url, path, auth])]);
  return { discovery, error, isChecking, setError };
}

interface AddActionsProps {
  discovery: Discovery | undefined;
  /** The number of functions that are included. */
  count: number;
  state: { isAdding: boolean; isAddable: boolean };
  on: { add: () => Promise<void>; onClose: () => void };
}

function AddActions({ discovery, count, state: { isAdding, isAddable }, on: { add, onClose } }: AddActionsProps): JSX.Element {
  const { ok = false, functions = [], credential } = discovery?.report ?? {};
  const hasFunctions = ok && functions.length > 0;
  const isUsable = hasFunctions || credential === 'own';
  return (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind={isUsable ? 'main' : 'plain'} isBusy={isAdding} isDisabled={!isAddable} onClick={() => void add()}>
        {hasFunctions ? `Add ${formatCount(count, 'function')}` : isUsable ? 'Add server' : 'Add anyway'}
      </Button>
    </>
  );
}

function choosingOf(excluded: ReadonlySet<string>, setExcluded: (names: ReadonlySet<string>) => void): Choosing {
  return {
    isChosen: (name) => !excluded.has(name),
    onChoose(changed, isChosen) {
      const next = new Set(excluded);
      for (const name of changed)
        if (isChosen) next.delete(name);
        else next.add(name);
      setExcluded(next);
    },
  };
}

/** The server answers, but its document was not found. */
function isDocumentMissing(discovery: Discovery | undefined): boolean {
  return discovery !== undefined && !discovery.report.ok && discovery.report.credential === undefined;
}

function PathField({ path, onType }: { path: string; onType: (path: string) => void }): JSX.Element {
  return (
    <label class="field">
      Path of the OpenAPI document
      <input
        type="text"
        placeholder="documentation/json"
        value={path}
        onInput={(event) => onType(event.currentTarget.value)}
        autocomplete="off"
        spellcheck={false}
      />
      <span class="about">Where the document is, below the URL. You can also paste the whole URL of the document above.</span>
    </label>
  );
}

function CredentialNotice({ isKeyRefused }: { isKeyRefused: boolean }): JSX.Element {
  return (
    <div class="notice" role="status">
      <Icon name="lock" />
      <p>
        {isKeyRefused
          ? 'The server rejected this key. Enter another one.'
          : 'This server needs authentication to list its functions. Enter an API key, or select another kind below.'}
      </p>
    </div>
  );
}

function Found({ discovery, choosing }: { discovery: Discovery; choosing: Choosing }): JSX.Element | null {
  const { report, kind, url, others } = discovery;
  const found = report.document_url?.replace(`${url.replace(/\/+$/, '')}/`, '') || undefined;
  // The notice above says so.
  if (report.credential === 'refused') return null;
  if (report.credential === 'own')
    return (
      <div class="notice" role="status">
        <Icon name="people" />
        <p>This server shows its functions to each person after they connect. Add it, then connect on its page.</p>
      </div>
    );
  return (
    <>
      {report.ok && (kind === 'mcp' || found !== undefined) && (
        <p class="row">
          <span class="chip">{kind === 'mcp' ? 'MCP' : 'OpenAPI'}</span>
          {found !== undefined && <span class="soft small">{`Document: ${found}`}</span>}
          {kind === 'mcp' && <span class="mono small soft">{url}</span>}
        </p>
      )}
      <ReportView
        report={report}
        choosing={choosing}
        problem={
          (others.length > 0 || isDocumentMissing(discovery)) && (
            <div class="problem" role="alert">
              <Icon name="alert" />
              <div>
                <p>No tool server was found at this URL.</p>
                {[discovery, ...others].map((each, index) => (
                  <p key={index} class="small">
                    <strong>{each.kind === 'mcp' ? 'As MCP: ' : 'As OpenAPI: '}</strong>
                    {each.report.error}
                  </p>
                ))}
              </div>
            </div>
          )
        }
      />
    </>
  );
}
