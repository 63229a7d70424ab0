import type { FastifyBaseLogger } from 'fastify';
import { loggedCaller, type Caller } from '../../../core/callers/caller.ts';
import { GatewayError } from '../../../core/errors.ts';
import { errorThatEnded } from '../../../core/runs/end-cause.ts';
import { waitAtMost } from '../../../shared/async/wait-for.ts';
import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { weigh } from '../../../shared/json/weigh.ts';
import { limits } from '../../../core/limits.ts';
import type { RateLimiter } from '../../../core/callers/rate-limit.ts';
import type { ReadRequestHeader } from '../../../core/chat/request-headers.ts';
import type { BrowserRelay } from '../../../relay/browser-relay.ts';
import type { RelaySession } from '../../../relay/session.ts';
import type { InterruptChat } from '../../../runs/interrupt-chat.ts';
import { endingOf } from '../../../runs/report-run.ts';
import { stillRunning, type ActiveRuns } from '../../../runs/active-runs.ts';
import type { StartedRun } from '../../../runs/started-run.ts';
import { toGatewayError } from '../../errors/error-handler.ts';
import { logChat, type RunStats } from '../../../runs/run-stats.ts';
import { createConversationQueues, type QueuedChat } from './conversation-queues.ts';
import type { ConversationId } from './kept-conversations.ts';
import { createSessionOutbox } from './session-outbox.ts';
import { ChatFrames, errorFrame, toChatBody, type ChatHead } from './socket-wire.ts';

/** Active chats of one session; more suggests a bug in the page. */
export const chatsPerSession = 16;

/** Starts a run for a body in OpenAI's shape; the controller ends it. Rejects with a GatewayError when the body is wrong. */
export type StartChat = (options: {
  body: JsonObject;
  caller: Caller;
  readHeader: ReadRequestHeader | undefined;
  address: SocketCaller['address'];
  controller: AbortController;
  conversation: ChatInConversation;
  /** Called once the run has ended, before its last frames are sent. */
  onOver: () => void;
}) => Promise<{ runId: string; stream: StartedRun['stream']; stats?: RunStats }>;

/** `isContinued`: the body has only what is new; otherwise it has the whole conversation. */
interface ChatInConversation {
  id: ConversationId;
  isContinued: boolean;
  queued: QueuedChat;
}

interface SocketChatsOptions {
  relay: BrowserRelay;
  startChat: StartChat;
  /** The model for a `message` that names none: one that this caller may use. */
  defaultModel?: (caller: Caller) => Promise<string | undefined>;
  /** Cancels a run of this caller that was not started over a socket of this process; false when there is none. */
  cancelRun?: (runId: string, caller: Caller) => boolean;
  /** Cancels the runs of this caller whose answers go to the session. */
  cancelSession?: (sessionId: string, caller: Caller) => void;
  interruptChat?: InterruptChat;
  /** Counts the memory of chats that wait for earlier ones. Default: nothing is counted. */
  holdWaiting?: ActiveRuns['holdWaiting'];
  /** Default: no limits. */
  limiter?: RateLimiter;
  log: FastifyBaseLogger;
}

/** The chats that were started over sockets. They belong to the session, not to the socket, so they continue when a browser reconnects. */
export interface SocketChats {
  /** Never rejects: errors are sent as frames. */
  start(fields: JsonObject, session: RelaySession, who: SocketCaller): Promise<void>;
  /** Without an id: every chat whose answer goes to the session; if there is none, nothing happens. */
  cancel(runId: string | undefined, session: RelaySession, caller: Caller): void;
}

/** `readHeader` and `address` (where people reach the gateway) come from the request that opened the socket. */
export interface SocketCaller {
  caller: Caller;
  readHeader?: ReadRequestHeader | undefined;
  address?: (() => string | undefined) | undefined;
}

export function createSocketChats(options: SocketChatsOptions): SocketChats {
  const { relay, startChat, defaultModel, cancelRun, cancelSession, interruptChat, holdWaiting, limiter, log } = options;
  const queues = createConversationQueues();
  /** Includes chats whose runs have not begun. */
  const chats = new Set<StartedChat>();

  function count(sessionId: string, callerId: string): number {
    let active = 0;
    for (const chat of chats) if (chat.session.id === sessionId && chat.caller.id === callerId) active += 1;
    return active;
  }

  /** A message that continues a conversation waits for its earlier answers; one with the whole conversation does not. */
  async function toBegin(fields: JsonObject, { caller, conversation: { isContinued, queued, id } }: StartedChat): Promise<void> {
    if (ownValue(fields, 'interrupt') === true) {
      queued.interrupt(new GatewayError('run_cancelled', 'The run was cancelled because a later message interrupts it.'));
      if (id.of === 'chat') await interruptChat?.(id.id, caller);
      await waitAtMost(limits.interruptMs, queued.toBegin(), () => {
        throw stillRunning();
      });
    } else if (isContinued) await queued.toBegin();
  }

  /** Sessions come and go, while what they have sent waits in memory. */
  async function waiting(fields: JsonObject, chat: StartedChat): Promise<void> {
    const forget = holdWaiting?.({ callerId: chat.caller.id, size: weigh(fields), controller: chat.controller });
    try {
      await toBegin(fields, chat);
    } finally {
      forget?.();
    }
  }

  async function run(fields: JsonObject, chat: StartedChat): Promise<void> {
    const { session, caller } = chat;
    const isModelNamed = Boolean(textField(fields, 'model'));
    const body = toChatBody(fields, session.id, isModelNamed ? undefined : await defaultModel?.(caller));
    await waiting(fields, chat);
    const release = limiter?.admit(caller);
    try {
      await stream(body, chat, () => release?.());
    } finally {
      release?.();
    }
  }

  async function stream(body: JsonObject, chat: StartedChat, onOver: () => void): Promise<void> {
    const { session, caller, readHeader, address, controller, conversation } = chat;
    controller.signal.throwIfAborted();
    const { runId, stream: streamRun, stats } = await startChat({ body, caller, readHeader, address, controller, conversation, onOver });
    chat.runId = runId;
    const head = { runId, model: textField(body, 'model') ?? '', chatId: textField(body, 'chat_id'), messageId: textField(body, 'id') };
    await streamToSession({ relay, sessionId: session.id, caller, head, stream: streamRun, stats, controller, log });
  }

  return {
    async start(fields, session, { caller, readHeader, address }) {
      const controller = new AbortController();
      const id = conversationIn(fields, session, caller);
      const queued = queues.join(JSON.stringify([id.callerId, id.of, id.id]), controller);
      const conversation = { id, queued, isContinued: continuesIn(fields) };
      const chat: StartedChat = { session, caller, readHeader, address, controller, conversation };
      chats.add(chat);
      try {
        if (count(session.id, caller.id) > chatsPerSession) {
          throw new GatewayError('overloaded', `A session may have ${chatsPerSession} active chats. Wait for one to end, or cancel it.`);
        }
        limiter?.admitMessage(caller);
        await run(fields, chat);
      } catch (error) {
        const messageId = textField(fields, 'id');
        const frame = failureFrame(error, messageId === undefined ? {} : { message_id: messageId }, log);
        await relay.sendTo(session.id, caller, frame).catch(() => false);
      } finally {
        chats.delete(chat);
        queued.end();
      }
    },

    cancel(runId, session, caller) {
      const reason = new GatewayError('run_cancelled', 'The run was cancelled.');
      if (runId === undefined) {
        for (const chat of chats) if (chat.session.id === session.id && chat.caller.id === caller.id) chat.controller.abort(reason);
        return cancelSession?.(session.id, caller);
      }
      const chat = [...chats].find((each) => each.runId === runId && each.caller.id === caller.id);
      if (chat !== undefined) chat.controller.abort(reason);
      else if (cancelRun?.(runId, caller) !== true) {
        // Without `run_id`, so that a client does not mark an answer that has just ended as failed.
        void relay.sendTo(session.id, caller, errorFrame('not_found', `You have no active run ${runId}.`)).catch(() => false);
      }
    },
  };
}

interface StartedChat {
  session: RelaySession;
  caller: Caller;
  readHeader: ReadRequestHeader | undefined;
  address: SocketCaller['address'];
  controller: AbortController;
  conversation: ChatInConversation;
  /** Absent until it has begun. */
  runId?: string;
}

function conversationIn(fields: JsonObject, session: RelaySession, { id: callerId }: Caller): ConversationId {
  const chatId = textField(fields, 'chat_id') ?? '';
  return chatId === '' ? { callerId, of: 'session', id: session.id } : { callerId, of: 'chat', id: chatId };
}

/** No conversation begins with results, so a message that only has results answers the calls that were returned to the client. */
function continuesIn(fields: JsonObject): boolean {
  const messages = ownValue(fields, 'messages');
  const isResult = (message: JsonValue): boolean => isJsonObject(message) && ownValue(message, 'role') === 'tool';
  return messages === undefined || (Array.isArray(messages) && messages.length > 0 && messages.every(isResult));
}

interface StreamToSessionOptions {
  relay: BrowserRelay;
  sessionId: string;
  caller: Caller;
  head: ChatHead;
  stream: StartedRun['stream'];
  /** For the log line of the chat; absent: it has none. */
  stats?: RunStats | undefined;
  /** Aborted here when the session ends; if it is aborted elsewhere, the answer ends as cancelled. */
  controller: AbortController;
  /** Called for every frame, with whether the session exists. */
  onSent?: (isThere: boolean) => void;
  log: FastifyBaseLogger;
}

/**
 * Streams a run to a session on any replica, as frames that end with `assistant_end`, or with `error` when the run fails. Also used for HTTP chats with
 * `background: true`. Never rejects.
 */
export async function streamToSession({
  relay,
  sessionId,
  caller,
  head,
  stream,
  stats,
  controller,
  onSent,
  log,
}: StreamToSessionOptions): Promise<void> {
  const frames = new ChatFrames(head);
  const outbox = createSessionOutbox(relay, sessionId, caller);
  let flush: NodeJS.Immediate | undefined;
  const ended = relay.endOf(sessionId, caller);
  const onEnded = (): void => controller.abort(ended?.reason);
  ended?.addEventListener('abort', onEnded, { once: true });
  if (ended?.aborted === true) onEnded();

  async function send(frame: JsonObject): Promise<void> {
    const isThere = await outbox(frame);
    onSent?.(isThere);
    if (!isThere && !controller.signal.aborted) controller.abort(new DOMException('The session is gone', 'AbortError'));
  }

  async function sendAll(list: readonly JsonObject[]): Promise<void> {
    for (const frame of list) await send(frame);
  }

  try {
    await send(frames.start());
    await stream((events) => {
      const list = events.flatMap((event) => frames.of(event));
      // All calls of a round are emitted in one tick of the event loop, then the run waits for results. So announce them together after this tick.
      if (events.some((event) => event.type === 'run-event' && event.event.type === 'tool.call'))
        flush = setImmediate(() => void sendAll(frames.pendingCalls()));
      return list.length === 0 ? undefined : sendAll(list);
    });
    await sendAll(frames.pendingCalls());
    await send(controller.signal.aborted ? frames.cancelled() : frames.end());
  } catch (error) {
    const { signal } = controller;
    const frame =
      endingOf(error, signal).status === 'cancelled'
        ? frames.cancelled()
        : failureFrame(errorThatEnded(error, signal), { run_id: head.runId }, stats === undefined ? log : internalErrorsTo(log));
    await send(frame);
  } finally {
    clearImmediate(flush);
    if (stats !== undefined) {
      const { runId: run_id, model } = head;
      logChat(log, stats, { ...loggedCaller(caller), run_id, model, stream: true, over: 'socket' });
    }
    ended?.removeEventListener('abort', onEnded);
  }
}

/** Logs only internal errors; other failures of a run are part of the chat's log line. */
function internalErrorsTo(log: FastifyBaseLogger): FailureLog {
  return { error: (facts, message) => log.error(facts, message), warn: () => undefined, info: () => undefined };
}

type FailureLog = Record<'error' | 'warn' | 'info', (facts: object, message: string) => void>;

function failureFrame(error: unknown, where: JsonObject, log: FailureLog): JsonObject {
  const shown = toGatewayError(error, textField(where, 'run_id') ?? textField(where, 'message_id') ?? 'of the socket');
  const facts = { code: shown.code, ...where };
  if (shown.code === 'internal_error') log.error({ err: error, ...facts }, 'socket chat failed');
  else if (shown.status >= 500) log.warn({ error: shown.message, ...facts }, 'socket chat failed');
  else log.info({ error: shown.message, ...facts }, 'socket chat refused');
  return errorFrame(shown.code, shown.message, { ...(shown.param === null ? {} : { param: shown.param }), ...where });
}

function textField(fields: JsonObject, name: string): string | undefined {
  const value = ownValue(fields, name);
  return typeof value === 'string' ? value : undefined;
}
