import { parseMode } from '../chat/modes/choose-mode.ts';
import { ConfigError } from './config/config.ts';

/** A default that every chat would be refused for must not start. @throws ConfigError */
export function requireMode(name: string): void {
  try {
    parseMode(name);
  } catch (error) {
    throw new ConfigError(`FUNCTION_CALLING: ${error instanceof Error ? error.message : String(error)}`);
  }
}
