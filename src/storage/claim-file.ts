import { closeSync, constants, copyFileSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';

/** File systems without hard links (FAT, some network mounts) answer with one of these. */
const withoutLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Gives a finished file its name, unless that name is taken: of two processes at once, one wins and both see the same file.
 * `draft` is gone afterwards.
 * @returns whether this process won.
 * @throws the file system's error
 */
export function claimFile(draft: string, file: string): boolean {
  try {
    syncFile(draft);
    linkOrCopy(draft, file);
    syncFolder(dirname(file));
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function linkOrCopy(draft: string, file: string): void {
  try {
    linkSync(draft, file);
  } catch (error) {
    if (!withoutLinks.has(codeOf(error))) throw error;
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

/** Without this a power cut may lose the name of a file whose content is safe. Some systems do not open folders; they need no such call. */
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

/** `EACCES` and its like, or nothing. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
