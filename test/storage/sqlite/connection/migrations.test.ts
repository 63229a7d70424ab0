import { schemaSteps } from '../../../../src/storage/sql/migrations.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { migrate, readPragma } from '../../../../src/storage/sqlite/connection/migrate.ts';
import { openDatabase } from '../../../../src/storage/sqlite/connection/open-database.ts';
import { openStores } from '../../../_support/memory-stores.ts';
import { released } from './released-1.ts';
import { temporaryFolders } from '../../temporary-folder.ts';

const newFolder = temporaryFolders();

describe('a database of the first release', () => {
  it('is brought to today’s schema with all its content', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const before = new DatabaseSync(file);
    before.exec(readFileSync(new URL('fixtures/released-1.sql', import.meta.url), 'utf8'));
    expect(readPragma(before, 'user_version')).toBe(1);
    before.close();

    const registry = openStores({ file, secret: released.secret }).registry;
    expect(await registry.listToolServers()).toEqual(released.toolServers);
    expect(await registry.listKeys()).toEqual(released.keys);
    for (const [name, value] of Object.entries(released.facts)) expect(await registry.readFact(name)).toBe(value);
    await registry.close();
    const after = new DatabaseSync(file);
    expect(readPragma(after, 'user_version')).toBe(schemaSteps.length);
    after.close();
  });
});

describe('migrating', () => {
  const steps = ['CREATE TABLE a (x)', 'INSERT INTO a VALUES (1)', 'INSERT INTO a VALUES (2)'];
  const count = (database: DatabaseSync): unknown => database.prepare('SELECT count(*) AS n FROM a').get()?.['n'];

  it('takes the steps that are missing, each once', () => {
    const database = new DatabaseSync(':memory:');
    migrate(database, { file: 'f', steps: steps.slice(0, 2) });
    expect(count(database)).toBe(1);
    migrate(database, { file: 'f', steps });
    migrate(database, { file: 'f', steps });
    expect(count(database)).toBe(2);
    expect(readPragma(database, 'user_version')).toBe(3);
    database.close();
  });

  it('takes none of them when one fails', () => {
    const database = new DatabaseSync(':memory:');
    migrate(database, { file: 'f', steps: steps.slice(0, 1) });
    expect(() => migrate(database, { file: 'f', steps: [...steps, 'INSERT INTO nowhere VALUES (1)'] })).toThrow('nowhere');
    expect(database.isTransaction).toBe(false);
    expect(count(database)).toBe(0);
    expect(readPragma(database, 'user_version')).toBe(1);
    database.close();
  });
});

describe('a database in memory', () => {
  const open = (): DatabaseSync => openDatabase({ file: ':memory:', mustExist: false }).database;
  const schemaOf = (database: DatabaseSync): unknown => database.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY rowid').all();

  it('has what the migrations make, and nothing of those before it', () => {
    const migrated = new DatabaseSync(':memory:');
    migrate(migrated, { file: 'f' });
    const first = open();
    first.exec("INSERT INTO facts VALUES ('name', 'value')");
    const second = open();
    for (const database of [first, second]) expect(schemaOf(database)).toEqual(schemaOf(migrated));
    expect(second.prepare('SELECT * FROM facts').all()).toEqual([]);
    expect(readPragma(second, 'user_version')).toBe(schemaSteps.length);
    second.exec("INSERT INTO facts VALUES ('name', 'another')");
    expect(first.prepare('SELECT value FROM facts').all()).toEqual([{ value: 'value' }]);
    for (const database of [migrated, first, second]) database.close();
  });
});

describe('a database that is not for this release', () => {
  async function refusalOf(prepare: string): Promise<{ error: unknown; isUntouched: boolean }> {
    const file = join(newFolder(), 'toolwharf.db');
    const database = new DatabaseSync(file);
    database.exec(prepare);
    database.close();
    const before = readFileSync(file);
    const registry = openStores({ file, secret: 's' }).registry;
    const error: unknown = await registry.writeFact('a', 'b').catch((reason: unknown) => reason);
    await registry.close();
    return { error, isUntouched: readFileSync(file).equals(before) };
  }

  it('is left alone when a newer release wrote it', async () => {
    const { error, isUntouched } = await refusalOf('PRAGMA application_id = 0x74776866; PRAGMA user_version = 99; CREATE TABLE later (x)');
    expect(error).toMatchObject({
      code: 'storage_unavailable',
      message: expect.stringContaining('toolwharf.db was written by a newer release (schema 99'),
    });
    expect(isUntouched).toBe(true);
  });

  it('is left alone when it belongs to another program', async () => {
    const { error, isUntouched } = await refusalOf('CREATE TABLE users (x)');
    expect(error).toMatchObject({ code: 'storage_unavailable', message: expect.stringContaining('a database of another program') });
    expect(isUntouched).toBe(true);
  });
});
