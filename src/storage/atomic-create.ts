import { randomBytes } from 'node:crypto';
import { closeSync, constants, copyFileSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { createFolder } from './create-folder.ts';
import { errorCodeOf } from './storage-fault.ts';

/** What `link` fails with on file systems without hard links (FAT, some network mounts). */
const noHardLinkCodes = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Creates a file (and its folder) with its complete content or not at all, even if the process is killed meanwhile: `write` fills a temporary
 * file, which is then linked to the final name. Does nothing if the file exists, so of two processes that race, one wins and both see its file.
 * @throws the file system's error, and what `write` throws
 */
export function createAtomically(file: string, write: (draft: string) => void): void {
  const folder = dirname(file);
  createFolder(folder);
  const draft = `${file}.${randomBytes(6).toString('hex')}.new`;
  try {
    write(draft);
    syncFile(draft);
    linkOrCopy(draft, file);
    syncFolder(folder);
  } catch (error) {
    if (errorCodeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function linkOrCopy(draft: string, file: string): void {
  try {
    linkSync(draft, file);
  } catch (error) {
    if (!noHardLinkCodes.has(errorCodeOf(error))) throw error;
    copyFileSync(draft, file, constants.COPYFILE_EXCL);
    syncFile(file);
  }
}

function syncFile(path: string): void {
  const handle = openSync(path, 'r+');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Makes the directory entry durable: a power failure could otherwise lose it. Windows cannot open folders, and needs no sync. */
function syncFolder(path: string): void {
  let handle: number | undefined;
  try {
    handle = openSync(path, 'r');
    fsyncSync(handle);
  } catch {
    return;
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}
