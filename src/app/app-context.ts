import { randomUUID } from 'node:crypto';
import type { Config } from './config/config.ts';

/** What every concern of the gateway is composed with. */
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

/** 122 random bits: ids of runs, sessions and calls cannot be guessed. Node draws them in advance, which `randomBytes` does not. */
export function newId(): string {
  return randomUUID().replaceAll('-', '');
}
