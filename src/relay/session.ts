import { limits } from '../core/limits.ts';
import type { ElicitationRequest } from '../core/user-input/elicitation.ts';
import type { JsonObject } from '../shared/json.ts';
import { ownValue } from '../shared/json.ts';
import { disconnected, toOutcome, unavailable } from './browser-answer.ts';
import type { BrowserAnswer } from './browser-answer.ts';
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

/** A session of this replica. */
export interface LocalSession {
  readonly id: string;
  readonly callerId: string;
  /** Aborted when the session has ended and cannot be resumed, so not while its browser may still reconnect to any replica. */
  readonly ended: AbortSignal;
  /** Sends the frame `session` and the buffered frames, and closes an earlier socket. */
  attach(socket: SessionSocket, resumed?: boolean): RelaySession;
  handle(message: SessionMessage, reply: (reply: Reply) => void): void;
  /** False when the session has ended. */
  deliver(frame: JsonObject): boolean;
  canBeTaken(callerId: string): boolean;
  isAway(): boolean;
  end(code: number, reason: string): void;
  pendingCalls(): number;
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

export function createSession({ id, callerId, graceMs, now, onGone, onIgnored, frames = [] }: SessionOptions): LocalSession {
  const requests = createOpenRequests(now, ({ type, id: requestId }) => sendCancel(type, requestId));
  const ended = new AbortController();
  let state: State = awayWith(frames);

  /** Also the state of a new session, until its socket is attached. */
  function awayWith(earlier: JsonObject[]): State {
    const buffer = createFrameBuffer();
    for (const frame of earlier) buffer.add(frame);
    const timer = setTimeout(() => end(1001, 'The session has expired.'), graceMs);
    timer.unref();
    return { type: 'away', since: now(), buffer, timer };
  }

  /** Removes the session from this replica. `ended` is not aborted here, because the session may continue on another one. */
  function leave(code: number, reason: string): void {
    const last = state;
    state = { type: 'over' };
    if (last.type === 'away') clearTimeout(last.timer);
    requests.disconnectAll();
    if (last.type === 'connected') last.socket.close(code, reason);
    onGone();
  }

  function end(code: number, reason: string): void {
    if (state.type === 'over') return;
    leave(code, reason);
    ended.abort(new DOMException(reason, 'AbortError'));
  }

  /** A closing socket would lose frames, so from then on the session counts as disconnected. */
  function send(frame: JsonObject): boolean {
    if (state.type !== 'connected') return false;
    if (state.socket.send(frame)) return true;
    goAway();
    return false;
  }

  function goAway(): void {
    if (state.type !== 'connected') return;
    state = awayWith([]);
    requests.disconnectImpatient();
  }

  function deliver(frame: JsonObject): boolean {
    if (!send(frame) && state.type === 'away' && !state.buffer.add(frame)) end(1013, 'Too many frames were waiting for the browser.');
    return state.type !== 'over';
  }

  function canBeTaken(by: string): boolean {
    if (by !== callerId || state.type === 'over') return false;
    return state.type === 'connected' || now() - state.since < graceMs;
  }

  // The sending replica has checked the caller already, but anyone on the bus can write a message.
  const isConnectedTo = (by: string): boolean => by === callerId && state.type === 'connected';

  function call(message: Extract<SessionMessage, { type: 'call' }>, reply: (reply: Reply) => void): void {
    const { id: callId, timeoutMs, data } = message;
    const offered = ownValue(data, 'offered_name');
    const name = typeof offered === 'string' ? offered : 'The function';
    if (!isConnectedTo(message.callerId)) return reply({ type: 'outcome', outcome: unavailable(name) });
    const gone: Reply = { type: 'outcome', outcome: disconnected(name) };
    const sent = { ...data, id: callId, session_id: id, timeout_ms: timeoutMs };
    const isNew = requests.add({ id: callId, type: 'execute:tool', data: sent, isPatient: false, timeoutMs, reply, disconnected: gone });
    if (isNew) send({ type: 'execute:tool', data: sent });
  }

  /** Sends patient requests as soon as the browser is connected, and again when it left without an answer, such as when its page was reloaded. */
  function elicit(message: Extract<SessionMessage, { type: 'elicit' }>, reply: (reply: Reply) => void): void {
    const { id: elicitationId, elicitation: type, timeoutMs, isPatient, callerId: by } = message;
    const data = { ...message.data, id: elicitationId };
    const disconnected: Reply = { type: 'unanswered', isThere: true };
    const canBeAsked = isPatient ? canBeTaken(by) : isConnectedTo(by);
    if (canBeAsked && requests.add({ id: elicitationId, type, data, isPatient, timeoutMs, reply, disconnected })) send({ type, data });
    else reply({ type: 'unanswered', isThere: false });
  }

  function sendCancel(type: string, requestId: string): void {
    send({ type: `${type}:cancel`, data: { id: requestId } });
  }

  function cancel(requestId: string): void {
    const type = requests.cancel(requestId);
    if (type !== undefined) sendCancel(type, requestId);
  }

  function handOver(message: Extract<SessionMessage, { type: 'take' }>, reply: (reply: Reply) => void): void {
    if (!canBeTaken(message.callerId)) {
      reply({ type: 'accepted', isAccepted: false });
      return;
    }
    reply({ type: 'taken', frames: state.type === 'away' ? state.buffer.frames : [] });
    leave(4409, 'The session was taken over by another connection.');
  }

  function attach(socket: SessionSocket, resumed?: boolean): RelaySession {
    const last = state;
    requests.disconnectImpatient();
    // The session ended between its admission and here: the browser has to connect again.
    if (last.type === 'over') socket.close(1012, 'The session has moved.');
    else state = { type: 'connected', socket };
    if (last.type === 'connected') last.socket.close(4409, 'The session was taken over by another connection.');
    send({ type: 'session', data: { session_id: id, ...(resumed === undefined ? {} : { resumed }) } });
    if (last.type === 'away') {
      clearTimeout(last.timer);
      for (const frame of last.buffer.frames) deliver(frame);
    }
    for (const { type, data } of requests.list()) send({ type, data });
    const isCurrent = (): boolean => state.type === 'connected' && state.socket === socket;

    return {
      id,
      answer(frame) {
        if (!isCurrent() || !requests.settle('execute:tool', frame.id, { type: 'outcome', outcome: toOutcome(frame) })) onIgnored();
      },
      answerElicitation(type, elicitationId, data) {
        if (!isCurrent() || !requests.settle(type, elicitationId, { type: 'answer', data })) onIgnored();
      },
      disconnected() {
        if (isCurrent()) goAway();
      },
      end() {
        if (isCurrent()) end(1000, 'The session was ended.');
      },
    };
  }

  return {
    id,
    callerId,
    ended: ended.signal,
    attach,
    deliver,
    canBeTaken,
    end,
    isAway: () => state.type === 'away',
    pendingCalls: () => requests.countCalls(),
    handle(message, reply) {
      switch (message.type) {
        case 'call':
          return call(message, reply);
        case 'take':
          return handOver(message, reply);
        case 'cancel':
          return cancel(message.id);
        case 'elicit':
          return elicit(message, reply);
        case 'probe':
          if (!requests.has(message.id)) reply({ type: 'outcome', outcome: disconnected('the function') });
          return;
        case 'frame':
          return reply({ type: 'accepted', isAccepted: message.callerId === callerId && deliver(message.frame) });
      }
    },
  };
}

/** Frames for a browser that is disconnected for a moment, in order. */
interface FrameBuffer {
  /** False when the buffer is full. Then the session has to end, because a gap would corrupt the answer. */
  add(frame: JsonObject): boolean;
  readonly frames: JsonObject[];
}

/** Holds as much as may be buffered for a connected socket that is not read. */
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
