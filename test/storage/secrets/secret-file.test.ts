import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { databaseFile } from '../../../src/storage/sqlite/connection/open-database.ts';
import { loadSecret } from '../../../src/storage/secrets/secret-file.ts';
import { temporaryFolders } from '../temporary-folder.ts';

const newFolder = temporaryFolders();

describe('the secret', () => {
  it('is the configured one, and then nothing is written', () => {
    const folder = newFolder();
    expect(loadSecret(folder, 'configured')).toBe('configured');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is made once, for its owner only, with its folder', () => {
    const folder = join(newFolder(), 'data');
    const secret = loadSecret(folder, undefined);
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect(loadSecret(folder, undefined)).toBe(secret);
    expect(readdirSync(folder)).toEqual(['secret']);
    expect(statSync(join(folder, 'secret')).mode & 0o777).toBe(0o600);
  });

  it.each(['', 'short', 'zz'.repeat(32)])('is not replaced when its file is damaged (%j)', (content) => {
    const folder = newFolder();
    writeFileSync(join(folder, 'secret'), content);
    expect(() => loadSecret(folder, undefined)).toThrow('does not hold 64 hexadecimal digits');
    expect(readFileSync(join(folder, 'secret'), 'utf8')).toBe(content);
  });

  it('names its file when that cannot be read or made', () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'file'), '');
    mkdirSync(join(folder, 'secret'));
    expect(() => loadSecret(join(folder, 'file'), undefined)).toThrow(/file\/secret cannot be read or created \(E\w+\)/);
    expect(() => loadSecret(folder, undefined)).toThrow('set TOOLWHARF_SECRET');
  });
});

describe('the file of a database address', () => {
  it.each([
    ['sqlite:./data/toolwharf.db', './data/toolwharf.db'],
    ['sqlite:/var/lib/x.db', '/var/lib/x.db'],
    ['sqlite:////var/lib/x.db', '/var/lib/x.db'],
    ['sqlite:///data/x.db', 'data/x.db'],
  ])('%s is %s', (address, file) => {
    expect(databaseFile(address)).toBe(file);
  });

  it.each(['sqlite:', 'sqlite::memory:', 'postgres://host/x', 'sqlite:///'])('%s is none', (address) => {
    expect(() => databaseFile(address)).toThrow('DATABASE_URL');
  });
});
