import { limits } from '../../core/limits.ts';
import type { BudgetUse } from '../suspend/loop-checkpoint.ts';
import type { ToolCallResult } from '../tool-calls/tool-call-result.ts';

/** Consecutive rounds in which no call could run. They do not count as rounds, so they have their own limit. */
export const reasksInARow = 2;
/** After this time no further round starts: no client waits longer. */
export const toolPhaseMs = 30 * 60 * 1000;

/** The limit that prevents another round of tool calls. */
export interface ReachedLimit {
  limit: 'tool_rounds' | 'lookups' | 'reasks' | 'calls_per_run' | 'tool_phase_ms';
  value: number;
}

/** The remaining tool calls, rounds and time of a run. */
export interface RoundBudget {
  reached(): ReachedLimit | undefined;
  readonly callsPerRun: number;
  callsLeft(): number;
  /** `isLookup`: only helpers were called. */
  spend(results: readonly ToolCallResult[], isLookup: boolean): void;
  /** What has been used so far, for the checkpoint of a suspended run. */
  used(): BudgetUse;
}

interface BudgetOptions {
  maxRounds: number;
  /** The most rounds that call only helpers. Absent: they count as other rounds do. */
  maxLookups?: number | undefined;
  /** The most calls of the run, as its request limits them. */
  maxCalls?: number | undefined;
  now: () => number;
}

/** A round in which no call could run (unknown names, malformed arguments, repeated calls) is a correction and has a separate budget. */
export function createRoundBudget({ maxRounds, maxLookups, maxCalls, now }: BudgetOptions, used?: BudgetUse): RoundBudget {
  const callsPerRun = Math.min(maxCalls ?? limits.callsPerRun, limits.callsPerRun);
  // Time while the run was suspended does not count.
  const started = now();
  let { rounds, lookups = 0, reasks, calls } = used ?? { rounds: 0, reasks: 0, calls: 0 };
  return {
    reached() {
      if (rounds >= maxRounds) return { limit: 'tool_rounds', value: maxRounds };
      if (maxLookups !== undefined && lookups >= maxLookups) return { limit: 'lookups', value: maxLookups };
      if (reasks > reasksInARow) return { limit: 'reasks', value: reasksInARow };
      if (calls >= callsPerRun) return { limit: 'calls_per_run', value: callsPerRun };
      if (now() - started >= toolPhaseMs) return { limit: 'tool_phase_ms', value: toolPhaseMs };
      return undefined;
    },
    callsPerRun,
    callsLeft: () => callsPerRun - calls,
    spend(results, isLookup) {
      const hasRun = results.length === 0 || results.some(({ isReady }) => isReady);
      if (hasRun && isLookup && maxLookups !== undefined) lookups++;
      else if (hasRun) rounds++;
      reasks = hasRun ? 0 : reasks + 1;
      calls += results.length;
    },
    used: () => ({ rounds, lookups, reasks, calls }),
  };
}
