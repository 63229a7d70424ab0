import type { ElicitationRequest } from '../core/elicitation.ts';
import type { JsonObject } from '../shared/json.ts';
import { ownValue } from '../shared/json.ts';
import { createOpenBrowserCalls } from './open-calls.ts';
import { createOpenElicitations } from './open-elicitations.ts';
import { disconnected, toOutcome, unavailable } from './browser-answer.ts';
import type { BrowserAnswer } from './browser-answer.ts';
import type { Reply, SessionMessage } from './bus-messages.ts';
import { createFrameBuffer } from './frame-buffer.ts';
import type { FrameBuffer } from './frame-buffer.ts';

/** The browser's end of a session, as the door that owns the socket offers it. Neither function throws. */
export interface SessionSocket {
  /** False when the browser is already leaving, so that the frame does not reach it. */
  send(frame: JsonObject): boolean;
  close(code: number, reason: string): void;
}

/** One socket's hold on a session. Once another socket has taken the session up, it holds nothing: its answers are ignored. */
export interface RelaySession {
  readonly id: string;
  answer(frame: BrowserAnswer): void;
  /** The user's answer to a question; `data` is that of the frame. */
  answerQuestion(type: ElicitationRequest['type'], id: string, data: JsonObject): void;
  /** The socket has closed: running calls fail, and the session waits for its browser. */
  disconnected(): void;
  /** The session is not wanted any more. */
  end(): void;
}

/** A session that lives on this replica. */
export interface LocalSession {
  readonly id: string;
  readonly callerId: string;
  /** Aborted when the session is over for good: not while its browser may still come back, here or on another replica. */
  readonly ended: AbortSignal;
  /** Sends the frame `session` and what was kept, and drops a socket that was there before. */
  attach(socket: SessionSocket, resumed?: boolean): RelaySession;
  handle(message: SessionMessage, reply: (reply: Reply) => void): void;
  /** False when the session is over. */
  deliver(frame: JsonObject): boolean;
  canBeTaken(callerId: string): boolean;
  isAway(): boolean;
  end(code: number, reason: string): void;
  pendingCalls(): number;
}

type State =
  | { type: 'connected'; socket: SessionSocket; hold: symbol }
  | { type: 'away'; since: number; kept: FrameBuffer; timer: NodeJS.Timeout }
  | { type: 'over' };

export interface SessionOptions {
  id: string;
  callerId: string;
  graceMs: number;
  now: () => number;
  /** The session no longer lives here. */
  onGone: () => void;
  onIgnored: () => void;
  /** Frames that another replica kept. */
  frames?: JsonObject[];
}

export function createSession({ id, callerId, graceMs, now, onGone, onIgnored, frames = [] }: SessionOptions): LocalSession {
  const calls = createOpenBrowserCalls(now);
  const questions = createOpenElicitations(now);
  const ended = new AbortController();
  let state: State = awayWith(frames);

  /** A session begins, too, as one whose browser is not there yet. */
  function awayWith(earlier: JsonObject[]): State {
    const kept = createFrameBuffer();
    for (const frame of earlier) kept.add(frame);
    const timer = setTimeout(() => end(1001, 'The session has expired.'), graceMs);
    timer.unref();
    return { type: 'away', since: now(), kept, timer };
  }

  /** Leaves this replica; `ended` is untouched, because the session may go on elsewhere. */
  function leave(code: number, reason: string): void {
    const last = state;
    state = { type: 'over' };
    if (last.type === 'away') clearTimeout(last.timer);
    failAll();
    if (last.type === 'connected') last.socket.close(code, reason);
    onGone();
  }

  /** What was asked of a browser that has gone. */
  function failAll(): void {
    calls.settleAll(disconnected);
    questions.settleAll();
  }

  function end(code: number, reason: string): void {
    if (state.type === 'over') return;
    leave(code, reason);
    ended.abort(new DOMException(reason, 'AbortError'));
  }

  /** Between a browser's leave and the end of its connection a socket takes frames and loses them: the session is then without a browser. */
  function send(frame: JsonObject): boolean {
    if (state.type !== 'connected') return false;
    if (state.socket.send(frame)) return true;
    goAway();
    return false;
  }

  function goAway(): void {
    if (state.type !== 'connected') return;
    state = awayWith([]);
    failAll();
  }

  function deliver(frame: JsonObject): boolean {
    if (!send(frame) && state.type === 'away' && !state.kept.add(frame)) end(1013, 'Too much was waiting for the browser.');
    return state.type !== 'over';
  }

  function canBeTaken(by: string): boolean {
    if (by !== callerId || state.type === 'over') return false;
    return state.type === 'connected' || now() - state.since < graceMs;
  }

  function call(message: Extract<SessionMessage, { type: 'call' }>, reply: (reply: Reply) => void): void {
    const offered = ownValue(message.data, 'offered_name');
    const name = typeof offered === 'string' ? offered : 'The function';
    // Repeated here although the asking replica checked: anyone on the bus can write a message.
    if (message.callerId !== callerId || state.type !== 'connected') {
      reply({ type: 'outcome', outcome: unavailable(name) });
      return;
    }
    const isNew = calls.add({
      id: message.id,
      name,
      timeoutMs: message.timeoutMs,
      reply: (outcome) => reply({ type: 'outcome', outcome }),
      onExpired: () => void send(cancelFrame(message.id)),
    });
    if (isNew) send({ type: 'execute:tool', data: { ...message.data, id: message.id, session_id: id, timeout_ms: message.timeoutMs } });
  }

  function ask(message: Extract<SessionMessage, { type: 'ask' }>, reply: (reply: Reply) => void): void {
    const { id: questionId, question: type, timeoutMs, data } = message;
    if (message.callerId !== callerId || state.type !== 'connected') return reply({ type: 'unanswered', isThere: false });
    const isNew = questions.add({
      id: questionId,
      type,
      timeoutMs,
      reply: (answer) => reply(answer === undefined ? { type: 'unanswered', isThere: true } : { type: 'answer', data: answer }),
      onExpired: () => void send({ type: `${type}:cancel`, data: { id: questionId } }),
    });
    if (isNew) send({ type, data: { ...data, id: questionId } });
    else reply({ type: 'unanswered', isThere: false });
  }

  function cancel(callOrQuestion: string): void {
    if (calls.cancel(callOrQuestion)) return void send(cancelFrame(callOrQuestion));
    const type = questions.cancel(callOrQuestion);
    if (type !== undefined) send({ type: `${type}:cancel`, data: { id: callOrQuestion } });
  }

  function handOver(message: Extract<SessionMessage, { type: 'take' }>, reply: (reply: Reply) => void): void {
    if (!canBeTaken(message.callerId)) {
      reply({ type: 'accepted', isAccepted: false });
      return;
    }
    reply({ type: 'taken', frames: state.type === 'away' ? state.kept.frames : [] });
    leave(4409, 'The session was taken up by another connection.');
  }

  function attach(socket: SessionSocket, resumed?: boolean): RelaySession {
    const last = state;
    const hold = Symbol(id);
    failAll();
    // Over between its admission and this moment: the browser has to connect again.
    if (last.type === 'over') socket.close(1012, 'The session has moved.');
    else state = { type: 'connected', socket, hold };
    if (last.type === 'connected') last.socket.close(4409, 'The session was taken up by another connection.');
    send({ type: 'session', data: { session_id: id, ...(resumed === undefined ? {} : { resumed }) } });
    if (last.type === 'away') {
      clearTimeout(last.timer);
      for (const frame of last.kept.frames) deliver(frame);
    }
    const isHeld = (): boolean => state.type === 'connected' && state.hold === hold;

    return {
      id,
      answer(frame) {
        if (!isHeld() || !calls.settle(frame.id, toOutcome(frame))) onIgnored();
      },
      answerQuestion(type, questionId, data) {
        if (!isHeld() || !questions.settle(type, questionId, data)) onIgnored();
      },
      disconnected() {
        if (isHeld()) goAway();
      },
      end() {
        if (isHeld()) end(1000, 'The session was ended.');
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
    pendingCalls: () => calls.size(),
    handle(message, reply) {
      switch (message.type) {
        case 'call':
          return call(message, reply);
        case 'take':
          return handOver(message, reply);
        case 'cancel':
          return cancel(message.id);
        case 'ask':
          return ask(message, reply);
        case 'probe':
          if (!calls.has(message.id) && !questions.has(message.id)) reply({ type: 'outcome', outcome: disconnected('the function') });
          return;
        case 'frame':
          return reply({ type: 'accepted', isAccepted: message.callerId === callerId && deliver(message.frame) });
      }
    },
  };
}

function cancelFrame(id: string): JsonObject {
  return { type: 'execute:tool:cancel', data: { id } };
}
