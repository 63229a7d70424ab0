import type { IncomingHttpHeaders } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import type { WebSocket } from '@fastify/websocket';
import type { FastifyBaseLogger } from 'fastify';
import type { Caller } from '../../../core/callers/caller.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { longestTimerMs } from '../../../shared/timer-limits.ts';
import { withoutUndefined } from '../../../shared/without-undefined.ts';
import { GatewayError } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import type { BrowserRelay } from '../../../relay/browser-relay.ts';
import type { RelaySession, SessionSocket } from '../../../relay/session.ts';
import type { PersonSource } from '../../auth/identify-person.ts';
import { readRequestHeader } from '../../auth/read-request-header.ts';
import { publicAddress } from '../../public-address.ts';
import type { ByteBudget } from './byte-budget.ts';
import type { MaybePromise } from '../../../shared/maybe-promise.ts';
import { readSocketFrame } from './parse-socket-frame.ts';
import type { ClientFrame, ParsedFrame } from './parse-socket-frame.ts';
import type { SocketChats } from './socket-chats.ts';
import { errorFrame } from './socket-wire.ts';
import { paceSocket } from './socket-pace.ts';

/** The credential of the socket's handshake. */
export type Credential =
  /** `findCaller` returns undefined once the gateway has left open mode. */
  | { type: 'open'; caller: Caller; findCaller: () => Promise<Caller | undefined> }
  | { type: 'token'; caller: Caller; token: string }
  /** A wrong key in the subprotocol. It is reported by a close code after the handshake, because pages cannot read an HTTP status. */
  | { type: 'refused' }
  /** The first frame has to be `auth`. `token`: the handshake had a key that speaks for several people, and the frame has to name one. */
  | { type: 'none'; token?: string };

export interface ConnectionOptions {
  relay: BrowserRelay;
  chats: SocketChats;
  /** Undefined when the token is unknown. @throws GatewayError as `Authenticator.findByToken` */
  authenticateToken(token: string, source: PersonSource): MaybePromise<Caller | undefined>;
  /** Counts the socket for its caller until it closes, and returns the byte budget of all sockets of that caller; undefined when there are too many. */
  takeSlot(callerId: string): ByteBudget | undefined;
  /** Of the request that opened the socket. */
  headers: IncomingHttpHeaders;
  /** `PUBLIC_URL`. */
  publicUrl?: string | undefined;
  pingIntervalMs: number;
  /** Milliseconds since 1970. */
  now: () => number;
  log: FastifyBaseLogger;
}

/** Frames that are queued while a session is being opened or an earlier frame is being parsed; more than this is a flood. */
const waitingFrames = 256;
/** Bytes of all queued frames, which may come from an unauthenticated client. */
const waitingBytes = limits.socketFrameBytes;
/** The largest frame of an unauthenticated client: an auth frame has only a key and the id of a session. */
const authFrameBytes = 8_192;
/** Invalid frames until the socket is closed; a client that sends more is broken or hostile. */
const invalidFrames = 20;

/** Serves one socket from its handshake to its end. */
export function serveConnection(socket: WebSocket, credential: Credential, options: ConnectionOptions): void {
  const { relay, chats, headers, log } = options;
  let caller: Caller | undefined;
  let token: string | undefined;
  /** Looks up the caller of the socket's key again. */
  let findCaller: (() => Promise<Caller | undefined>) | undefined;
  let session: RelaySession | undefined;
  /** What the current session sends through; that of an earlier session no longer has an effect. */
  let sessionSocket: SessionSocket | undefined;
  let isOpening = false;
  let isOver = false;
  let framesSeen = 0;
  let badFrames = 0;
  let budgetOfCaller: ByteBudget | undefined;
  let expiryTimer: NodeJS.Timeout | undefined;
  const closed = new AbortController();
  /** Whether a frame is being parsed in a worker; frames after it must not overtake it. */
  let isParsing = false;
  /** Queued frames; `undefined` is a binary one. */
  const waiting: (Buffer | undefined)[] = [];
  let waitingSize = 0;

  const authTimer = setTimeout(() => end(4401, 'No auth frame arrived in time.'), limits.socketAuthTimeoutMs);
  // There is no notification when a key expires or another process deletes it, so poll.
  const keyTimer = setInterval(() => void requireKey(), options.pingIntervalMs);
  keyTimer.unref();
  const pace = paceSocket(socket, { pingIntervalMs: options.pingIntervalMs, onFailure: end });
  socket.on('message', (data, isBinary) => {
    const bytes = data as Buffer;
    pace.countFrame(bytes.byteLength, budgetOfCaller);
    receive(isBinary ? undefined : bytes);
  });
  socket.on('close', cleanUp);

  if (credential.type === 'refused') end(4401, 'The key is not known here.');
  if (credential.type === 'open') {
    findCaller = credential.findCaller;
    void open(credential.caller);
  }
  if (credential.type === 'token') {
    useToken(credential.token, credential.caller);
    void open(credential.caller);
  }

  function useToken(sent: string, { person, tokenExpiresAt }: Caller): void {
    token = sent;
    // The person is known by now, and the token that named them does not come again.
    const named = person && { person, ...withoutUndefined({ tokenExpiresAt }) };
    findCaller = async () => options.authenticateToken(sent, named === undefined ? unnamed : { named });
  }

  /** Closes the socket. Its calls fail now, without waiting for the peer's close frame. */
  function end(code: number, reason: string): void {
    if (isOver) return;
    cleanUp();
    socket.close(code, reason);
    log.debug({ code, reason, callerId: caller?.id }, 'socket closed');
  }

  function cleanUp(): void {
    isOver = true;
    waiting.length = 0;
    closed.abort(new DOMException('The socket is closed', 'AbortError'));
    clearTimeout(authTimer);
    clearInterval(keyTimer);
    clearTimeout(expiryTimer);
    pace.stop();
    session?.disconnected();
  }

  /** False when the socket is closing, so that the frame is lost. */
  function send(frame: JsonObject): boolean {
    if (isOver || socket.readyState !== socket.OPEN) return false;
    if (socket.bufferedAmount > limits.socketBufferBytes) end(1013, 'The browser does not read.');
    else socket.send(JSON.stringify(frame));
    return !isOver;
  }

  function createSessionSocket(): SessionSocket {
    const created: SessionSocket = {
      send(frame) {
        return sessionSocket === created && send(frame);
      },
      close(code, reason) {
        if (sessionSocket === created) end(code, reason);
      },
    };
    return created;
  }

  async function open(by: Caller, resume?: string): Promise<void> {
    isOpening = true;
    clearTimeout(authTimer);
    budgetOfCaller ??= options.takeSlot(by.id);
    if (budgetOfCaller === undefined)
      return end(1013, `More than ${limits.socketsPerCaller} sockets of one caller, or ${limits.socketsPerKey} of one key.`);
    caller = by;
    closeInTime(by);
    const before = session;
    const socketOfSession = createSessionSocket();
    sessionSocket = socketOfSession;
    before?.end();
    try {
      session = await relay.open({ caller: by, socket: socketOfSession, ...(resume === undefined ? {} : { resume }) });
    } catch (error) {
      log.warn({ err: error }, 'no session could be opened');
      return end(1013, 'The gateway cannot open a session now.');
    }
    // While the session was being opened, the key may have been revoked, or the browser may have disconnected.
    if (!(await requireKey())) return;
    if (isOver) return session.disconnected();
    admitEarly();
  }

  /** With its token, not with a key, which may be put off and is watched elsewhere. The session stays for a while, so that a new token can take it up. */
  function closeInTime(by: Caller): void {
    const { tokenExpiresAt: expiresAt } = by;
    clearTimeout(expiryTimer);
    if (expiresAt === undefined) return;
    // A later end than a timer can wait for is found by the poll.
    if (expiresAt - options.now() < longestTimerMs)
      expiryTimer = setTimeout(() => end(4401, 'The token has expired.'), Math.max(expiresAt - options.now(), 0));
  }

  /** Closes the socket and returns false if its key is gone or has changed. If the store cannot be read, the socket stays open. */
  async function requireKey(): Promise<boolean> {
    if (findCaller === undefined) return true;
    const found = await findCaller().catch((error: unknown) => {
      if (isUnknown(error)) return undefined;
      log.warn({ err: error }, 'the key of a socket cannot be checked');
      return caller;
    });
    if (caller === undefined || isSameKey(found, caller)) return true;
    sessionSocket = undefined;
    session?.end();
    end(4401, 'The key is no longer valid.');
    return false;
  }

  function admitEarly(): void {
    isOpening = false;
    readWaiting();
  }

  /** `undefined` for a binary frame. */
  function receive(frame: Buffer | undefined): void {
    if (isOver) return;
    if (mayRead() && waiting.length === 0) return read(frame);
    waiting.push(frame);
    waitingSize += frame?.byteLength ?? 0;
    if (waiting.length > waitingFrames || waitingSize > waitingBytes) end(1008, 'Too many frames at once.');
  }

  function mayRead(): boolean {
    return !isOpening && !isParsing && !isOver;
  }

  function readWaiting(): void {
    while (waiting.length > 0 && mayRead()) {
      const frame = waiting.shift();
      waitingSize -= frame?.byteLength ?? 0;
      read(frame);
    }
  }

  function read(frame: Buffer | undefined): void {
    if (caller === undefined && (frame?.byteLength ?? 0) > authFrameBytes)
      return end(4401, 'The first frame is too large for an auth frame.');
    if (frame === undefined) return handle({ type: 'invalid', message: 'Frames are text, not binary.' });
    const parsed = readSocketFrame(frame, { caller: caller?.id ?? '', signal: closed.signal });
    if (parsed instanceof Promise) void handleLater(parsed);
    else handle(parsed);
  }

  /** Pauses the socket until the frame is parsed. */
  async function handleLater(parsing: Promise<ParsedFrame>): Promise<void> {
    isParsing = true;
    pace.hold();
    const parsed = await parsing;
    pace.release();
    isParsing = false;
    if (isOver) return;
    handle(parsed);
    readWaiting();
  }

  function handle(parsed: ParsedFrame): void {
    framesSeen += 1;
    if (session === undefined || caller === undefined) return void authenticate(parsed);
    if (parsed.type === 'invalid') return refuse(parsed.message);
    const { frame } = parsed;
    if (frame.type === 'auth') return void authenticateAgain(frame, session, caller);
    if (frame.type === 'message') startChat(frame.fields, session, caller);
    if (frame.type === 'cancel') chats.cancel(frame.runId, session, caller);
    if (frame.type === 'execute:tool:result') session.answer(answerOf(frame));
    if (frame.type === 'answer') session.answerElicitation(frame.elicitation, frame.id, frame.data);
  }

  function startChat(fields: JsonObject, current: RelaySession, by: Caller): void {
    const address = (): string | undefined => publicAddress(headers, options.publicUrl);
    void chats.start(fields, current, { caller: by, readHeader: readRequestHeader({ headers, caller: by }), address });
  }

  async function authenticate(parsed: ParsedFrame): Promise<void> {
    if (parsed.type === 'invalid' || parsed.frame.type !== 'auth') return end(4401, 'The first frame must be auth with a token.');
    const { sessionId, user } = parsed.frame;
    const sent = parsed.frame.token ?? (credential.type === 'none' ? credential.token : undefined);
    const by = sent === undefined ? undefined : await callerOf(sent, user);
    if (isOver) return;
    if (by === undefined || sent === undefined) return end(4401, 'The key is not known here.');
    useToken(sent, by);
    await open(by, sessionId);
  }

  /** Handles a first frame `auth` on a socket that was authenticated by its handshake: it resumes an earlier session. */
  async function authenticateAgain(frame: Extract<ClientFrame, { type: 'auth' }>, current: RelaySession, by: Caller): Promise<void> {
    if (framesSeen > 1) return refuse('This socket is already authenticated; auth can only be its first frame.');
    const isOther = token !== undefined && ((frame.token ?? token) !== token || (by.person !== undefined && frame.user !== undefined));
    if (isOther && (await callerOf(frame.token ?? token ?? '', frame.user))?.id !== by.id)
      return end(4401, 'The key or the user is not that of this socket.');
    if (isOver) return;
    if (frame.sessionId !== undefined && frame.sessionId !== current.id) return open(by, frame.sessionId);
    send({ type: 'session', data: { session_id: current.id, ...(frame.sessionId === undefined ? {} : { resumed: true }) } });
    admitEarly();
  }

  /** Further frames are queued meanwhile. */
  async function callerOf(sent: string, user: string | undefined): Promise<Caller | undefined> {
    isOpening = true;
    try {
      return await options.authenticateToken(sent, user === undefined ? unnamed : { user });
    } catch (error) {
      if (isUnknown(error)) return undefined;
      if (error instanceof GatewayError && error.status < 500) {
        end(4401, error.code === 'user_required' ? 'The auth frame must name the user, as `user`.' : 'The user is not known here.');
        return undefined;
      }
      log.warn({ err: error }, 'the key of a socket cannot be checked');
      end(1013, 'The keys cannot be read at the moment.');
      return undefined;
    }
  }

  function refuse(message: string): void {
    badFrames += 1;
    if (badFrames > invalidFrames) end(1008, 'Too many invalid frames.');
    else send(errorFrame('invalid_frame', message));
  }
}

/** Whether it tells of a token that is no longer good, or never was. */
function isUnknown(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'invalid_api_key';
}

/** Of a frame that names nobody. */
const unnamed: PersonSource = { headers: {} };

function answerOf(frame: Extract<ClientFrame, { type: 'execute:tool:result' }>): { id: string; result?: JsonValue; error?: unknown } {
  const { id, result, error } = frame;
  return { id, error, ...(result === undefined ? {} : { result }) };
}

/** Whether the key has the same rights as before; its name may change. */
function isSameKey(found: Caller | undefined, before: Caller): boolean {
  return isDeepStrictEqual({ ...found, name: undefined }, { ...before, name: undefined });
}
