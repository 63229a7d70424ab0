import type { FailedRuns } from '../chat/suspend/failed-runs.ts';
import type { ChatRequest } from '../core/chat/chat.ts';
import type { FailedRun } from '../core/runs/suspended-run.ts';
import type { MaybePromise } from '../shared/async/maybe-promise.ts';
import type { ActiveRuns } from './active-runs.ts';

/** A request that may be the repetition of one that failed. `isRetry`: its client says that it is. */
interface MaybeRepeated {
  request: ChatRequest;
  callerId: string;
  isRetry: boolean;
}

/** Finds the failed runs that repeated requests continue. */
export interface RepeatedRequests {
  /**
   * Takes the failed run that the request repeats out of the store. Its caller, and nobody else, has to start a run behind it. Undefined, without a promise,
   * for everybody who has no failed run. Never rejects.
   */
  claim(repeated: MaybeRepeated): MaybePromise<FailedRun | undefined>;
  /** Stores a claimed run again, because no run could be started behind it. Never rejects. */
  putBack(run: FailedRun): Promise<void>;
}

interface RepeatedRequestsOptions {
  failedRuns: Pick<FailedRuns, 'mayHave' | 'keyOf' | 'claim' | 'keep'>;
  runs: Pick<ActiveRuns, 'requestsOf'>;
}

export function createRepeatedRequests({ failedRuns, runs }: RepeatedRequestsOptions): RepeatedRequests {
  /** While an equal run is under way, nobody knows which of the two requests the new one repeats, unless its client says that it repeats one. */
  async function isUnderWay(key: string, { request, callerId }: MaybeRepeated): Promise<boolean> {
    const { model, messages } = request;
    const alike = runs.requestsOf(callerId).filter((other) => other.model === model && other.messages.length === messages.length);
    for (const other of alike) if ((await failedRuns.keyOf(callerId, other)) === key) return true;
    return false;
  }

  async function find(repeated: MaybeRepeated): Promise<FailedRun | undefined> {
    const key = await failedRuns.keyOf(repeated.callerId, repeated.request);
    return !repeated.isRetry && (await isUnderWay(key, repeated)) ? undefined : failedRuns.claim(key);
  }

  return {
    claim: (repeated) => (repeated.request.resumesFailed === false || !failedRuns.mayHave(repeated.callerId) ? undefined : find(repeated)),
    putBack: (run) => failedRuns.keep(run),
  };
}
