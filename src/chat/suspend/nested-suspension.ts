import type { InnerWait, RunWait, ResumedInner } from '../../core/suspended-run.ts';
import type { ChatRequest } from '../../core/chat.ts';
import { createResumedRun } from './resumed-run.ts';

export interface NestedSuspension extends RunWait {
  /** What the run within waits for, once it does. */
  readonly kept: InnerWait | undefined;
}

/**
 * How a run within another one waits: it is kept with the call that began it, and the outer run tells whoever decides. `textSoFar`: what it has
 * said until now.
 */
export function nestedSuspension(request: ChatRequest, resumed: ResumedInner | undefined, textSoFar: () => string): NestedSuspension {
  let asked = request;
  let kept: InnerWait | undefined;
  return {
    // Its sources are the outer run's business.
    ...(resumed && { resumed: createResumedRun({ loop: resumed.run.loop, sources: [] }, resumed.decided) }),
    answers(now) {
      asked = now;
    },
    async suspend(calls, loop) {
      kept = { calls: [...calls], run: { request: asked, loop, text: textSoFar() } };
      return { run_id: '', calls: [] };
    },
    // Its failure is a result, with which the outer run goes on.
    keepForRetry: async () => false,
    abandon: async () => undefined,
    get isSuspended() {
      return kept !== undefined;
    },
    get kept() {
      return kept;
    },
  };
}
