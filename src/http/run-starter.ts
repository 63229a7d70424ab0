import type { Caller } from '../core/caller.ts';
import type { ChatEvent, ChatRequest } from '../core/chat.ts';
import { GatewayError } from '../core/errors.ts';
import type { RunContext } from '../core/run.ts';
import { answerChat } from '../chat/answer-chat.ts';
import type { ChatServices } from '../chat/answer-chat.ts';
import type { StartedRun } from './routes/chat.ts';

/** Starts runs and knows which are under way, so that a shutdown can wait for them and then end them with a word. */
export interface RunStarter {
  /** @throws GatewayError `server_shutting_down`. The controller's abort ends the run. */
  start: (request: ChatRequest, caller: Caller, leave: AbortController) => StartedRun;
  countRunning(): number;
  /** Ends a run of this caller with `run_cancelled`; false when there is none of that id. */
  cancel: (runId: string, caller: Caller) => boolean;
  /** No new runs; resolves when the running ones have ended, at the latest after `timeoutMs`, and then aborts the rest. */
  drain(timeoutMs: number): Promise<void>;
  isDraining(): boolean;
}

export function createRunStarter(services: ChatServices, newRunId: () => string): RunStarter {
  const running = new Map<string, { callerId: string; leave: AbortController }>();
  let isDraining = false;
  let becomeIdle: (() => void) | undefined;

  async function* tracked(events: AsyncGenerator<ChatEvent>, run: RunContext, leave: AbortController): AsyncGenerator<ChatEvent> {
    running.set(run.runId, { callerId: run.caller.id, leave });
    try {
      yield* events;
    } finally {
      running.delete(run.runId);
      if (running.size === 0) becomeIdle?.();
    }
  }

  return {
    start(request, caller, leave) {
      if (isDraining)
        throw new GatewayError('server_shutting_down', 'This gateway is shutting down. Try again in a moment.', { retryAfter: '5' });
      const { chatId, messageId, sessionId } = request;
      const run: RunContext = { runId: newRunId(), caller, chatId, messageId, sessionId, signal: leave.signal };
      return { run, events: tracked(answerChat(request, run, services), run, leave) };
    },
    countRunning: () => running.size,
    cancel(runId, caller) {
      const run = running.get(runId);
      if (run === undefined || run.callerId !== caller.id) return false;
      run.leave.abort(new GatewayError('run_cancelled', 'The run was cancelled.'));
      return true;
    },
    isDraining: () => isDraining,
    async drain(timeoutMs) {
      isDraining = true;
      if (running.size === 0) return;
      const { promise: idle, resolve } = Promise.withResolvers<void>();
      becomeIdle = resolve;
      const timer = setTimeout(() => {
        const reason = new GatewayError('server_shutting_down', 'The gateway was shut down before this answer was complete.');
        for (const { leave } of running.values()) leave.abort(reason);
        // A run that ignores its signal must not keep the process alive.
        setTimeout(resolve, lastWordsMs).unref();
      }, timeoutMs);
      await idle;
      clearTimeout(timer);
    },
  };
}

/** Time for aborted streams to send their error frame. */
const lastWordsMs = 500;
