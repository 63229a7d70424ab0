import { randomUUID } from 'node:crypto';
import type { Config } from '../app/config/config.ts';
import { userModuleBehind } from '../tools/functions/load/user-code.ts';

interface FaultFields {
  err?: unknown;
  module?: string;
  fault_id?: string;
}

/** The part of a log that is needed here. */
interface FaultLog {
  error(fields: FaultFields, message: string): void;
}

const promiseMessage = 'a promise failed without a handler, most likely in a function or hook: await it there, or catch what it throws';
const exceptionMessage =
  'code of tools_dir or of a hook threw outside of every call, and the gateway goes on: catch it there (of a timer, or the "error" event of a connection), or give the function worker: true';

/**
 * Two requests begun side by side and one cancellation are enough for an operator's function to leave a failed promise behind, and a connection without
 * an `error` listener for an exception outside of every call. That must not end everybody's chats. An exception that is not known to come from there
 * may have left the gateway in any state: that ends it, as it does where no such functions are. Gives the events that are dealt with here.
 */
export function guardUserCode({ modules }: Pick<Config, 'modules'>, logger: FaultLog): 'unhandledRejection'[] {
  if (modules.toolsDir === undefined && modules.hooks.length === 0) return [];
  /** Reading the objects of an operator's code may throw, and an exception here would end the process. */
  const report = ({ err, ...fields }: FaultFields, message: string): void => {
    try {
      logger.error({ err, ...fields }, message);
    } catch {
      logger.error(fields, message);
    }
  };
  process.on('unhandledRejection', (error) => report({ err: error }, promiseMessage));
  // Not a listener: other listeners beside it would end the gateway.
  process.setUncaughtExceptionCaptureCallback((error: unknown) => {
    const module = userModuleBehind(error);
    if (module === undefined) {
      // Thrown here, it ends the process as it would without this.
      if (!process.emit('uncaughtException', error as Error)) throw error;
    } else report({ err: error, fault_id: randomUUID(), module }, exceptionMessage);
  });
  return ['unhandledRejection'];
}
