import { execute } from '../../../src/storage/sql/database.ts';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openSqlite } from '../../../src/storage/sqlite/sqlite-database.ts';
import type { SqliteDatabase } from '../../../src/storage/sqlite/sqlite-database.ts';
import { openStores } from '../../_support/memory-stores.ts';
import { createRunStore } from '../../../src/storage/sql/runs.ts';
import { toolServerRecord } from '../records.ts';
import { describeRunStore, keptRun, wholePage } from '../run-store-contract.ts';
import { temporaryFolders } from '../temporary-folder.ts';
import { countTurns } from '../../_support/count-turns.ts';

const newFolder = temporaryFolders();
const open: SqliteDatabase[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()));
});

function connect(file: string): SqliteDatabase {
  const connection = openSqlite({ file, now: Date.now });
  open.push(connection);
  return connection;
}

describeRunStore('a file', () => createRunStore(connect(join(newFolder(), 'toolwharf.db'))));
describeRunStore('memory', () => createRunStore(connect(':memory:')));

describe('runs in SQLite', () => {
  it.each([
    ['a thousand people are removed over several turns', (index: number) => `key_1/person-${index}`, 4, 20],
    ['one caller are removed in one go', () => 'key_1', 0, 2],
  ])('of %s, down to the bounds', async (_what, callerOf, leastTurns, mostTurns) => {
    const runs = createRunStore(connect(':memory:'));
    await runs.save(Array.from({ length: 1_000 }, (_, index) => keptRun({ id: `run-${index}`, callerId: callerOf(index) })));
    const turns = countTurns();
    await runs.prune({ since: 0, maxRuns: 50, maxCharacters: Infinity });
    const taken = turns();
    expect(taken).toBeGreaterThanOrEqual(leastTurns);
    expect(taken).toBeLessThanOrEqual(mostTurns);
    expect((await runs.list({ ...wholePage, limit: 200, since: 0 })).runs).toHaveLength(50);
  });

  it('are there after a restart', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const before = connect(file);
    await createRunStore(before).save([keptRun()]);
    await before.close();
    expect(await createRunStore(connect(file)).find('run-a')).toEqual(keptRun());
  });

  it('are read also where an earlier release wrote everything into the summary', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const connection = connect(file);
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
    const runs = [keptRun({ usage }), keptRun({ id: 'run-b', status: 'running' })];
    const insert = `INSERT INTO runs (id, caller_id, status, created, finished, characters, summary, events) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
    for (const { events, ...summary } of runs) {
      const { id, callerId, status, created, finished = null } = summary;
      const values = [id, callerId, status, created, finished, 2, JSON.stringify(summary), JSON.stringify(events)];
      await connection.write('runs', () => execute(insert, ...values));
    }
    const store = createRunStore(connection);
    expect([await store.find('run-a'), await store.find('run-b')]).toEqual(runs);
    expect((await store.list(wholePage)).runs).toEqual(runs.toReversed().map(({ events: _events, ...summary }) => summary));
  });

  it('are saved all or none', async () => {
    const runs = createRunStore(connect(join(newFolder(), 'toolwharf.db')));
    const broken = keptRun({ id: 'broken', created: 0.5 });
    await expect(runs.save([keptRun(), broken])).rejects.toThrow('cannot store REAL value in INTEGER column');
    expect((await runs.list(wholePage)).runs).toEqual([]);
  });

  it('share the registry’s connection, which does not read its records anew for them', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const { registry, runs, database } = openStores({ file, secret: 's' });
    onTestFinished(() => database.close());
    await registry.createToolServer(toolServerRecord());
    await registry.listToolServers();
    const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
    onTestFinished(() => prepare.mockRestore());
    await runs.save([keptRun()]);
    await registry.listToolServers();
    const statements = prepare.mock.calls.map(([sql]) => sql);
    expect(statements.filter((sql) => sql.includes('INTO runs'))).toHaveLength(1);
    expect(statements.filter((sql) => sql.includes('tool_servers'))).toEqual([]);
  });
});
