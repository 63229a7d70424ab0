import { randomBytes } from 'node:crypto';
import { closeSync, constants, copyFileSync, fsyncSync, linkSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorCodeOf } from './storage-fault.ts';

/** File systems without hard links (FAT, some network mounts) answer with one of these. */
const withoutLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Creates a file, and its folder, with its whole content or not at all, even when the process is killed meanwhile: `write` writes a draft, which
 * then gets the name. Does nothing when the name is taken: of two processes at once, one wins and both see the same file.
 * @throws the file system's error, and what `write` throws
 */
export function createAtomically(file: string, write: (draft: string) => void): void {
  const folder = dirname(file);
  mkdirSync(folder, { recursive: true });
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
    if (!withoutLinks.has(errorCodeOf(error))) throw error;
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

/** Without this a power cut may lose the name of a file whose content is safe. Systems that do not open folders need no such call. */
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
