import { limits } from '../core/limits.ts';
import type { ElicitationRequest } from '../core/user-input/elicitation.ts';
import { ownValue, type JsonObject } from '../shared/json/json.ts';
import { disconnected, toOutcome, unavailable, type BrowserAnswer } from './browser-answer.ts';
import type { Reply, SessionMessage } from './bus-messages.ts';
import { createOpenRequests } from './open-requests.ts';

/** The socket of a session, as `http/` provides it. `send` and `close` do not throw. */
export interface SessionSocket {
  /** False when the socket is already closing, so that the frame does not arrive. */
  send(frame: JsonObject): boolean;
  close(code: number, reason: string): void;
}

/** A session as seen by one of its sockets. Once another socket has taken the session over, input from this one is ignored. */
export interface RelaySession {
  readonly id: string;
  answer(frame: BrowserAnswer): void;
  /** The user's answer to an elicitation; `data` is that of the frame. */
  answerElicitation(type: ElicitationRequest['type'], id: string, data: JsonObject): void;
  /** To be called when the socket has closed: running calls fail, and the session waits for its browser. */
  disconnected(): void;
  /** Ends the session, which cannot be resumed, because the client left it on purpose. */
  end(): void;
}

type State =
  | { type: 'connected'; socket: SessionSocket }
  | { type: 'away'; since: number; buffer: FrameBuffer; timer: NodeJS.Timeout }
  | { type: 'over' };

interface SessionOptions {
  id: string;
  callerId: string;
  graceMs: number;
  now: () => number;
  /** Called when the session has ended or moved to another replica. */
  onGone: () => void;
  onIgnored: () => void;
  /** Frames that another replica has buffered. */
  frames?: JsonObject[];
}

/** A session of this replica. */
export class LocalSession {
  readonly id: string;
  readonly callerId: string;
  /** Aborted when the session has ended and cannot be resumed, so not while its browser may still reconnect to any replica. */
  readonly ended: AbortSignal;
  readonly #options: SessionOptions;
  readonly #requests = createOpenRequests(
    () => this.#options.now(),
    ({ type, id }) => this.#sendCancel(type, id),
  );
  readonly #end = new AbortController();
  #state: State;

  constructor(options: SessionOptions) {
    this.id = options.id;
    this.callerId = options.callerId;
    this.ended = this.#end.signal;
    this.#options = options;
    this.#state = this.#awayWith(options.frames ?? []);
  }

  /** Sends the frame `session` and the buffered frames, and closes an earlier socket. */
  attach(socket: SessionSocket, resumed?: boolean): RelaySession {
    const last = this.#state;
    this.#requests.disconnectImpatient();
    // The session ended between its admission and here: the browser has to connect again.
    if (last.type === 'over') socket.close(1012, 'The session has moved.');
    else this.#state = { type: 'connected', socket };
    if (last.type === 'connected') last.socket.close(4409, 'The session was taken over by another connection.');
    this.#send({ type: 'session', data: { session_id: this.id, ...(resumed !== undefined && { resumed }) } });
    if (last.type === 'away') {
      clearTimeout(last.timer);
      for (const frame of last.buffer.frames) this.deliver(frame);
    }
    for (const { type, data } of this.#requests.list()) this.#send({ type, data });
    return this.#asSeenBy(socket);
  }

  handle(message: SessionMessage, reply: (reply: Reply) => void): void {
    switch (message.type) {
      case 'call':
        return this.#call(message, reply);
      case 'take':
        return this.#transfer(message, reply);
      case 'cancel':
        return this.#cancel(message.id);
      case 'elicit':
        return this.#elicit(message, reply);
      case 'probe':
        if (!this.#requests.has(message.id)) reply({ type: 'outcome', outcome: disconnected('the function') });
        return;
      case 'frame':
        return reply({ type: 'accepted', isAccepted: message.callerId === this.callerId && this.deliver(message.frame) });
    }
  }

  /** False when the session has ended. */
  deliver(frame: JsonObject): boolean {
    if (!this.#send(frame) && this.#state.type === 'away' && !this.#state.buffer.add(frame))
      this.end(1013, 'Too many frames were waiting for the browser.');
    return this.#state.type !== 'over';
  }

  canBeTaken(by: string): boolean {
    if (by !== this.callerId || this.#state.type === 'over') return false;
    return this.#state.type === 'connected' || this.#options.now() - this.#state.since < this.#options.graceMs;
  }

  isAway(): boolean {
    return this.#state.type === 'away';
  }

  end(code: number, reason: string): void {
    if (this.#state.type === 'over') return;
    this.#leave(code, reason);
    this.#end.abort(new DOMException(reason, 'AbortError'));
  }

  pendingCalls(): number {
    return this.#requests.countCalls();
  }

  /** Also the state of a new session, until its socket is attached. */
  #awayWith(earlier: JsonObject[]): State {
    const buffer = createFrameBuffer();
    for (const frame of earlier) buffer.add(frame);
    const timer = setTimeout(() => this.end(1001, 'The session has expired.'), this.#options.graceMs);
    timer.unref();
    return { type: 'away', since: this.#options.now(), buffer, timer };
  }

  /** Removes the session from this replica. `ended` is not aborted here, because the session may continue on another one. */
  #leave(code: number, reason: string): void {
    const last = this.#state;
    this.#state = { type: 'over' };
    if (last.type === 'away') clearTimeout(last.timer);
    this.#requests.disconnectAll();
    if (last.type === 'connected') last.socket.close(code, reason);
    this.#options.onGone();
  }

  /** A closing socket would lose frames, so from then on the session counts as disconnected. */
  #send(frame: JsonObject): boolean {
    if (this.#state.type !== 'connected') return false;
    if (this.#state.socket.send(frame)) return true;
    this.#goAway();
    return false;
  }

  #goAway(): void {
    if (this.#state.type !== 'connected') return;
    this.#state = this.#awayWith([]);
    this.#requests.disconnectImpatient();
  }

  /** The sending replica has checked the caller already, but anyone on the bus can write a message. */
  #isConnectedTo(by: string): boolean {
    return by === this.callerId && this.#state.type === 'connected';
  }

  #call(message: Extract<SessionMessage, { type: 'call' }>, reply: (reply: Reply) => void): void {
    const { id: callId, timeoutMs, data } = message;
    const offered = ownValue(data, 'offered_name');
    const name = typeof offered === 'string' ? offered : 'The function';
    if (!this.#isConnectedTo(message.callerId)) return reply({ type: 'outcome', outcome: unavailable(name) });
    const gone: Reply = { type: 'outcome', outcome: disconnected(name) };
    const sent = { ...data, id: callId, session_id: this.id, timeout_ms: timeoutMs };
    const request = { id: callId, type: 'execute:tool', data: sent, isPatient: false, timeoutMs, reply, disconnected: gone } as const;
    if (this.#requests.add(request)) this.#send({ type: 'execute:tool', data: sent });
  }

  /** Sends patient requests as soon as the browser is connected, and again when it left without an answer, such as when its page was reloaded. */
  #elicit(message: Extract<SessionMessage, { type: 'elicit' }>, reply: (reply: Reply) => void): void {
    const { id, elicitation: type, timeoutMs, isPatient, callerId: by } = message;
    const data = { ...message.data, id };
    const gone: Reply = { type: 'unanswered', isThere: true };
    const canBeAsked = isPatient ? this.canBeTaken(by) : this.#isConnectedTo(by);
    if (canBeAsked && this.#requests.add({ id, type, data, isPatient, timeoutMs, reply, disconnected: gone })) this.#send({ type, data });
    else reply({ type: 'unanswered', isThere: false });
  }

  #sendCancel(type: string, requestId: string): void {
    this.#send({ type: `${type}:cancel`, data: { id: requestId } });
  }

  #cancel(requestId: string): void {
    const type = this.#requests.cancel(requestId);
    if (type !== undefined) this.#sendCancel(type, requestId);
  }

  /** Gives the session to another replica. */
  #transfer(message: Extract<SessionMessage, { type: 'take' }>, reply: (reply: Reply) => void): void {
    if (!this.canBeTaken(message.callerId)) return reply({ type: 'accepted', isAccepted: false });
    reply({ type: 'taken', frames: this.#state.type === 'away' ? this.#state.buffer.frames : [] });
    this.#leave(4409, 'The session was taken over by another connection.');
  }

  #asSeenBy(socket: SessionSocket): RelaySession {
    const isCurrent = (): boolean => this.#state.type === 'connected' && this.#state.socket === socket;
    const { onIgnored } = this.#options;
    return {
      id: this.id,
      answer: (frame) => {
        if (!isCurrent() || !this.#requests.settle('execute:tool', frame.id, { type: 'outcome', outcome: toOutcome(frame) })) onIgnored();
      },
      answerElicitation: (type, elicitationId, data) => {
        if (!isCurrent() || !this.#requests.settle(type, elicitationId, { type: 'answer', data })) onIgnored();
      },
      disconnected: () => {
        if (isCurrent()) this.#goAway();
      },
      end: () => {
        if (isCurrent()) this.end(1000, 'The session was ended.');
      },
    };
  }
}

/** Frames for a browser that is disconnected for a moment, in order. */
interface FrameBuffer {
  /** False when the buffer is full. Then the session has to end, because a gap would corrupt the answer. */
  add(frame: JsonObject): boolean;
  readonly frames: JsonObject[];
}

/** Buffers as much as for a connected socket that is not read. */
function createFrameBuffer(): FrameBuffer {
  const frames: JsonObject[] = [];
  let size = 0;

  return {
    frames,
    add(frame) {
      size += JSON.stringify(frame).length;
      if (size > limits.socketBufferBytes) return false;
      frames.push(frame);
      return true;
    },
  };
}
