import { isOnPage, newestFirst } from '../core/runs/run-log.ts';
import type { LoggedRun, RunLog, RunRecorder, RunStore } from '../core/runs/run-log.ts';
import { addUsage } from '../core/chat/usage.ts';
import { chooseLosses, sharesOf } from '../shared/fair-shares.ts';
import { SlotTable } from '../shared/slot-table.ts';
import { createModelRequestLog } from './model-request-log.ts';
import { runLogMs } from './prompt-log.ts';
import type { PromptLog } from './prompt-log.ts';
import { createRunRecord } from './run-record.ts';
import type { RunRecord } from './run-record.ts';

/** Seven a minute for a day. Beyond it the oldest are deleted, because the log must never crowd out what is registered. */
export const loggedRuns = 10_000;
/** Runs in memory while the store cannot be written. */
export const unsavedRunsLimit = 5_000;

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
/** The fraction of `unsavedRunsLimit` that remains when some have to be dropped. */
const leftWhenFull = 0.95;

interface RunLogOptions {
  store: RunStore;
  /** The whole prompts and answers of the runs, beside their events; absent: none are recorded. */
  prompts?: PromptLog;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Gets one line when the store fails, and another one only after it has worked in between. */
  logger: { error(fields: object, message: string): void; debug?(fields: object, message: string): void };
}

export interface WritingRunLog extends RunLog {
  /**
   * To be called once, before any run: which runs of earlier processes are suspended, and can be resumed. Their other waiting runs waited for a socket,
   * so they have failed.
   */
  markWaiting(ids: readonly string[]): void;
  /** Saves what is unsaved, recorded prompts too. */
  settle(): Promise<void>;
  /** Saves what is unsaved, and nothing afterwards. */
  close(): Promise<void>;
}

/** Without the recorder, to keep little memory alive while it waits to be saved. */
interface Entry {
  run: LoggedRun;
  hasEnded: boolean;
  /** Its last state is not saved. */
  isUnsaved: boolean;
}

/**
 * Logs runs in memory and saves them in batches, a second later. A run that starts to wait is saved at once, because it must outlive
 * this process. A crash loses the last second: runs that ended in it are shown as failed, or not at all if they also started in it.
 */
export function createRunLog({ store, prompts, now, logger }: RunLogOptions): WritingRunLog {
  /** Active runs, and those whose last state is not saved. */
  const entries = new SlotTable<Entry>();
  let unsavedCount = 0;
  let timer: NodeJS.Timeout | undefined;
  let saving: Promise<void> | undefined;
  let waitingIds: ReadonlySet<string> | undefined;
  let isRecovered = false;
  let isFaulty = false;
  let isClosed = false;
  let savedSincePrune = 0;
  let prunedAt = Number.NEGATIVE_INFINITY;
  const sweep = setInterval(schedule, pruneIntervalMs);
  sweep.unref();

  function schedule(): void {
    if (timer !== undefined || isClosed) return;
    timer = setTimeout(() => void flush(), isFaulty ? retryDelayMs : saveDelayMs);
    timer.unref();
  }

  function touch(entry: Entry): void {
    if (isCurrent(entry)) setUnsaved(entry, true);
    // They accumulate only while the store fails; then the caller with the most loses the oldest.
    if (unsavedCount > unsavedRunsLimit) dropSome();
    schedule();
  }

  function setUnsaved(entry: Entry, isUnsaved: boolean): void {
    if (entry.isUnsaved !== isUnsaved) unsavedCount += isUnsaved ? 1 : -1;
    entry.isUnsaved = isUnsaved;
  }

  const unsavedEntries = (): Entry[] => entries.values().filter(({ isUnsaved }) => isUnsaved);

  /** False for the earlier entry of a resumed run, which has a new one. */
  const isCurrent = (entry: Entry): boolean => entries.get(entry.run.id) === entry;

  /** Drops several at once, so that not every further event has to drop one. */
  function dropSome(): void {
    const ended = unsavedEntries().filter(({ hasEnded }) => hasEnded);
    const byId = new Map(ended.map((entry) => [entry.run.id, entry]));
    const shares = sharesOf(
      ended.map(({ run }) => run),
      () => 0,
    );
    const left = Math.max(0, Math.floor(unsavedRunsLimit * leftWhenFull) - (unsavedCount - ended.length));
    for (const { id } of chooseLosses(shares, { entries: left, characters: Infinity })) {
      const entry = byId.get(id);
      if (entry === undefined) continue;
      setUnsaved(entry, false);
      entries.delete(id);
    }
  }

  /** Ends the runs that another process left running when it died, before the first run of this one is saved. */
  async function recover(): Promise<void> {
    if (isRecovered) return;
    await store.endInterrupted(now(), waitingIds);
    isRecovered = true;
  }

  async function saveDue(): Promise<void> {
    await recover();
    // Runs that change meanwhile are saved in the next second; otherwise a busy gateway would save all the time.
    const due = unsavedEntries();
    for (let first = 0; first < due.length; first += runsPerSave) await save(due.slice(first, first + runsPerSave));
    savedSincePrune += due.length;
    if (savedSincePrune < savesPerPrune && now() - prunedAt < pruneIntervalMs) return;
    await prompts?.prune();
    await store.prune({ since: now() - runLogMs, maxRuns: loggedRuns, maxCharacters: loggedRunsCharacters });
    prunedAt = now();
    savedSincePrune = 0;
  }

  async function save(batch: readonly Entry[]): Promise<void> {
    for (const entry of batch) setUnsaved(entry, false);
    try {
      await store.save(batch.map(({ run }) => run));
    } catch (error) {
      for (const entry of batch) if (isCurrent(entry)) setUnsaved(entry, true);
      throw error;
    }
    for (const entry of batch) if (entry.hasEnded && isCurrent(entry) && !entry.isUnsaved) entries.delete(entry.run.id);
  }

  async function flushNow(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    try {
      await saveDue();
      isFaulty = false;
    } catch (error) {
      if (!isFaulty) logger.error({ err: error }, 'runs cannot be saved at the moment; the oldest are dropped if this lasts');
      isFaulty = true;
    }
    saving = undefined;
    if (unsavedCount > 0) schedule();
  }

  function startFlush(): Promise<void> {
    saving ??= flushNow();
    return saving;
  }

  const settle = async (): Promise<void> => void (await Promise.all([flush(), prompts?.flush()]));

  /** A flush that is already running may miss the latest changes, so another one follows it. */
  const flush = (): Promise<void> => (saving === undefined ? startFlush() : saving.then(startFlush));

  const isExpired = ({ finished }: LoggedRun): boolean => finished !== undefined && finished < now() - runLogMs;

  function recorderOf(record: RunRecord): RunRecorder {
    const { run } = record;
    const entry: Entry = { run, hasEnded: false, isUnsaved: false };
    const earlier = entries.get(run.id);
    if (earlier !== undefined) setUnsaved(earlier, false);
    entries.set(run.id, entry);
    touch(entry);
    const modelRequests = createModelRequestLog({
      add(event, characters) {
        record.addShort(event, characters, now());
        touch(entry);
        logger.debug?.({ run_id: run.id, data: event.data }, event.type);
      },
      now,
      earlier: run.events.filter(({ type }) => type === 'model.request').length,
      prompts: prompts?.begin(run, () => {
        const message = 'This run has more prompts and answers than are recorded. Further ones are left out.';
        record.add({ type: 'warning', data: { code: 'prompts_left_out', message } }, now());
        touch(entry);
      }),
    });
    return {
      modelRequests,
      record(event) {
        if (event.type !== 'run-event' && event.type !== 'usage') return;
        if (event.type === 'usage') {
          run.usage = addUsage(run.usage, event.usage);
          return;
        }
        const before = run.status;
        record.add(event.event, now());
        touch(entry);
        if (run.status === 'waiting' && before !== 'waiting') void flush();
      },
      end(ending) {
        entry.hasEnded = true;
        record.end(ending, now());
        touch(entry);
      },
    };
  }

  return {
    begin({ id, callerId, model, mode }) {
      return recorderOf(createRunRecord({ id, callerId, model, created: now(), ...(mode !== undefined && { mode }) }));
    },

    async resume(id) {
      await recover();
      const kept = entries.get(id)?.run ?? (await store.find(id));
      // Check again, because it may have been resumed while the store was read.
      const run = entries.get(id)?.run ?? kept;
      return run?.status === 'waiting' ? recorderOf(createRunRecord(run)) : undefined;
    },

    async find(id) {
      const entry = entries.get(id);
      if (entry !== undefined) return entry.run;
      await recover();
      const found = await store.find(id);
      return found === undefined || isExpired(found) ? undefined : found;
    },

    promptsOf: async (run) => (await prompts?.promptsOf(run)) ?? [],

    async list(page) {
      await recover();
      // Read before the store, so that a run that is saved meanwhile is in at least one of the two.
      const known = new Map(entries.values().map(({ run }) => [run.id, run]));
      const { runs, next } = await store.list({ ...page, since: now() - runLogMs });
      const unsaved = [...known.values()].filter((run) => isOnPage(run, page) && (next === undefined || newestFirst(run, next) <= 0));
      const found = [...runs.filter(({ id }) => !known.has(id)), ...unsaved].toSorted(newestFirst);
      const shown = found.slice(0, page.limit);
      return { runs: shown, next: found.length > shown.length ? shown.at(-1) : next };
    },

    markWaiting(ids) {
      waitingIds = new Set(ids);
    },
    flush,
    settle,
    async close() {
      clearInterval(sweep);
      await settle();
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
