import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockDatabase, openDataFolder } from '../../src/storage/data-folder.ts';

let parent = '';
let folder = '';
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'toolwharf-folder-'));
  folder = join(parent, 'data');
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('the data folder', () => {
  it('is made for its owner alone', () => {
    const { warning, release } = openDataFolder(join(folder, 'deeper'));
    expect([modeOf(join(folder, 'deeper')), warning]).toEqual(['700', undefined]);
    release();
  });

  it.skipIf(process.platform !== 'linux')('that cannot be made is an error, also where Node would try for ever', () => {
    expect(() => openDataFolder('/proc/data/deeper')).toThrow('The data folder /proc/data/deeper cannot be used (ENOENT).');
  });

  it('of an earlier release is closed to others', () => {
    mkdirSync(folder, { mode: 0o755 });
    for (const name of ['secret', 'toolwharf.db', 'toolwharf.db-wal']) writeFileSync(join(folder, name), '');
    const { warning, release } = openDataFolder(folder);
    expect([modeOf(folder), warning]).toEqual(['700', undefined]);
    release();
  });

  it('that holds other things too is left as it is, with a warning', () => {
    mkdirSync(folder);
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, 'holiday.jpg'), '');
    const { warning, release } = openDataFolder(folder);
    expect(modeOf(folder)).toBe('755');
    expect(warning).toContain(`chmod 700`);
    release();
  });

  it.skipIf(process.getuid?.() !== 0)('of another user is left as it is, with a warning', () => {
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    execFileSync('chown', ['65534', folder]);
    const { warning, release } = openDataFolder(folder);
    expect([modeOf(folder), warning]).toEqual(['777', expect.stringContaining('chmod 700')]);
    release();
  });

  it('serves one at a time, and leaves nothing beside the lock', () => {
    const first = openDataFolder(folder);
    expect(() => openDataFolder(folder)).toThrow(`Another toolwharf serves from the data folder ${folder}. End that one`);
    first.release();
    openDataFolder(folder).release();
    expect(readdirSync(folder)).toEqual(['serving.lock']);
  });

  it('and a database within it serve one at a time, by whatever path', () => {
    mkdirSync(join(folder, 'deeper'), { recursive: true });
    const file = join(folder, 'toolwharf.db');
    for (const name of [file, join(folder, 'other.db')]) writeFileSync(name, '');
    const link = join(folder, 'deeper', 'linked.db');
    symlinkSync(file, link);
    const release = lockDatabase(file);
    for (const path of [file, join(folder, 'deeper', '..', 'toolwharf.db'), link])
      expect(() => lockDatabase(path)).toThrow(/^Another toolwharf serves from the database [^\n]*set DATABASE_URL to another file\.$/);
    lockDatabase(join(folder, 'other.db'))();
    release();
    lockDatabase(link)();
  });

  it('that is a file is refused in one line', () => {
    writeFileSync(folder, '');
    expect(() => openDataFolder(folder)).toThrow(/^The data folder .*data cannot be used \(ENOTDIR\)\. [^\n]*$/);
  });
});
