/**
 * The page's session with the gateway, in a worker with its own content security policy. The page itself can only send requests to the gateway, and
 * tools that run in this browser can only send requests to the servers that the person has added.
 */
import { connect } from '../../client/toolwharf-client.js';
import { basePath } from './base-path.ts';
import { chatOverHttp } from './chat-over-http.ts';
import { Transport } from './transport.ts';
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
const transport = new Transport((status) => page.postMessage({ type: 'status', status }));
let currentToken: string | undefined;
let mayRenew = false;
let renewing: PromiseWithResolvers<string | undefined> | undefined;

/** The tokens of the person who is signed in are only in the page. */
async function renew(): Promise<string | undefined> {
  if (renewing === undefined) page.postMessage({ type: 'renew' });
  renewing ??= Promise.withResolvers();
  const token = await renewing.promise;
  currentToken = token ?? currentToken;
  return token;
}

function open({ token, canRenew, sessionId }: ToSession & { type: 'open' }): void {
  currentToken = token;
  mayRenew = canRenew;
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
    onStatus: (status: 'connecting' | 'open' | 'waiting' | 'closed') => transport.note(status),
  });
}

const requestInput =
  (kind: 'confirmation' | 'input' | 'connect') =>
  (data: Readonly<Record<string, unknown>> & { id: string }, signal: AbortSignal): Promise<unknown> =>
    new Promise((resolve) => {
      pendingInputs.set(data.id, resolve);
      page.postMessage({ type: 'input-request', kind, data: { ...data } });
      signal.addEventListener('abort', () => {
        pendingInputs.delete(data.id);
        page.postMessage({ type: 'input-request-over', id: data.id });
      });
    });

/** Over the socket, or over HTTP where no socket opens. */
async function startChat(id: string, fields: Readonly<Record<string, unknown>>): Promise<void> {
  let isCancelled = false;
  chats.set(id, { cancel: () => (isCancelled = true) });
  const isSocket = await transport.isSocket();
  if (isCancelled) {
    chats.delete(id);
    page.postMessage({ type: 'end', id, error: { code: 'run_cancelled', message: 'The answer was stopped.' } });
  } else await forward(id, isSocket ? client?.chat({ ...fields }) : httpChat(fields));
}

function httpChat(fields: Readonly<Record<string, unknown>>): AsyncIterable<Frame> & { cancel: () => void } {
  const abort = new AbortController();
  let runId: string | undefined;
  async function* frames(): AsyncGenerator<Frame> {
    const servers = fields['tool_servers'];
    if (servers !== undefined) yield { type: 'event', data: { type: 'warning', data: { message: noBrowserTools } } };
    try {
      const decide = requestInput('confirmation');
      const model = fields['model'] ?? (await firstModel(abort.signal));
      const complete = { ...fields, ...(model !== undefined && { model }) };
      for await (const frame of chatOverHttp({ fields: complete, send: sendToGateway, decide, signal: abort.signal })) {
        if (frame.type === 'assistant_start') runId = frame.data['run_id'] as string | undefined;
        yield frame;
      }
    } catch (error) {
      if (abort.signal.aborted) throw Object.assign(new Error('The answer was stopped.'), { code: 'run_cancelled' });
      // What a browser says of a lost connection is of no use to anybody.
      throw error instanceof TypeError
        ? Object.assign(new Error('The connection was lost before the answer was complete.'), { code: 'client_disconnected' })
        : error;
    }
  }
  const cancel = (): void => {
    // A run that waits for a decision would stay behind.
    if (runId !== undefined) void sendToGateway(`/api/runs/${runId}/cancel`, {}).catch(() => undefined);
    abort.abort();
  };
  return { [Symbol.asyncIterator]: frames, cancel };
}

const noBrowserTools =
  'The tools in this browser are not available, because no websocket can be opened. A proxy in front of the gateway must pass websockets.';

/** The model of a question that was sent before the list of models was there; over the socket the gateway chooses it. */
async function firstModel(signal: AbortSignal): Promise<string | undefined> {
  const response = await ask('/api/models', { signal });
  const { data } = response.ok ? ((await response.json()) as { data: readonly { id: string }[] }) : { data: [] };
  return data[0]?.id;
}

function sendToGateway(path: string, body: object, signal?: AbortSignal): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return ask(path, { method: 'POST', headers, body: JSON.stringify(body), ...(signal !== undefined && { signal }) });
}

/** A token that has expired is renewed once. */
async function ask(path: string, { headers, ...options }: RequestInit): Promise<Response> {
  const send = (): Promise<Response> =>
    fetch(basePath + path, {
      ...options,
      credentials: 'omit',
      headers: { ...(headers as object), ...(currentToken !== undefined && { authorization: `Bearer ${currentToken}` }) },
    });
  const response = await send();
  if (response.status !== 401 || !mayRenew) return response;
  return (await renew()) === undefined ? response : send();
}

async function forward(id: string, chat: (AsyncIterable<unknown> & { cancel: () => void }) | undefined): Promise<void> {
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
  else if (message.type === 'renewed') {
    renewing?.resolve(message.token);
    renewing = undefined;
  } else if (message.type === 'chat') void startChat(message.id, message.fields);
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
