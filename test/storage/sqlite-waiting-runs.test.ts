import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createDatabaseConnection } from '../../src/storage/database-connection.ts';
import type { DatabaseConnection } from '../../src/storage/database-connection.ts';
import { createSqliteWaitingRuns } from '../../src/storage/sqlite-waiting-runs.ts';
import { temporaryFolders } from './temporary-folder.ts';
import { describeWaitingRunStore, noBounds, waitingRun } from './waiting-run-contract.ts';

const newFolder = temporaryFolders();
const open: DatabaseConnection[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()));
});

function connect(file: string): DatabaseConnection {
  const connection = createDatabaseConnection({ file, now: Date.now });
  open.push(connection);
  return connection;
}

describeWaitingRunStore('SQLite', () => createSqliteWaitingRuns(connect(join(newFolder(), 'toolwharf.db')), 'secret'));

describe('waiting runs in SQLite', () => {
  const place = { id: 'run-a', waitId: 'wait-1' };

  it('are there after a restart, with the decisions so far', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const before = connect(file);
    const store = createSqliteWaitingRuns(before, 'secret');
    await store.keep(waitingRun(), noBounds);
    await store.decide({ ...place, callId: 'one' }, { decision: 'reject' });
    await before.close();
    const after = createSqliteWaitingRuns(connect(file), 'secret');
    expect(await after.find('run-a')).toEqual({ callerId: 'ada', type: 'open', run: waitingRun() });
    expect(await after.decide({ ...place, callId: 'two' }, { decision: 'approve' })).toMatchObject({
      type: 'complete',
      decided: [{ answer: { decision: 'reject' } }, { answer: { decision: 'approve' } }],
    });
  });

  it('stand in no file as text: neither the run nor the decisions', async () => {
    const folder = newFolder();
    const store = createSqliteWaitingRuns(connect(join(folder, 'toolwharf.db')), 'secret');
    await store.keep(waitingRun({ loop: { text: 'CANARY-RUN' } }), noBounds);
    await store.decide({ ...place, callId: 'one' }, { decision: 'reject', message: 'CANARY-WORDS' });
    const contents = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
    expect(contents.length).toBeGreaterThan(0);
    expect(contents.filter((content) => content.includes('CANARY'))).toEqual([]);
  });

  it('cannot be read with another secret, and take no decision then', async () => {
    const connection = connect(join(newFolder(), 'toolwharf.db'));
    await createSqliteWaitingRuns(connection, 'secret').keep(waitingRun(), noBounds);
    const other = createSqliteWaitingRuns(connection, 'another');
    expect(await other.find('run-a')).toBeUndefined();
    expect(await other.decide({ ...place, callId: 'one' }, { decision: 'approve' })).toEqual({ type: 'closed' });
  });
});
