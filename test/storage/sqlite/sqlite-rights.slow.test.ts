import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStores } from '../../_support/memory-stores.ts';

const reader = fileURLToPath(new URL('../try-registry.ts', import.meta.url));
const run = promisify(execFile);

/** The superuser may write everywhere: then the other process becomes "nobody", once it has read its sources, which may lie where nobody may look. */
const isSuperuser = process.getuid?.() === 0;
const nobody = 65_534;

let folder = '';
let file = '';
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'toolwharf-rights-'));
  file = join(folder, 'toolwharf.db');
  const registry = openStores({ file, secret: 's' }).registry;
  await registry.writeFact('seen', 'yes');
  await registry.close();
  if (isSuperuser) for (const path of [folder, file]) chownSync(path, nobody, nobody);
});
afterEach(() => {
  chmodSync(folder, 0o700);
  rmSync(folder, { recursive: true, force: true });
});

async function tryRegistry(path = file): Promise<{ before: string; written: string; after: string }> {
  const { stdout } = await run(process.execPath, [reader, path, 'tried', ...(isSuperuser ? [String(nobody)] : [])]);
  return JSON.parse(stdout) as { before: string; written: string; after: string };
}

describe('a database without the right to write', () => {
  it('is read and refuses writes when its file is read-only', async () => {
    chmodSync(file, 0o400);
    const { before, written, after } = await tryRegistry();
    expect([before, after]).toEqual(['yes', 'yes']);
    expect(written).toContain(`storage_unavailable: toolwharf.db cannot be written`);
  });

  it('is read and refuses writes when its folder is read-only, and leaves nothing behind', async () => {
    chmodSync(folder, 0o500);
    const { before, written, after } = await tryRegistry();
    expect([before, after]).toEqual(['yes', 'yes']);
    expect(written).toMatch(/^storage_unavailable: .*toolwharf\.db cannot be/);
    expect(readdirSync(folder)).toEqual(['toolwharf.db']);
  });

  it('is written again once the right is back', async () => {
    chmodSync(folder, 0o500);
    await tryRegistry();
    chmodSync(folder, 0o700);
    expect((await tryRegistry()).written).toBe('written');
  });

  it('names the permission when it can be neither read nor written', async () => {
    const bytes = readFileSync(file);
    chmodSync(file, 0o000);
    const { before, written } = await tryRegistry();
    expect(before).toContain(`toolwharf.db cannot be opened: this user may not read and write it`);
    expect(written).toContain('storage_unavailable');
    chmodSync(file, 0o600);
    expect(readFileSync(file).equals(bytes)).toBe(true);
  });

  it('names the permission when a new one cannot be made there', async () => {
    chmodSync(folder, 0o500);
    expect((await tryRegistry(join(folder, 'new.db'))).before).toContain('this user may not write in its folder');
    expect((await tryRegistry(join(folder, 'deeper', 'new.db'))).before).toContain('cannot be opened');
  });
});
