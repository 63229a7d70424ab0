import { randomFillSync } from 'node:crypto';
import type { Config } from './config/config.ts';

/** Shared by every `compose-*` function. */
export interface AppContext {
  config: Config;
  logger: AppLog;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
  newId: () => string;
}

export interface AppLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** 128 random bits, so that ids of runs, sessions and calls cannot be guessed. */
const idBytes = 16;
/** For many ids at once, because asking for random bytes costs several times what an id does. */
const entropy = Buffer.alloc(256 * idBytes);
let usedBytes = entropy.length;

export function newId(): string {
  if (usedBytes === entropy.length) {
    randomFillSync(entropy);
    usedBytes = 0;
  }
  usedBytes += idBytes;
  return entropy.toString('hex', usedBytes - idBytes, usedBytes);
}
