import { expect, it, onTestFinished } from 'vitest';
import type { KnownPerson, UsageCounts } from '../../../src/core/stores/usage-store.ts';
import { openStores } from '../../_support/memory-stores.ts';
import { countTurns } from '../../_support/count-turns.ts';

const days = 30;
const rowsOfDay = 10_000;
const dayOf = (index: number): string => new Date(Date.UTC(2026, 0, 1 + index)).toISOString().slice(0, 10);

it('reports and deletes what many people have used without holding up others', async () => {
  const { usage, database } = openStores({ file: ':memory:', secret: 'a secret of tests' });
  onTestFinished(() => database.close());
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

it('finds people among many by id, name and address, the last to come first, without holding up others', async () => {
  const { usage, database } = openStores({ file: ':memory:', secret: 'a secret of tests' });
  onTestFinished(() => database.close());
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

it('goes through the many people of one day, and lists those far behind, without holding up others', async () => {
  const { usage, database } = openStores({ file: ':memory:', secret: 'a secret of tests' });
  onTestFinished(() => database.close());
  const count = 20_000;
  const counts = { day: dayOf(0), keyId: 'key', requests: 1, tokensIn: 2, tokensOut: 3, toolCalls: 4, failures: 5 };
  const personOf = (index: number): string => `p${String(index).padStart(5, '0')}`;
  const models = Array.from({ length: count }, (_, index): UsageCounts => ({
    ...counts,
    personId: personOf(index),
    model: `model ${index % 3}`,
    tool: '',
  }));
  const people = models.map(({ personId: id }, last): KnownPerson => ({ keyId: 'key', id, last }));
  await usage.add([...models, { ...counts, personId: 'p', model: '', tool: 'time/now' }], people);
  const everything = { from: dayOf(0), to: dayOf(0), owner: undefined, limit: 7 };
  const turns = countTurns();
  let before = 0;
  const turnsSince = (): number => turns() - before;

  const ofModels = await usage.report({ ...everything, by: 'model' });
  expect(ofModels.map(({ model, personId, requests, failures }) => [model, personId, requests, failures])).toEqual([
    ['model 0', '', 6_667, 33_335],
    ['model 1', '', 6_667, 33_335],
    ['model 2', '', 6_666, 33_330],
  ]);
  expect(turnsSince()).toBeGreaterThanOrEqual(count / 1_000);
  expect(await usage.report({ ...everything, by: 'tool' })).toMatchObject([{ tool: 'time/now', toolCalls: 4 }]);
  expect(await usage.report({ ...everything, by: 'key' })).toMatchObject([{ keyId: 'key', tokensIn: 2 * count }]);
  expect((await usage.report({ ...everything, by: 'user' })).map(({ personId }) => personId)).toEqual(
    Array.from({ length: 7 }, (_, index) => personOf(index)),
  );

  before = turns();
  expect((await usage.listPeople({ limit: 2, offset: count - 3 })).map(({ id }) => id)).toEqual([personOf(2), personOf(1)]);
  expect(turnsSince()).toBeGreaterThanOrEqual(count / 1_000);

  before = turns();
  expect(await usage.deleteAllOf('key')).toBe(true);
  expect(turnsSince()).toBeGreaterThanOrEqual((2 * count) / 1_000);
  expect(await usage.listPeople({ limit: 2, offset: 0 })).toEqual([]);
  expect(await usage.report({ ...everything, by: 'user' })).toMatchObject([{ personId: '', requests: count }]);
});

it('reads the tokens of a day in parts', async () => {
  const { usage, database } = openStores({ file: ':memory:', secret: 'a secret of tests' });
  onTestFinished(() => database.close());
  const counts = { keyId: 'key', model: 'model', requests: 1, tokensIn: 1, tokensOut: 2, toolCalls: 0, failures: 0 };
  const people = 10_000;
  const rows = Array.from({ length: people }, (_, index): UsageCounts => ({ ...counts, tool: '', day: dayOf(1), personId: `p${index}` }));
  const others: UsageCounts[] = [
    { ...counts, tool: '', day: dayOf(2), personId: '' },
    { ...counts, tool: 'bank/pay', day: dayOf(1), personId: '' },
    { ...counts, tool: '', day: dayOf(1), personId: 'p7', model: 'other' },
  ];
  await usage.add([...rows, ...others], []);
  const tokens = new Map<string, number>();
  const turns = countTurns();
  await usage.readTokens(dayOf(1), ({ personId, tokens: count }) => void tokens.set(personId, (tokens.get(personId) ?? 0) + count));
  expect(turns()).toBeGreaterThanOrEqual(people / 1_000);
  expect(tokens.size).toBe(people);
  expect(tokens.get('p7')).toBe(6);
  expect(tokens.get('p8')).toBe(3);
});
