import type { FastifyBaseLogger } from 'fastify';
import type { Caller } from '../../../core/caller.ts';
import type { Release } from '../../../core/rate-limit.ts';
import type { BrowserRelay } from '../../../relay/browser-relay.ts';
import { parseChatBody } from '../chat-completions/parse-chat-body.ts';
import type { ParsedChat } from '../chat-completions/parse-chat-body.ts';
import type { ActiveRuns } from '../../../runs/active-runs.ts';
import { streamToSession } from './socket-chats.ts';
import type { StartChat } from './socket-chats.ts';

/** Starts a chat over a socket, with the same body and the same run as over HTTP. */
export function startSocketChat(runs: ActiveRuns): StartChat {
  return ({ body, caller, signal }) => {
    const controller = new AbortController();
    if (signal.aborted) controller.abort(signal.reason);
    signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true });
    const { run, stream, stats } = runs.start(parseChatBody(body).request, caller, controller);
    return { runId: run.runId, stream, stats };
  };
}

export interface BackgroundRunsOptions {
  runs: ActiveRuns;
  relay: BrowserRelay;
  log: FastifyBaseLogger;
}

/**
 * Starts an HTTP chat with `background: true`, and streams it to the caller's session.
 * Resolves with the run's id once the session has accepted the first frame, or with undefined when there is no such session.
 * `release` is called at the end of the run.
 */
export function createBackgroundRuns({ runs, relay, log }: BackgroundRunsOptions) {
  return async ({ request }: ParsedChat, caller: Caller, release: Release): Promise<string | undefined> => {
    const sessionId = request.sessionId ?? '';
    const controller = new AbortController();
    const { run, stream, stats } = startOr(release, () => runs.start(request, caller, controller));
    const first = Promise.withResolvers<boolean>();
    const head = { runId: run.runId, model: request.model, chatId: request.chatId, messageId: request.messageId };
    void streamToSession({ relay, sessionId, caller, head, stream, stats, controller, onSent: first.resolve, log }).finally(() => {
      release();
      first.resolve(false);
    });
    return (await first.promise) ? run.runId : undefined;
  };
}

/** Releases the admission if the run could not be started. */
function startOr<Value>(release: Release, start: () => Value): Value {
  try {
    return start();
  } catch (error) {
    release();
    throw error;
  }
}
