import { limits } from '../core/limits.ts';
import { isOnPage, newestFirst } from '../core/run-log.ts';
import type { KeptRun, RunLog, RunRecorder, RunStore, RunSummary } from '../core/run-log.ts';
import { addUsage } from '../core/usage.ts';
import { chooseLosses, sharesOf } from '../shared/fair-shares.ts';
import { createQuestionRecorder } from './record-questions.ts';
import { recordRun } from './record-run.ts';
import type { RunRecord } from './record-run.ts';

/** What a crash may cost of the log. Many runs of one second are written at once. */
const saveDelayMs = 1_000;
/** A store that cannot be written is tried again after this time. */
const retryDelayMs = 5_000;
/** More at once would hold up everything else: the store writes on this thread. */
const runsPerSave = 2_000;
/** What is too old is forgotten by then, also by a gateway that nobody uses. */
const pruneIntervalMs = 10 * 60 * 1000;
/** Beyond so many new runs it does not wait for that. */
const savesPerPrune = 2_500;
/** Of the runs that a store does not take, what is left when there are too many. */
const keptWhenFull = 0.95;

export interface RunLogOptions {
  store: RunStore;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Ids of the runs that wait in a store of their own: what waits otherwise, waited for a socket of a process that is gone. */
  waitingIds?: () => Promise<readonly string[]>;
  /** Told once when the store stops taking runs, and again after it has taken some. */
  logger: { error(fields: object, message: string): void; debug?(fields: object, message: string): void };
}

export interface WritingRunLog extends RunLog {
  /** Writes what is left; nothing is written later. */
  close(): Promise<void>;
}

/** Not the recorder: what waits to be saved survives many collections of garbage, and each of them copies it. */
interface Entry {
  run: KeptRun;
  hasEnded: boolean;
}

/**
 * Runs are written down in memory and saved together, a second later; one that begins to wait is saved at once, because it must outlive
 * this process. A crash loses the last second: runs that ended in it are shown as failed, or not at all when they were shorter than that.
 */
export function createRunLog({ store, now, logger, waitingIds }: RunLogOptions): WritingRunLog {
  /** Runs that go on, and those that are not saved in their last state. */
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
    // Only a store that refuses lets them pile up; whoever has the most of them loses the oldest.
    if (unsaved.size > limits.unsavedRuns) giveUpSome();
    schedule();
  }

  /** Some at once, so that not every further event looks for the next one. */
  function giveUpSome(): void {
    const ended = [...unsaved].filter(({ hasEnded }) => hasEnded);
    const byId = new Map(ended.map((entry) => [entry.run.id, entry]));
    const shares = sharesOf(
      ended.map(({ run }) => run),
      () => 0,
    );
    const kept = Math.max(0, Math.floor(limits.unsavedRuns * keptWhenFull) - (unsaved.size - ended.length));
    for (const { id } of chooseLosses(shares, { entries: kept, characters: Infinity })) {
      const entry = byId.get(id);
      if (entry === undefined) continue;
      unsaved.delete(entry);
      if (isCurrent(entry)) entries.delete(id);
    }
  }

  /** What another process left running when it died. Before the first run of this one is saved. */
  async function recover(): Promise<void> {
    if (isRecovered) return;
    await store.endInterrupted(now(), waitingIds === undefined ? undefined : new Set(await waitingIds()));
    isRecovered = true;
  }

  async function saveDue(): Promise<void> {
    await recover();
    // Not what comes meanwhile: that is for the next second, or a busy gateway would do nothing but save.
    const due = [...unsaved];
    for (let first = 0; first < due.length; first += runsPerSave) await save(due.slice(first, first + runsPerSave));
    savedSincePrune += due.length;
    if (savedSincePrune < savesPerPrune && now() - prunedAt < pruneIntervalMs) return;
    await store.prune({ since: now() - limits.keptRunMs, maxRuns: limits.keptRuns, maxCharacters: limits.keptRunsCharacters });
    prunedAt = now();
    savedSincePrune = 0;
  }

  /** A run that is resumed gets another entry; what the earlier one holds is then history. */
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
      if (!isFaulty) logger.error({ err: error }, 'runs cannot be written down just now; the oldest are given up if that lasts');
      isFaulty = true;
    }
    saving = undefined;
    if (unsaved.size > 0) schedule();
  }

  function startFlush(): Promise<void> {
    saving ??= flushNow();
    return saving;
  }

  /** One that is under way may have missed what is there now. */
  const flush = (): Promise<void> => (saving === undefined ? startFlush() : saving.then(startFlush));

  const isExpired = ({ finished }: KeptRun): boolean => finished !== undefined && finished < now() - limits.keptRunMs;

  function recorderOf(record: RunRecord): RunRecorder {
    const { run } = record;
    const entry: Entry = { run, hasEnded: false };
    const earlier = entries.get(run.id);
    if (earlier !== undefined) unsaved.delete(earlier);
    entries.set(run.id, entry);
    touch(entry);
    const said = { characters: 0 };
    const questions = createQuestionRecorder({
      said,
      add(event, characters) {
        record.addOwn(event, characters, now());
        touch(entry);
        logger.debug?.({ run_id: run.id, data: event.data }, event.type);
      },
      now,
      asked: run.events.filter(({ type }) => type === 'model.request').length,
    });
    return {
      questions,
      record(event) {
        // Thousands of texts come by in a plain chat: they leave here.
        if (event.type === 'text') {
          said.characters += event.text.length;
          return;
        }
        questions.note(event);
        if (event.type !== 'run-event' && event.type !== 'usage') return;
        if (event.type === 'usage') {
          run.usage = addUsage(run.usage, event.usage);
          return;
        }
        if (event.event.type === 'run.end') questions.endLast();
        const before = run.status;
        record.add(event.event, now());
        touch(entry);
        if (run.status === 'waiting' && before !== 'waiting') void flush();
      },
      end(ending) {
        entry.hasEnded = true;
        questions.endLast('error' in ending ? ending.error : undefined);
        record.end(ending, now());
        touch(entry);
      },
    };
  }

  return {
    begin({ id, callerId, model, mode }) {
      return recorderOf(recordRun({ id, callerId, model, ...(mode !== undefined && { mode }), created: now() }));
    },

    async resume(id) {
      await recover();
      const kept = entries.get(id)?.run ?? (await store.find(id));
      // Asked anew: somebody may have taken it up while the store was read.
      const run = entries.get(id)?.run ?? kept;
      return run?.status === 'waiting' ? recorderOf(recordRun(run)) : undefined;
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
      // Before the store is asked: what is saved meanwhile is in one of the two at least.
      const own = [...entries.values()].flatMap(({ run }) => (isOnPage(run, page) ? [run] : []));
      const stored = await store.list({ ...page, since: now() - limits.keptRunMs });
      const byId = new Map([...stored, ...own].map((run): [string, RunSummary] => [run.id, run]));
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
