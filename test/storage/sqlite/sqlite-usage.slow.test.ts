import { expect, onTestFinished, test } from 'vitest';
import type { KnownPerson, UsageCounts } from '../../../src/core/stores/usage-store.ts';
import { openStores } from '../../../src/storage/open-stores.ts';
import { countTurns } from '../../_support/count-turns.ts';

const days = 30;
const rowsOfDay = 10_000;
const dayOf = (index: number): string => new Date(Date.UTC(2026, 0, 1 + index)).toISOString().slice(0, 10);

test('reports and deletes what many people have used without holding up others', async () => {
  const { usage, connection } = openStores({ file: ':memory:', secret: 'a secret of tests' });
  onTestFinished(() => connection.close());
  const counts = { keyId: 'key', model: 'model', tool: '', requests: 1, tokensIn: 1, tokensOut: 1, toolCalls: 0, failures: 0 };
  for (let day = 0; day < days; day += 1) {
    const rows = Array.from({ length: rowsOfDay }, (_, index): UsageCounts => ({ ...counts, day: dayOf(day), personId: `p${index}` }));
    await usage.add(rows, []);
  }
  const turns = countTurns();
  const everything = await usage.report({ by: 'key', from: '0000-01-01', to: '9999-12-31', owner: undefined, limit: 10_000 });
  // A day in each.
  expect(turns()).toBeGreaterThanOrEqual(days);
  const some = await usage.report({ by: 'key', from: dayOf(3), to: dayOf(5), owner: { keyId: 'key', personId: 'p7' }, limit: 2 });
  const turnsBefore = turns();
  await usage.prune(dayOf(days - 1), 0);
  // A thousand rows in each.
  expect(turns() - turnsBefore).toBeGreaterThanOrEqual(((days - 1) * rowsOfDay) / 1_000);
  expect(everything.map(({ day, requests }) => [day, requests])).toEqual(
    Array.from({ length: days }, (_, index) => [dayOf(days - 1 - index), rowsOfDay]),
  );
  expect(some.map(({ day, requests }) => [day, requests])).toEqual([dayOf(5), dayOf(4)].map((day) => [day, 1]));
  expect(await usage.report({ by: 'key', from: '0000-01-01', to: '9999-12-31', owner: undefined, limit: 10_000 })).toHaveLength(1);
});

test('finds people among many by id, name and address, the last to come first, without holding up others', async () => {
  const { usage, connection } = openStores({ file: ':memory:', secret: 'a secret of tests' });
  onTestFinished(() => connection.close());
  const count = 100_000;
  const all = Array.from({ length: count }, (_, last): KnownPerson => ({
    keyId: `key-${last % 3}`,
    id: `p${last}`,
    name: 'Somebody',
    last,
  }));
  all[7] = { keyId: 'key', id: 'seven', name: 'Ärmel Özil', email: 'Seven@Example.com', last: 7 };
  await usage.add([], all);
  const idsOf = async (search: string, offset = 0): Promise<string[]> =>
    (await usage.listPeople({ limit: 2, offset, search })).map(({ id }) => id);
  const turns = countTurns();
  expect(await idsOf('SOMEBODY', 1)).toEqual([`p${count - 2}`, `p${count - 3}`]);
  for (const search of ['ärmel ö', 'SEVEN', 'seven@example']) expect(await idsOf(search)).toEqual(['seven']);
  expect(await idsOf('_')).toEqual([]);
  // Of five searches, each of which reads all.
  expect(turns()).toBeGreaterThan((5 * count) / 10_000);
});
