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
// Browsers report all of these as "Failed to fetch". The server may have executed the request anyway.
const noAnswer =
  'did not return an answer that this page may read, so the call may have succeeded. The server must be running, answer without redirects, and allow the origin of this page (CORS).';

/** @param {ConnectOptions} [options] */
export function connect(options = {}) {
  const chats = new Chats((runId) => connection.send('cancel', { run_id: runId }));
  const calls = new Calls(options, (text) => connection.sendText(text));
  const connection = new Connection(options, {
    onFrame: (frame) => calls.handle(frame) || chats.feed(frame),
    onLost() {
      calls.abortAll();
      // It is unknown whether the gateway received these.
      chats.fail((chat) => chat.isSent && chat.runId() === undefined, 'The connection was lost before the answer began.');
    },
    onSessionLost: () => chats.fail((chat) => chat.isSent, 'The session was lost.'),
    onClosed: (reason) => chats.fail(() => true, reason),
  });
  return {
    /** Resolves to the id of the session as soon as there is one. Rejects if the connection is closed for good. */
    ready: () => connection.ready(),
    sessionId: () => connection.sessionId,
    /** Without an id: all chats of the session. @param {string} [runId] */
    cancel: (runId) => connection.send('cancel', { run_id: runId }),
    /**
     * Starts a chat: `{content | messages, model, mode?, chat_id?, interrupt?, tool_servers?, tool_ids?, …}`, or only its text. `content` continues the
     * conversation of its `chat_id`, or of the session. `messages` replaces it.
     * Iterate over its frames, or await `done`. Both throw an Error with a `code` if the chat fails.
     * @param {string | Record<string, any>} message @param {ChatHandlers} [handlers]
     */
    chat(message, handlers = {}) {
      const fields = { id: randomId(), ...(typeof message === 'string' ? { content: message } : message) };
      const chat = chats.add(fields.id, handlers);
      const start = () => {
        chat.isSent = true;
        connection.send('message', fields);
      };
      connection.ready().then(start, (error) => chats.failOne(fields.id, 'client_unavailable', error.message));
      return chatHandle(chat);
    },
    /**
     * Follows a chat that is running in the resumed session (option `sessionId`). Fails if the gateway no longer has that session.
     * @param {string} runId @param {ChatHandlers} [handlers]
     */
    follow(runId, handlers = {}) {
      const chat = chats.add(runId, handlers, runId);
      chat.isSent = true;
      connection.ready().catch((error) => chats.failOne(runId, 'client_unavailable', error.message));
      return chatHandle(chat);
    },
    close: () => connection.close(),
  };
}

/**
 * @typedef {{ onFrame: (frame: Frame) => unknown, onLost: () => void, onSessionLost: () => void, onClosed: (reason: string) => void }} ConnectionHandlers
 * @typedef {{ onText?: (text: string) => void }} ChatHandlers
 */

// The websocket of a session. It reconnects unless it is closed or finally refused.
class Connection {
  sessionId;
  #options;
  #handlers;
  #token;
  // A renewed token that is refused is not renewed again before the next session.
  #isRenewed = false;
  #ready = newPromise();
  #isReady = false;
  #isClosed = false;
  #attempts = 0;
  #retryTimer = /** @type {any} */ (undefined);
  #socket;

  /** @param {ConnectOptions} options @param {ConnectionHandlers} handlers */
  constructor(options, handlers) {
    this.#options = options;
    this.#handlers = handlers;
    this.#token = options.token;
    this.sessionId = options.sessionId;
    this.#socket = this.#open();
  }

  ready() {
    return this.#ready.promise;
  }

  close() {
    this.#isClosed = true;
    clearTimeout(this.#retryTimer);
    if (this.#socket.readyState === WebSocket.CLOSED) this.#lose(1000, '');
    else this.#socket.close(1000);
  }

  /** @param {string} type @param {Record<string, any>} data */
  send(type, data) {
    this.sendText(JSON.stringify({ type, data }));
  }

  /** @param {string} text */
  sendText(text) {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(text);
  }

  #open() {
    const { url = '/', user, onStatus } = this.#options;
    const token = this.#token;
    const resume = this.sessionId;
    // Only an `auth` frame can carry a session, a user, or a key with characters that a subprotocol must not contain.
    const isInHandshake = token !== undefined && resume === undefined && user === undefined && /^[!#$%&'*+.^`|~\w-]+$/.test(token);
    onStatus?.('connecting');
    const { protocol: scheme, host, pathname } = new URL(url, globalThis.location?.href);
    const address = `${scheme.replace('http', 'ws')}//${host}${pathname.replace(/(\/ws)?\/?$/, '')}/ws`;
    const socket = new WebSocket(address, isInHandshake ? [protocol, `bearer.${token}`] : [protocol]);
    socket.addEventListener('open', () => {
      if (!isInHandshake && (token !== undefined || resume !== undefined)) this.send('auth', { token, session_id: resume, user });
    });
    socket.addEventListener('message', (message) => this.#receive(parseWithDigits(message.data), resume));
    socket.addEventListener('close', (event) => this.#lose(event.code, event.reason));
    return socket;
  }

  /** @param {Frame} frame @param {string | undefined} resume */
  #receive(frame, resume) {
    this.#options.onFrame?.(frame);
    if (frame.type === 'session') this.#begin(frame.data, resume);
    else this.#handlers.onFrame(frame);
  }

  /** @param {Record<string, any>} data @param {string | undefined} resume */
  #begin({ session_id: id, resumed }, resume) {
    // An open gateway sends a `session` frame before it reads `auth`. Wait for the one that answers the request to resume.
    if (resume !== undefined && resumed === undefined) return;
    if (resumed !== true) this.#handlers.onSessionLost();
    this.sessionId = id;
    this.#attempts = 0;
    this.#isReady = true;
    this.#isRenewed = false;
    this.#ready.resolve(id);
    this.#options.onSession?.(id, resumed === true);
    this.#options.onStatus?.('open');
  }

  /** @param {number} code @param {string} given */
  #lose(code, given) {
    this.#handlers.onLost();
    if (this.#isReady) this.#ready = newPromise();
    this.#isReady = false;
    const { renew, onStatus, retryMs = 500 } = this.#options;
    const hasExpired = code === 4401 && renew !== undefined && !this.#isRenewed;
    const reason = given || `The connection was closed (${code}).`;
    if (this.#isClosed || (finalCodes.has(code) && !hasExpired)) return this.#giveUp(reason);
    onStatus?.('waiting', reason);
    if (hasExpired) return void this.#renewToken(reason);
    // Jitter, so that not all pages reconnect at once after the gateway restarts.
    const pauseMs = Math.min(retryMs * 2 ** this.#attempts++, 30_000) * (0.5 + Math.random() / 2);
    this.#retryTimer = setTimeout(() => (this.#socket = this.#open()), pauseMs);
  }

  /** @param {string} reason */
  async #renewToken(reason) {
    this.#isRenewed = true;
    const token = await attempt(() => this.#options.renew?.());
    if (this.#isClosed) return;
    if (typeof token !== 'string') return this.#giveUp(reason);
    this.#token = token;
    this.#socket = this.#open();
  }

  /** @param {string} reason */
  #giveUp(reason) {
    this.#options.onStatus?.('closed', reason);
    this.#ready.reject(new Error(reason));
    this.#handlers.onClosed(reason);
  }
}

// Runs tool calls in the page, and asks its person, for the gateway.
class Calls {
  #options;
  #sendText;
  #running = /** @type {Map<string, AbortController>} */ (new Map());

  /** @param {ConnectOptions} options @param {(text: string) => void} sendText */
  constructor(options, sendText) {
    this.#options = options;
    this.#sendText = sendText;
  }

  /** @param {Frame} frame @returns {boolean} whether it is for the page instead of a chat */
  handle({ type, data }) {
    if (type === 'execute:tool') void this.#execute(data);
    else if (type.endsWith(':cancel')) this.#cancel(data.id);
    else if (type === 'confirmation' || type === 'input') void this.#ask(type, data);
    else if (type === 'connect') void this.#showLink(data);
    else return false;
    return true;
  }

  abortAll() {
    for (const abort of this.#running.values()) abort.abort();
  }

  /** @param {string} id */
  #cancel(id) {
    this.#running.get(id)?.abort();
    this.#running.delete(id);
  }

  /** @param {string} id */
  #start(id) {
    const abort = new AbortController();
    this.#running.set(id, abort);
    return abort;
  }

  /** @param {string} type @param {Record<string, any>} data */
  #send(type, data) {
    this.#sendText(JSON.stringify({ type, data }));
  }

  // The gateway notices by itself when the person has signed in. Only a refusal is sent.
  /** @param {Record<string, any>} data */
  async #showLink(data) {
    const abort = this.#start(data.id);
    const { connect: show = () => false } = this.#options;
    const isWanted = await attempt(
      () => show(data, abort.signal),
      () => false,
    );
    if (isWanted !== false || abort.signal.aborted) return;
    this.#running.delete(data.id);
    this.#send('connect:result', { id: data.id, cancelled: true });
  }

  /** @param {'confirmation' | 'input'} type @param {Record<string, any>} data */
  async #ask(type, data) {
    const abort = this.#start(data.id);
    const given = await attempt(() => this.#options[type === 'input' ? 'input' : 'confirm']?.(data, abort.signal));
    // The connection may have dropped, and the request may have been sent again.
    if (this.#running.get(data.id) === abort) this.#running.delete(data.id);
    const decision = { decision: given === true ? 'approve' : 'reject', ...(typeof given === 'object' ? given : {}) };
    const answer = type === 'confirmation' ? decision : given === undefined ? { cancelled: true } : { value: given };
    if (!abort.signal.aborted) this.#send(`${type}:result`, { id: data.id, ...answer });
  }

  /** @param {Record<string, any>} call */
  async #execute(call) {
    const abort = this.#start(call.id);
    const { maxResultBytes = 900_000 } = this.#options;
    const timer = setTimeout(() => abort.abort(), call.timeout_ms);
    const result = call.request ? sendRequest(call.request, abort.signal, this.#options) : this.#runFunction(call, abort.signal);
    // Serialized here, so that a result that is not valid JSON becomes an error, and every call gets a result.
    const answer = await attempt(
      async () => JSON.stringify({ result: (await result) ?? null }),
      (error) => JSON.stringify({ error: error?.status ? { message: error.message, ...error } : String(error?.message ?? error) }),
    );
    clearTimeout(timer);
    this.#running.delete(call.id);
    const isTooLarge = new TextEncoder().encode(answer).length > maxResultBytes;
    const fields = isTooLarge ? JSON.stringify({ error: `The result is too large. The limit is ${maxResultBytes} bytes.` }) : answer;
    if (!abort.signal.aborted) this.#sendText(`{"type":"execute:tool:result","data":{"id":${JSON.stringify(call.id)},${fields.slice(1)}}`);
  }

  /** @param {Record<string, any>} call @param {AbortSignal} signal */
  async #runFunction(call, signal) {
    const { functions = {} } = this.#options;
    if (Object.hasOwn(functions, call.name)) return functions[call.name](call.params, { signal, call });
    throw new Error(`This page has no function '${call.name}'.`);
  }
}

// The chats that have not ended, by their ids.
class Chats {
  #cancelRun;
  #open = /** @type {Map<string, ReturnType<typeof createChat>>} */ (new Map());

  /** @param {(runId: string) => void} cancelRun */
  constructor(cancelRun) {
    this.#cancelRun = cancelRun;
  }

  /** @param {string} id @param {ChatHandlers} handlers @param {string} [runId] */
  add(id, handlers, runId) {
    const chat = createChat(handlers, this.#cancelRun, runId);
    this.#open.set(id, chat);
    return chat;
  }

  /** @param {Frame} frame */
  feed(frame) {
    const { run_id: runId, message_id: messageId } = frame.data;
    const [id, chat] = [...this.#open].find(([id, chat]) => id === messageId || (runId !== undefined && chat.runId() === runId)) ?? [];
    chat?.push(frame);
    if (id !== undefined && (frame.type === 'assistant_end' || frame.type === 'error')) this.#open.delete(id);
  }

  /** @param {(chat: ReturnType<typeof createChat>) => boolean} isMeant @param {string} message */
  fail(isMeant, message) {
    for (const [id, chat] of this.#open) if (isMeant(chat)) this.failOne(id, 'client_disconnected', message);
  }

  /** @param {string} id @param {string} code @param {string} message */
  failOne(id, code, message) {
    this.feed({ type: 'error', data: { code, message, message_id: id } });
  }
}

/** @param {ReturnType<typeof createChat>} chat */
function chatHandle({ done, runId, cancel, frames }) {
  return { done, runId, cancel, [Symbol.asyncIterator]: frames };
}

/** @param {ChatHandlers} handlers @param {(runId: string) => void} cancelRun @param {string} [known] */
function createChat(handlers, cancelRun, known) {
  const received = /** @type {Frame[]} */ ([]);
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
    received.push(frame);
    wake();
    if (type === 'assistant_chunk') handlers.onText?.(data.content);
  }

  async function* frames() {
    for (let next = 0; ; next++) {
      while (next >= received.length) await new Promise((resolve) => (wake = () => resolve(undefined)));
      const frame = received[next];
      if (frame.type === 'error') await done.promise;
      yield frame;
      if (frame.type === 'assistant_end') return;
    }
  }

  const cancel = () => void started.promise.then(cancelRun);
  return { push, frames, cancel, done: done.promise, runId: () => runId, isSent: false };
}

// An integer that JavaScript cannot represent becomes a string. Older browsers do not tell how a number was written.
/** @param {string} text */
function parseWithDigits(text) {
  const isLong = (/** @type {any} */ source) => /^-?\d+$/.test(source) && !Number.isSafeInteger(+source);
  return /\d{16}/.test(text)
    ? JSON.parse(text, (_key, value, context) => (isLong(context?.source) ? context.source : value))
    : JSON.parse(text);
}

// Numbers in results go to the gateway exactly as the server wrote them.
/** @param {string} _key @param {any} value @param {{ source?: string }} [context] */
function asWritten(_key, value, context) {
  const source = context?.source;
  return typeof value === 'number' && source !== undefined && String(value) !== source ? JSON.rawJSON(source) : value;
}

// Sends only to servers that the page has allowed, and follows no redirects, which could lead to another server.
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

// Pages without TLS have no `randomUUID`.
function randomId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
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
