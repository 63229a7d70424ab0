import { describe, expect, it } from 'vitest';
import { withOwners } from '../../src/storage/owned-stores.ts';
import type { Owners } from '../../src/storage/owned-stores.ts';
import { memoryNotes, memoryStores } from '../_support/memory-stores.ts';
import { addRow, ownedTables, tablesOf } from '../_support/owned-rows.ts';

const [ada, bob, adas] = [
  ['key_1', 'ada'],
  ['key_1', 'bob'],
  ['key_2', 'ada-lovelace'],
] as const;

const ownersOf = (opened: ReturnType<typeof memoryStores>): Owners => withOwners({ ...opened, fallbackNotes: memoryNotes() }).owners;

describe('everything that the database has of somebody', () => {
  it('goes with the person, and leaves the others alone', async () => {
    const opened = memoryStores();
    const tables = await ownedTables(opened);
    for (const table of tables) for (const person of [ada, bob, adas]) await addRow(opened, table, person);
    const names = tables.map(({ name }) => name).toSorted();
    expect(names).toEqual(expect.arrayContaining(['chats', 'credentials', 'people', 'runs', 'usage', 'waiting_runs']));
    expect(await tablesOf(opened, ada)).toEqual(names);
    expect(await ownersOf(opened).deleteAllOf('key_1/ada')).toBe(true);
    expect(await tablesOf(opened, ada)).toEqual([]);
    expect(await tablesOf(opened, bob)).toEqual(names);
    expect(await tablesOf(opened, adas)).toEqual(names);
  });

  it('goes with the key', async () => {
    const opened = memoryStores();
    const tables = await ownedTables(opened);
    for (const table of tables) for (const person of [ada, bob, adas]) await addRow(opened, table, person);
    await ownersOf(opened).deleteAllOf('key_1');
    expect([await tablesOf(opened, ada), await tablesOf(opened, bob)]).toEqual([[], []]);
    expect(await tablesOf(opened, adas)).toEqual(tables.map(({ name }) => name).toSorted());
    // What they used counts for the key.
    expect(await tablesOf(opened, ['key_1', ''])).toEqual(['usage']);
  });
});
