import type { FailedRuns } from '../chat/suspend/failed-runs.ts';
import type { ChatRequest } from '../core/chat/chat.ts';
import type { FailedRun } from '../core/runs/suspended-run.ts';
import type { MaybePromise } from '../shared/async/maybe-promise.ts';
import type { ActiveRuns } from './active-runs.ts';
import type { RunStarter, StartedRun } from './started-run.ts';

/**
 * Starts a run, behind the failed run that the request repeats if there is one. At once for everybody who has no failed run. `isRetry`: the client says that
 * it repeats a request. @throws GatewayError as `ActiveRuns.start`
 */
export type StartOrContinue = (request: ChatRequest, who: RunStarter, isRetry?: boolean) => MaybePromise<StartedRun>;

interface StartOrContinueOptions {
  failedRuns: Pick<FailedRuns, 'mayHave' | 'keyOf' | 'claim' | 'putBack'>;
  runs: Pick<ActiveRuns, 'start' | 'requestsOf'>;
}

export function createStartOrContinue({ failedRuns, runs }: StartOrContinueOptions): StartOrContinue {
  async function isUnderWay(key: string, { model, messages }: ChatRequest, callerId: string): Promise<boolean> {
    const alike = runs.requestsOf(callerId).filter((other) => other.model === model && other.messages.length === messages.length);
    for (const other of alike) if ((await failedRuns.keyOf(callerId, other)) === key) return true;
    return false;
  }

  /** While an equal run is under way, nobody knows which of the two requests this one repeats, unless its client says that it repeats one. */
  async function claim(request: ChatRequest, callerId: string, isRetry: boolean): Promise<FailedRun | undefined> {
    const key = await failedRuns.keyOf(callerId, request);
    return !isRetry && (await isUnderWay(key, request, callerId)) ? undefined : failedRuns.claim(key);
  }

  async function startBehind(request: ChatRequest, who: RunStarter, isRetry: boolean): Promise<StartedRun> {
    const behind = await claim(request, who.caller.id, isRetry);
    try {
      return runs.start(request, who, behind);
    } catch (error) {
      if (behind !== undefined) await failedRuns.putBack(behind);
      throw error;
    }
  }

  return (request, who, isRetry = false) =>
    request.resumesFailed === false || !failedRuns.mayHave(who.caller.id) ? runs.start(request, who) : startBehind(request, who, isRetry);
}
