/**
 * The page's session with the gateway, in a worker. Its file has a policy of its own: so the page itself can ask nobody but the gateway, while the
 * requests of tools that run in this browser go to the servers that the person has named, and only there.
 */
import { connect } from '../../client/toolwharf-client.js';
import type { Frame, FromSession, OwnServer, ToSession } from './session-messages.ts';

const page = globalThis as unknown as {
  postMessage: (message: FromSession) => void;
  addEventListener: (type: 'message', listener: (event: { data: ToSession }) => void) => void;
};

/** Of a document, as a frame takes no more. */
const maxDocumentCharacters = 900_000;
const documentTimeoutMs = 15_000;

/** Read by the client at each request. */
const servers: Record<string, { headers: Record<string, string> }> = {};
const chats = new Map<string, { cancel: () => void }>();
const asked = new Map<string, (value: unknown) => void>();
let client: ReturnType<typeof connect> | undefined;
let renewed: ((token: string | undefined) => void) | undefined;

/** The page has the tokens of whoever is signed in. */
function renew(): Promise<string | undefined> {
  return new Promise((resolve) => {
    renewed = resolve;
    page.postMessage({ type: 'renew' });
  });
}

function open(token: string | undefined, canRenew: boolean): void {
  const ask =
    (kind: 'confirmation' | 'input' | 'connect') =>
    (data: { id: string }, signal: AbortSignal): Promise<unknown> =>
      new Promise((resolve) => {
        asked.set(data.id, resolve);
        page.postMessage({ type: 'ask', kind, data: { ...data } });
        signal.addEventListener('abort', () => {
          asked.delete(data.id);
          page.postMessage({ type: 'ask-over', id: data.id });
        });
      });
  client = connect({
    ...(token !== undefined && { token }),
    ...(canRenew && { renew }),
    servers,
    confirm: ask('confirmation'),
    input: ask('input'),
    connect: ask('connect'),
    onStatus: (status: 'connecting' | 'open' | 'waiting' | 'closed') => page.postMessage({ type: 'status', status }),
  });
}

async function chat(id: string, fields: Readonly<Record<string, unknown>>): Promise<void> {
  if (client === undefined) return;
  const started = client.chat({ ...fields });
  chats.set(id, started);
  try {
    for await (const frame of started) page.postMessage({ type: 'frame', id, frame: frame as Frame });
    page.postMessage({ type: 'end', id });
  } catch (error) {
    const { code = 'unknown', message } = error as { code?: string; message: string };
    page.postMessage({ type: 'end', id, error: { code, message } });
  }
  chats.delete(id);
}

function take(known: readonly OwnServer[]): void {
  for (const url of Object.keys(servers)) delete servers[url];
  for (const { url, key } of known) servers[url] = { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } };
}

/** The OpenAPI document of a server that perhaps only this browser can reach. */
async function readDocument({ url, key }: OwnServer): Promise<{ document: unknown } | { error: string }> {
  try {
    const response = await fetch(`${url.replace(/\/$/, '')}/openapi.json`, {
      headers: { accept: 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) },
      credentials: 'omit',
      redirect: 'error',
      signal: AbortSignal.timeout(documentTimeoutMs),
    });
    const text = await response.text();
    if (!response.ok) return { error: `The server answers ${response.status} for its openapi.json.` };
    if (text.length > maxDocumentCharacters)
      return { error: 'Its document is too large to be used from a browser; let an administrator add the server.' };
    return { document: JSON.parse(text) as unknown };
  } catch (error) {
    if (error instanceof SyntaxError) return { error: 'Its openapi.json is not JSON.' };
    return { error: `${new URL(url).origin} gives this page no answer. It has to run, and to allow ${location.origin} (CORS).` };
  }
}

page.addEventListener('message', ({ data: message }) => {
  if (message.type === 'open') open(message.token, message.canRenew);
  else if (message.type === 'renewed') renewed?.(message.token);
  else if (message.type === 'chat') void chat(message.id, message.fields);
  else if (message.type === 'cancel') chats.get(message.id)?.cancel();
  else if (message.type === 'servers') take(message.servers);
  else if (message.type === 'read')
    void readDocument(message.server).then((read) => page.postMessage({ type: 'read', id: message.id, ...read }));
  else {
    asked.get(message.id)?.(message.value);
    asked.delete(message.id);
  }
});
