import type { ChatEvent } from '../core/chat/chat.ts';
import type { RunEvent } from '../core/chat/run-event.ts';
import type { ModelRequestLog } from '../core/models/model-request-log.ts';
import {
  isOnPage,
  newestFirst,
  type LoggedRun,
  type RunEnding,
  type RunLog,
  type RunRecorder,
  type RunStore,
} from '../core/runs/run-log.ts';
import { addUsage } from '../core/chat/usage.ts';
import { NumberedRequestLog } from './model-request-log.ts';
import { runLogMs, type PromptLog, type PromptRecorder } from './prompt-log.ts';
import { RunRecord } from './run-record.ts';
import { RunSaver } from './save-runs.ts';
import { UnsavedRuns, type RunInMemory } from './unsaved-runs.ts';

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
  markWaiting(readIds: () => Promise<readonly string[]>): void;
  /** Saves what is unsaved, recorded prompts too. */
  settle(): Promise<void>;
  /** Saves what is unsaved, and nothing afterwards. */
  close(): Promise<void>;
}

interface RecorderOptions extends Pick<RunLogOptions, 'now' | 'logger'> {
  prompts: PromptLog | undefined;
  unsaved: UnsavedRuns;
  saver: RunSaver;
}

/**
 * Logs runs in memory and saves them in batches, a second later. A run that starts to wait is saved at once, because it must outlive
 * this process. A crash loses the last second: runs that ended in it are shown as failed, or not at all if they also started in it.
 */
export function createRunLog({ store, prompts, now, logger }: RunLogOptions): WritingRunLog {
  const unsaved = new UnsavedRuns();
  const saver = new RunSaver(unsaved, { store, prompts, now, logger });

  const isExpired = ({ finished }: LoggedRun): boolean => finished !== undefined && finished < now() - runLogMs;

  const options = { unsaved, saver, prompts, now, logger };
  const recorderOf = (record: RunRecord): RunRecorder => new UnsavedRecorder(record, options);

  return {
    begin({ id, callerId, model, mode }) {
      return recorderOf(new RunRecord({ id, callerId, model, created: now(), ...(mode !== undefined && { mode }) }));
    },

    async resume(id) {
      await saver.recover();
      const saved = unsaved.find(id) ?? (await store.find(id));
      // Check again, because it may have been resumed while the store was read.
      const run = unsaved.find(id) ?? saved;
      return run?.status === 'waiting' ? recorderOf(new RunRecord(run)) : undefined;
    },

    async find(id) {
      const run = unsaved.find(id);
      if (run !== undefined) return run;
      await saver.recover();
      const found = await store.find(id);
      return found === undefined || isExpired(found) ? undefined : found;
    },

    promptsOf: async (run) => (await prompts?.promptsOf(run)) ?? [],

    async list(page) {
      await saver.recover();
      // Read before the store, so that a run that is saved meanwhile is in at least one of the two.
      const known = new Map(unsaved.all().map((run) => [run.id, run]));
      const { runs, next } = await store.list({ ...page, since: now() - runLogMs });
      const recent = [...known.values()].filter((run) => isOnPage(run, page) && (next === undefined || newestFirst(run, next) <= 0));
      const found = [...runs.filter(({ id }) => !known.has(id)), ...recent].toSorted(newestFirst);
      const shown = found.slice(0, page.limit);
      return { runs: shown, next: found.length > shown.length ? shown.at(-1) : next };
    },

    markWaiting: (readIds) => saver.markWaiting(readIds),
    flush: () => saver.flush(),
    settle: () => saver.settle(),
    close: () => saver.close(),
  };
}

/** Records one run, which is unsaved after each change. A class, because one is made for each chat. */
class UnsavedRecorder implements RunRecorder {
  readonly modelRequests: ModelRequestLog;
  readonly #record: RunRecord;
  readonly #entry: RunInMemory;
  readonly #options: RecorderOptions;

  constructor(record: RunRecord, options: RecorderOptions) {
    this.#record = record;
    this.#options = options;
    const { run } = record;
    this.#entry = options.unsaved.add(run);
    options.saver.schedule();
    const earlier = run.events.reduce((count, { type }) => count + (type === 'model.request' ? 1 : 0), 0);
    this.modelRequests = new NumberedRequestLog(this, { now: options.now, earlier, prompts: this.#beginPrompts() });
  }

  record(event: ChatEvent): void {
    const { run } = this.#record;
    if (event.type === 'usage') run.usage = addUsage(run.usage, event.usage);
    if (event.type !== 'run-event') return;
    this.#record.add(event.event, this.#options.now());
    if (!this.#entry.isUnsaved) this.#noteChange();
  }

  /** An event of a model request. */
  addShort(event: RunEvent, characters: number): void {
    const { now, logger } = this.#options;
    this.#record.addShort(event, characters, now());
    if (!this.#entry.isUnsaved) this.#noteChange();
    logger.debug?.({ run_id: this.#record.run.id, data: event.data }, event.type);
  }

  end(ending: RunEnding): void {
    this.#entry.hasEnded = true;
    this.#record.end(ending, this.#options.now());
    if (!this.#entry.isUnsaved) this.#noteChange();
  }

  /** Not for a run that is unsaved: it will be saved with all its changes. */
  #noteChange(): void {
    this.#options.unsaved.noteChange(this.#entry);
    this.#options.saver.schedule();
  }

  #beginPrompts(): PromptRecorder | undefined {
    const { prompts, now } = this.#options;
    return prompts?.begin(this.#record.run, () => {
      const message = 'This run has more prompts and answers than are recorded. Further ones are left out.';
      this.#record.add({ type: 'warning', data: { code: 'prompts_left_out', message } }, now());
      if (!this.#entry.isUnsaved) this.#noteChange();
    });
  }
}
