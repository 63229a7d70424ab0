import { limits } from '../core/limits.ts';
import { isOnPage, newestFirst } from '../core/run-log.ts';
import type { KeptRun, RunLog, RunRecorder, RunStore, RunSummary } from '../core/run-log.ts';
import { addUsage } from '../core/usage.ts';
import { chooseLosses, sharesOf } from '../shared/fair-shares.ts';
import { createModelRequestLog } from './model-request-log.ts';
import { createRunRecord } from './run-record.ts';
import type { RunRecord } from './run-record.ts';

/** What a crash may cost of the log. Many runs of one second are written at once. */
const saveDelayMs = 1_000;
/** A store that cannot be written is tried again after this time. */
const retryDelayMs = 5_000;
/** More at once would hold up everything else: the store writes on this thread. */
const runsPerSave = 2_000;
/** Old runs are deleted this often, also by a gateway that nobody uses. */
const pruneIntervalMs = 10 * 60 * 1000;
/** After so many new runs, old ones are deleted without waiting for that. */
const savesPerPrune = 2_500;
/** The part of the unsaved runs that is left when there are too many. */
const leftWhenFull = 0.95;

export interface RunLogOptions {
  store: RunStore;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Ids of the suspended runs, which are stored elsewhere: other runs that wait did so for a socket of a process that is gone. */
  waitingIds?: () => Promise<readonly string[]>;
  /** Gets one line when the store fails, and no other before it has worked again. */
  logger: { error(fields: object, message: string): void; debug?(fields: object, message: string): void };
}

export interface WritingRunLog extends RunLog {
  /** Writes what is left; nothing is written later. */
  close(): Promise<void>;
}

/** Without the recorder: what waits to be saved survives garbage collections, each of which copies it. */
interface Entry {
  run: KeptRun;
  hasEnded: boolean;
}

/**
 * Runs are logged in memory and saved together, a second later; one that begins to wait is saved at once, because it must outlive
 * this process. A crash loses the last second: runs that ended in it are shown as failed, or not at all when they were shorter than that.
 */
export function createRunLog({ store, now, logger, waitingIds }: RunLogOptions): WritingRunLog {
  /** Active runs, and those whose last state is not saved. */
  const entries = new Map<string, Entry>();
  const unsaved = new Set<Entry>();
  let timer: NodeJS.Timeout | undefined;
  let saving: Promise<void> | undefined;
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
    unsaved.add(entry);
    // They pile up only while the store fails; the caller with the most loses the oldest.
    if (unsaved.size > limits.unsavedRuns) dropSome();
    schedule();
  }

  /** Some at once, so that not every further event has to look for one to drop. */
  function dropSome(): void {
    const ended = [...unsaved].filter(({ hasEnded }) => hasEnded);
    const byId = new Map(ended.map((entry) => [entry.run.id, entry]));
    const shares = sharesOf(
      ended.map(({ run }) => run),
      () => 0,
    );
    const left = Math.max(0, Math.floor(limits.unsavedRuns * leftWhenFull) - (unsaved.size - ended.length));
    for (const { id } of chooseLosses(shares, { entries: left, characters: Infinity })) {
      const entry = byId.get(id);
      if (entry === undefined) continue;
      unsaved.delete(entry);
      if (isCurrent(entry)) entries.delete(id);
    }
  }

  /** Ends the runs that another process left running when it died, before the first run of this one is saved. */
  async function recover(): Promise<void> {
    if (isRecovered) return;
    await store.endInterrupted(now(), waitingIds === undefined ? undefined : new Set(await waitingIds()));
    isRecovered = true;
  }

  async function saveDue(): Promise<void> {
    await recover();
    // What comes meanwhile is saved in the next second, or a busy gateway would do nothing but save.
    const due = [...unsaved];
    for (let first = 0; first < due.length; first += runsPerSave) await save(due.slice(first, first + runsPerSave));
    savedSincePrune += due.length;
    if (savedSincePrune < savesPerPrune && now() - prunedAt < pruneIntervalMs) return;
    await store.prune({ since: now() - limits.runLogMs, maxRuns: limits.loggedRuns, maxCharacters: limits.loggedRunsCharacters });
    prunedAt = now();
    savedSincePrune = 0;
  }

  /** A run that is resumed gets another entry, and the earlier one is out of date. */
  const isCurrent = (entry: Entry): boolean => entries.get(entry.run.id) === entry;

  async function save(batch: readonly Entry[]): Promise<void> {
    for (const entry of batch) unsaved.delete(entry);
    try {
      await store.save(batch.map(({ run }) => run));
    } catch (error) {
      for (const entry of batch) if (isCurrent(entry)) unsaved.add(entry);
      throw error;
    }
    for (const entry of batch) if (entry.hasEnded && isCurrent(entry) && !unsaved.has(entry)) entries.delete(entry.run.id);
  }

  async function flushNow(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    try {
      await saveDue();
      isFaulty = false;
    } catch (error) {
      if (!isFaulty) logger.error({ err: error }, 'runs cannot be saved just now; the oldest are dropped if that lasts');
      isFaulty = true;
    }
    saving = undefined;
    if (unsaved.size > 0) schedule();
  }

  function startFlush(): Promise<void> {
    saving ??= flushNow();
    return saving;
  }

  /** A flush that has begun may miss what is there now. */
  const flush = (): Promise<void> => (saving === undefined ? startFlush() : saving.then(startFlush));

  const isExpired = ({ finished }: KeptRun): boolean => finished !== undefined && finished < now() - limits.runLogMs;

  function recorderOf(record: RunRecord): RunRecorder {
    const { run } = record;
    const entry: Entry = { run, hasEnded: false };
    const earlier = entries.get(run.id);
    if (earlier !== undefined) unsaved.delete(earlier);
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
      return recorderOf(createRunRecord({ id, callerId, model, ...(mode !== undefined && { mode }), created: now() }));
    },

    async resume(id) {
      await recover();
      const kept = entries.get(id)?.run ?? (await store.find(id));
      // Looked up again: it may have been resumed while the store was read.
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

    async list(page) {
      await recover();
      // Read before the store: what is saved meanwhile is in one of the two at least.
      const unsavedRuns = [...entries.values()].flatMap(({ run }) => (isOnPage(run, page) ? [run] : []));
      const stored = await store.list({ ...page, since: now() - limits.runLogMs });
      const byId = new Map([...stored, ...unsavedRuns].map((run): [string, RunSummary] => [run.id, run]));
      return [...byId.values()].toSorted(newestFirst).slice(0, page.limit);
    },

    flush,
    async close() {
      clearInterval(sweep);
      await flush();
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
