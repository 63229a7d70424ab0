import { interruption, isOnPage, newestFirst, statusAfterInterruption } from '../core/run-log.ts';
import type { KeptRun, RunStore, RunSummary } from '../core/run-log.ts';
import { chooseLosses, sharesOf } from '../shared/fair-shares.ts';

/** Runs as long as the process lives: the twin of the one in SQLite, with texts as there, so that nothing is shared with what was saved. */
export function createMemoryRuns(): RunStore {
  const texts = new Map<string, string>();
  const all = (): KeptRun[] => [...texts.values()].map((text) => JSON.parse(text) as KeptRun);
  const put = (run: KeptRun): void => void texts.set(run.id, JSON.stringify(run));

  return {
    async save(runs) {
      for (const run of runs) put(run);
    },
    async find(id) {
      const text = texts.get(id);
      return text === undefined ? undefined : (JSON.parse(text) as KeptRun);
    },
    async list(page) {
      return all()
        .filter((run) => isOnPage(run, page) && (run.finished ?? run.created) >= page.since)
        .toSorted(newestFirst)
        .slice(0, page.limit)
        .map(({ events: _events, ...summary }): RunSummary => summary);
    },
    async endInterrupted(time, waitingIds) {
      for (const run of all()) {
        const status = statusAfterInterruption(run, waitingIds);
        if (status === 'waiting') put({ ...run, status });
        if (status === 'failed') put({ ...run, status, finished: time, events: [...run.events, interruption(run.id, time)] });
      }
    },
    async prune({ since, maxRuns, maxCharacters }) {
      for (const run of all()) if (run.status !== 'running' && (run.finished ?? run.created) < since) texts.delete(run.id);
      const ended = all().filter(({ finished }) => finished !== undefined);
      const shares = sharesOf(ended.toSorted(newestFirst).toReversed(), ({ events }) => JSON.stringify(events).length);
      for (const { id } of chooseLosses(shares, { entries: maxRuns, characters: maxCharacters })) texts.delete(id);
    },
  };
}
