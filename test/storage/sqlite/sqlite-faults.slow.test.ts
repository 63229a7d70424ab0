import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { Registry } from '../../../src/core/stores/registry.ts';
import { openStores } from '../../_support/memory-stores.ts';
import { toolServerRecord } from '../registry-contract.ts';
import { temporaryFolders } from '../temporary-folder.ts';

const newFolder = temporaryFolders();
const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

let clock = 0;
function openRegistry(file: string, maxBytes?: number, lockTimeoutMs = 120): Registry {
  const now = (): number => clock;
  const registry = openStores({ file, secret: 's', now, lockTimeoutMs, ...(maxBytes !== undefined && { maxBytes }) }).registry;
  open.push(registry);
  return registry;
}

/** A file with one tool server, and nobody who has it open. */
async function storedFile(): Promise<string> {
  const file = join(newFolder(), 'toolwharf.db');
  const registry = openStores({ file, secret: 's' }).registry;
  await registry.createToolServer(toolServerRecord());
  await registry.close();
  return file;
}

function newDatabase(file: string): void {
  const database = new DatabaseSync(file);
  database.exec('PRAGMA page_size = 1024; VACUUM');
  database.close();
}

const fault = (text: string | RegExp): object => ({ code: 'storage_unavailable', status: 503, message: expect.stringMatching(text) });
const ids = async (registry: Registry): Promise<string[]> => (await registry.listToolServers()).map(({ id }) => id);

describe('a database that another process has locked', () => {
  function lock(file: string, mode: 'IMMEDIATE' | 'EXCLUSIVE' = 'IMMEDIATE'): DatabaseSync {
    const other = new DatabaseSync(file);
    if (mode === 'EXCLUSIVE') other.exec('PRAGMA locking_mode = EXCLUSIVE');
    other.exec('BEGIN IMMEDIATE');
    if (mode === 'EXCLUSIVE') other.exec(`INSERT INTO facts VALUES ('a', 'b')`);
    return other;
  }

  it('makes writes wait without stopping the process, then fail with the cure; reads go on, and later writes work', async () => {
    const file = await storedFile();
    const registry = openRegistry(file);
    expect(await ids(registry)).toEqual(['time']);
    const other = lock(file);
    let turns = 0;
    const ticks = setInterval(() => (turns += 1), 5);
    const write = registry.writeFact('seen', 'yes');
    expect(await ids(registry)).toEqual(['time']);
    await expect(write).rejects.toMatchObject({ ...fault(`${basename(file)} is locked by another process`), retryAfter: '1' });
    clearInterval(ticks);
    expect(turns).toBeGreaterThan(5);
    other.close();
    await registry.writeFact('seen', 'yes');
    expect(await registry.readFact('seen')).toBe('yes');
  });

  it('is written when the lock ends in time, in the order of the calls', async () => {
    const file = await storedFile();
    const registry = openRegistry(file, undefined, 20_000);
    await ids(registry);
    const other = lock(file);
    const added = ['b', 'c', 'd', 'e', 'f', 'g'];
    const writes: Promise<void>[] = [];
    // Begun at different times, so that each would try again at its own.
    for (const id of added) {
      writes.push(registry.createToolServer(toolServerRecord({ id })));
      await sleep(3);
    }
    other.close();
    await Promise.all(writes);
    expect(await ids(registry)).toEqual(['time', ...added]);
  });

  it('is opened when the lock ends in time', async () => {
    const file = await storedFile();
    const other = lock(file, 'EXCLUSIVE');
    const registry = openRegistry(file);
    await expect(registry.listToolServers()).rejects.toMatchObject(fault('is locked'));
    setTimeout(() => other.close(), 50);
    expect(await ids(registry)).toEqual(['time']);
  });
});

describe('a database that is full', () => {
  it('refuses the write and keeps what it has; reads go on, and writes work when there is room again', async () => {
    const file = await storedFile();
    const registry = openRegistry(file, statSync(file).size + 180_000);
    const filler = toolServerRecord({ id: 'filler', spec: 'x'.repeat(100_000) });
    await registry.createToolServer(filler);
    const large = toolServerRecord({ id: 'large', spec: 'x'.repeat(120_000) });
    await expect(registry.createToolServer(large)).rejects.toMatchObject(fault(`${basename(file)} cannot grow: the disk is full`));
    await expect(registry.replaceToolServers([large, filler, toolServerRecord()])).rejects.toMatchObject(fault('full'));
    expect(await ids(registry)).toEqual(['time', 'filler']);
    await registry.deleteToolServer('filler');
    await registry.createToolServer(large);
    expect(await ids(registry)).toEqual(['time', 'large']);
  });
});

describe('a damaged database', () => {
  const damages: [name: string, damage: (file: string) => void, message: string][] = [
    ['garbage', (file) => writeFileSync(file, 'garbage '.repeat(2_000)), 'is damaged or no database'],
    ['an empty file', (file) => truncateSync(file, 0), 'is damaged or no database'],
    ['a file shorter than a page', (file) => writeFileSync(file, 'x'), 'is damaged or no database'],
    ['a new database', (file) => (rmSync(file), newDatabase(file)), 'is damaged or no database'],
    ['a cut-off file', (file) => truncateSync(file, 8_192), 'is damaged or no database'],
    ['a file cut off in its header', (file) => truncateSync(file, 50), 'is damaged or no database'],
    ['a broken page', (file) => overwrite(file, 4_096, 200), 'is damaged or no database'],
    ['a broken header', (file) => overwrite(file, 0, 16), 'is damaged or no database'],
  ];
  function overwrite(file: string, offset: number, length: number): void {
    const bytes = readFileSync(file);
    bytes.fill(0xa5, offset, offset + length);
    writeFileSync(file, bytes);
  }

  it.each(damages)('(%s) is refused with the cure and left as it is', async (_name, damage, message) => {
    const file = await storedFile();
    damage(file);
    const before = readFileSync(file);
    const registry = openRegistry(file);
    await expect(registry.listToolServers()).rejects.toMatchObject(fault(`${basename(file)} ${message}`));
    await expect(registry.writeFact('a', 'b')).rejects.toMatchObject(fault(message));
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it.each(damages)('(%s) that became so at run time is refused, and works again once it is restored', async (_name, damage) => {
    const file = await storedFile();
    copyFileSync(file, `${file}.backup`);
    const registry = openRegistry(file);
    await ids(registry);
    damage(file);
    await registry.createToolServer(toolServerRecord({ id: 'b', spec: 'x'.repeat(20_000) })).catch(() => undefined);
    await registry.deleteToolServer('time').catch(() => undefined);
    rmSync(file);
    rmSync(`${file}-wal`, { force: true });
    rmSync(`${file}-shm`, { force: true });
    copyFileSync(`${file}.backup`, file);
    clock += 2_000;
    expect(await ids(registry)).toEqual(['time']);
    await registry.createToolServer(toolServerRecord({ id: 'c' }));
    expect(await ids(registry)).toEqual(['time', 'c']);
  });

  it('is not read anew for every request', async () => {
    const file = await storedFile();
    copyFileSync(file, `${file}.backup`);
    writeFileSync(file, 'garbage '.repeat(2_000));
    const registry = openRegistry(file);
    await expect(registry.listToolServers()).rejects.toMatchObject(fault('is damaged'));
    renameSync(`${file}.backup`, file);
    await expect(registry.listToolServers()).rejects.toMatchObject(fault('is damaged'));
    clock += 2_000;
    expect(await ids(registry)).toEqual(['time']);
  });
});

describe('a database file that goes away while the gateway runs', () => {
  it('is still read, is not written and not made anew, and is used again when it is back', async () => {
    const file = await storedFile();
    const registry = openRegistry(file);
    await ids(registry);
    renameSync(file, `${file}.away`);
    expect(await ids(registry)).toEqual(['time']);
    await expect(registry.deleteToolServer('time')).rejects.toMatchObject(fault('it is missing; restore it'));
    expect(() => readFileSync(file)).toThrow('ENOENT');
    renameSync(`${file}.away`, file);
    await registry.createToolServer(toolServerRecord({ id: 'b' }));
    expect(await ids(registry)).toEqual(['time', 'b']);
  });

  it('is read anew when another one takes its place', async () => {
    const [file, other] = [await storedFile(), await storedFile()];
    const registry = openRegistry(file);
    await registry.createToolServer(toolServerRecord({ id: 'b' }));
    expect(await ids(registry)).toEqual(['time', 'b']);
    renameSync(other, file);
    expect(await ids(registry)).toEqual(['time']);
    await registry.createToolServer(toolServerRecord({ id: 'c' }));
    expect(await ids(registry)).toEqual(['time', 'c']);
  });
});

describe('a fault that waiting does not cure', () => {
  it('is told at once', async () => {
    const file = await storedFile();
    writeFileSync(file, 'garbage '.repeat(2_000));
    await expect(openRegistry(file).listToolServers()).rejects.toMatchObject(fault('is damaged'));
  }, 1_500);

  it.each<[string, (file: string) => void]>([
    ['an empty file', (file) => writeFileSync(file, '')],
    ['a file shorter than a page', (file) => writeFileSync(file, 'x')],
    ['a new database', newDatabase],
  ])('does not become an empty one when %s takes its place while the gateway runs', async (_name, put) => {
    const file = await storedFile();
    const registry = openRegistry(file);
    expect(await ids(registry)).toEqual([toolServerRecord().id]);
    for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
    put(file);
    clock += 60_000;
    await expect(registry.listKeys()).rejects.toMatchObject(fault('is damaged or no database'));
  });

  it('does not become an empty database when the damaged file is moved away while the gateway runs', async () => {
    const file = await storedFile();
    const registry = openRegistry(file);
    await ids(registry);
    const garbage = `${file}.garbage`;
    writeFileSync(garbage, 'garbage '.repeat(2_000));
    renameSync(garbage, file);
    await expect(registry.listToolServers()).rejects.toMatchObject(fault('is damaged'));
    rmSync(file);
    clock += 2_000;
    await expect(registry.writeFact('a', 'b')).rejects.toMatchObject(fault('it is missing; restore it, or restart the gateway'));
    expect(() => readFileSync(file)).toThrow('ENOENT');
  });
});

describe('a path that cannot hold a database', () => {
  it.each([
    ['a folder', (folder: string) => folder, 'it is a folder'],
    [
      'below a file',
      (folder: string) => (writeFileSync(join(folder, 'f'), ''), join(folder, 'f', 'x.db')),
      'a part of its path is not a folder',
    ],
    [
      'in a folder below a file',
      (folder: string) => (writeFileSync(join(folder, 'f'), ''), join(folder, 'f', 'g', 'x.db')),
      'cannot be opened',
    ],
  ])('(%s) is refused with the reason', async (_name, toFile, message) => {
    const file = toFile(newFolder());
    await expect(openRegistry(file).listToolServers()).rejects.toMatchObject(fault(message));
  });

  it('is no trouble when it only has unusual characters', async () => {
    const folder = join(newFolder(), 'a b%20?#ü');
    mkdirSync(folder);
    const registry = openRegistry(join(folder, 'x?mode=ro#.db'));
    await registry.createToolServer(toolServerRecord());
    expect(await ids(registry)).toEqual(['time']);
  });
});
