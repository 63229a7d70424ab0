import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { GatewayError } from '../core/errors.ts';

/** A disk that has to spin up answers within this time; a network drive whose server is gone never does. */
const answerMs = 5_000;
/** For the other process to begin, on a machine that is busy starting everything at once. */
const beginningMs = 20_000;

/** Names each path before it touches it. What is wrong with a path that answers shows later, and with a better message. */
const reader = `
const fs = require('node:fs');
for (const path of process.argv.slice(1)) {
  fs.writeSync(1, path + '\\n');
  try {
    const handle = fs.openSync(path, 'r');
    try { fs.readSync(handle, Buffer.alloc(16)); } finally { fs.closeSync(handle); }
  } catch {}
}`;

export interface StoragePaths {
  dataDir: string;
  databaseFile: string;
}

/**
 * Reads the beginning of every file that a start reads from the data folder, in another process: whoever opens a file on a drive that does not answer
 * waits for ever, cannot be interrupted, and cannot even end its process.
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
  const silent = await findSilent([dataDir, ...files]);
  if (silent === undefined) return;
  throw new GatewayError(
    'storage_unavailable',
    `${silent} does not answer: reading it has taken longer than ${answerMs / 1000} seconds. Check the disk or network drive it lies on, or set TOOLWHARF_DATA_DIR (and DATABASE_URL) to another folder.`,
  );
}

/** The path at which the reader has stopped; undefined when it has read them all. */
function findSilent(paths: readonly string[]): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const child = spawn(process.execPath, ['-e', reader, '--', ...paths], { stdio: ['ignore', 'pipe', 'ignore'] });
  let named = '';
  const giveUp = (): void => {
    // It may not end even so; nothing here waits for that.
    child.kill('SIGKILL');
    child.stdout.destroy();
    child.unref();
    // One that has named nothing has not begun, which says nothing about any drive.
    resolve(named.trimEnd().split('\n').at(-1) || undefined);
  };
  let timer = setTimeout(giveUp, beginningMs);
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    named += text;
    clearTimeout(timer);
    timer = setTimeout(giveUp, answerMs);
  });
  child.once('close', () => resolve(undefined));
  // Without the other process there is no look beforehand.
  child.once('error', () => resolve(undefined));
  return promise.finally(() => clearTimeout(timer));
}
