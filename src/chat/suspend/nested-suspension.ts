import type { InnerSuspension, RunSuspension, ResumedInner } from '../../core/runs/suspended-run.ts';
import type { ChatRequest } from '../../core/chat/chat.ts';
import { createResumedRun } from './resumed-run.ts';

interface NestedSuspension extends RunSuspension {
  /** What the nested run waits for, once it is suspended. */
  readonly waiting: InnerSuspension | undefined;
}

/**
 * Suspends a nested run: it is stored with the call that started it, and the outer run requests the decision, or asks its caller to connect.
 * `textSoFar`: returns its text until now.
 */
export function nestedSuspension(request: ChatRequest, resumed: ResumedInner | undefined, textSoFar: () => string): NestedSuspension {
  let answered = request;
  let waiting: InnerSuspension | undefined;
  // The outer run keeps the sources.
  const resumedRun = resumed && createResumedRun({ loop: resumed.run.loop, sources: [] }, resumed.decided);
  return {
    ...(resumedRun && { resumed: resumedRun }),
    answers(now) {
      answered = now;
    },
    async suspend(calls, loop) {
      waiting = { calls: [...calls], run: { request: answered, loop, text: textSoFar() } };
      return { run_id: '', calls: [] };
    },
    async suspendToConnect(calls, loop) {
      const decided = resumedRun?.unused() ?? [];
      const run = { request: answered, loop, text: textSoFar(), ...(decided.length > 0 && { decided }) };
      waiting = { calls: [], connect: [...calls], run };
      return { run_id: '', servers: [], token: '' };
    },
    // Its failure is a tool result, with which the outer run continues.
    settle: async () => undefined,
    keepForRetry: async () => false,
    abandon: async () => undefined,
    get isSuspended() {
      return waiting !== undefined;
    },
    get waiting() {
      return waiting;
    },
  };
}
