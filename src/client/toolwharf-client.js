/**
 * The browser's end of toolwharf: one module without dependencies, for pages and for Node.js from version 22 on.
 * It keeps a session, runs tools with the page's own credentials, and streams chats.
 *
 * @typedef {{ type: string, data: Record<string, any> }} Frame
 *
 * @typedef {object} ServerAccess What this page lends to requests for one tool server.
 * @property {HeadersInit | (() => HeadersInit | Promise<HeadersInit>)} [headers] Set on every request, over what the gateway prepared.
 * @property {RequestCredentials} [credentials] Default `omit`: cookies go along only when the page says so.
 *
 * @typedef {object} ConnectOptions
 * @property {string} [url] The gateway, as `https://host`; default: where this page comes from.
 * @property {string} [token] A key of the gateway.
 * @property {Record<string, ServerAccess>} [servers] By URL: only requests below one of these are sent. The gateway cannot name others.
 * @property {(url: string) => boolean} [allowServer] Allows further request URLs; they get no credentials.
 * @property {Record<string, (params: any, context: { signal: AbortSignal, call: Record<string, any> }) => unknown>} [functions]
 *   By the frontend's own name: tools that this page runs itself, because its `specs` have no document.
 * @property {(question: any) => unknown} [confirm] Answers `confirmation`: true, false, or `{decision, params?, message?, remember?}`.
 * @property {(question: any) => unknown} [input] Answers `input`; undefined cancels.
 * @property {(sessionId: string, resumed: boolean) => void} [onSession]
 * @property {(status: 'connecting' | 'open' | 'waiting' | 'closed', reason?: string) => void} [onStatus]
 * @property {(frame: Frame) => void} [onFrame] Every frame, also those of chats that began elsewhere.
 * @property {number} [maxResultBytes] Larger results are errors: a frame above 1 MiB would cost the socket.
 * @property {number} [retryMs] First pause before connecting again; doubles up to 30 s.
 *
 * @typedef {object} ChatHandlers
 * @property {(text: string) => void} [onText]
 * @property {(text: string) => void} [onReasoning]
 * @property {(tools: { id: string, name: string, args: any }[]) => void} [onToolCalls]
 * @property {(result: any) => void} [onToolResult]
 * @property {(event: any) => void} [onEvent]
 *
 * @typedef {object} ChatStream Iterate over its frames, or await `done`; both throw an Error with a `code` when the chat fails.
 * @property {Promise<{ content: string, finish_reason: string, usage: any, sources: any[], tool_calls?: any[] }>} done
 * @property {() => string | undefined} runId
 * @property {() => void} cancel
 * @property {() => AsyncIterator<Frame>} [Symbol.asyncIterator]
 */

const protocol = 'toolwharf.v1';
/** Codes after which connecting again would not help: wrong key, taken up elsewhere, misbehaved. */
const finalCodes = new Set([1008, 4401, 4409]);
const longestRetryMs = 30_000;

/** @param {ConnectOptions} options */
export function connect(options = {}) {
  const { token, functions = {}, retryMs = 500 } = options;
  /** @type {Map<string, ReturnType<typeof createStream>>} Chats by the id of their message. */
  const chats = new Map();
  /** @type {Map<string, AbortController>} */
  const calls = new Map();
  let ready = /** @type {PromiseWithResolvers<string>} */ (newReady());
  /** @type {WebSocket | undefined} */
  let socket;
  /** @type {string | undefined} */
  let sessionId;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let retryTimer;
  let attempts = 0;
  let isClosed = false;

  open();

  function open() {
    const resume = sessionId;
    // Only tokens of HTTP fit into a subprotocol, and only the frame can name a session.
    const isInHandshake = token !== undefined && resume === undefined && /^[!#$%&'*+.^`|~\w-]+$/.test(token);
    options.onStatus?.('connecting');
    const own = new WebSocket(socketUrl(options.url), isInHandshake ? [protocol, `bearer.${token}`] : [protocol]);
    socket = own;
    own.onopen = () => {
      if (!isInHandshake && (token !== undefined || resume !== undefined)) send('auth', { token, session_id: resume });
    };
    own.onmessage = (message) => receive(JSON.parse(message.data), resume);
    own.onclose = (event) => lost(event.code, event.reason);
  }

  /** @param {number} code @param {string} reason */
  function lost(code, reason) {
    for (const abort of calls.values()) abort.abort();
    for (const [id, chat] of chats) {
      // Nobody can say whether the gateway still got it.
      if (chat.runId() === undefined) endChat(id, 'client_disconnected', 'The connection was lost before the answer began.');
    }
    if (sessionId !== undefined || finalCodes.has(code)) ready.reject(new Error(reason || `Closed with code ${code}.`));
    ready = newReady();
    if (isClosed || finalCodes.has(code)) return shut(reason);
    options.onStatus?.('waiting', reason);
    const pause = Math.min(retryMs * 2 ** attempts, longestRetryMs);
    attempts += 1;
    // Spread out, so that all pages of a gateway that restarts do not come at once.
    retryTimer = setTimeout(open, pause * (0.5 + Math.random() / 2));
  }

  /** @param {string} reason */
  function shut(reason) {
    isClosed = true;
    ready.reject(new Error(reason || 'The connection is closed.'));
    for (const id of [...chats.keys()]) endChat(id, 'client_disconnected', reason || 'The connection is closed.');
    options.onStatus?.('closed', reason);
  }

  /** @param {string} id @param {string} code @param {string} message */
  function endChat(id, code, message) {
    chats.get(id)?.push({ type: 'error', data: { code, message } });
    chats.delete(id);
  }

  /** @param {string} type @param {Record<string, any>} data */
  function send(type, data) {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type, data }));
  }

  /** @param {Frame} frame @param {string | undefined} resume */
  function receive(frame, resume) {
    options.onFrame?.(frame);
    const { type, data = {} } = frame;
    if (type === 'session') greet(data, resume);
    else if (type === 'execute:tool') void execute(data);
    else if (type === 'execute:tool:cancel') calls.get(data.id)?.abort();
    else if (type === 'confirmation') void answerConfirmation(data);
    else if (type === 'input') void answerInput(data);
    else feed(frame);
  }

  /** @param {Record<string, any>} data @param {string | undefined} resume */
  function greet(data, resume) {
    // An open gateway greets at once; what counts is its answer to our wish to go on.
    if (resume !== undefined && data.resumed === undefined) return;
    if (data.resumed !== true) for (const [id, chat] of chats) if (chat.isSent) endChat(id, 'client_disconnected', 'The session was lost.');
    sessionId = data.session_id;
    attempts = 0;
    ready.resolve(data.session_id);
    options.onSession?.(data.session_id, data.resumed === true);
    options.onStatus?.('open');
  }

  /** @param {Frame} frame */
  function feed(frame) {
    const { run_id: runId, message_id: messageId } = frame.data ?? {};
    const [id, chat] = [...chats].find(([id, chat]) => id === messageId || (runId !== undefined && chat.runId() === runId)) ?? [];
    chat?.push(frame);
    if (id !== undefined && (frame.type === 'assistant_end' || frame.type === 'error')) chats.delete(id);
  }

  /** @param {Record<string, any>} call */
  async function execute(call) {
    if (calls.has(call.id)) return;
    const abort = new AbortController();
    calls.set(call.id, abort);
    const timer = setTimeout(() => abort.abort(), call.timeout_ms);
    const { signal } = abort;
    try {
      const handler = Object.hasOwn(functions, call.name) ? functions[call.name] : undefined;
      if (call.request === undefined && handler === undefined) throw new Error(`This page has no function '${call.name}'.`);
      const result = call.request === undefined ? await handler?.(call.params, { signal, call }) : await sendRequest(call.request, signal, options);
      if (!signal.aborted) answer(call.id, { result: result ?? null });
    } catch (error) {
      if (!signal.aborted) answer(call.id, { error: describeError(error) });
    } finally {
      clearTimeout(timer);
      calls.delete(call.id);
    }
  }

  /** @param {string} id @param {{ result: unknown } | { error: unknown }} fields */
  function answer(id, fields) {
    const isTooLarge = JSON.stringify(fields).length > (options.maxResultBytes ?? defaultResultBytes);
    send('execute:tool:result', { id, ...(isTooLarge ? { error: 'The result is too large.' } : fields) });
  }

  /** @param {Record<string, any>} question */
  async function answerConfirmation(question) {
    const decision = await Promise.resolve(options.confirm?.(question)).catch(() => false);
    const fields = typeof decision === 'object' && decision !== null ? decision : { decision: decision === true ? 'approve' : 'reject' };
    send('confirmation:result', { id: question.id, ...fields });
  }

  /** @param {Record<string, any>} question */
  async function answerInput(question) {
    const value = await Promise.resolve(options.input?.(question)).catch(() => undefined);
    send('input:result', { id: question.id, ...(value === undefined ? { cancelled: true } : { value }) });
  }

  return {
    /** Resolves with the session's id once there is a session; rejects when there will be none. */
    ready: () => ready.promise,
    sessionId: () => sessionId,
    /** @param {string} runId */
    cancel: (runId) => send('cancel', { run_id: runId }),
    /**
     * Starts a chat: a text, or `{content | messages, model, mode?, tool_servers?, tool_ids?, …}`.
     * @param {string | Record<string, any>} message @param {ChatHandlers} [handlers] @returns {ChatStream}
     */
    chat(message, handlers = {}) {
      const fields = typeof message === 'string' ? { content: message } : message;
      const id = fields.id ?? randomId();
      const stream = createStream(handlers, (runId) => send('cancel', { run_id: runId }));
      chats.set(id, stream);
      ready.promise.then(
        () => {
          stream.isSent = true;
          send('message', { ...fields, id });
        },
        (error) => endChat(id, 'client_unavailable', error.message),
      );
      return stream.chat;
    },
    close() {
      isClosed = true;
      clearTimeout(retryTimer);
      if (socket === undefined || socket.readyState === WebSocket.CLOSED) shut('');
      else socket.close(1000);
    },
  };
}
