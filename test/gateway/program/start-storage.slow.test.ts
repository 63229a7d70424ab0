import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { skipWithout } from '../../_support/missing.ts';
import { program } from '../../_support/program.ts';
import { missingForSmallDisk, onSmallDisk } from '../../_support/small-disk.ts';
import { openStores } from '../../_support/memory-stores.ts';

let folder = '';
let file = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolwharf-start-'));
  file = join(folder, 'toolwharf.db');
});
afterEach(() => {
  chmodSync(folder, 0o700);
  rmSync(folder, { recursive: true, force: true });
});

async function makeDatabase(): Promise<void> {
  const registry = openStores({ file, secret: 's' }).registry;
  await registry.writeFact('seen', 'yes');
  await registry.close();
}

interface Ended {
  code: unknown;
  stdout: string;
  stderr: string;
}

/** Starts the program, which is stopped after twenty seconds; then `code` is no number. */
function start(command = 'serve', before: readonly string[] = [], cwd = folder): Promise<Ended> {
  const words = [...before, process.execPath, program, command];
  const env = { PATH: process.env['PATH'], PORT: '0', TOOLWHARF_DATA_DIR: folder, OLLAMA_BASE_URLS: ';', TOOLWHARF_SECRET: 'x'.repeat(32) };
  return new Promise((resolve) => {
    execFile(words[0] ?? '', words.slice(1), { cwd, env, timeout: 20_000, killSignal: 'SIGKILL' }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : (error.code ?? error.signal), stdout, stderr }),
    );
  });
}

const oneLine = (...words: string[]): object => ({
  code: 1,
  stdout: expect.not.stringContaining('listens on'),
  stderr: expect.stringMatching(new RegExp(`^toolwharf: [^\\n]*${words.join('[^\\n]*')}[^\\n]*\\n$`)),
});

describe('a start with a database that cannot be used ends with one line', () => {
  it('when it is damaged', async () => {
    await makeDatabase();
    const content = readFileSync(file);
    content.fill(0x5a, 4_096, 8_192);
    writeFileSync(file, content);
    expect(await start()).toEqual(oneLine('toolwharf.db is damaged', 'restore it'));
  });

  it('when it is no database', async () => {
    writeFileSync(file, 'Dear diary, '.repeat(1_000));
    expect(await start()).toEqual(oneLine('toolwharf.db is damaged or no database', 'restore it'));
    expect(readFileSync(file, 'utf8')).toContain('Dear diary');
  });

  it("when it is another program's", async () => {
    const database = new DatabaseSync(file);
    database.exec('CREATE TABLE songs (name TEXT)');
    database.close();
    expect(await start()).toEqual(oneLine('toolwharf.db is a database of another program', 'DATABASE_URL'));
  });

  it('when a newer release wrote it', async () => {
    await makeDatabase();
    const database = new DatabaseSync(file);
    database.exec('PRAGMA user_version = 9999');
    database.close();
    expect(await start()).toEqual(oneLine('toolwharf.db was written by a newer release', 'Start that release'));
  });

  it('when a folder has its name', async () => {
    mkdirSync(file);
    expect(await start()).toEqual(oneLine('toolwharf.db cannot be opened: it is a folder', 'correct the path', `The file is ${file}`));
  });

  /** The superuser may write everywhere, unless this right is taken away. */
  const withoutRights = process.getuid?.() === 0 ? ['setpriv', '--bounding-set', '-dac_override,-dac_read_search'] : [];

  it('when it cannot be written', async (context) => {
    skipWithout(withoutRights.length > 0 && !canRun('setpriv') ? 'the superuser needs setpriv for this test' : undefined, context);
    await makeDatabase();
    chmodSync(file, 0o400);
    expect(await start('serve', withoutRights)).toEqual(oneLine('toolwharf.db cannot be written', 'right to write'));
    chmodSync(file, 0o600);
    chmodSync(folder, 0o500);
    expect(await start('serve', withoutRights)).toEqual(oneLine('cannot be (?:used|opened|written)'));
  });

  function canRun(name: string): boolean {
    try {
      execFileSync(name, ['--version']);
      return true;
    } catch {
      return false;
    }
  }
});

describe('a start on a full disk ends with one line', () => {
  // Nothing fits, the locks, a new database, the index of its log.
  it.for([0, 4, 16, 64, 200])('that says so, where %d kB are left', async (left, context) => {
    skipWithout(missingForSmallDisk(folder), context);
    expect(await start('serve', onSmallDisk(folder, { kilobytes: 1_024, left }), tmpdir())).toEqual(
      oneLine('the disk is full', 'Free some space'),
    );
  });

  it('that says so, where the database is there', async (context) => {
    skipWithout(missingForSmallDisk(folder), context);
    await makeDatabase();
    const kept = mkdtempSync(join(tmpdir(), 'toolwharf-kept-'));
    const onDisk = onSmallDisk(folder, { kilobytes: 1_024 });
    cpSync(folder, kept, { recursive: true });
    const copied = ['sh', '-c', `cp -p ${kept}/* "$0"; head -c 2M /dev/zero > "$0/filler" 2> /dev/null; exec "$@"`, folder];
    expect(await start('serve', [...onDisk, ...copied], tmpdir())).toEqual(oneLine('the disk is full', 'Free some space'));
    rmSync(kept, { recursive: true });
  });
});

/** To open a pipe that nobody writes to is to wait for ever, as it is for a file on a dead network drive. */
describe.skipIf(process.platform === 'win32')('a data folder that does not answer', () => {
  it.each(['toolwharf.db', 'toolwharf.db-wal'])('in %s ends the start with one line', async (name) => {
    if (name !== 'toolwharf.db') await makeDatabase();
    execFileSync('mkfifo', [join(folder, name)]);
    expect(await start()).toEqual(oneLine(`${name} does not answer`, 'TOOLWHARF_DATA_DIR'));
  });

  it('as a whole ends the start with one line', async () => {
    const files = folder;
    folder = join(folder, 'data');
    execFileSync('mkfifo', [folder]);
    expect(await start('serve', [], files)).toEqual(oneLine(`data does not answer`, 'TOOLWHARF_DATA_DIR'));
    folder = files;
  });

  it('ends the doctor with the same line', async () => {
    execFileSync('mkfifo', [file]);
    expect(await start('doctor')).toEqual(oneLine('toolwharf.db does not answer', 'TOOLWHARF_DATA_DIR'));
  });
});
