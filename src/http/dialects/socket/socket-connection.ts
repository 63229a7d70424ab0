import type { IncomingHttpHeaders } from 'node:http';
import type { WebSocket } from '@fastify/websocket';
import type { FastifyBaseLogger } from 'fastify';
import type { Caller } from '../../../core/callers/caller.ts';
import type { JsonObject, JsonValue } from '../../../shared/json/json.ts';
import { limits } from '../../../core/limits.ts';
import type { BrowserRelay } from '../../../relay/browser-relay.ts';
import type { RelaySession, SessionSocket } from '../../../relay/session.ts';
import type { PersonSource } from '../../auth/identify-person.ts';
import { readRequestHeader } from '../../auth/read-request-header.ts';
import { publicAddress } from '../../public-address.ts';
import type { ByteBudget } from './byte-budget.ts';
import type { MaybePromise } from '../../../shared/async/maybe-promise.ts';
import { FrameQueue } from './frame-queue.ts';
import type { ClientFrame, ParsedFrame } from './parse-socket-frame.ts';
import type { SocketChats } from './socket-chats.ts';
import { errorFrame } from './socket-wire.ts';
import { SocketKey } from './socket-key.ts';
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
  /** Of the request that opened the socket: proxies log it, so it is not read. */
  hasKeyInQuery: boolean;
  relay: BrowserRelay;
  chats: SocketChats;
  /** Undefined when the token is unknown. @throws GatewayError as `Authenticator.findByToken` */
  authenticateToken(token: string, source: PersonSource): MaybePromise<Caller | undefined>;
  /** Counts the socket for its caller until it closes, and returns the byte budget of all sockets of that caller; undefined when there are too many. */
  takeSlot(callerId: string): ByteBudget | undefined;
  /** The headers of the request that opened the socket. */
  headers: IncomingHttpHeaders;
  /** As they came, names and values in turn. */
  rawHeaders: readonly string[];
  /** `PUBLIC_URL`. */
  publicUrl?: string | undefined;
  pingIntervalMs: number;
  /** Milliseconds since 1970. */
  now: () => number;
  log: FastifyBaseLogger;
}

/** Invalid frames until the socket is closed; a client that sends more is broken or hostile. */
const invalidFrames = 20;

/** Serves one socket from its handshake to its end. */
export function serveConnection(socket: WebSocket, credential: Credential, options: ConnectionOptions): void {
  new SocketConnection(socket, credential, options).begin();
}

/** Reasons for closing have at most 123 bytes (RFC 6455, section 5.5). */
const authFrame = '{"type":"auth","data":{"token":"<key>"}}';
const noFrame = `No key arrived in time. Send it as a header, or in a first frame ${authFrame}.`;
const keyInQuery = `A key in the query is not read. Send it in a first frame ${authFrame}.`;
const notAuth = `The first frame must be ${authFrame}.`;
const unknownKey = 'This key is not valid here. Administrators create keys on the page Keys, or with POST /api/keys.';

class SocketConnection {
  readonly #socket: WebSocket;
  readonly #credential: Credential;
  readonly #options: ConnectionOptions;
  readonly #pace: ReturnType<typeof paceSocket>;
  readonly #frames: FrameQueue;
  readonly #key: SocketKey;
  readonly #closed = new AbortController();
  readonly #authTimer: NodeJS.Timeout;
  readonly #keyTimer: NodeJS.Timeout;
  #caller: Caller | undefined;
  #session: RelaySession | undefined;
  /** The current session sends through it; that of an earlier session no longer has an effect. */
  #sessionSocket: SessionSocket | undefined;
  #budgetOfCaller: ByteBudget | undefined;
  #framesSeen = 0;
  #badFrames = 0;

  constructor(socket: WebSocket, credential: Credential, options: ConnectionOptions) {
    const { pingIntervalMs, now, log, headers, rawHeaders } = options;
    const onFailure = (code: number, reason: string): void => this.#end(code, reason);
    this.#socket = socket;
    this.#credential = credential;
    this.#options = options;
    this.#pace = paceSocket(socket, { pingIntervalMs, onFailure });
    this.#key = new SocketKey({
      authenticateToken: (token, source) => options.authenticateToken(token, source),
      upgrade: { headers, raw: { rawHeaders } },
      now,
      log,
      onExpired: () => this.#end(4401, 'The token has expired.'),
    });
    this.#frames = new FrameQueue({
      callerId: () => this.#caller?.id,
      pace: this.#pace,
      onFrame: (frame) => this.#handle(frame),
      onFailure,
      signal: this.#closed.signal,
    });
    this.#authTimer = setTimeout(() => this.#end(4401, options.hasKeyInQuery ? keyInQuery : noFrame), limits.socketAuthTimeoutMs);
    // There is no notification when a key expires or another process deletes it, so poll.
    this.#keyTimer = setInterval(() => void this.#requireKey(), pingIntervalMs);
    this.#keyTimer.unref();
  }

  begin(): void {
    this.#socket.on('message', (data, isBinary) => {
      const bytes = data as Buffer;
      this.#pace.countFrame(bytes.byteLength, this.#budgetOfCaller);
      this.#frames.receive(isBinary ? undefined : bytes);
    });
    this.#socket.on('close', () => this.#cleanUp());
    const credential = this.#credential;
    if (credential.type === 'none') return;
    if (credential.type === 'refused') return this.#end(4401, unknownKey);
    if (credential.type === 'open') this.#key.useOpenMode(credential.findCaller);
    else this.#key.useToken(credential.token, credential.caller);
    void this.#open(credential.caller);
  }

  get #isOver(): boolean {
    return this.#closed.signal.aborted;
  }

  /** Closes the socket. Its calls fail now, without waiting for the peer's close frame. */
  #end(code: number, reason: string): void {
    if (this.#isOver) return;
    this.#cleanUp();
    this.#socket.close(code, reason);
    this.#options.log.debug({ code, reason, callerId: this.#caller?.id }, 'socket closed');
  }

  #cleanUp(): void {
    this.#closed.abort(new DOMException('The socket is closed', 'AbortError'));
    clearTimeout(this.#authTimer);
    clearInterval(this.#keyTimer);
    this.#key.stop();
    this.#pace.stop();
    this.#session?.disconnected();
  }

  /** False when the socket is closing, so that the frame is lost. */
  #send(frame: JsonObject): boolean {
    if (this.#isOver || this.#socket.readyState !== this.#socket.OPEN) return false;
    if (this.#socket.bufferedAmount > limits.socketBufferBytes) this.#end(1013, 'The browser does not read.');
    else this.#socket.send(JSON.stringify(frame));
    return !this.#isOver;
  }

  #createSessionSocket(): SessionSocket {
    const created: SessionSocket = {
      send: (frame) => this.#sessionSocket === created && this.#send(frame),
      close: (code, reason) => {
        if (this.#sessionSocket === created) this.#end(code, reason);
      },
    };
    return created;
  }

  async #open(caller: Caller, resume?: string): Promise<void> {
    this.#frames.pause();
    clearTimeout(this.#authTimer);
    this.#budgetOfCaller ??= this.#options.takeSlot(caller.id);
    if (this.#budgetOfCaller === undefined)
      return this.#end(1013, `More than ${limits.socketsPerCaller} sockets of one caller, or ${limits.socketsPerKey} of one key.`);
    this.#caller = caller;
    this.#key.watchExpiry(caller);
    const socket = this.#createSessionSocket();
    this.#sessionSocket = socket;
    this.#session?.end();
    try {
      this.#session = await this.#options.relay.open({ caller, socket, ...(resume !== undefined && { resume }) });
    } catch (error) {
      this.#options.log.warn({ err: error }, 'no session could be opened');
      return this.#end(1013, 'The gateway cannot open a session now.');
    }
    // While the session was being opened, the key may have been revoked, or the browser may have disconnected.
    if (!(await this.#requireKey())) return;
    if (this.#isOver) return this.#session.disconnected();
    this.#frames.resume();
  }

  /** Closes the socket and returns false if its key is gone or has changed. */
  async #requireKey(): Promise<boolean> {
    if (await this.#key.isValidFor(this.#caller)) return true;
    this.#sessionSocket = undefined;
    this.#session?.end();
    this.#end(4401, 'The key is no longer valid.');
    return false;
  }

  #handle(parsed: ParsedFrame): void {
    this.#framesSeen += 1;
    const [session, caller] = [this.#session, this.#caller];
    if (session === undefined || caller === undefined) return void this.#authenticate(parsed);
    if (parsed.type === 'invalid') return this.#refuse(parsed.message);
    const { frame } = parsed;
    if (frame.type === 'auth') return void this.#authenticateAgain(frame, session, caller);
    if (frame.type === 'message') this.#startChat(frame.fields, session, caller);
    if (frame.type === 'cancel') this.#options.chats.cancel(frame.runId, session, caller);
    if (frame.type === 'execute:tool:result') session.answer(answerOf(frame));
    if (frame.type === 'answer') session.answerElicitation(frame.elicitation, frame.id, frame.data);
  }

  #startChat(fields: JsonObject, session: RelaySession, caller: Caller): void {
    const { chats, headers, publicUrl } = this.#options;
    const address = (): string | undefined => publicAddress(headers, publicUrl);
    void chats.start(fields, session, { caller, readHeader: readRequestHeader({ headers, caller }), address });
  }

  async #authenticate(parsed: ParsedFrame): Promise<void> {
    if (parsed.type === 'invalid' || parsed.frame.type !== 'auth') return this.#end(4401, notAuth);
    const { sessionId, user } = parsed.frame;
    const token = parsed.frame.token ?? (this.#credential.type === 'none' ? this.#credential.token : undefined);
    this.#frames.pause();
    const known = token === undefined ? undefined : await this.#key.authenticate(token, user);
    if (this.#isOver) return;
    if (known?.type === 'failed') return this.#end(known.code, known.reason);
    if (token === undefined || known?.type !== 'known') return this.#end(4401, unknownKey);
    this.#key.useToken(token, known.caller);
    await this.#open(known.caller, sessionId);
  }

  /** Handles a first frame `auth` on a socket that was authenticated by its handshake: it resumes an earlier session. */
  async #authenticateAgain(frame: Extract<ClientFrame, { type: 'auth' }>, session: RelaySession, caller: Caller): Promise<void> {
    if (this.#framesSeen > 1) return this.#refuse('This socket is already authenticated; auth can only be its first frame.');
    const { token } = this.#key;
    const sent = frame.token ?? token;
    if (token !== undefined && sent !== undefined && (sent !== token || (caller.person !== undefined && frame.user !== undefined))) {
      this.#frames.pause();
      const known = await this.#key.authenticate(sent, frame.user);
      if (known.type === 'failed') return this.#end(known.code, known.reason);
      if (known.type === 'unknown' || known.caller.id !== caller.id)
        return this.#end(4401, 'The key or the user is not that of this socket.');
    }
    if (this.#isOver) return;
    if (frame.sessionId !== undefined && frame.sessionId !== session.id) return this.#open(caller, frame.sessionId);
    this.#send({ type: 'session', data: { session_id: session.id, ...(frame.sessionId !== undefined && { resumed: true }) } });
    this.#frames.resume();
  }

  #refuse(message: string): void {
    this.#badFrames += 1;
    if (this.#badFrames > invalidFrames) this.#end(1008, 'Too many invalid frames.');
    else this.#send(errorFrame('invalid_frame', message));
  }
}

function answerOf({ id, result, error }: Extract<ClientFrame, { type: 'execute:tool:result' }>): {
  id: string;
  result?: JsonValue;
  error?: unknown;
} {
  return { id, error, ...(result !== undefined && { result }) };
}
