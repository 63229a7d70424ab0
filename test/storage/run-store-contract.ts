import { beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import type { LoggedRun, RunFilter, RunPage, RunStore } from '../../src/core/runs/run-log.ts';

export function keptRun(run: Partial<LoggedRun> = {}): LoggedRun {
  const { id = 'run-a', status = 'completed' } = run;
  const created = run.created ?? 1_000;
  const events: LoggedRun['events'] = [{ type: 'run.start', time: created, data: { run_id: id, tools: 0 } }];
  const finished = status === 'running' || status === 'waiting' ? {} : { finished: created + 10 };
  return { id, callerId: 'ada', status, model: 'model', mode: 'native', created, ...finished, events, ...run };
}

export const wholePage: RunPage & { since: number } = { callerId: undefined, limit: 100, after: undefined, since: 0 };

const noBounds = { since: 0, maxRuns: 1_000, maxCharacters: 1_000_000 };

/** What every store of runs does, wherever it keeps them. */
export function describeRunStore(name: string, createStore: () => RunStore): void {
  describe(`runs in ${name}`, () => {
    let store: RunStore;
    beforeEach(() => {
      store = createStore();
    });
    const listed = async (page: Partial<typeof wholePage> = {}): Promise<string[]> =>
      (await store.list({ ...wholePage, ...page })).runs.map(({ id }) => id);

    it('are found with all their fields, and not by a name every object has', async () => {
      const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
      const full = keptRun({ usage, events: [{ type: 'warning', time: 5, data: { message: "it's ünïcode\u2028" } }] });
      const bare = keptRun({ id: 'run-b', status: 'running' });
      delete bare.mode;
      await store.save([full, bare]);
      expect(await store.find('run-a')).toEqual(full);
      expect(await store.find('run-b')).toEqual(bare);
      expect(await store.find('constructor')).toBeUndefined();
      expect(await store.find('run-c')).toBeUndefined();
    });

    it('are replaced by a later state of the same run, and share nothing with what was saved', async () => {
      const run = keptRun({ status: 'running' });
      await store.save([run]);
      run.events.push({ type: 'run.end', time: 1_010, data: {} });
      expect((await store.find('run-a'))?.events).toHaveLength(1);
      await store.save([{ ...run, status: 'completed', finished: 1_010 }]);
      expect(await store.find('run-a')).toEqual({ ...run, status: 'completed', finished: 1_010 });
      expect(await listed()).toEqual(['run-a']);
    });

    it('are listed newest first and without their events, page by page, also when they began in one moment', async () => {
      const runs = [keptRun({ id: 'run-b' }), keptRun({ id: 'run-c', created: 2_000 }), keptRun({ id: 'run-a' }), keptRun({ id: 'run-d' })];
      await store.save(runs);
      expect(await listed()).toEqual(['run-c', 'run-d', 'run-b', 'run-a']);
      expect(await listed({ limit: 2 })).toEqual(['run-c', 'run-d']);
      expect(await listed({ limit: 2, after: { created: 1_000, id: 'run-d' } })).toEqual(['run-b', 'run-a']);
      // The one that was shown last may be gone by then.
      expect(await listed({ after: { created: 1_500, id: 'gone' } })).toEqual(['run-d', 'run-b', 'run-a']);
      const { events: _events, ...summary } = keptRun({ id: 'run-c', created: 2_000 });
      expect((await store.list(wholePage)).runs[0]).toEqual(summary);
    });

    it('are listed by what they did', async () => {
      const work = { modelRequests: 2, calls: 1, failedCalls: 0, tools: ['now'], servers: ['time'] };
      await store.save([
        keptRun({ id: 'call-one', created: 5_000, work }),
        keptRun({ id: 'call-two', created: 4_000, work: { ...work, failedCalls: 1 }, callerId: 'team/ada' }),
        keptRun({ id: 'failed', created: 3_000, status: 'failed', callerId: 'team/bob' }),
        keptRun({ id: 'running', created: 2_000, status: 'running', model: 'other', callerId: 'team' }),
      ]);
      const found = (filter: RunFilter): Promise<string[]> => listed({ filter });
      expect(await found({})).toEqual(['call-one', 'call-two', 'failed', 'running']);
      expect(await found({ status: 'running' })).toEqual(['running']);
      expect(await found({ model: 'other' })).toEqual(['running']);
      expect(await found({ tool: 'now' })).toEqual(['call-one', 'call-two']);
      expect(await found({ tool: 'no' })).toEqual([]);
      expect(await found({ server: 'time', status: 'completed' })).toEqual(['call-one', 'call-two']);
      expect(await found({ hasErrors: true })).toEqual(['call-two', 'failed']);
      expect(await found({ owner: 'team' })).toEqual(['call-two', 'failed', 'running']);
      expect(await found({ owner: 'team/ada' })).toEqual(['call-two']);
      expect(await found({ owner: 'tea' })).toEqual([]);
      expect(await found({ idPart: 'call-' })).toEqual(['call-one', 'call-two']);
      expect(await found({ from: 3_000, to: 4_000 })).toEqual(['call-two', 'failed']);
      expect(await listed({ callerId: 'ada', filter: { owner: 'team' } })).toEqual([]);
    });

    it('are looked through up to a number for one page, and the next page goes on behind them', async () => {
      const others = Array.from({ length: limits.searchedRuns }, (_, index) => keptRun({ id: `other-${index}`, created: 10_000 + index }));
      await store.save([...others, keptRun({ id: 'meant', model: 'rare' })]);
      const page = { ...wholePage, filter: { model: 'rare' } };
      const first = await store.list(page);
      expect(first).toMatchObject({ runs: [], next: { created: 10_000, id: 'other-0' } });
      const second = await store.list({ ...page, after: first.next });
      expect([second.runs.map(({ id }) => id), second.next]).toEqual([['meant'], undefined]);
    });

    it('are listed for one caller, and without those that ended before a time', async () => {
      await store.save([
        keptRun({ id: 'old', finished: 1_500 }),
        keptRun({ id: 'long', finished: 3_000 }),
        keptRun({ id: 'other', callerId: 'bob', created: 4_000 }),
      ]);
      expect(await listed({ callerId: 'ada' })).toEqual(['old', 'long']);
      expect(await listed({ since: 1_501 })).toEqual(['other', 'long']);
      expect(await listed({ callerId: 'nobody' })).toEqual([]);
    });

    it('fail with a last event when they were left running, and wait on when they waited', async () => {
      await store.save([
        keptRun({ id: 'running', status: 'running' }),
        keptRun({ id: 'waiting', status: 'waiting' }),
        keptRun({ id: 'completed' }),
      ]);
      await store.endInterrupted(9_000);
      expect(await store.find('running')).toMatchObject({ status: 'failed', finished: 9_000 });
      expect((await store.find('running'))?.events.at(-1)).toMatchObject({
        type: 'run.end',
        time: 9_000,
        data: { run_id: 'running', status: 'failed', error: { code: 'interrupted' } },
      });
      expect(await store.find('waiting')).toEqual(keptRun({ id: 'waiting', status: 'waiting' }));
      expect(await store.find('completed')).toEqual(keptRun({ id: 'completed' }));
    });

    it('fail too when they waited and nothing that waits is theirs, where those that wait elsewhere are named', async () => {
      await store.save([keptRun({ id: 'lost', status: 'waiting' }), keptRun({ id: 'kept', status: 'waiting' })]);
      await store.endInterrupted(9_000, new Set(['kept']));
      expect([(await store.find('lost'))?.status, (await store.find('kept'))?.status]).toEqual(['failed', 'waiting']);
    });

    it('wait where they are among those that wait elsewhere: they were kept before their log could say so', async () => {
      const events: LoggedRun['events'] = [{ type: 'approval.request', time: 1, data: { id: 'call' } }];
      await store.save([keptRun({ id: 'kept', status: 'running', events })]);
      await store.endInterrupted(9_000, new Set(['kept']));
      expect(await store.find('kept')).toEqual(keptRun({ id: 'kept', status: 'waiting', events }));
    });

    it('are forgotten when they ended long ago, a long one by its end', async () => {
      await store.save([
        keptRun({ id: 'old' }),
        keptRun({ id: 'late', finished: 5_000 }),
        keptRun({ id: 'waiting', status: 'waiting' }),
        keptRun({ id: 'running', status: 'running' }),
        keptRun({ id: 'new', created: 4_000 }),
      ]);
      await store.prune({ ...noBounds, since: 4_000 });
      expect((await listed()).toSorted()).toEqual(['late', 'new', 'running']);
    });

    it('are forgotten beyond their number, the oldest first, but not while they wait or run', async () => {
      const runs = Array.from({ length: 5 }, (_, index) => keptRun({ id: `run-${index}`, created: 10 + index }));
      await store.save([
        ...runs,
        keptRun({ id: 'waiting', status: 'waiting', created: 2 }),
        keptRun({ id: 'running', status: 'running', created: 1 }),
      ]);
      await store.prune({ ...noBounds, maxRuns: 3 });
      expect(await listed()).toEqual(['run-4', 'run-3', 'run-2', 'waiting', 'running']);
    });

    it('are forgotten beyond number and size of whoever has the most, and of nobody else', async () => {
      const events: LoggedRun['events'] = [{ type: 'warning', time: 1, data: { message: 'x'.repeat(1_000) } }];
      const size = JSON.stringify(events).length;
      const flood = Array.from({ length: 9 }, (_, index) =>
        keptRun({ id: `flood-${index}`, callerId: 'eve', created: 100 + index, events }),
      );
      const own = [keptRun({ id: 'old', created: 1, events }), keptRun({ id: 'older', created: 0, events })];
      await store.save([...flood, ...own]);
      await store.prune({ ...noBounds, maxRuns: 6 });
      expect(await listed()).toEqual(['flood-8', 'flood-7', 'flood-6', 'flood-5', 'old', 'older']);
      await store.prune({ ...noBounds, maxCharacters: 5 * size });
      expect(await listed()).toEqual(['flood-8', 'flood-7', 'flood-6', 'old', 'older']);
      await store.prune({ ...noBounds, maxCharacters: 3 * size, maxRuns: 100 });
      expect((await listed()).filter((id) => !id.startsWith('flood')).length).toBeGreaterThan(0);
    });

    it('are forgotten beyond their size, the oldest first', async () => {
      const events: LoggedRun['events'] = [{ type: 'warning', time: 1, data: { message: 'x'.repeat(1_000) } }];
      await store.save(Array.from({ length: 5 }, (_, index) => keptRun({ id: `run-${index}`, created: index, events })));
      await store.prune({ ...noBounds, maxCharacters: 3 * JSON.stringify(events).length });
      expect(await listed()).toEqual(['run-4', 'run-3', 'run-2']);
    });
  });
}
