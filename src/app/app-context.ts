import { randomUUID } from 'node:crypto';
import type { Config } from './config/config.ts';

/** What every `compose-*` function needs. */
export interface AppContext {
  config: Config;
  logger: AppLog;
  /** Milliseconds since 1970. */
  now: () => number;
  newId: () => string;
}

export interface AppLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** 122 random bits, so that ids of runs, sessions and calls cannot be guessed. Faster than `randomBytes`, because Node caches entropy for it. */
export function newId(): string {
  return randomUUID().replaceAll('-', '');
}
