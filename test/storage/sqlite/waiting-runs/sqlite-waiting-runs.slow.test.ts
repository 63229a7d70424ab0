import { execute, selectFirst } from '../../../../src/storage/sql/database.ts';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { openSqlite } from '../../../../src/storage/sqlite/sqlite-database.ts';
import type { WaitingRun } from '../../../../src/core/runs/suspended-run.ts';
import type { SqliteDatabase } from '../../../../src/storage/sqlite/sqlite-database.ts';
import { createWaitingRunStore } from '../../../../src/storage/sql/waiting-runs/waiting-runs.ts';
import { temporaryFolders } from '../../temporary-folder.ts';
import { describeWaitingRunStore, noBounds, waitingRun } from '../../waiting-run-contract.ts';

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

describeWaitingRunStore('a file', () => createWaitingRunStore(connect(join(newFolder(), 'toolwharf.db')), 'secret'));
describeWaitingRunStore('memory', () => createWaitingRunStore(connect(':memory:'), 'secret'));

describe('waiting runs in SQLite', () => {
  const place = { id: 'run-a', waitId: 'wait-1' };

  it('are there after a restart, with the decisions so far', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const before = connect(file);
    const store = createWaitingRunStore(before, 'secret');
    await store.save(waitingRun(), noBounds);
    await store.decide({ ...place, callId: 'one' }, { decision: 'reject' });
    await before.close();
    const after = createWaitingRunStore(connect(file), 'secret');
    expect(await after.find('run-a')).toEqual({
      callerId: 'ada',
      type: 'open',
      answers: new Map([['one', { decision: 'reject' }]]),
      run: waitingRun(),
    });
    expect(await after.decide({ ...place, callId: 'two' }, { decision: 'approve' })).toMatchObject({
      type: 'complete',
      decided: [{ answer: { decision: 'reject' } }, { answer: { decision: 'approve' } }],
    });
  });

  it('stand in no file as text: neither the run nor the decisions', async () => {
    const folder = newFolder();
    const store = createWaitingRunStore(connect(join(folder, 'toolwharf.db')), 'secret');
    await store.save(waitingRun({ loop: { text: 'CANARY-RUN' } }), noBounds);
    await store.decide({ ...place, callId: 'one' }, { decision: 'reject', message: 'CANARY-WORDS' });
    const contents = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
    expect(contents.length).toBeGreaterThan(0);
    expect(contents.filter((content) => content.includes('CANARY'))).toEqual([]);
  });

  it('are serialized one large field in a turn of the event loop, with other work in between', async () => {
    const store = createWaitingRunStore(connect(':memory:'), 'secret');
    let turn = 0;
    let isCounting = true;
    const countOn = (): void => {
      turn += 1;
      if (isCounting) setTimeout(countOn, 0);
    };
    countOn();
    const turns: number[] = [];
    const large = (): { toJSON: () => string } => ({ toJSON: () => (turns.push(turn), 'x'.repeat(1_000_000)) });
    const run = { ...waitingRun(), sources: large(), loop: large() } as unknown as WaitingRun;
    await store.save(run, noBounds);
    isCounting = false;
    expect(new Set(turns).size).toBe(2);
  });

  it('cannot be read with another secret, and take no decision then', async () => {
    const connection = connect(join(newFolder(), 'toolwharf.db'));
    await createWaitingRunStore(connection, 'secret').save(waitingRun(), noBounds);
    const other = createWaitingRunStore(connection, 'another');
    expect(await other.find('run-a')).toBeUndefined();
    expect(await other.decide({ ...place, callId: 'one' }, { decision: 'approve' })).toEqual({ type: 'closed' });
  });

  const large = (run: object = {}) => waitingRun({ loop: { version: 1, text: 'x'.repeat(4_000_000) }, ...run });
  const partsIn = async (connection: SqliteDatabase): Promise<number | undefined> =>
    (await connection.read(() => selectFirst<{ parts: number }>('SELECT count(*) AS parts FROM waiting_run_parts')))?.parts;

  it('are written and read in parts when they are large, each in a turn of its own, and leave none behind', async () => {
    const connection = connect(join(newFolder(), 'toolwharf.db'));
    const store = createWaitingRunStore(connection, 'secret');
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await store.save(large(), noBounds);
    isOver = true;
    expect(turns).toBeGreaterThan(7);
    expect(await partsIn(connection)).toBe(7);
    await store.save(large(), noBounds);
    expect(await partsIn(connection)).toBe(7);
    await store.close('run-a');
    expect(await partsIn(connection)).toBe(0);
    await store.save(large(), noBounds);
    expect(await store.save(large({ id: 'run-b' }), { ...noBounds, maxCharacters: 4_500_000 })).toEqual({ type: 'refused' });
    expect(await partsIn(connection)).toBe(7);
    await store.prune(5_001);
    expect(await partsIn(connection)).toBe(0);
  });

  it('do not wait where their parts were written and their row was not, and the parts go in time', async () => {
    const connection = connect(join(newFolder(), 'toolwharf.db'));
    let left = 4;
    const write: SqliteDatabase['write'] = (store, script) => {
      left -= 1;
      return left > 0 ? connection.write(store, script) : Promise.reject(new Error('killed'));
    };
    const cut = createWaitingRunStore({ ...connection, write }, 'secret');
    await expect(cut.save(large(), noBounds)).rejects.toThrow('killed');
    expect(await partsIn(connection)).toBe(3);
    const store = createWaitingRunStore(connection, 'secret');
    expect(await store.find('run-a')).toBeUndefined();
    await store.prune(5_001);
    expect(await partsIn(connection)).toBe(0);
  });

  it('that lack a part cannot be read, and take no decision', async () => {
    const connection = connect(join(newFolder(), 'toolwharf.db'));
    const store = createWaitingRunStore(connection, 'secret');
    await store.save(large(), noBounds);
    await connection.write('waiting_runs', () => execute('DELETE FROM waiting_run_parts WHERE position = 6'));
    expect(await store.find('run-a')).toBeUndefined();
    expect(await store.decide({ ...place, callId: 'one' }, { decision: 'approve' })).toEqual({ type: 'closed' });
  });
});
