import { describe, expect, it } from 'vitest';
import type { Opening } from '../../../src/tools/definitions/opened-server.ts';
import { createOpeningMarks, findSkippedServers, skippedMs } from '../../../src/tools/servers/opening-marks.ts';
import type { OpeningMarks } from '../../../src/tools/servers/opening-marks.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { toolServerRecord } from '../../storage/registry-contract.ts';

const opened: Opening = { type: 'unsupported', reason: 'opened' };
const recordOf = (id: string) => toolServerRecord({ id });
const [a, b, c] = [recordOf('a'), recordOf('b'), recordOf('c')];

/** A database, and processes with it that end as a test wants. */
function machine() {
  const registry = memoryRegistry([]);
  const state = { time: 0 };
  return {
    state,
    skipped: (now = state.time) => findSkippedServers(registry, [a, b, c], now),
    start: (): OpeningMarks => createOpeningMarks({ facts: registry, now: () => state.time, settleMs: 0 }),
    /** A process that ends while these servers are being opened, each of which is opened as soon as it may be. */
    async endDuring(...records: ReturnType<typeof recordOf>[]): Promise<string[]> {
      const marks = this.start();
      const begun: string[] = [];
      for (const record of records) {
        const isBegun = Promise.withResolvers<void>();
        void marks.open(record, false, () => {
          begun.push(record.id);
          isBegun.resolve();
          return new Promise(() => undefined);
        });
        await isBegun.promise;
      }
      return begun;
    },
  };
}

/** Opens a server; undefined if it was skipped. */
async function openWith(marks: OpeningMarks, record: ReturnType<typeof recordOf>, isAsked = false): Promise<string | undefined> {
  const opening = await marks.open(record, isAsked, async () => opened);
  return opening === opened ? 'opened' : undefined;
}

describe('the marks of servers that are being opened', () => {
  it('are on the disk before a server is opened, and a single unclean end has no consequence', async () => {
    const machineOfTest = machine();
    expect(await machineOfTest.endDuring(a, b)).toEqual(['a', 'b']);
    const marks = machineOfTest.start();
    expect(await marks.suspectsAmong([a, b, c])).toEqual(new Set());
    expect(await openWith(marks, a)).toBe('opened');
  });

  it('make suspects of those that were opened at two unclean ends, which are opened one by one and last', async () => {
    const machineOfTest = machine();
    await machineOfTest.endDuring(a, b, c);
    await machineOfTest.endDuring(a, b);
    const marks = machineOfTest.start();
    expect(await marks.suspectsAmong([a, b, c])).toEqual(new Set([a, b]));
    const order: string[] = [];
    const mayEnd = Promise.withResolvers<void>();
    const opening = [a, b, c].map((record) =>
      marks.open(record, false, async () => {
        order.push(`begin ${record.id}`);
        if (record === c) await mayEnd.promise;
        order.push(`end ${record.id}`);
        return opened;
      }),
    );
    await expect.poll(() => order).toEqual(['begin c']);
    mayEnd.resolve();
    await Promise.all(opening);
    expect(order).toEqual(['begin c', 'end c', 'begin a', 'end a', 'begin b', 'end b']);
  });

  it('skip the one that ends the gateway again, and only that one, for an hour', async () => {
    const machineOfTest = machine();
    await machineOfTest.endDuring(a, b);
    await machineOfTest.endDuring(a, b);
    await machineOfTest.endDuring(b);
    expect(await machineOfTest.skipped()).toEqual(new Map());
    const marks = machineOfTest.start();
    const opening = await marks.open(b, false, async () => opened);
    expect(opening).toMatchObject({
      type: 'unreachable',
      cause: 'skipped',
      reason: expect.stringContaining('/api/tool-servers/b/refresh'),
    });
    expect(await openWith(marks, a)).toBe('opened');
    await marks.close();
    expect(await machineOfTest.skipped()).toEqual(new Map([['b', skippedMs]]));
    machineOfTest.state.time = skippedMs;
    expect(await machineOfTest.skipped()).toEqual(new Map());
    const later = machineOfTest.start();
    expect(await openWith(later, b)).toBe('opened');
    await later.close();
  });

  it('try a skipped one when an administrator asks, and skip it again if that ends the gateway', async () => {
    const machineOfTest = machine();
    for (const _time of [1, 2, 3]) await machineOfTest.endDuring(a);
    const marks = machineOfTest.start();
    expect(await openWith(marks, a)).toBe(undefined);
    const isBegun = Promise.withResolvers<void>();
    void marks.open(a, true, () => (isBegun.resolve(), new Promise(() => undefined)));
    await isBegun.promise;
    expect(await openWith(machineOfTest.start(), a)).toBe(undefined);
  });

  it('take a server at another address for another one', async () => {
    const machineOfTest = machine();
    for (const _time of [1, 2, 3]) await machineOfTest.endDuring(a);
    const marks = machineOfTest.start();
    expect(await openWith(marks, a)).toBe(undefined);
    expect(await openWith(marks, toolServerRecord({ id: 'a', url: 'http://elsewhere.test' }))).toBe('opened');
  });

  it('are gone after a clean end, and while no server is being opened', async () => {
    const machineOfTest = machine();
    await machineOfTest.endDuring(a);
    const marks = machineOfTest.start();
    void marks.open(a, false, () => new Promise(() => undefined));
    await openWith(marks, b);
    await marks.close();
    await machineOfTest.endDuring(a);
    expect(await machineOfTest.start().suspectsAmong([a])).toEqual(new Set());
  });

  it('keep no server from being opened where the database cannot be read or written', async () => {
    const broken = async (): Promise<never> => Promise.reject(new Error('locked'));
    const marks = createOpeningMarks({ facts: { readFact: broken, writeFact: broken }, now: () => 0, settleMs: 0 });
    expect(await openWith(marks, a)).toBe('opened');
    await marks.close();
  });
});
