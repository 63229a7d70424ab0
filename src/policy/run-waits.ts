import type { DecidedCall, PendingApproval, ResumedRun, RunWait, RunWaits, WaitingRun, WaitingRunStore } from '../core/approval.ts';
import { GatewayError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { ApprovalTokens } from './approval-tokens.ts';

export interface RunWaitsOptions {
  store: Pick<WaitingRunStore, 'keep' | 'prune'>;
  tokens: Pick<ApprovalTokens, 'sign'>;
  /** Makes the log of the run durable. */
  flushLog: () => Promise<void>;
  /** At least 128 random bits. */
  newId: () => string;
  now: () => number;
}

type RunOnItsWay = Parameters<RunWaits['begin']>[0];

/** Puts runs away until somebody decides: written down first, then told with tokens. */
export function createRunWaits(options: RunWaitsOptions): RunWaits {
  function waitOf(run: RunOnItsWay & { model: string }, resumed?: ResumedRun): RunWait {
    let { request } = run;
    let isSuspended = false;
    return {
      ...(resumed !== undefined && { resumed }),
      answers(asked) {
        request = asked;
      },
      async suspend(calls, loop) {
        const { id, callerId, model, sources } = run;
        const expires = options.now() + limits.approvalTokenMs;
        const told = { request, calls: [...calls], sources: [...sources], loop };
        const waiting: WaitingRun = { id, callerId, waitId: options.newId(), expires, model, ...told };
        await keep(waiting, options);
        isSuspended = true;
        return toPendingApproval(waiting, options.tokens);
      },
      get isSuspended() {
        return isSuspended;
      },
    };
  }

  return {
    begin: (run) => waitOf({ ...run, model: run.request.model }),
    resume: (run, decided, sources) => waitOf({ ...run, sources }, resumedRun(run, decided)),
  };
}

function resumedRun({ loop, sources }: WaitingRun, decided: readonly DecidedCall[]): ResumedRun {
  const left = [...decided];
  let isTaken = false;
  return {
    take() {
      if (isTaken) return undefined;
      isTaken = true;
      return { loop, sources };
    },
    takeDecision(callId, args) {
      const text = JSON.stringify(args);
      const index = left.findIndex(({ call }) => call.callId === callId && JSON.stringify(call.args) === text);
      return index < 0 ? undefined : left.splice(index, 1)[0];
    },
  };
}

/** @throws GatewayError `overloaded` where there is no room for it. */
async function keep(run: WaitingRun, { store, flushLog, now }: RunWaitsOptions): Promise<void> {
  if (JSON.stringify(run).length > limits.waitingRunCharacters) {
    throw new GatewayError('overloaded', 'This run holds too much to wait for an approval. Send less, or ask over a websocket session.');
  }
  await store.prune(now());
  const bounds = { maxOfCaller: limits.waitingRunsPerCaller, maxCharacters: limits.waitingRunsCharacters };
  if (!(await store.keep(run, bounds))) {
    throw new GatewayError(
      'overloaded',
      'Too many runs wait for approvals. Decide or cancel some of them (GET /api/runs), then ask again.',
    );
  }
  // What was asked must be readable by the time that somebody can answer.
  await flushLog();
}

function toPendingApproval({ id: runId, waitId, calls, expires }: WaitingRun, tokens: Pick<ApprovalTokens, 'sign'>): PendingApproval {
  const shown = calls.map(({ id, tool, args }) => ({
    id,
    tool,
    arguments: args,
    token: tokens.sign({ runId, waitId, callId: id, args }, expires),
  }));
  const [only, ...others] = shown;
  return { run_id: runId, calls: shown, ...(only !== undefined && others.length === 0 && { token: only.token }) };
}
