import type { FastifyBaseLogger } from 'fastify';
import type { Release } from '../../../core/callers/rate-limit.ts';
import type { BrowserRelay } from '../../../relay/browser-relay.ts';
import { parseChatBody } from '../chat-completions/parse-chat-body.ts';
import type { ParsedRequest } from '../dialect.ts';
import type { StartOrContinue } from '../../../runs/start-or-continue.ts';
import type { MaybePromise } from '../../../shared/async/maybe-promise.ts';
import { createAddedMessages } from './added-messages.ts';
import type { KeptConversations } from './kept-conversations.ts';
import { streamToSession, type SocketCaller, type StartChat } from './socket-chats.ts';

interface SocketChatOptions {
  startRun: StartOrContinue;
  conversations: KeptConversations;
}

/** Starts a chat over a socket, with the same body and the same run as over HTTP, and with the stored messages of its conversation. */
export function startSocketChat({ startRun, conversations }: SocketChatOptions): StartChat {
  return async ({ body, caller, readHeader, address, controller, conversation, onOver }) => {
    const { request: sent, hasSystemParameter } = parseChatBody(body);
    const prompts = sent.messages.slice(0, hasSystemParameter ? 1 : 0);
    const asked = sent.messages.slice(prompts.length);
    if (!conversation.isContinued) conversation.queued.replace();
    const history = conversation.isContinued ? await conversations.find(conversation.id, sent.model) : [];
    const request = {
      ...sent,
      messages: [...prompts, ...history, ...asked],
      ...(history.length > 0 && { hasExecutedCalls: true as const }),
      ...(conversation.id.of === 'session' && { conversationId: `session:${conversation.id.id}` }),
    };
    const { run, stream, stats } = await startRun(request, { caller, controller, readHeader, address });
    run.whenOver?.(onOver);
    const added = createAddedMessages();

    async function keep(outcome: 'answered' | 'cancelled' | 'failed'): Promise<void> {
      if (conversation.queued.isReplaced) return;
      const messages = [...history, ...asked, ...added.after(run.transcript ?? [], outcome)];
      await conversations.save(conversation.id, { model: sent.model, messages, hasReturnedCalls: added.hasReturnedCalls });
    }

    return {
      runId: run.runId,
      stats,
      async stream(emit) {
        let outcome: 'answered' | 'failed' = 'failed';
        try {
          await stream((events) => {
            added.note(events);
            return emit(events);
          });
          outcome = 'answered';
        } finally {
          await keep(controller.signal.aborted ? 'cancelled' : outcome);
        }
      },
    };
  };
}

interface SessionAnswersOptions {
  startRun: StartOrContinue;
  relay: BrowserRelay;
  log: FastifyBaseLogger;
}

/**
 * Starts an HTTP chat with `background: true`, and streams it to the caller's session.
 * Resolves with the run's id once the session has accepted the first frame, or with undefined when there is no such session.
 * `release` is called at the end of the run.
 */
export function createSessionAnswers({ startRun, relay, log }: SessionAnswersOptions) {
  return async (
    { request }: Pick<ParsedRequest, 'request'>,
    { caller, readHeader, address }: SocketCaller,
    release: Release,
  ): Promise<string | undefined> => {
    const sessionId = request.sessionId ?? '';
    const controller = new AbortController();
    const { run, stream, stats } = await startOr(release, () => startRun(request, { caller, controller, readHeader, address }));
    run.whenOver?.(release);
    const first = Promise.withResolvers<boolean>();
    const head = { runId: run.runId, model: request.model, chatId: request.chatId, messageId: request.messageId };
    void streamToSession({ relay, sessionId, caller, head, stream, stats, controller, onSent: first.resolve, log }).finally(() =>
      first.resolve(false),
    );
    return (await first.promise) ? run.runId : undefined;
  };
}

/** Releases the admission if the run could not be started. */
async function startOr<Value>(release: Release, start: () => MaybePromise<Value>): Promise<Value> {
  try {
    return await start();
  } catch (error) {
    release();
    throw error;
  }
}
