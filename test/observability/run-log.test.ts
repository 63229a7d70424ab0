import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ChatEvent } from '../../src/core/chat/chat.ts';
import type { JsonObject } from '../../src/shared/json/json.ts';
import type { LoggedRun, RunFilter, RunRecorder, RunStore } from '../../src/core/runs/run-log.ts';
import type { EventType, RunEvent } from '../../src/core/chat/run-event.ts';
import { runLogMs } from '../../src/observability/prompt-log.ts';
import { createRunLog } from '../../src/observability/run-log.ts';
import { unsavedRunsLimit } from '../../src/observability/unsaved-runs.ts';
import type { WritingRunLog } from '../../src/observability/run-log.ts';
import { memoryRuns } from '../_support/memory-stores.ts';
import { waitFor } from '../_support/wait-for.ts';
import { loggedEventCharacters, loggedRunCharacters, loggedRunEvents, loggedProgressEvents } from '../../src/observability/run-record.ts';
import { loggedTextCharacters } from '../../src/observability/model-request-log.ts';

const sent = { model: 'm', messages: [], tools: [], callerTools: [], toolChoice: undefined, parameters: {} };
const page = { callerId: undefined, limit: 100, after: undefined };
const event = (type: EventType, data: JsonObject = {}): ChatEvent => ({ type: 'run-event', event: { type, data } as RunEvent });

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

/** The store works in turns of the event loop, which no timer stands for. */
const turnsOfOneSave = 20;

/** Lets time pass, and the store do what is due. */
async function pass(milliseconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(milliseconds);
  for (let turn = 0; turn < turnsOfOneSave; turn += 1) await nextTurn();
}

interface Desk {
  log: WritingRunLog;
  store: RunStore;
  /** The ids of each save, in order. */
  saves: string[][];
  faults: object[];
  begin: (id: string) => RunRecorder;
}

function openDesk(store = memoryRuns()): Desk {
  const saves: string[][] = [];
  const faults: object[] = [];
  const watched: RunStore = {
    ...store,
    async save(runs) {
      await store.save(runs);
      saves.push(runs.map(({ id }) => id));
    },
  };
  const log = createRunLog({ store: watched, now: Date.now, logger: { error: (fields) => void faults.push(fields) } });
  return { log, store, saves, faults, begin: (id) => log.begin({ id, callerId: 'ada', model: 'model', mode: undefined }) };
}

describe('saving', () => {
  it('happens a second later, once for all runs, and not for texts', async () => {
    const { begin, saves } = openDesk();
    const first = begin('a');
    first.record(event('run.start', { model: 'm', mode: 'native' }));
    begin('b').end({ status: 'completed' });
    first.end({ status: 'completed' });
    await pass(999);
    expect(saves).toEqual([]);
    await pass(1);
    expect(saves).toEqual([['a', 'b']]);

    const long = begin('c');
    await pass(1_000);
    for (let index = 0; index < 10; index += 1) long.record({ type: 'text', text: 'x' });
    await pass(60_000);
    expect(saves).toEqual([['a', 'b'], ['c']]);
  });

  it('happens within a second for a run that begins to wait, and again when it goes on', async () => {
    const { begin, store, saves } = openDesk();
    const run = begin('a');
    run.record(event('approval.request', { id: 'one' }));
    run.record(event('approval.request', { id: 'two' }));
    await pass(1_000);
    expect(await store.find('a')).toMatchObject({ status: 'waiting' });
    run.record(event('approval.response', { id: 'one' }));
    await pass(1_000);
    expect(await store.find('a')).toMatchObject({ status: 'waiting' });
    run.record(event('approval.response', { id: 'two' }));
    await pass(1_000);
    expect(await store.find('a')).toMatchObject({ status: 'running' });
    expect(saves).toEqual([['a'], ['a'], ['a']]);
  });

  it('goes on in a run that waits, taken up again here or by another process, and ends it once', async () => {
    const { begin, store, log } = openDesk();
    const run = begin('a');
    run.record(event('run.start', { model: 'm', mode: 'native' }));
    run.record(event('approval.request', { id: 'one' }));
    run.record(event('run.end', { run_id: 'a', status: 'waiting' }));
    run.end({ status: 'completed' });
    const here = await log.resume('a');
    here?.record(event('approval.response', { id: 'two', decision: 'approve' }));
    here?.end({ status: 'waiting' });
    await log.close();
    const next = openDesk(store);
    expect(await next.log.find('a')).toMatchObject({ status: 'waiting' });
    const there = await next.log.resume('a');
    there?.record(event('approval.response', { id: 'one', decision: 'approve' }));
    there?.record(event('run.start', { model: 'm', mode: 'native' }));
    there?.end({ status: 'completed' });
    expect(await next.log.resume('a')).toBeUndefined();
    await next.log.flush();
    const kept = await store.find('a');
    expect([kept?.status, kept?.events.map(({ type }) => type)]).toEqual([
      'completed',
      ['run.start', 'approval.request', 'approval.response', 'approval.response', 'run.end'],
    ]);
    await next.log.close();
  });

  it('marks as failed what waited for a socket of a process that is gone, and leaves what can go on', async () => {
    const store = memoryRuns();
    const base = { callerId: 'ada', model: 'model', created: 1_000_000, events: [], status: 'waiting' as const };
    await store.save([
      { ...base, id: 'socket' },
      { ...base, id: 'stored' },
    ]);
    const log = createRunLog({ store, now: Date.now, logger: { error: () => undefined } });
    log.markWaiting(async () => ['stored']);
    expect((await log.find('socket'))?.status).toBe('failed');
    expect((await log.find('stored'))?.status).toBe('waiting');
    await log.close();
  });

  it('waits for a store that cannot be read yet before it decides which runs have failed', async () => {
    const store = memoryRuns();
    await store.save([{ id: 'stored', callerId: 'ada', model: 'model', created: 1_000_000, events: [], status: 'waiting' }]);
    const log = createRunLog({ store, now: Date.now, logger: { error: () => undefined } });
    let reads = 0;
    log.markWaiting(async () => {
      reads += 1;
      if (reads === 1) throw new Error('database is locked');
      return ['stored'];
    });
    await expect(log.find('stored')).rejects.toThrow('locked');
    expect((await log.find('stored'))?.status).toBe('waiting');
    await log.close();
  });

  it('that is refused is told once and tried again; nothing is lost meanwhile, and reading goes on', async () => {
    const memory = memoryRuns();
    let isFull = true;
    const store: RunStore = { ...memory, save: async (runs) => (isFull ? Promise.reject(new Error('full')) : memory.save(runs)) };
    const { log, begin, faults } = openDesk(store);
    begin('a').end({ status: 'completed' });
    await pass(1_000);
    begin('b').end({ status: 'completed' });
    await pass(10_000);
    expect(faults).toMatchObject([{ err: { message: 'full' } }]);
    expect((await log.list(page)).runs.map(({ id }) => id)).toEqual(['b', 'a']);
    isFull = false;
    await pass(5_000);
    expect((await memory.list({ ...page, since: 0 })).runs.map(({ id }) => id)).toEqual(['b', 'a']);
    isFull = true;
    begin('c').end({ status: 'completed' });
    await pass(1_000);
    // Between two writes to the database a turn of the event loop passes, which fake timers do not.
    await waitFor(() => expect(faults).toHaveLength(2));
  });

  it('that stays refused keeps no more than a number of ended runs, the latest', async () => {
    const { log, begin } = openDesk({ ...memoryRuns(), save: () => Promise.reject(new Error('full')) });
    begin('running');
    for (let index = 0; index <= unsavedRunsLimit; index += 1) begin(`run-${index}`).end({ status: 'completed' });
    expect(await log.find('run-1')).toBeUndefined();
    expect(await log.find(`run-${unsavedRunsLimit}`)).toBeDefined();
    expect(await log.find('running')).toBeDefined();
  });

  it('that stays refused keeps what others have done while one caller fills it', async () => {
    const { log, begin } = openDesk({ ...memoryRuns(), save: () => Promise.reject(new Error('full')) });
    log.begin({ id: 'of bob', callerId: 'bob', model: 'model', mode: undefined }).end({ status: 'completed' });
    for (let index = 0; index <= unsavedRunsLimit; index += 1) begin(`run-${index}`).end({ status: 'completed' });
    expect(await log.find('run-1')).toBeUndefined();
    expect(await log.find('of bob')).toBeDefined();
  });

  it('is finished by closing, and what began while a save was under way is in it', async () => {
    const memory = memoryRuns();
    const gate = Promise.withResolvers<void>();
    const store: RunStore = { ...memory, save: async (runs) => gate.promise.then(() => memory.save(runs)) };
    const { log, begin } = openDesk(store);
    begin('a').end({ status: 'completed' });
    await pass(1_000);
    begin('b').end({ status: 'completed' });
    const closed = log.close();
    gate.resolve();
    await closed;
    expect((await memory.list({ ...page, since: 0 })).runs.map(({ id }) => id)).toEqual(['b', 'a']);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('reading', () => {
  it('knows a run before, while and after it is saved', async () => {
    const { log, begin } = openDesk();
    const run = begin('a');
    expect(await log.find('a')).toMatchObject({ status: 'running' });
    expect((await log.list(page)).runs).toMatchObject([{ id: 'a', status: 'running' }]);
    await log.flush();
    run.record({ type: 'usage', usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } });
    run.record({ type: 'usage', usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 } });
    run.end({ status: 'completed' });
    expect((await log.list(page)).runs).toMatchObject([{ id: 'a', status: 'completed', usage: { total_tokens: 33 } }]);
    await log.flush();
    expect((await log.list(page)).runs).toMatchObject([{ id: 'a', status: 'completed', usage: { total_tokens: 33 } }]);
    expect(await log.find('a')).toMatchObject({ status: 'completed', events: [{ type: 'run.end' }] });
  });

  it('knows the end of a run that came while an earlier state was being saved', async () => {
    const memory = memoryRuns();
    const gate = Promise.withResolvers<void>();
    const save = async (runs: readonly LoggedRun[]): Promise<void> => {
      const earlier = structuredClone(runs);
      await gate.promise;
      await memory.save(earlier);
    };
    const { log, begin } = openDesk({ ...memory, save });
    const run = begin('a');
    await pass(1_000);
    run.end({ status: 'completed' });
    gate.resolve();
    await pass(0);
    expect(await memory.find('a')).toMatchObject({ status: 'running' });
    expect(await log.find('a')).toMatchObject({ status: 'completed' });
    await pass(1_000);
    expect(await memory.find('a')).toMatchObject({ status: 'completed' });
  });

  it('misses no run that is saved while the store is asked', async () => {
    const memory = memoryRuns();
    const gate = Promise.withResolvers<void>();
    const store: RunStore = { ...memory, list: async (asked) => memory.list(asked).then((found) => gate.promise.then(() => found)) };
    const { log, begin } = openDesk(store);
    await log.flush();
    begin('a').end({ status: 'completed' });
    const listed = log.list(page);
    await pass(1_000);
    expect(await memory.find('a')).toBeDefined();
    gate.resolve();
    expect((await listed).runs.map(({ id }) => id)).toEqual(['a']);
  });

  it('pages through saved and running runs as through one list', async () => {
    const { log, begin } = openDesk();
    for (const id of ['a', 'b', 'c', 'd']) {
      begin(id).end({ status: 'completed' });
      vi.setSystemTime(Date.now() + 1);
      if (id === 'b') await log.flush();
    }
    const first = await log.list({ ...page, limit: 3 });
    expect(first.runs.map(({ id }) => id)).toEqual(['d', 'c', 'b']);
    expect((await log.list({ ...page, limit: 3, after: first.next })).runs.map(({ id }) => id)).toEqual(['a']);
    expect((await log.list({ ...page, callerId: 'bob' })).runs).toEqual([]);
  });

  it('finds runs by what they did, running ones as they are now and not as they were saved', async () => {
    const { log, begin } = openDesk();
    const found = async (filter: RunFilter): Promise<string[]> => (await log.list({ ...page, filter })).runs.map(({ id }) => id);
    const run = begin('a');
    await log.flush();
    run.record(event('tool.call', { id: 'c', tool: 'now', args: {}, server: 'time' }));
    run.record(event('tool.call', { id: 'c2', tool: 'now', args: {}, server: 'time' }));
    expect(await found({ tool: 'now', status: 'running' })).toEqual(['a']);
    expect(await found({ hasErrors: true })).toEqual([]);
    run.record(event('tool.result', { id: 'c', tool: 'now', duration_ms: 1, error: { code: 'tool_error', message: 'No.' } }));
    run.end({ status: 'failed', error: { code: 'internal_error', message: 'Broken.' } });
    expect(await found({ status: 'running' })).toEqual([]);
    const work = {
      calls: 2,
      failedCalls: 1,
      tools: ['now'],
      servers: ['time'],
      error: { code: 'internal_error', message: 'Broken.' },
      last: { type: 'run.end' },
    };
    expect((await log.list({ ...page, filter: { server: 'time', hasErrors: true } })).runs).toMatchObject([{ id: 'a', work }]);
    await log.flush();
    expect((await log.list({ ...page, filter: { server: 'time', hasErrors: true } })).runs).toMatchObject([{ id: 'a', work }]);
  });

  it('lists no running run before the place to which the store has looked', async () => {
    const memory = memoryRuns();
    const { log, begin } = openDesk({ ...memory, list: async () => ({ runs: [], next: { created: 1_000_001, id: 'x' } }) });
    begin('old');
    vi.setSystemTime(1_000_002);
    begin('new');
    expect(await log.list({ ...page, filter: { status: 'running' } })).toMatchObject({ runs: [{ id: 'new' }], next: { id: 'x' } });
  });

  it('finds nothing a day after the end, and then it is gone from the store as well', async () => {
    const { log, begin, store } = openDesk();
    begin('a').end({ status: 'completed' });
    await log.flush();
    vi.setSystemTime(Date.now() + runLogMs);
    expect(await log.find('a')).toBeDefined();
    vi.setSystemTime(Date.now() + 1);
    expect(await log.find('a')).toBeUndefined();
    expect((await log.list(page)).runs).toEqual([]);
    expect(await store.find('a')).toBeDefined();
    await pass(11 * 60_000);
    expect(await store.find('a')).toBeUndefined();
  });

  it('shows what another process left running as failed, and never a run of its own', async () => {
    const store = memoryRuns();
    const left: LoggedRun = { id: 'left', callerId: 'ada', status: 'running', model: 'model', created: 1, events: [] };
    await store.save([left, { ...left, id: 'asked', status: 'waiting', created: Date.now() }]);
    const { log, begin } = openDesk(store);
    begin('own');
    await log.flush();
    expect(await log.find('left')).toMatchObject({ status: 'failed', events: [{ data: { error: { code: 'interrupted' } } }] });
    expect(await log.find('asked')).toMatchObject({ status: 'waiting' });
    expect(await store.find('own')).toMatchObject({ status: 'running' });
  });
});

describe('what is written down', () => {
  async function recorded(...events: ChatEvent[]): Promise<LoggedRun> {
    const { log, begin } = openDesk();
    const run = begin('a');
    for (const each of events) run.record(each);
    run.end({ status: 'failed', error: { code: 'upstream_error', message: 'No.' } });
    return (await log.find('a')) as LoggedRun;
  }
  const end = {
    type: 'run.end',
    time: 1_000_000,
    data: { run_id: 'a', status: 'failed', error: { code: 'upstream_error', message: 'No.' } },
  };

  it('has the end that the log knows of, once', async () => {
    const run = await recorded(event('run.start', { model: 'm', mode: 'native', tools: 1 }));
    expect(run).toMatchObject({ status: 'failed', mode: 'native', created: 1_000_000, finished: 1_000_000 });
    expect(run.events).toEqual([{ type: 'run.start', time: 1_000_000, data: { model: 'm', mode: 'native', tools: 1 } }, end]);
  });

  it.each(['completed', 'waiting'] as const)('has the end %s that the run itself told', async (status) => {
    const run = await recorded(event('run.end', { run_id: 'a', status }));
    // One that waits has not ended.
    expect(run.events).toHaveLength(status === 'waiting' ? 0 : 1);
    expect([run.status, run.finished]).toEqual([status, status === 'waiting' ? undefined : 1_000_000]);
  });

  it('has long texts cut with a mark, in whatever depth', async () => {
    const long = 'x'.repeat(loggedTextCharacters + 7);
    const run = await recorded(event('tool.result', { id: '1', response: { list: [{ long }] } }));
    const text = `${'x'.repeat(loggedTextCharacters)}… [7 more characters]`;
    expect(run.events[0]?.data).toEqual({ id: '1', response: { list: [{ long: text }] } });
  });

  it('has large lists and objects cut with a mark', async () => {
    const list = Array.from({ length: 100_000 }, (_, index) => index);
    const object = Object.fromEntries(list.map((index) => [`name-${index}`, index]));
    let nested: JsonObject = {};
    for (let depth = 0; depth < 1_000; depth += 1) nested = { nested };
    for (const response of [list, object, nested]) {
      const run = await recorded(event('tool.result', { id: '1', response }));
      expect(JSON.stringify(run.events[0]).length).toBeLessThan(3 * loggedEventCharacters);
      expect(JSON.stringify(run.events[0])).toMatch(/\[\d+ more\]|\[deeper\]/);
    }
  });

  it('has no value under the name of a secret, and names like __proto__ as they are', async () => {
    const args = JSON.parse(
      '{"password":"CANARY","deep":{"Api-Key":"CANARY"},"headers":{"x":"CANARY"},"body":"a note","__proto__":{"a":1}}',
    ) as JsonObject;
    const run = await recorded(event('tool.call', { id: '1', args }), event('approval.request', { id: '1', token: 'CANARY' }));
    expect(JSON.stringify(run)).not.toContain('CANARY');
    expect(JSON.stringify(run.events[0]?.data['args'])).toContain('"body":"a note","__proto__":{"a":1}');
  });

  it('has an end also when its events are too many or too large', async () => {
    const many = Array.from({ length: loggedRunEvents + 50 }, () => event('warning', { code: 'c' }));
    const large = Array.from({ length: 50 }, () => event('warning', { a: 'x'.repeat(4_000), b: 'y'.repeat(4_000) }));
    for (const events of [many, large]) {
      const run = await recorded(...events);
      expect(run.events.slice(-2)).toMatchObject([{ type: 'warning', data: { code: 'events_left_out' } }, end]);
      expect(run.events.filter(({ data }) => data['code'] === 'events_left_out')).toHaveLength(1);
      expect(run.events.length).toBeLessThanOrEqual(loggedRunEvents + 2);
      expect(JSON.stringify(run.events).length).toBeLessThan(1.5 * loggedRunCharacters);
    }
  });

  it('has results after any number of reports of progress', async () => {
    const progress = Array.from({ length: 10_000 }, () => event('tool.progress', { id: '1', text: 'x'.repeat(1_000) }));
    const run = await recorded(...progress, event('tool.result', { id: '1', response: 1 }));
    expect(run.events.filter(({ type }) => type === 'tool.progress')).toHaveLength(loggedProgressEvents);
    expect(run.events.at(-2)).toMatchObject({ type: 'tool.result' });
  });

  it('has questions within the same limits, with the words of a fault cut', async () => {
    const { log, begin } = openDesk();
    const recorder = begin('a');
    const { modelRequests } = recorder;
    modelRequests?.begin({ purpose: 'round' }, sent).end({ code: 'upstream_invalid_response', message: 'x'.repeat(1_000_000) });
    for (let count = 0; count < loggedRunEvents; count += 1) modelRequests?.begin({ purpose: 'round' }, sent).end();
    recorder.end({ status: 'failed', error: end.data.error });
    const run = await log.find('a');
    expect(run?.events[1]).toMatchObject({ type: 'model.response', data: { error: { code: 'upstream_invalid_response' } } });
    expect(JSON.stringify(run?.events[1]).length).toBeLessThan(2 * loggedTextCharacters);
    expect(run?.events.slice(-2)).toMatchObject([{ type: 'warning', data: { code: 'events_left_out' } }, end]);
    expect(JSON.stringify(run?.events).length).toBeLessThan(1.5 * loggedRunCharacters);
    await log.close();
  });

  it('has the names of functions with a question where they are others than before', async () => {
    const { log, begin } = openDesk();
    const { modelRequests } = begin('a');
    for (const names of [['one'], ['one'], undefined, ['one'], ['two'], ['one']])
      modelRequests?.begin({ functions: 1, ...(names !== undefined && { names }) }, sent).end();
    const run = await log.find('a');
    const asked = run?.events.filter(({ type }) => type === 'model.request');
    expect(asked?.map(({ data }) => data['names'])).toEqual([['one'], undefined, undefined, undefined, ['two'], ['one']]);
    await log.close();
  });
});
