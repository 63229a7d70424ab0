import type { LoggedRun } from '../core/runs/run-log.ts';
import { chooseLosses, sharesOf } from '../shared/fairness/fair-shares.ts';
import { SlotTable } from '../shared/fairness/slot-table.ts';

/** Runs in memory while the store cannot be written. */
export const unsavedRunsLimit = 5_000;
/** The fraction of `unsavedRunsLimit` that remains when some have to be dropped. */
const leftWhenFull = 0.95;

/** A run that is active, or whose last state is not saved. Without its recorder, to keep little memory alive until it is saved. */
export interface RunInMemory {
  run: LoggedRun;
  hasEnded: boolean;
  isUnsaved: boolean;
}

/** The runs in memory by their ids, and which of them have to be saved. */
export class UnsavedRuns {
  readonly #runs = new SlotTable<RunInMemory>();
  #unsavedCount = 0;

  get hasUnsaved(): boolean {
    return this.#unsavedCount > 0;
  }

  find(id: string): LoggedRun | undefined {
    return this.#runs.get(id)?.run;
  }

  all(): LoggedRun[] {
    return this.#runs.values().map(({ run }) => run);
  }

  /** Adds a run that begins or is resumed. It replaces an earlier entry of the same run. */
  add(run: LoggedRun): RunInMemory {
    const added: RunInMemory = { run, hasEnded: false, isUnsaved: false };
    const earlier = this.#runs.get(run.id);
    if (earlier !== undefined) this.#setUnsaved(earlier, false);
    this.#runs.set(run.id, added);
    this.noteChange(added);
    return added;
  }

  noteChange(changed: RunInMemory): void {
    if (this.#isCurrent(changed)) this.#setUnsaved(changed, true);
    // They accumulate only while the store fails; then the caller with the most loses the oldest.
    if (this.#unsavedCount > unsavedRunsLimit) this.#dropSome();
  }

  unsaved(): RunInMemory[] {
    return this.#runs.values().filter(({ isUnsaved }) => isUnsaved);
  }

  /** Saves runs with `save`; if that rejects, they stay unsaved. Those that have ended are forgotten once they are saved. */
  async save(batch: readonly RunInMemory[], save: (runs: LoggedRun[]) => Promise<void>): Promise<void> {
    for (const each of batch) this.#setUnsaved(each, false);
    try {
      await save(batch.map(({ run }) => run));
    } catch (error) {
      for (const each of batch) if (this.#isCurrent(each)) this.#setUnsaved(each, true);
      throw error;
    }
    for (const each of batch) if (each.hasEnded && this.#isCurrent(each) && !each.isUnsaved) this.#runs.delete(each.run.id);
  }

  #setUnsaved(each: RunInMemory, isUnsaved: boolean): void {
    if (each.isUnsaved !== isUnsaved) this.#unsavedCount += isUnsaved ? 1 : -1;
    each.isUnsaved = isUnsaved;
  }

  /** False for the earlier entry of a resumed run, which has a new one. */
  #isCurrent(each: RunInMemory): boolean {
    return this.#runs.get(each.run.id) === each;
  }

  /** Drops several at once, so that not every further event has to drop one. */
  #dropSome(): void {
    const ended = this.unsaved().filter(({ hasEnded }) => hasEnded);
    const byId = new Map(ended.map((each) => [each.run.id, each]));
    const shares = sharesOf(
      ended.map(({ run }) => run),
      () => 0,
    );
    const left = Math.max(0, Math.floor(unsavedRunsLimit * leftWhenFull) - (this.#unsavedCount - ended.length));
    for (const { id } of chooseLosses(shares, { entries: left, characters: Infinity })) {
      const each = byId.get(id);
      if (each === undefined) continue;
      this.#setUnsaved(each, false);
      this.#runs.delete(id);
    }
  }
}
