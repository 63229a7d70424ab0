import { expect, it } from 'vitest';
import type { Caller } from '../../src/core/callers/caller.ts';
import type { UsageCounts, UsageStore } from '../../src/core/stores/usage-store.ts';
import { createUsageCounter } from '../../src/observability/usage-counter.ts';

const personOf = (id: string): Caller => ({ id: `key/${id}`, person: { id }, role: 'user', isOpen: false });

function counterWith(add: UsageStore['add']) {
  const store = { add, prune: async () => undefined, readTokens: async () => undefined } as unknown as UsageStore;
  return createUsageCounter({ store, now: () => 0, logger: { error: () => undefined } });
}

it('writes a crowd in parts, none of which holds up others', async () => {
  const sizes: number[] = [];
  const seen = new Set<string>();
  const counter = counterWith(async (counts, people) => {
    sizes.push(counts.length + people.length);
    for (const { id } of people) seen.add(id);
  });
  for (let index = 0; index < 3_000; index += 1) {
    counter.notePerson(personOf(`p${index}`));
    counter.countCall({ caller: personOf(`p${index}`), server: 'bank', tool: 'pay', code: undefined, durationMs: 1 });
  }
  await counter.flush();
  expect(seen.size).toBe(3_000);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(6_000);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(500);
});

it('notes so many people of a key in a day that inventing them fills no disk, and those of other keys all the same', async () => {
  const seen = new Set<string>();
  const counter = counterWith(async (_counts, people) => {
    for (const { keyId, id } of people) seen.add(`${keyId}/${id}`);
  });
  for (let index = 0; index < 30_000; index += 1) {
    if (index % 10_000 === 0) await counter.flush();
    counter.notePerson(personOf(`p${index}`));
  }
  counter.notePerson({ ...personOf('ada'), id: 'other/ada' });
  await counter.flush();
  expect(seen.size).toBe(20_001);
  expect(seen.has('other/ada')).toBe(true);
});

it('writes once what was written before a part could not be', async () => {
  let calls = 0;
  let attempts = 0;
  const counter = counterWith(async (counts) => {
    attempts += 1;
    if (attempts === 2) throw new Error('The disk is full');
    for (const { toolCalls } of counts) calls += toolCalls;
  });
  for (let index = 0; index < 1_200; index += 1)
    counter.countCall({ caller: personOf(`p${index}`), server: 'bank', tool: 'pay', code: undefined, durationMs: 1 });
  await counter.flush();
  expect(calls).toBeLessThan(1_200);
  await counter.flush();
  expect(calls).toBe(1_200);
});

it('remembers the tokens of so many people of a key that inventing them fills no memory', () => {
  const counter = counterWith(async () => undefined);
  const run = { outcome: 'completed', model: 'model', toolCalls: 0, usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } };
  const count = (id: string): void => counter.countRun({ ...run, caller: personOf(id) } as never);
  for (let index = 0; index < 60_000; index += 1) {
    count(`p${index}`);
    if (index % 1_000 === 0) count('ada');
  }
  expect(counter.tokensToday('key')).toBe(120_120);
  expect(counter.tokensToday('key/ada')).toBe(120);
  expect(counter.tokensToday('key/p0')).toBe(0);
});

it('counts once what is used while the tokens of today are read', async () => {
  const read = Promise.withResolvers<void>();
  const rows: { keyId: string; personId: string; tokens: number }[] = [{ keyId: 'key', personId: '', tokens: 5 }];
  const store = {
    add: async (counts: readonly UsageCounts[]) =>
      void rows.push(...counts.map(({ keyId, personId, tokensIn }) => ({ keyId, personId, tokens: tokensIn }))),
    prune: async () => undefined,
    readTokens: async (_day: string, each: (row: (typeof rows)[number]) => void) => {
      await read.promise;
      rows.forEach(each);
    },
  } as unknown as UsageStore;
  const counter = createUsageCounter({ store, now: () => 0, logger: { error: () => undefined } });
  const loading = counter.load();
  const caller: Caller = { id: 'key', role: 'user', isOpen: false };
  counter.countPassed({ caller, model: 'm', tokens: 7, hasFailed: false });
  const flushing = counter.flush();
  read.resolve();
  await Promise.all([loading, flushing]);
  expect(counter.tokensToday('key')).toBe(12);
  expect(rows).toHaveLength(2);
});
