import { existsSync, readFileSync } from 'node:fs';

/** A file as text; undefined when it does not exist. */
export function readTextFile(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}
