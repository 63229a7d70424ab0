/**
 * The page's session with the gateway, in a worker. Its file has a policy of its own: so the page itself can ask nobody but the gateway, while the
 * requests of tools that run in this browser go to the servers that the person has named, and only there.
 */
import { connect } from '../../client/toolwharf-client.js';
import type { Frame, FromSession, AllowedServer, ToSession } from './session-messages.ts';

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

function open({ token, canRenew, sessionId }: ToSession & { type: 'open' }): void {
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
    ...(sessionId !== undefined && { sessionId }),
    servers,
    confirm: ask('confirmation'),
    input: ask('input'),
    connect: ask('connect'),
    onSession: (id: string, isResumed: boolean) => page.postMessage({ type: 'session', id, isResumed }),
    onStatus: (status: 'connecting' | 'open' | 'waiting' | 'closed') => page.postMessage({ type: 'status', status }),
  });
}

async function pass(id: string, chat: ReturnType<ReturnType<typeof connect>['chat']> | undefined): Promise<void> {
  if (chat === undefined) return;
  chats.set(id, chat);
  try {
    for await (const frame of chat) page.postMessage({ type: 'frame', id, frame: frame as Frame });
    page.postMessage({ type: 'end', id });
  } catch (error) {
    const { code = 'unknown', message } = error as { code?: string; message: string };
    page.postMessage({ type: 'end', id, error: { code, message } });
  }
  chats.delete(id);
}

function take(known: readonly AllowedServer[]): void {
  for (const url of Object.keys(servers)) delete servers[url];
  for (const { url, key } of known) servers[url] = { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } };
}

/** The OpenAPI document of a server that perhaps only this browser can reach. */
async function readDocument({ url, key }: AllowedServer): Promise<{ document: unknown } | { error: string }> {
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
  if (message.type === 'open') open(message);
  else if (message.type === 'renewed') renewed?.(message.token);
  else if (message.type === 'chat') void pass(message.id, client?.chat({ ...message.fields }));
  else if (message.type === 'follow') void pass(message.id, client?.follow(message.runId));
  else if (message.type === 'cancel') chats.get(message.id)?.cancel();
  else if (message.type === 'servers') take(message.servers);
  else if (message.type === 'read')
    void readDocument(message.server).then((read) => page.postMessage({ type: 'read', id: message.id, ...read }));
  else {
    asked.get(message.id)?.(message.value);
    asked.delete(message.id);
  }
});
