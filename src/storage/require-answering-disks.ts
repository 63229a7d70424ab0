import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { GatewayError } from '../core/errors.ts';

/** Long enough for a disk to spin up; a network drive whose server is gone never answers. */
const answerMs = 5_000;
/** For the child process to start, on a machine that is busy booting. */
const childStartMs = 20_000;

/** Prints each path before opening it. Ignores errors: they are reported later, with a better message. */
const readerScript = `
const fs = require('node:fs');
for (const path of process.argv.slice(1)) {
  fs.writeSync(1, path + '\\n');
  try {
    const handle = fs.openSync(path, 'r');
    try { fs.readSync(handle, Buffer.alloc(16)); } finally { fs.closeSync(handle); }
  } catch {}
}`;

interface StoragePaths {
  dataDir: string;
  databaseFile: string;
}

/**
 * Checks in a child process that every file the gateway opens at its start can be read: a process that opens a file on a hung drive blocks for ever,
 * cannot be interrupted, and cannot even exit.
 * @throws GatewayError `storage_unavailable` naming the path that does not answer within five seconds
 */
export async function requireAnsweringDisks({ dataDir, databaseFile }: StoragePaths): Promise<void> {
  const files = [
    join(dataDir, 'serving.lock'),
    join(dataDir, 'secret'),
    dirname(databaseFile),
    databaseFile,
    `${databaseFile}-wal`,
    `${databaseFile}-shm`,
    `${databaseFile}.serving.lock`,
  ];
  const hungPath = await findHungPath([dataDir, ...files]);
  if (hungPath === undefined) return;
  throw new GatewayError(
    'storage_unavailable',
    `${hungPath} does not answer: reading it has taken longer than ${answerMs / 1000} seconds. Check the disk or network drive it lies on, or set TOOLWHARF_DATA_DIR (and DATABASE_URL) to another folder.`,
  );
}

/** The path at which the child process hangs; undefined when it has tried all of them. */
function findHungPath(paths: readonly string[]): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const child = spawn(process.execPath, ['-e', readerScript, '--', ...paths], { stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  const giveUp = (): void => {
    // A process that is blocked on a drive may survive even SIGKILL, so do not wait for it.
    child.kill('SIGKILL');
    child.stdout.destroy();
    child.unref();
    // No output means that the child process did not start, which says nothing about any drive.
    resolve(output.trimEnd().split('\n').at(-1) || undefined);
  };
  let timer = setTimeout(giveUp, childStartMs);
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    clearTimeout(timer);
    timer = setTimeout(giveUp, answerMs);
  });
  child.once('close', () => resolve(undefined));
  // If the child process cannot be started, the check is skipped.
  child.once('error', () => resolve(undefined));
  return promise.finally(() => clearTimeout(timer));
}
