import type { JsonObject } from '../../../shared/json/json.ts';
import type { TaskInRound, TaskOfCall } from '../tool-call-scope.ts';
import type { ToolCallResult } from '../tool-call-result.ts';

/** A round of which some calls are tasks. `results`: of the calls that have settled, by index. */
export interface RoundWithTasks {
  tasks: readonly TaskOfCall[];
  results: readonly (ToolCallResult | undefined)[];
}

/** Stores a round, or that it has no tasks any more (undefined). Returns whether it is stored. */
export type KeepTasks = (round: RoundWithTasks | undefined) => Promise<boolean>;

/** The calls of one round that are tasks. While there is one, the round is stored, anew with each change. */
export class RoundTasks {
  readonly #keep: KeepTasks;
  readonly #signal: AbortSignal;
  readonly #tasks = new Map<number, TaskOfCall>();
  readonly #results: (ToolCallResult | undefined)[];
  /** The changes are stored one after the other. */
  #keeping: Promise<boolean> = Promise.resolve(false);

  /** `results`: of calls that settled before a restart. `signal`: of the run. */
  constructor(keep: KeepTasks, results: readonly (ToolCallResult | undefined)[], signal: AbortSignal) {
    this.#keep = keep;
    this.#results = [...results];
    this.#signal = signal;
  }

  of(index: number, stored: JsonObject | undefined): TaskInRound {
    return {
      ...(stored && { stored }),
      begin: (call) => {
        this.#tasks.set(index, { index, ...call });
        return this.#store();
      },
      settle: (result) => {
        this.#results[index] = result;
        // A run that ends leaves its tasks as they are: it may be continued.
        if (this.#tasks.size === 0 || this.#signal.aborted) return undefined;
        this.#tasks.delete(index);
        return this.#store();
      },
    };
  }

  #store(): Promise<boolean> {
    const keep = async (): Promise<boolean> =>
      this.#keep(this.#tasks.size === 0 ? undefined : { tasks: [...this.#tasks.values()], results: this.#results });
    this.#keeping = this.#keeping.then(keep, keep);
    return this.#keeping;
  }
}
