/**
 * The browser client of toolwharf: one module without dependencies, for pages and for Node.js from version 22 on.
 * It keeps a session, runs tools with the page's own credentials, and streams chats.
 * @typedef {{ type: string, data: Record<string, any> }} Frame
 * @typedef {{ headers?: HeadersInit | (() => HeadersInit | Promise<HeadersInit>), credentials?: RequestCredentials }} ServerAccess
 * @typedef {(params: any, context: { signal: AbortSignal, call: any }) => unknown} PageFunction
 * @typedef {(question: any, signal: AbortSignal) => unknown} Ask
 * The options are documented in docs/browser-tools.md:
 * @typedef {{ url?: string, token?: string, user?: string, sessionId?: string, servers?: Record<string, ServerAccess>, allowServer?: (url: string) => boolean,
 *   renew?: () => unknown, functions?: Record<string, PageFunction>, confirm?: Ask, input?: Ask, connect?: Ask,
 *   onSession?: (sessionId: string, isResumed: boolean) => void, onFrame?: (frame: Frame) => void,
 *   onStatus?: (status: 'connecting' | 'open' | 'waiting' | 'closed', reason?: string) => void,
 *   maxResultBytes?: number, retryMs?: number }} ConnectOptions
 */

const protocol = 'toolwharf.v1';
// Close codes after which reconnecting is useless: protocol violation, wrong key, session taken over by another connection.
const finalCodes = new Set([1008, 4401, 4409]);
// Browsers report all of these as "Failed to fetch". The server may have executed the request all the same.
const noAnswer =
  'gave no answer that this page may read; whether the call took effect is unknown. It has to run, answer without redirects, and allow the origin of this page (CORS).';

/** @param {ConnectOptions} [options] */
export function connect(options = {}) {
  const { user, functions = {}, retryMs = 500, maxResultBytes = 900_000 } = options;
  let { token } = options;
  // Not a second time, unless there was a session in between.
  let isRenewed = false;
  const chats = /** @type {Map<string, ReturnType<typeof createChat>>} */ (new Map());
  const calls = /** @type {Map<string, AbortController>} */ (new Map());
  let ready = newPromise();
  let isReady = false;
  let isClosed = false;
  let attempts = 0;
  let { sessionId } = options;
  let retryTimer = /** @type {any} */ (undefined);
  let socket = open();

  function open() {
    const resume = sessionId;
    // Not for a key with characters that a subprotocol cannot contain, nor for a session or a user, which only an `auth` frame can name.
    const isInHandshake = token !== undefined && resume === undefined && user === undefined && /^[!#$%&'*+.^`|~\w-]+$/.test(token);
    options.onStatus?.('connecting');
    const { protocol: scheme, host, pathname } = new URL(options.url ?? '/', globalThis.location?.href);
    const address = `${scheme.replace('http', 'ws')}//${host}${pathname.replace(/(\/ws)?\/?$/, '')}/ws`;
    const opened = new WebSocket(address, isInHandshake ? [protocol, `bearer.${token}`] : [protocol]);
    opened.addEventListener('open', () => {
      if (!isInHandshake && (token !== undefined || resume !== undefined)) send('auth', { token, session_id: resume, user });
    });
    opened.addEventListener('message', (message) => void receive(parseWithDigits(message.data), resume));
    opened.addEventListener('close', (event) => lost(event.code, event.reason));
    return opened;
  }

  /** @param {number} code @param {string} reason */
  function lost(code, reason) {
    for (const abort of calls.values()) abort.abort();
    // It is unknown whether the gateway received these.
    endChats((chat) => chat.isSent && chat.runId() === undefined, 'The connection was lost before the answer began.');
    if (isReady) ready = newPromise();
    isReady = false;
    const isEnded = code === 4401 && options.renew !== undefined && !isRenewed;
    const why = reason || `The connection was closed (${code}).`;
    if (isClosed || (finalCodes.has(code) && !isEnded)) return giveUp(why);
    options.onStatus?.('waiting', why);
    if (isEnded) return void renewToken(why);
    // Jitter, so that not all pages reconnect at once after the gateway restarts.
    const pauseMs = Math.min(retryMs * 2 ** attempts++, 30_000) * (0.5 + Math.random() / 2);
    retryTimer = setTimeout(() => (socket = open()), pauseMs);
  }

  /** @param {string} why */
  function giveUp(why) {
    options.onStatus?.('closed', why);
    ready.reject(new Error(why));
    endChats(() => true, why);
  }

  /** @param {string} why */
  async function renewToken(why) {
    isRenewed = true;
    const fresh = await attempt(() => options.renew?.());
    if (isClosed) return;
    if (typeof fresh !== 'string') return giveUp(why);
    token = fresh;
    socket = open();
  }

  /** @param {(chat: ReturnType<typeof createChat>) => boolean} isMeant @param {string} message */
  function endChats(isMeant, message) {
    for (const [id, chat] of chats)
      if (isMeant(chat)) feed({ type: 'error', data: { code: 'client_disconnected', message, message_id: id } });
  }

  /** @param {string} type @param {Record<string, any>} data */
  function send(type, data) {
    sendText(JSON.stringify({ type, data }));
  }

  /** @param {string} text */
  function sendText(text) {
    if (socket.readyState === WebSocket.OPEN) socket.send(text);
  }

  /** @param {string} runId */
  function cancelRun(runId) {
    send('cancel', { run_id: runId });
  }

  /** @param {string} id */
  function cancelCall(id) {
    calls.get(id)?.abort();
    calls.delete(id);
  }

  /** @param {Frame} frame @param {string | undefined} resume */
  async function receive(frame, resume) {
    options.onFrame?.(frame);
    const { type, data } = frame;
    if (type === 'session') greet(data, resume);
    else if (type === 'execute:tool') await execute(data);
    else if (type.endsWith(':cancel')) cancelCall(data.id);
    else if (type === 'confirmation' || type === 'input') await ask(type, data);
    else if (type === 'connect') await showLink(data);
    else feed(frame);
  }

  // Signing in is the answer; the gateway notices it itself.
  /** @param {Record<string, any>} data */
  async function showLink(data) {
    const abort = new AbortController();
    calls.set(data.id, abort);
    const { connect: show = () => false } = options;
    const isWanted = await attempt(
      () => show(data, abort.signal),
      () => false,
    );
    if (isWanted !== false || abort.signal.aborted) return;
    calls.delete(data.id);
    send('connect:result', { id: data.id, cancelled: true });
  }

  /** @param {'confirmation' | 'input'} type @param {Record<string, any>} data */
  async function ask(type, data) {
    const abort = new AbortController();
    calls.set(data.id, abort);
    const given = await attempt(() => options[type === 'input' ? 'input' : 'confirm']?.(data, abort.signal));
    // The connection may have dropped, and the question have come again.
    if (calls.get(data.id) === abort) calls.delete(data.id);
    const decision = { decision: given === true ? 'approve' : 'reject', ...(typeof given === 'object' ? given : {}) };
    const answer = type === 'confirmation' ? decision : given === undefined ? { cancelled: true } : { value: given };
    if (!abort.signal.aborted) send(`${type}:result`, { id: data.id, ...answer });
  }

  /** @param {Record<string, any>} data @param {string | undefined} resume */
  function greet(data, resume) {
    // In open mode the gateway sends a first `session` frame before it has read `auth`; wait for the one that answers the request to resume.
    if (resume !== undefined && data.resumed === undefined) return;
    if (data.resumed !== true) endChats((chat) => chat.isSent, 'The session was lost.');
    sessionId = data.session_id;
    attempts = 0;
    isReady = true;
    isRenewed = false;
    ready.resolve(data.session_id);
    options.onSession?.(data.session_id, data.resumed === true);
    options.onStatus?.('open');
  }

  function feed(/** @type {Frame} */ frame) {
    const { run_id: runId, message_id: messageId } = frame.data;
    const [id, chat] = [...chats].find(([id, chat]) => id === messageId || (runId !== undefined && chat.runId() === runId)) ?? [];
    chat?.push(frame);
    if (id !== undefined && (frame.type === 'assistant_end' || frame.type === 'error')) chats.delete(id);
  }

  /** @param {Record<string, any>} call @param {AbortSignal} signal */
  async function runOwn(call, signal) {
    if (Object.hasOwn(functions, call.name)) return functions[call.name](call.params, { signal, call });
    throw new Error(`This page has no function '${call.name}'.`);
  }

  /** @param {Record<string, any>} call */
  async function execute(call) {
    const abort = new AbortController();
    calls.set(call.id, abort);
    const timer = setTimeout(() => abort.abort(), call.timeout_ms);
    const working = call.request ? sendRequest(call.request, abort.signal, options) : runOwn(call, abort.signal);
    // Serialize here, so that a result that is not valid JSON becomes an error, and every call gets a result.
    const answer = await attempt(
      async () => JSON.stringify({ result: (await working) ?? null }),
      (error) => JSON.stringify({ error: error?.status ? { message: error.message, ...error } : String(error?.message ?? error) }),
    );
    clearTimeout(timer);
    calls.delete(call.id);
    const isTooLarge = new TextEncoder().encode(answer).length > maxResultBytes;
    const fields = isTooLarge ? JSON.stringify({ error: `The result is too large: ${maxResultBytes} bytes are allowed.` }) : answer;
    if (!abort.signal.aborted) sendText(`{"type":"execute:tool:result","data":{"id":${JSON.stringify(call.id)},${fields.slice(1)}}`);
  }

  return {
    /** Resolves to the session's id as soon as there is a session; rejects if the connection is closed for good. */
    ready: () => ready.promise,
    sessionId: () => sessionId,
    /** Without an id: all chats of the session. @param {string} [runId] */
    cancel: (runId) => send('cancel', { run_id: runId }),
    /**
     * Starts a chat: `{content | messages, model, mode?, chat_id?, interrupt?, tool_servers?, tool_ids?, …}`, or only its text. `content` goes on with the
     * conversation of its `chat_id`, or of the session; `messages` replaces it.
     * Iterate over its frames, or await `done`; both throw an Error with a `code` when the chat fails.
     * @param {string | Record<string, any>} message @param {{ onText?: (text: string) => void }} [handlers]
     */
    chat(message, handlers = {}) {
      // randomUUID does not exist in pages without TLS.
      const id = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
      const fields = { id, ...(typeof message === 'string' ? { content: message } : message) };
      const chat = createChat(handlers, cancelRun);
      chats.set(fields.id, chat);
      const start = () => {
        chat.isSent = true;
        send('message', fields);
      };
      const fail = ({ message = '' }) => feed({ type: 'error', data: { code: 'client_unavailable', message, message_id: fields.id } });
      ready.promise.then(start, fail);
      return shown(chat);
    },
    /**
     * A chat that is running in the session which was taken up (option `sessionId`), by the id of its run. Fails when the gateway no longer has that session.
     * @param {string} runId @param {{ onText?: (text: string) => void }} [handlers]
     */
    follow(runId, handlers = {}) {
      const chat = createChat(handlers, cancelRun, runId);
      chat.isSent = true;
      chats.set(runId, chat);
      const fail = ({ message = '' }) => feed({ type: 'error', data: { code: 'client_unavailable', message, message_id: runId } });
      ready.promise.catch(fail);
      return shown(chat);
    },
    close() {
      isClosed = true;
      clearTimeout(retryTimer);
      if (socket.readyState === WebSocket.CLOSED) lost(1000, '');
      else socket.close(1000);
    },
  };
}

/** @param {ReturnType<typeof createChat>} chat */
function shown(chat) {
  return { done: chat.done, runId: chat.runId, cancel: chat.cancel, [Symbol.asyncIterator]: chat.frames };
}

/** @param {{ onText?: (text: string) => void }} handlers @param {(runId: string) => void} cancelRun @param {string} [known] */
function createChat(handlers, cancelRun, known) {
  const kept = /** @type {Frame[]} */ ([]);
  const done = newPromise();
  let wake = () => {};
  const started = newPromise();
  let runId = known;
  if (known !== undefined) started.resolve(known);
  let content = '';

  function push(/** @type {Frame} */ frame) {
    const { type, data } = frame;
    if (type === 'assistant_start') started.resolve((runId = data.run_id));
    if (type === 'assistant_chunk') content += data.content;
    // The text in this frame is complete even if chunks were lost with a connection.
    if (type === 'assistant_end') done.resolve({ ...data, content: data.content ?? content });
    if (type === 'error') done.reject(Object.assign(new Error(data.message), { code: data.code }));
    kept.push(frame);
    wake();
    if (type === 'assistant_chunk') handlers.onText?.(data.content);
  }

  async function* frames() {
    for (let next = 0; ; next++) {
      while (next >= kept.length) await new Promise((resolve) => (wake = () => resolve(undefined)));
      const frame = kept[next];
      if (frame.type === 'error') await done.promise;
      yield frame;
      if (frame.type === 'assistant_end') return;
    }
  }

  const cancel = () => void started.promise.then(cancelRun);
  return { push, frames, cancel, done: done.promise, runId: () => runId, isSent: false };
}

// Whole numbers with more digits than JavaScript keeps: a text in what the page reads. Older browsers do not tell how a number was written.
/** @param {string} text */
function parseWithDigits(text) {
  const isLong = (/** @type {any} */ source) => /^-?\d+$/.test(source) && !Number.isSafeInteger(+source);
  return /\d{16}/.test(text)
    ? JSON.parse(text, (_key, value, context) => (isLong(context?.source) ? context.source : value))
    : JSON.parse(text);
}

// Numbers of results go back to the gateway as the server wrote them.
/** @param {string} _key @param {any} value @param {{ source?: string }} [context] */
function asWritten(_key, value, context) {
  const source = context?.source;
  return typeof value === 'number' && source !== undefined && String(value) !== source ? JSON.rawJSON(source) : value;
}

// Sends only to servers that the page has allowed, and follows no redirect, which could lead to another server.
/** @param {any} request @param {AbortSignal} signal @param {ConnectOptions} options */
async function sendRequest({ method, url, headers, body: text, body_encoding }, signal, options) {
  const { headers: own, credentials = 'omit' } = findAccess(url, options);
  const sent = new Headers(headers);
  new Headers(typeof own === 'function' ? await own() : own).forEach((value, name) => sent.set(name, value));
  const body = body_encoding === 'base64' ? Uint8Array.from(atob(text), (character) => character.charCodeAt(0)) : text;
  const failed = () => Promise.reject(new Error(`${new URL(url).origin} ${noAnswer}`));
  const response = await fetch(url, { method, headers: sent, body, credentials, redirect: 'error', signal }).catch(failed);
  const answer = await response.text();
  const value = await attempt(
    () => JSON.parse(answer, asWritten),
    () => answer,
  );
  if (response.ok) return answer === '' ? null : value;
  throw Object.assign(new Error(`HTTP ${response.status} ${response.statusText}`.trim()), { status: response.status, body: value });
}

/** @param {string} url @param {ConnectOptions} options @returns {ServerAccess} */
function findAccess(url, { servers = {}, allowServer }) {
  const { origin, pathname } = new URL(url);
  const isBelow = (/** @type {URL} */ base) => base.origin === origin && `${pathname}/`.startsWith(`${base.pathname.replace(/\/$/, '')}/`);
  const known = Object.keys(servers).filter((server) => isBelow(new URL(server)));
  // An encoded `..` (%2e%2e): a server that decodes it would leave the allowed path.
  const isPlain = !/(^|[/\\])\.\.([/\\]|$)/.test(decodeURIComponent(pathname));
  const [longest] = known.sort((left, right) => right.length - left.length);
  if (isPlain && longest !== undefined) return servers[longest];
  if (isPlain && allowServer?.(url) === true) return {};
  throw new Error(`This page has not allowed requests to ${origin}${pathname}.`);
}

function newPromise() {
  /** @type {PromiseWithResolvers<any>} */
  const parts = Promise.withResolvers();
  // Avoids an unhandled rejection if nobody awaits the promise.
  parts.promise.catch(() => undefined);
  return parts;
}

/** @param {() => unknown} run @param {(error: any) => unknown} [recover] @returns {Promise<any>} */
const attempt = (run, recover) => (async () => run())().catch((error) => recover?.(error));
