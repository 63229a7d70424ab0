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
import { authOf, credentialKinds, KeyField } from './credential-fields.tsx';
import type { CredentialKind } from './credential-fields.tsx';
import { discoverServer } from './discover-server.ts';
import type { Discovery } from './discover-server.ts';
import { ReportView } from './report-view.tsx';

/** After the last keystroke, in milliseconds. */
const pauseMs = 350;

interface AddToolServerProps {
  /** What was pasted. */
  address: string;
  onClose: () => void;
  onAdded: (id: string) => void;
}

/** Paste an address, see what it becomes, choose, and add it. */
export function AddToolServer({ address: pasted, onClose, onAdded }: AddToolServerProps): JSX.Element {
  const [url, setUrl] = useState(pasted);
  const [given, setGiven] = useState<{ origin: string | undefined; credential: CredentialKind; key: string }>();
  const [looked, setLooked] = useState<Discovery>();
  const [error, setError] = useState<unknown>();
  const [isLooking, setLooking] = useState(false);
  const [isAdding, setAdding] = useState(false);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const address = toHttpUrl(url);
  const origin = address === undefined ? undefined : new URL(address).origin;
  // While another address is typed, parts of it are addresses too, of servers that are not to get the key.
  const { credential, key } = given !== undefined && given.origin === origin ? given : { credential: 'none' as const, key: '' };
  const setCredential = (chosen: CredentialKind): void => setGiven({ origin, credential: chosen, key: '' });
  const lacksKey = credential === 'bearer' && key === '';
  const auth = lacksKey ? {} : authOf(credential, key);
  const question = JSON.stringify([address, auth]);

  useEffect(() => {
    setLooked(undefined);
    setError(undefined);
    setLeft(new Set());
    if (address === undefined) return undefined;
    const abort = new AbortController();
    setLooking(true);
    const timer = setTimeout(
      () => {
        discoverServer(address, auth, abort.signal)
          .then(
            (found) => {
              setLooked(found);
              if (found.report.credential === 'refused' && credential === 'none') setCredential('bearer');
            },
            (failed: unknown) => !abort.signal.aborted && setError(failed),
          )
          .finally(() => !abort.signal.aborted && setLooking(false));
      },
      // What is pasted is whole.
      url === pasted ? 0 : pauseMs,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
      setLooking(false);
    };
  }, [question]);

  const names = looked?.report.functions.map(({ name }) => name) ?? [];
  const chosen = names.filter((name) => !left.has(name));
  const add = async (): Promise<void> => {
    if (address === undefined) return;
    setAdding(true);
    try {
      const { kind = 'openapi', url: place = address, path } = looked ?? {};
      // The shorter list; one of what is left out takes new functions along.
      const filter = left.size === 0 ? [] : chosen.length < left.size ? chosen : [...left].map((name) => `!${name}`);
      const body = {
        url: place,
        type: kind,
        ...(path !== undefined && { path }),
        ...auth,
        ...(filter.length > 0 && { config: { function_name_filter_list: filter } }),
      } as BodyOf<'POST /api/tool-servers'>;
      const { id, report } = await call('POST /api/tool-servers', { body });
      showToast(report.ok ? `${id} is added with ${formatCount(report.functions.length, 'function')}.` : `${id} is added.`);
      onAdded(id);
    } catch (failed) {
      setError(failed);
      setAdding(false);
    }
  };
  const action =
    looked?.report.ok === true && names.length > 0
      ? `Add ${formatCount(chosen.length, 'function')}`
      : looked?.report.credential === 'own'
        ? 'Add it'
        : 'Add anyway';
  const hasNothing = names.length > 0 && chosen.length === 0;

  return (
    <Dialog
      title="Add a tool server"
      isWide
      isForm
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind={action === 'Add anyway' ? 'plain' : 'main'}
            isBusy={isAdding}
            isDisabled={address === undefined || isLooking || hasNothing}
            onClick={() => void add()}
          >
            {action}
          </Button>
        </>
      }
    >
      <div class="stack">
        <label class="field">
          Address
          <input
            type="url"
            autofocus
            placeholder="http://127.0.0.1:8000"
            value={url}
            onInput={(event) => setUrl(event.currentTarget.value)}
            autocomplete="off"
            spellcheck={false}
          />
          <span class="about" role="status">
            {address === undefined && url.trim() !== ''
              ? 'This is no address. It is one of HTTP, without spaces, such as http://127.0.0.1:8000.'
              : 'Of the server, of its OpenAPI document, or of an MCP endpoint.'}
          </span>
        </label>
        {looked?.report.credential === 'refused' && !isLooking && (
          <div class="notice" role="status">
            <Icon name="lock" />
            <p>
              {lacksKey || key === ''
                ? 'It shows its functions to nobody without a credential. Enter a key, or choose below who has one.'
                : 'It does not take this key. Enter another one.'}
            </p>
          </div>
        )}
        <label class="field">
          Credential
          <select
            value={credential}
            disabled={address === undefined}
            onChange={(event) => setCredential(event.currentTarget.value as CredentialKind)}
          >
            {credentialKinds.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {credential === 'bearer' && (
          <KeyField
            key={origin}
            action={key === '' ? 'Use this key' : 'Use another key'}
            onKey={(entered) => setGiven({ origin, credential, key: entered })}
          />
        )}
        <div aria-live="polite">
          {isLooking && <Loading label="Looking at the server" />}
          {error !== undefined && <Problem error={error} />}
          {looked !== undefined && !isLooking && (
            <Found
              looked={looked}
              choosing={{
                isChosen: (name) => !left.has(name),
                onChoose(changed, isChosen) {
                  const next = new Set(left);
                  for (const name of changed)
                    if (isChosen) next.delete(name);
                    else next.add(name);
                  setLeft(next);
                },
              }}
            />
          )}
        </div>
      </div>
    </Dialog>
  );
}

function Found({
  looked,
  choosing,
}: {
  looked: Discovery;
  choosing: NonNullable<Parameters<typeof ReportView>[0]['choosing']>;
}): JSX.Element | null {
  const { report, kind, path, url, others } = looked;
  // The field for the key says it.
  if (report.credential === 'refused') return null;
  if (report.credential === 'own')
    return (
      <div class="notice" role="status">
        <Icon name="people" />
        <p>It shows its functions to people who have connected. Add it, and connect on its page.</p>
      </div>
    );
  return (
    <>
      {report.ok && (kind === 'mcp' || path !== undefined) && (
        <p class="row">
          <span class="chip">{kind === 'mcp' ? 'MCP' : 'OpenAPI'}</span>
          {path !== undefined && <span class="soft small">{`Its document is at ${path}.`}</span>}
          {path === undefined && kind === 'mcp' && <span class="mono small soft">{url}</span>}
        </p>
      )}
      <ReportView
        report={report}
        choosing={choosing}
        problem={
          others.length > 0 && (
            <div class="problem" role="alert">
              <Icon name="alert" />
              <div>
                <p>No tool server was found there.</p>
                {[looked, ...others].map((each, index) => (
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
