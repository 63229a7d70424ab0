import { eventIdOf, withinOf } from '../../chat/suspend/nested-call-ids.ts';
import { connectResponse } from '../../chat/suspend/suspend-run.ts';
import type { Caller } from '../../core/callers/caller.ts';
import { GatewayError } from '../../core/errors.ts';
import type { RunLog } from '../../core/runs/run-log.ts';
import type {
  DecidedCall,
  RunAwaitingApproval,
  RunAwaitingConnection,
  WaitingRun,
  WaitingRunStore,
} from '../../core/runs/suspended-run.ts';
import { responseData, type RunEvent } from '../../core/chat/run-event.ts';
import type { ActiveRuns } from '../active-runs.ts';

/** How long a claim waits for the end of the answer that contains its token. */
export const answerEndMs = 5_000;

/** A run that its caller wants to resume. */
export interface ClaimedRun<Run extends WaitingRun> {
  run: Run;
  caller: Caller;
  runs: Pick<ActiveRuns, 'requireReady' | 'whenOver'>;
}

/** `recorded`: other calls, with these ids, still wait. `complete`: the last decision; this caller, and nobody else, has to resume the run. */
export type RecordedDecision = { type: 'recorded'; waiting: string[] } | { type: 'complete'; decided: readonly DecidedCall[] };

/**
 * The runs that are stored until they are resumed. Only here are they taken out of the store or ended.
 * `claim` and `decide` change nothing if they throw: GatewayError `conflict` if the answer with the token has not ended or the run was claimed
 * before, and as `ActiveRuns.start`.
 */
export interface SuspendedRuns {
  /** Takes a run whose caller has connected. This caller, and nobody else, has to resume it, with the decisions that this returns. */
  claim(claimed: ClaimedRun<RunAwaitingConnection>): Promise<readonly DecidedCall[]>;
  /** Records the decision on one call. */
  decide(claimed: ClaimedRun<RunAwaitingApproval>, decision: DecidedCall & { isRemembered: boolean }): Promise<RecordedDecision>;
  /** Ends a run as cancelled if it still waits. */
  giveUp: (runId: string, message: string) => Promise<void>;
  /** Ends a run that waits in the store, or only in the log because it could neither be resumed nor stored again; false if there is none. */
  cancel: (runId: string) => Promise<boolean>;
  /** `listener` is called with the id of each run that ends here and will not be resumed. It must not throw. */
  onSettled(listener: (runId: string) => void): void;
}

interface SuspendedRunsOptions {
  store: Pick<WaitingRunStore, 'decide' | 'close'>;
  log: Pick<RunLog, 'resume'>;
  /** Called if a claim is not in the log of its run. */
  onFault: (error: unknown, runId: string) => void;
}

export function createSuspendedRuns({ store, log, onFault }: SuspendedRunsOptions): SuspendedRuns {
  const listeners: ((runId: string) => void)[] = [];

  /** `take` changes the store, and returns undefined if somebody else was faster. */
  async function claimOnce<Taken>(
    { run, caller, runs }: ClaimedRun<WaitingRun>,
    take: () => Promise<Taken | undefined>,
    events: readonly RunEvent[],
  ): Promise<Taken> {
    runs.requireReady(caller, run.request);
    // The client receives the token shortly before the answer that contains it has ended.
    if (!(await runs.whenOver(run.id, answerEndMs))) throw new GatewayError('conflict', conflicts[awaitedBy(run)].notEnded);
    const taken = await take();
    if (taken === undefined) throw alreadyClaimed(awaitedBy(run));
    // A run that was resumed before has it in its log. If the log fails, the claim is stored all the same, and must not be lost.
    if (run.again === undefined) await record(run.id, events).catch((error: unknown) => onFault(error, run.id));
    return taken;
  }

  async function record(runId: string, events: readonly RunEvent[]): Promise<void> {
    const recorder = await log.resume(runId);
    for (const event of events) recorder?.record({ type: 'run-event', event });
    recorder?.end({ status: 'waiting' });
  }

  /** A run that is just being resumed checks the log first. */
  async function endInLog(runId: string, message: string): Promise<boolean> {
    const recorder = await log.resume(runId);
    recorder?.end({ status: 'cancelled', error: { code: 'run_cancelled', message } });
    for (const listener of listeners) listener(runId);
    return recorder !== undefined;
  }

  return {
    claim(claimed) {
      const { id, waitId, again, decided = [] } = claimed.run;
      const take = async (): Promise<readonly DecidedCall[] | undefined> =>
        (await store.close(id, waitId)) ? (again?.left ?? decided) : undefined;
      return claimOnce(claimed, take, resumptionEvents(claimed.run, []));
    },
    decide(claimed, { call, answer, isRemembered }) {
      const { id, waitId } = claimed.run;
      const take = async (): Promise<RecordedDecision | undefined> => {
        const effect = await store.decide({ id, waitId, callId: call.id }, answer);
        return effect.type === 'closed' ? undefined : effect;
      };
      return claimOnce(claimed, take, [decisionEvent({ call, answer }, isRemembered)]);
    },
    async giveUp(runId, message) {
      if (await store.close(runId)) await endInLog(runId, message);
    },
    async cancel(runId) {
      const wasOpen = await store.close(runId);
      const wasWaiting = await endInLog(runId, 'The run was cancelled.');
      return wasOpen || wasWaiting;
    },
    onSettled(listener) {
      listeners.push(listener);
    },
  };
}

/** The events that tell what resumes a run: the decisions on its calls, or that its caller has connected. */
export function resumptionEvents(run: WaitingRun, decided: readonly DecidedCall[]): RunEvent[] {
  return run.connect === undefined
    ? decided.map((each) => decisionEvent(each))
    : run.connect.map((call) => ({ type: 'connect.response', data: connectResponse(call, 'connected') }));
}

function decisionEvent({ call, answer }: DecidedCall, isRemembered = false): RunEvent {
  const data = { ...responseData(eventIdOf(call), answer), tool: call.tool, ...withinOf(call) };
  return { type: 'approval.response', data: { ...data, ...(isRemembered && { remembered: true }) } };
}

export function alreadyClaimed(awaited: keyof typeof conflicts): GatewayError {
  return new GatewayError('conflict', `${conflicts[awaited].claimed} GET /api/runs/{id} shows what happened.`);
}

function awaitedBy({ connect }: WaitingRun): keyof typeof conflicts {
  return connect === undefined ? 'approval' : 'connection';
}

const conflicts = {
  approval: {
    claimed: 'This call was already decided, or the run was cancelled. A token is valid for one decision.',
    notEnded: 'The answer that requests this approval has not ended yet. Read it to its end, then decide.',
  },
  connection: {
    claimed: 'This run was resumed already, or was cancelled. A token is valid once.',
    notEnded: 'The answer with this token has not ended yet. Read it to its end, then resume the run.',
  },
} as const;
