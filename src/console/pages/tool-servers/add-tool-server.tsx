import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { BodyOf } from '../../api/api-types.ts';
import { call } from '../../api/request.ts';
import { toHttpUrl } from '../../parts/forms/http-url.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { formatCount } from '../../parts/text/formats.ts';
import { Icon } from '../../parts/icon.tsx';
import { Loading, Problem } from '../../parts/states.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { authOf, CredentialField, KeyField } from './credential-fields.tsx';
import type { CredentialKind } from './credential-fields.tsx';
import { discoverServer } from './discover-server.ts';
import type { Discovery } from './discover-server.ts';
import type { Choosing } from './function-list.tsx';
import { ReportView } from './report-view.tsx';

/** The pause after the last key press before the URL is checked, in milliseconds. */
const pauseMs = 350;

interface AddToolServerProps {
  /** The URL that was pasted. */
  pasted: string;
  onClose: () => void;
  onAdded: (id: string) => void;
}

/** Shows what a URL offers, lets the person select functions, and adds it as a tool server. */
export function AddToolServer({ pasted, onClose, onAdded }: AddToolServerProps): JSX.Element {
  const [typed, setTyped] = useState(pasted);
  const [entered, setEntered] = useState<{ origin: string | undefined; credential: CredentialKind; key: string }>();
  const [path, setPath] = useState('');
  const [excluded, setExcluded] = useState<ReadonlySet<string>>(new Set());
  const [isAdding, setAdding] = useState(false);
  const url = toHttpUrl(typed);
  const origin = url === undefined ? undefined : new URL(url).origin;
  // While another URL is typed, its beginnings are URLs too, of servers that must not get the key.
  const { credential, key } = entered !== undefined && entered.origin === origin ? entered : { credential: 'none' as const, key: '' };
  const setCredential = (chosen: CredentialKind): void => setEntered({ origin, credential: chosen, key: '' });
  const auth = credential === 'bearer' && key === '' ? {} : authOf(credential, key);
  const sought = { url, ...(path.trim() !== '' && { path: path.trim() }) };
  const { discovery, error, isChecking, setError } = useDiscovery(
    { ...sought, auth, delayMs: typed === pasted && path === '' ? 0 : pauseMs },
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
      onAdded(await addServer({ ...sought, url: found, type: kind, ...auth }, included, excluded));
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
        <UrlField typed={typed} isValid={url !== undefined} onType={setTyped} />
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

/** @returns the id of the new server */
async function addServer(connection: object, included: readonly string[], excluded: ReadonlySet<string>): Promise<string> {
  // The shorter list. A list of exclusions also includes functions that the server adds later.
  const filter = excluded.size === 0 ? [] : included.length < excluded.size ? included : [...excluded].map((name) => `!${name}`);
  const body = {
    ...connection,
    ...(filter.length > 0 && { config: { function_name_filter_list: filter } }),
  } as BodyOf<'POST /api/tool-servers'>;
  const { id, report } = await call('POST /api/tool-servers', { body });
  showToast(report.ok ? `${id} was added with ${formatCount(report.functions.length, 'function')}.` : `${id} was added.`);
  return id;
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

function UrlField({ typed, isValid, onType }: { typed: string; isValid: boolean; onType: (typed: string) => void }): JSX.Element {
  return (
    <label class="field">
      URL
      <input
        type="url"
        autofocus
        placeholder="http://127.0.0.1:8000"
        value={typed}
        onInput={(event) => onType(event.currentTarget.value)}
        autocomplete="off"
        spellcheck={false}
      />
      <span class="about" role="status">
        {isValid || typed.trim() === ''
          ? 'The URL of a server, of its OpenAPI document, of the page that displays it, or of an MCP endpoint.'
          : 'Enter an http:// or https:// URL, such as http://127.0.0.1:8000.'}
      </span>
    </label>
  );
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
