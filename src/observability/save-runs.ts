import type { RunStore } from '../core/runs/run-log.ts';
import { runLogMs, type PromptLog } from './prompt-log.ts';
import type { UnsavedRuns } from './unsaved-runs.ts';

/** Seven a minute for a day. Beyond it the oldest are deleted, because the log must never crowd out what is registered. */
export const loggedRuns = 10_000;
/** Size of all logged runs, mostly tool results: an eighth of the largest database. */
export const loggedRunsCharacters = 128 * 1024 * 1024;
/** Runs of one second are written together; a crash loses at most the last second. */
const saveDelayMs = 1_000;
/** Delay before a failed store is tried again. */
const retryDelayMs = 5_000;
/** Runs in one write; more would block the event loop, because the store writes synchronously. */
const runsPerSave = 2_000;
/** How often old runs are deleted, even if the gateway is idle. */
const pruneIntervalMs = 10 * 60 * 1000;
/** After this many saved runs, old ones are deleted earlier. */
const savesPerPrune = 2_500;

interface RunSaverOptions {
  store: RunStore;
  prompts: PromptLog | undefined;
  now: () => number;
  logger: { error(fields: object, message: string): void };
}

/** Saves runs in batches, deletes old ones, and tries again when the store fails. */
export class RunSaver {
  readonly #unsaved: UnsavedRuns;
  readonly #options: RunSaverOptions;
  readonly #sweep: NodeJS.Timeout;
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> | undefined;
  #readWaitingIds: (() => Promise<readonly string[]>) | undefined;
  #waitingIds: Promise<readonly string[]> | undefined;
  #isRecovered = false;
  #isFailing = false;
  #isClosed = false;
  #savedSincePrune = 0;
  #prunedAt = Number.NEGATIVE_INFINITY;

  constructor(unsaved: UnsavedRuns, options: RunSaverOptions) {
    this.#unsaved = unsaved;
    this.#options = options;
    this.#sweep = setInterval(() => this.schedule(), pruneIntervalMs);
    this.#sweep.unref();
  }

  /** The suspended runs of earlier processes, whose other waiting runs have failed. */
  markWaiting(readIds: () => Promise<readonly string[]>): void {
    this.#readWaitingIds = readIds;
    // Read at once, because runs that this process resumes are no longer among them.
    void this.#waiting()?.catch(() => undefined);
  }

  /** A store that cannot be read is asked again the next time. */
  #waiting(): Promise<readonly string[]> | undefined {
    this.#waitingIds ??= this.#readWaitingIds?.();
    return this.#waitingIds?.catch((error: unknown) => {
      this.#waitingIds = undefined;
      throw error;
    });
  }

  /** Ends the runs that another process left running when it died, before the first run of this one is saved or read. */
  async recover(): Promise<void> {
    if (this.#isRecovered) return;
    const { store, now } = this.#options;
    const waiting = await this.#waiting();
    await store.endInterrupted(now(), waiting && new Set(waiting));
    this.#isRecovered = true;
  }

  schedule(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    this.#timer = setTimeout(() => void this.flush(), this.#isFailing ? retryDelayMs : saveDelayMs);
    this.#timer.unref();
  }

  /** A flush that is already running may miss the latest changes, so another one follows it. */
  flush(): Promise<void> {
    return this.#saving === undefined ? this.#startFlush() : this.#saving.then(() => this.#startFlush());
  }

  /** Saves what is unsaved, recorded prompts too. */
  async settle(): Promise<void> {
    await Promise.all([this.flush(), this.#options.prompts?.flush()]);
  }

  async close(): Promise<void> {
    clearInterval(this.#sweep);
    await this.settle();
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #startFlush(): Promise<void> {
    this.#saving ??= this.#flushNow();
    return this.#saving;
  }

  async #flushNow(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    try {
      await this.#saveDue();
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing)
        this.#options.logger.error({ err: error }, 'runs cannot be saved at the moment; the oldest are dropped if this lasts');
      this.#isFailing = true;
    }
    this.#saving = undefined;
    if (this.#unsaved.hasUnsaved) this.schedule();
  }

  async #saveDue(): Promise<void> {
    const { store, prompts, now } = this.#options;
    await this.recover();
    // Runs that change meanwhile are saved in the next second; otherwise a busy gateway would save all the time.
    const due = this.#unsaved.unsaved();
    for (let first = 0; first < due.length; first += runsPerSave)
      await this.#unsaved.save(due.slice(first, first + runsPerSave), (runs) => store.save(runs));
    this.#savedSincePrune += due.length;
    if (this.#savedSincePrune < savesPerPrune && now() - this.#prunedAt < pruneIntervalMs) return;
    await prompts?.prune();
    await store.prune({ since: now() - runLogMs, maxRuns: loggedRuns, maxCharacters: loggedRunsCharacters });
    this.#prunedAt = now();
    this.#savedSincePrune = 0;
  }
}
