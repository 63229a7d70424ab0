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
  /** Rounds so far. */
  readonly rounds: number;
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
export function createRoundBudget(options: BudgetOptions, used?: BudgetUse): RoundBudget {
  return new CountedBudget(options, used);
}

/** A class, because one is made for each chat. */
class CountedBudget implements RoundBudget {
  readonly callsPerRun: number;
  readonly #options: BudgetOptions;
  readonly #started: number;
  #rounds: number;
  #lookups: number;
  #reasks: number;
  #calls: number;

  constructor(options: BudgetOptions, used: BudgetUse | undefined) {
    this.#options = options;
    this.callsPerRun = Math.min(options.maxCalls ?? limits.callsPerRun, limits.callsPerRun);
    // Time while the run was suspended does not count.
    this.#started = options.now();
    this.#rounds = used?.rounds ?? 0;
    this.#lookups = used?.lookups ?? 0;
    this.#reasks = used?.reasks ?? 0;
    this.#calls = used?.calls ?? 0;
  }

  get rounds(): number {
    return this.#rounds;
  }

  reached(): ReachedLimit | undefined {
    const { maxRounds, maxLookups, now } = this.#options;
    if (this.#rounds >= maxRounds) return { limit: 'tool_rounds', value: maxRounds };
    if (maxLookups !== undefined && this.#lookups >= maxLookups) return { limit: 'lookups', value: maxLookups };
    if (this.#reasks > reasksInARow) return { limit: 'reasks', value: reasksInARow };
    if (this.#calls >= this.callsPerRun) return { limit: 'calls_per_run', value: this.callsPerRun };
    if (now() - this.#started >= toolPhaseMs) return { limit: 'tool_phase_ms', value: toolPhaseMs };
    return undefined;
  }

  callsLeft(): number {
    return this.callsPerRun - this.#calls;
  }

  spend(results: readonly ToolCallResult[], isLookup: boolean): void {
    const hasRun = results.length === 0 || results.some(({ isReady }) => isReady);
    if (hasRun && isLookup && this.#options.maxLookups !== undefined) this.#lookups++;
    else if (hasRun) this.#rounds++;
    this.#reasks = hasRun ? 0 : this.#reasks + 1;
    this.#calls += results.length;
  }

  used(): BudgetUse {
    return { rounds: this.#rounds, lookups: this.#lookups, reasks: this.#reasks, calls: this.#calls };
  }
}
