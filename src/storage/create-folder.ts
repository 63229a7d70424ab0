import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorCodeOf } from './storage-fault.ts';

/**
 * Creates a folder with its parents. Node's own `recursive` never returns where a file system says ENOENT for a folder whose parent exists, as /proc does.
 * @throws the file system's error
 */
export function createFolder(folder: string, mode = 0o777): void {
  if (existsSync(folder)) return;
  createFolder(dirname(folder), mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    // Another process was faster.
    if (errorCodeOf(error) !== 'EEXIST') throw error;
  }
}
