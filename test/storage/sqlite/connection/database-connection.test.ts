import { copyFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GatewayError } from '../../../../src/core/errors.ts';
import { createDatabaseConnection } from '../../../../src/storage/sqlite/connection/database-connection.ts';
import type { ConnectionOptions, DatabaseConnection } from '../../../../src/storage/sqlite/connection/database-connection.ts';
import { selectAll } from '../../../../src/storage/sqlite/connection/statements.ts';
import { countTurns } from '../../../_support/count-turns.ts';
import { waitFor } from '../../../_support/wait-for.ts';
import { temporaryFolders } from '../../temporary-folder.ts';
import { commitsInLog } from '../commits-in-log.ts';

const newFolder = temporaryFolders();

function connect(options: Partial<ConnectionOptions> = {}): DatabaseConnection {
  const connection = createDatabaseConnection({ file: ':memory:', now: Date.now, clock: () => 0, ...options });
  onTestFinished(() => connection.close());
  return connection;
}

const add =
  (name: string): Parameters<DatabaseConnection['write']>[0] =>
  (database) =>
    void database.prepare(`INSERT INTO facts (name, value) VALUES (?, '')`).run(name);
const namesIn = (connection: DatabaseConnection): Promise<string[]> =>
  connection.read((database) =>
    selectAll(database, 'SELECT name FROM facts ORDER BY rowid', []).map((row) => String((row as { name: unknown }).name)),
  );
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** A file whose log is empty, and its connection. */
async function openFile(options: Partial<ConnectionOptions> = {}): Promise<{ file: string; connection: DatabaseConnection }> {
  const file = join(newFolder(), 'toolwharf.db');
  const connection = connect({ file, ...options });
  await connection.write(() => undefined);
  await connection.read((database) => database.exec('PRAGMA wal_checkpoint(TRUNCATE)'));
  return { file, connection };
}

describe('writes that are queued in one turn of the event loop', () => {
  it('are committed together, with one sync of the disk', async () => {
    const { file, connection } = await openFile();
    await Promise.all(numbers(200).map((number) => connection.write(add(`n${number}`))));
    expect(commitsInLog(file)).toBe(1);
    await connection.write(add('later'));
    expect(commitsInLog(file)).toBe(2);
    expect(await namesIn(connection)).toHaveLength(201);
  });

  it('are each undone alone where they fail, and answer with their own value or error', async () => {
    const { file, connection } = await openFile();
    const wrong = new GatewayError('conflict', 'taken');
    const outcomes = await Promise.allSettled([
      connection.write((database) => (add('a')(database), 'first')),
      connection.write((database) => {
        add('b')(database);
        throw wrong;
      }),
      connection.write((database) => (add('a')(database), 'a again')),
      connection.write((database) => (add('c')(database), 'last')),
    ]);
    expect(outcomes).toMatchObject([
      { value: 'first' },
      { reason: wrong },
      { reason: { message: expect.stringContaining('UNIQUE constraint failed') } },
      { value: 'last' },
    ]);
    expect(await namesIn(connection)).toEqual(['a', 'c']);
    expect(commitsInLog(file)).toBe(1);
  });

  it('resolve when they are on the disk, not before', async () => {
    const { file, connection } = await openFile();
    const seen: number[] = [];
    const note = (): void => void seen.push(commitsInLog(file));
    await Promise.all([connection.write(add('a')).then(note), connection.write(add('b')).then(note)]);
    expect(seen).toEqual([1, 1]);
  });

  it('fill a turn of the event loop and no more: the others wait for the next', async () => {
    let time = 0;
    const connection = connect({ clock: () => (time += 3) });
    await connection.write(() => undefined);
    const turns = countTurns();
    const seen = await Promise.all(numbers(20).map(() => connection.write(turns)));
    const perTurn = Object.values(Object.groupBy(seen, String)).map((group) => group?.length);
    expect(perTurn.length).toBeGreaterThan(5);
    expect(Math.max(...perTurn.map(Number))).toBeLessThan(4);
  });

  it('do not all fail for one that does not fit into the file', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    await connect({ file }).write(() => undefined);
    const connection = connect({ file, maxBytes: statSync(file).size + 100_000 });
    const large = (database: Parameters<Parameters<DatabaseConnection['write']>[0]>[0]): void =>
      void database.prepare(`INSERT INTO facts (name, value) VALUES ('large', ?)`).run('x'.repeat(200_000));
    const outcomes = await Promise.allSettled([connection.write(add('a')), connection.write(large), connection.write(add('b'))]);
    expect(outcomes).toMatchObject([
      { status: 'fulfilled' },
      { reason: { code: 'storage_unavailable', message: expect.stringContaining('full') } },
      { status: 'fulfilled' },
    ]);
    expect(await namesIn(connection)).toEqual(['a', 'b']);
  });
});

describe('more writes than wait for the disk', () => {
  const of = (callerId: string, characters = 0): { callerId: string; characters: number } => ({ callerId, characters });

  it('are refused to the caller with the most, in words of their own, while others and the gateway itself can write', async () => {
    const connection = connect({ maxQueuedCharacters: 100_000 });
    const flood = numbers(300).map((number) => connection.write(add(`flood ${number}`), of('flooder')));
    const others = ['ada', 'bob/1', 'bob/2'].map((callerId) => connection.write(add(callerId), of(callerId, 5_000)));
    const own = connection.write(add('own'));
    const outcomes = await Promise.allSettled([...flood, ...others, own]);
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(200);
    for (const outcome of refused) {
      expect(outcome).toMatchObject({ reason: { code: 'overloaded', status: 503, retryAfter: '5' } });
      expect(outcome).not.toMatchObject({ reason: { message: expect.stringContaining('locked') } });
    }
    expect(outcomes.slice(300).map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => 'fulfilled'));
    // Those that have waited longest are written.
    expect(outcomes.slice(0, 50).every(({ status }) => status === 'fulfilled')).toBe(true);
  });

  it('of one key take turns with those of others, in the order of their calls', async () => {
    let time = 0;
    const connection = connect({ clock: () => (time += 10) });
    await connection.write(() => undefined);
    const names = ['key/1', 'key/1', 'key/1', 'key/2', 'key/2', 'other', 'other'].map((callerId, index) => ({
      callerId,
      name: `${callerId} ${index}`,
    }));
    await Promise.all(names.map(({ callerId, name }) => connection.write(add(name), of(callerId))));
    expect(await namesIn(connection)).toEqual(['key/1 0', 'other 5', 'key/2 3', 'other 6', 'key/1 1', 'key/2 4', 'key/1 2']);
  });
});

describe('the write-ahead log', () => {
  it('is moved into the file when nothing is written any more, and gone when the gateway has ended', async () => {
    const { file, connection } = await openFile();
    await connection.write(add('a'));
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    await waitFor(() => expect(statSync(`${file}-wal`).size).toBe(0));
    await connection.write(add('b'));
    await connection.close();
    expect(statSync(`${file}-wal`, { throwIfNoEntry: false })).toBeUndefined();
    expect(await namesIn(connect({ file }))).toEqual(['a', 'b']);
  });

  it('is not applied to another file that takes the place of its own', async () => {
    const [{ file, connection }, other] = [await openFile(), await openFile()];
    await other.connection.write(add('other'));
    await other.connection.close();
    await connection.write(add('a'));
    renameSync(file, `${file}.old`);
    copyFileSync(other.file, file);
    await connection.write(add('b'));
    expect(await namesIn(connection)).toEqual(['other', 'b']);
    await connection.close();
    rmSync(file);
    renameSync(`${file}.old`, file);
    expect(await namesIn(connect({ file }))).toEqual(['a']);
  });
});

describe('a connection says that it cannot be written', () => {
  it('when the file has reached the size that it may have, until there is room again', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    await connect({ file }).write(() => undefined);
    const room = 6_000_000;
    const connection = connect({ file, maxBytes: statSync(file).size + room });
    await connection.requireWritable();
    await connection.write((database) => database.prepare(`INSERT INTO facts (name, value) VALUES ('large', ?)`).run('x'.repeat(room / 2)));
    await expect(connection.requireWritable()).rejects.toMatchObject({
      code: 'storage_unavailable',
      message: expect.stringContaining('full'),
    });
    await connection.write((database) => database.exec(`DELETE FROM facts`));
    await connection.requireWritable();
  });

  it('after a write has failed, until one does not fail any more, which it tries itself', async () => {
    const { file, connection } = await openFile();
    renameSync(file, `${file}.away`);
    await expect(connection.write(add('a'))).rejects.toMatchObject({ code: 'storage_unavailable' });
    await expect(connection.requireWritable()).rejects.toMatchObject({ code: 'storage_unavailable' });
    renameSync(`${file}.away`, file);
    await connection.requireWritable();
  });
});
