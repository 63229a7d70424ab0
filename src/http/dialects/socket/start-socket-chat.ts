import type { FastifyBaseLogger } from 'fastify';
import type { Caller } from '../../../core/caller.ts';
import type { Release } from '../../../core/rate-limit.ts';
import type { BrowserRelay } from '../../../relay/browser-relay.ts';
import { parseChatBody } from '../chat-completions/parse-chat-body.ts';
import type { ParsedChat } from '../chat-completions/parse-chat-body.ts';
import type { ActiveRuns } from '../../../runs/active-runs.ts';
import { streamToSession } from './socket-chats.ts';
import type { StartChat } from './socket-chats.ts';

/** A chat that came over a socket: the same body and the same run as over HTTP. */
export function startSocketChat(runs: ActiveRuns): StartChat {
  return ({ body, caller, signal }) => {
    const leave = new AbortController();
    if (signal.aborted) leave.abort(signal.reason);
    signal.addEventListener('abort', () => leave.abort(signal.reason), { once: true });
    const { run, stream, stats } = runs.start(parseChatBody(body).request, caller, leave);
    return { runId: run.runId, stream, stats };
  };
}

export interface BackgroundRunsOptions {
  runs: ActiveRuns;
  relay: BrowserRelay;
  log: FastifyBaseLogger;
}

/**
 * A chat that came over HTTP with `background: true`: streams to the caller's session until its end.
 * Resolves with the run's id once the session has taken the first frame, or with nothing when there is no such session.
 * `release` is called when the run is over.
 */
export function createBackgroundRuns({ runs, relay, log }: BackgroundRunsOptions) {
  return async ({ request }: ParsedChat, caller: Caller, release: Release): Promise<string | undefined> => {
    const sessionId = request.sessionId ?? '';
    const leave = new AbortController();
    const { run, stream, stats } = startOr(release, () => runs.start(request, caller, leave));
    const first = Promise.withResolvers<boolean>();
    const head = { runId: run.runId, model: request.model, chatId: request.chatId, messageId: request.messageId };
    void streamToSession({ relay, sessionId, caller, head, stream, stats, leave, onSent: first.resolve, log }).finally(() => {
      release();
      first.resolve(false);
    });
    return (await first.promise) ? run.runId : undefined;
  };
}

/** What was not started has nothing that could end. */
function startOr<Value>(release: Release, start: () => Value): Value {
  try {
    return start();
  } catch (error) {
    release();
    throw error;
  }
}
