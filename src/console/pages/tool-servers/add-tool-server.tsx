import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { formatCount } from '../../parts/formats.ts';
import { Loading, Problem } from '../../parts/states.tsx';
import { say } from '../../parts/toasts.tsx';
import { ReportView } from './report-view.tsx';
import type { Preview } from './report-view.tsx';

type Kind = 'openapi' | 'mcp';

/** After the last keystroke, in milliseconds. */
const pauseMs = 350;

const credentials = [
  ['none', 'None'],
  ['bearer', 'A key for everybody'],
  ['own', 'A key of each person'],
] as const;
type CredentialKind = (typeof credentials)[number][0];

/** Paste an address, see what it becomes, choose, and add it. */
export function AddToolServer({ onClose, onAdded }: { onClose: () => void; onAdded: (id: string) => void }): JSX.Element {
  const [url, setUrl] = useState('');
  const [credential, setCredential] = useState<CredentialKind>('none');
  const [secret, setSecret] = useState('');
  const [preview, setPreview] = useState<{ report: Preview; kind: Kind }>();
  const [error, setError] = useState<unknown>();
  const [isLooking, setLooking] = useState(false);
  const [isAdding, setAdding] = useState(false);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const address = addressOf(url);
  const auth =
    credential === 'bearer' ? { auth_type: 'bearer', key: secret } : credential === 'own' ? { auth_type: 'bearer', per_user: true } : {};
  const looked = JSON.stringify([address, auth]);

  useEffect(() => {
    setPreview(undefined);
    setError(undefined);
    setLeft(new Set());
    if (address === undefined) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      setLooking(true);
      look(address, auth, abort.signal)
        .then(setPreview, (failed: unknown) => !abort.signal.aborted && setError(failed))
        .finally(() => !abort.signal.aborted && setLooking(false));
    }, pauseMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
      setLooking(false);
    };
  }, [looked]);

  const add = async (): Promise<void> => {
    if (address === undefined) return;
    setAdding(true);
    try {
      const filter = [...left].map((name) => `!${name}`);
      const body = {
        url: address,
        type: preview?.kind ?? 'openapi',
        ...auth,
        ...(filter.length > 0 && { config: { function_name_filter_list: filter } }),
      };
      const { id, report } = await call('POST /api/tool-servers', { body });
      say(`${id} is added with ${formatCount(report.functions.length, 'function')}.`);
      onAdded(id);
    } catch (failed) {
      setError(failed);
      setAdding(false);
    }
  };

  const count = (preview?.report.functions.length ?? 0) - left.size;
  return (
    <Dialog
      title="Add a tool server"
      isWide
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" isBusy={isAdding} isDisabled={address === undefined || isLooking} onClick={() => void add()}>
            {preview?.report.ok === true ? `Add ${formatCount(count, 'function')}` : 'Add anyway'}
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
          <span class="about">Of the server, of its OpenAPI document, or of an MCP endpoint.</span>
        </label>
        <label class="field">
          Credential
          <select value={credential} onChange={(event) => setCredential(event.currentTarget.value as CredentialKind)}>
            {credentials.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {credential === 'bearer' && (
          <label class="field">
            Key
            <input type="password" value={secret} onInput={(event) => setSecret(event.currentTarget.value)} autocomplete="off" />
            <span class="about">It is encrypted, goes to this server alone, and is not shown again.</span>
          </label>
        )}
        {isLooking && <Loading label="Looking at the server" />}
        {error !== undefined && <Problem error={error} />}
        {preview !== undefined && !isLooking && (
          <ReportView
            report={preview.report}
            chosen={{
              isChosen: (name) => !left.has(name),
              onChoose: (name, isChosen) =>
                setLeft((before) => (isChosen ? new Set([...before].filter((each) => each !== name)) : new Set([...before, name]))),
            }}
          />
        )}
      </div>
    </Dialog>
  );
}

function addressOf(text: string): string | undefined {
  const trimmed = text.trim();
  const whole = /^[a-z]+:\/\//i.test(trimmed) ? trimmed : `http://${trimmed}`;
  const { protocol, hostname } = URL.canParse(whole) ? new URL(whole) : { protocol: '', hostname: '' };
  return trimmed !== '' && hostname !== '' && (protocol === 'http:' || protocol === 'https:') ? whole : undefined;
}

/** An address does not say what it is: what does not work as one kind may work as the other. */
async function look(url: string, auth: object, signal: AbortSignal): Promise<{ report: Preview; kind: Kind }> {
  const kinds: Kind[] = /\/(?:mcp|sse)\/?$/.test(url) ? ['mcp', 'openapi'] : ['openapi', 'mcp'];
  const seen: { report: Preview; kind: Kind }[] = [];
  for (const kind of kinds) {
    const report = await call('POST /api/tool-servers/verify', { body: { url, type: kind, ...auth }, signal });
    seen.push({ report, kind });
    if (report.ok) break;
  }
  return seen.find(({ report }) => report.ok) ?? (seen[0] as { report: Preview; kind: Kind });
}
