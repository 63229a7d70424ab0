import { accessSync, constants, statSync, statfsSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { GatewayError } from '../core/errors.ts';

/** SQLite's primary result codes (https://www.sqlite.org/rescode.html) that mean a problem with the file rather than with the gateway's SQL. */
const resultCodes = {
  5: 'locked',
  6: 'locked',
  8: 'readonly',
  10: 'failing',
  11: 'damaged',
  13: 'full',
  14: 'unopenable',
  26: 'damaged',
} as const;

/** The same for the file system's error codes. */
const systemCodes: Record<string, FaultKind> = {
  EACCES: 'unopenable',
  EPERM: 'unopenable',
  ENOTDIR: 'unopenable',
  EISDIR: 'unopenable',
  EEXIST: 'unopenable',
  ENOENT: 'unopenable',
  ELOOP: 'unopenable',
  ENAMETOOLONG: 'unopenable',
  EROFS: 'readonly',
  ENOSPC: 'full',
  EDQUOT: 'full',
  EIO: 'failing',
};

type FaultKind = (typeof resultCodes)[keyof typeof resultCodes];

/** Which fault of the file an error means; undefined for another error, such as a bug in the gateway. */
export function faultKindOf(error: unknown): FaultKind | undefined {
  if (error instanceof Error && 'errcode' in error) return resultCodes[(Number(error.errcode) & 0xff) as keyof typeof resultCodes];
  return systemCodes[errorCodeOf(error)];
}

/** Whether the file system of a file has room for so many bytes. True where that is unknown. */
export function hasFreeSpace(file: string, bytes: number): boolean {
  try {
    const { blocks, bsize, bavail, bfree } = statfsSync(dirname(file));
    // Only the superuser may use what is reserved. Some file systems over a network do not count.
    return blocks === 0 || bsize * (process.getuid?.() === 0 ? bfree : bavail) >= bytes;
  } catch {
    return true;
  }
}

/** SQLite's smallest need besides its data: a file of 32 kB for the index of the write-ahead log. Where it does not fit, SQLite calls the disk faulty. */
const leastWorkingBytes = 64 * 1024;

/** Whether there is no room for what was to be written to a file or folder. */
export function isForLackOfRoom(error: unknown, file: string): boolean {
  return isFull(faultKindOf(error), file);
}

function isFull(kind: FaultKind | undefined, file: string): boolean {
  return kind === 'full' || (kind === 'failing' && !hasFreeSpace(file, leastWorkingBytes));
}

/** An error whose one-line message says which file, what is wrong with it, and how to fix it. Callers read it too, so it names no folder. */
export function toStorageFault(kind: FaultKind, file: string, cause?: unknown): GatewayError {
  // Locks are short-lived, so clients may retry; the other faults need an operator.
  return new GatewayError('storage_unavailable', describe(isFull(kind, file) ? 'full' : kind, file), {
    cause,
    ...(kind === 'locked' && { retryAfter: '1' }),
  });
}

function describe(kind: FaultKind, file: string): string {
  const name = basename(file);
  switch (kind) {
    case 'locked':
      return `${name} is locked by another process. Close that program (a second gateway, a database browser, a backup).`;
    case 'readonly':
      return `${name} cannot be written: it, its folder or its file system is read-only. Give this user the right to write there.`;
    case 'failing':
      return `${name} cannot be read or written: the disk reports an error. Check the disk and its free space.`;
    case 'damaged':
      return `${name} is damaged or no database. Nothing was changed: restore it from a backup (without old -wal and -shm files), or move it away to begin anew.`;
    case 'full':
      return `${name} cannot grow: the disk is full, or the file has reached the size that the gateway allows. Free some space.`;
    case 'unopenable':
      return `${name} cannot be opened: ${obstacleOf(file)}.`;
    default:
      return kind satisfies never;
  }
}

function obstacleOf(file: string): string {
  const folder = dirname(file);
  if (isFolder(folder) === false) return 'a part of its path is not a folder; correct the path';
  if (isFolder(file) === true) return 'it is a folder; correct the path';
  if (!isAllowed(folder, constants.R_OK | constants.W_OK | constants.X_OK))
    return 'this user may not write in its folder; correct the permissions';
  if (isFolder(file) === undefined) return 'it is missing; restore it, or restart the gateway to create a new one';
  if (!isAllowed(file, constants.R_OK | constants.W_OK)) return 'this user may not read and write it; correct its permissions';
  return 'the system refuses it; check the path and the limit of open files';
}

/** Undefined if nothing exists at the path, or it cannot be accessed. */
function isFolder(path: string): boolean | undefined {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    return errorCodeOf(error) === 'ENOTDIR' ? false : undefined;
  }
}

function isAllowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/** The file system's code of an error, such as `EACCES`; empty when it has none. */
export function errorCodeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
