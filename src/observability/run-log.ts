import { isOnPage, newestFirst, type LoggedRun, type RunLog, type RunRecorder, type RunStore } from '../core/runs/run-log.ts';
import { addUsage } from '../core/chat/usage.ts';
import { createModelRequestLog } from './model-request-log.ts';
import { runLogMs, type PromptLog } from './prompt-log.ts';
import { createRunRecord, type RunRecord } from './run-record.ts';
import { RunSaver } from './save-runs.ts';
import { UnsavedRuns } from './unsaved-runs.ts';

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

/**
 * Logs runs in memory and saves them in batches, a second later. A run that starts to wait is saved at once, because it must outlive
 * this process. A crash loses the last second: runs that ended in it are shown as failed, or not at all if they also started in it.
 */
export function createRunLog({ store, prompts, now, logger }: RunLogOptions): WritingRunLog {
  const unsaved = new UnsavedRuns();
  const saver = new RunSaver(unsaved, { store, prompts, now, logger });

  const isExpired = ({ finished }: LoggedRun): boolean => finished !== undefined && finished < now() - runLogMs;

  function recorderOf(record: RunRecord): RunRecorder {
    const { run } = record;
    const entry = unsaved.add(run);
    saver.schedule();
    const noteChange = (): void => {
      unsaved.noteChange(entry);
      saver.schedule();
    };
    const modelRequests = createModelRequestLog({
      add(event, characters) {
        record.addShort(event, characters, now());
        noteChange();
        logger.debug?.({ run_id: run.id, data: event.data }, event.type);
      },
      now,
      earlier: run.events.filter(({ type }) => type === 'model.request').length,
      prompts: prompts?.begin(run, () => {
        const message = 'This run has more prompts and answers than are recorded. Further ones are left out.';
        record.add({ type: 'warning', data: { code: 'prompts_left_out', message } }, now());
        noteChange();
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
        record.add(event.event, now());
        noteChange();
      },
      end(ending) {
        entry.hasEnded = true;
        record.end(ending, now());
        noteChange();
      },
    };
  }

  return {
    begin({ id, callerId, model, mode }) {
      return recorderOf(createRunRecord({ id, callerId, model, created: now(), ...(mode !== undefined && { mode }) }));
    },

    async resume(id) {
      await saver.recover();
      const saved = unsaved.find(id) ?? (await store.find(id));
      // Check again, because it may have been resumed while the store was read.
      const run = unsaved.find(id) ?? saved;
      return run?.status === 'waiting' ? recorderOf(createRunRecord(run)) : undefined;
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
