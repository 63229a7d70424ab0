/**
 * The page's session with the gateway, in a worker with its own content security policy. The page itself can only send requests to the gateway, and
 * tools that run in this browser can only send requests to the servers that the person has added.
 */
import { connect } from '../../client/toolwharf-client.js';
import { basePath } from './base-path.ts';
import type { Frame, FromSession, AllowedServer, ToSession } from './session-messages.ts';

const page = globalThis as {
  postMessage: (message: FromSession) => void;
  addEventListener: (type: 'message', listener: (event: { data: ToSession }) => void) => void;
};

/** A frame with a larger document would be refused. */
const maxDocumentCharacters = 900_000;
const documentTimeoutMs = 15_000;

/** The client reads this for each request. */
const servers: Record<string, { headers: Record<string, string> }> = {};
const chats = new Map<string, { cancel: () => void }>();
const pendingInputs = new Map<string, (value: unknown) => void>();
let client: ReturnType<typeof connect> | undefined;
let resolveToken: ((token: string | undefined) => void) | undefined;

/** The tokens of the person who is signed in are only in the page. */
function renew(): Promise<string | undefined> {
  return new Promise((resolve) => {
    resolveToken = resolve;
    page.postMessage({ type: 'renew' });
  });
}

function open({ token, canRenew, sessionId }: ToSession & { type: 'open' }): void {
  const requestInput =
    (kind: 'confirmation' | 'input' | 'connect') =>
    (data: { id: string }, signal: AbortSignal): Promise<unknown> =>
      new Promise((resolve) => {
        pendingInputs.set(data.id, resolve);
        page.postMessage({ type: 'input-request', kind, data: { ...data } });
        signal.addEventListener('abort', () => {
          pendingInputs.delete(data.id);
          page.postMessage({ type: 'input-request-over', id: data.id });
        });
      });
  client = connect({
    url: `${basePath}/`,
    ...(token !== undefined && { token }),
    ...(canRenew && { renew }),
    ...(sessionId !== undefined && { sessionId }),
    servers,
    confirm: requestInput('confirmation'),
    input: requestInput('input'),
    connect: requestInput('connect'),
    onSession: (id: string, isResumed: boolean) => page.postMessage({ type: 'session', id, isResumed }),
    onStatus: (status: 'connecting' | 'open' | 'waiting' | 'closed') => page.postMessage({ type: 'status', status }),
  });
}

async function forward(id: string, chat: ReturnType<ReturnType<typeof connect>['chat']> | undefined): Promise<void> {
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

function setServers(allowed: readonly AllowedServer[]): void {
  for (const url of Object.keys(servers)) delete servers[url];
  for (const { url, key } of allowed) servers[url] = { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } };
}

/** Reads the OpenAPI document of a server that the gateway may not be able to reach. */
async function readDocument({ url, key }: AllowedServer): Promise<{ document: unknown } | { error: string }> {
  try {
    const response = await fetch(`${url.replace(/\/$/, '')}/openapi.json`, {
      headers: { accept: 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) },
      credentials: 'omit',
      redirect: 'error',
      signal: AbortSignal.timeout(documentTimeoutMs),
    });
    const text = await response.text();
    if (!response.ok) return { error: `The server answered ${response.status} when asked for openapi.json.` };
    if (text.length > maxDocumentCharacters)
      return { error: 'Its openapi.json is too large to use from a browser. Ask your administrator to add this server.' };
    return { document: JSON.parse(text) as unknown };
  } catch (error) {
    if (error instanceof SyntaxError) return { error: 'Its openapi.json is not valid JSON.' };
    return {
      error: `This browser can’t reach ${new URL(url).origin}. Check that the server is running and allows requests from ${location.origin} (CORS).`,
    };
  }
}

page.addEventListener('message', ({ data: message }) => {
  if (message.type === 'open') open(message);
  else if (message.type === 'renewed') resolveToken?.(message.token);
  else if (message.type === 'chat') void forward(message.id, client?.chat({ ...message.fields }));
  else if (message.type === 'follow') void forward(message.id, client?.follow(message.runId));
  else if (message.type === 'cancel') chats.get(message.id)?.cancel();
  else if (message.type === 'servers') setServers(message.servers);
  else if (message.type === 'read')
    void readDocument(message.server).then((read) => page.postMessage({ type: 'read', id: message.id, ...read }));
  else {
    pendingInputs.get(message.id)?.(message.value);
    pendingInputs.delete(message.id);
  }
});
