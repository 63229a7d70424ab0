import type { InnerWait, RunWait, ResumedInner } from '../../core/suspended-run.ts';
import type { ChatRequest } from '../../core/chat.ts';
import { createResumedRun } from './resumed-run.ts';

export interface NestedSuspension extends RunWait {
  /** What the run within waits for, once it does. */
  readonly waiting: InnerWait | undefined;
}

/**
 * How a run within another one waits: it is stored with the call that began it, and the outer run asks for the decision. `textSoFar`: what it has
 * said until now.
 */
export function nestedSuspension(request: ChatRequest, resumed: ResumedInner | undefined, textSoFar: () => string): NestedSuspension {
  let answered = request;
  let waiting: InnerWait | undefined;
  return {
    // Its sources are the outer run's business.
    ...(resumed && { resumed: createResumedRun({ loop: resumed.run.loop, sources: [] }, resumed.decided) }),
    answers(now) {
      answered = now;
    },
    async suspend(calls, loop) {
      waiting = { calls: [...calls], run: { request: answered, loop, text: textSoFar() } };
      return { run_id: '', calls: [] };
    },
    // Its failure is a result, with which the outer run goes on.
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
