import type { DecidedCall, RunWait, RunWaits, WaitingRun, WaitingRunStore } from '../../core/suspended-run.ts';
import type { PendingApproval } from '../../core/approval.ts';
import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import { createResumedRun } from './resumed-run.ts';
import type { TrackedRun } from './resumed-run.ts';

export interface ApprovalTokenSigner {
  /** `expires`: milliseconds since 1970. */
  sign(call: { runId: string; waitId: string; callId: string; args: JsonObject }, expires: number): string;
}

export interface RunWaitsOptions {
  store: Pick<WaitingRunStore, 'keep' | 'prune' | 'close'>;
  tokens: ApprovalTokenSigner;
  /** Called with runs that wait no longer, because the store was full and their caller had the most in it. Never rejects. */
  onGivenUp: (runIds: readonly string[]) => Promise<void>;
  /** Makes the log of the run durable. */
  flushLog: () => Promise<void>;
  /** Called where a run that was cancelled cannot be closed: its tokens hold until they expire. */
  onFault: (error: unknown) => void;
  /** At least 128 random bits. */
  newId: () => string;
  now: () => number;
}

type RunOnItsWay = Parameters<RunWaits['begin']>[0];

/** Suspends runs until somebody decides: stored first, then announced with tokens. */
export function createRunWaits(options: RunWaitsOptions): RunWaits {
  function waitOf(
    run: RunOnItsWay & { model: string },
    before?: { waited: WaitingRun; decided: DecidedCall[]; resumed: TrackedRun },
  ): RunWait {
    let { request } = run;
    let isSuspended = false;
    return {
      ...(before !== undefined && { resumed: before.resumed }),
      answers(now) {
        request = now;
      },
      async suspend(calls, loop) {
        const { id, callerId, model, sources } = run;
        const expires = options.now() + limits.approvalTokenMs;
        const progress = { request, calls: [...calls], sources: [...sources], loop };
        const waiting: WaitingRun = { id, callerId, waitId: options.newId(), expires, model, ...progress };
        await keep(waiting, limits.waitingRunsPerCaller, options);
        isSuspended = true;
        return toPendingApproval(waiting, options.tokens);
      },
      async keepForRetry() {
        const checkpoint = isSuspended ? undefined : before?.resumed.retryFrom();
        if (before === undefined || checkpoint === undefined) return false;
        const { waited, decided } = before;
        const { loop, left } = checkpoint;
        // Those of before are the first among the new ones, once the run has emitted them.
        const sources = run.sources.length < waited.sources.length ? waited.sources : [...run.sources];
        // Under the same tokens, for as long as they hold.
        const waiting: WaitingRun = { ...waited, request, sources, loop, again: { decided, left } };
        try {
          await keep(waiting, limits.retriedRunsPerCaller, options);
        } catch (error) {
          if (error instanceof GatewayError) return false;
          throw error;
        }
        isSuspended = true;
        return true;
      },
      async abandon() {
        await options.store.close(run.id).catch(options.onFault);
      },
      get isSuspended() {
        return isSuspended;
      },
    };
  }

  return {
    begin: (run) => waitOf({ ...run, model: run.request.model }),
    resume(waited, decided, sources) {
      const resumed = createResumedRun(waited, decided);
      // A second retry has the decisions of the first.
      return waitOf({ ...waited, sources }, { waited, decided: waited.again?.decided ?? [...decided], resumed });
    },
  };
}

/** @throws GatewayError `overloaded` where there is no room for it. */
async function keep(run: WaitingRun, maxOfCaller: number, { store, flushLog, onGivenUp, now }: RunWaitsOptions): Promise<void> {
  await store.prune(now());
  const { waitingRunCharacters: maxRunCharacters, waitingRunsCharacters: maxCharacters } = limits;
  const kept = await store.keep(run, { maxRunCharacters, maxOfCaller, maxCharacters });
  if (kept.type === 'too_large') {
    throw new GatewayError('overloaded', 'This run holds too much to wait for an approval. Send less, or ask over a websocket session.');
  }
  if (kept.type === 'refused') {
    throw new GatewayError(
      'overloaded',
      'Too many runs wait for approvals. Decide or cancel some of them (GET /api/runs), then ask again.',
    );
  }
  if (kept.givenUp.length > 0) await onGivenUp(kept.givenUp);
  // What is to be approved must be readable before somebody can decide.
  await flushLog();
}

function toPendingApproval({ id: runId, waitId, calls, expires }: WaitingRun, tokens: ApprovalTokenSigner): PendingApproval {
  const shown = calls.map(({ id, tool, args }) => ({
    id,
    tool,
    arguments: args,
    token: tokens.sign({ runId, waitId, callId: id, args }, expires),
  }));
  const [only, ...others] = shown;
  return { run_id: runId, calls: shown, ...(only !== undefined && others.length === 0 && { token: only.token }) };
}
