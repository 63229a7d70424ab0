import { randomUUID } from 'node:crypto';
import type { Config } from '../app/config/config.ts';
import { turnOwner } from '../shared/async/foreign-turns.ts';
import { userModuleBehind } from '../tools/functions/load/user-code.ts';

interface FaultFields {
  err?: unknown;
  module?: string;
  connection?: string;
  fault_id?: string;
}

/** The part of a log that is needed here. */
interface ErrorLog {
  error(fields: FaultFields, message: string): void;
}

const connectionMessage =
  'a promise failed without a handler while a message of this connection was handled: the connection is closed, and the gateway continues';
const promiseMessage = 'a promise failed without a handler, most likely in a function or hook: await it there, or catch what it throws';
const exceptionMessage =
  'code of tools_dir or of a hook threw outside of any call, and the gateway continues: catch it there (in a timer, or the "error" event of a connection), or give the function worker: true';

/**
 * Keeps the gateway running when a rejection that nobody handles belongs to a connection, which is closed, or when an operator's code causes one (two
 * parallel requests and a cancellation are enough) or throws outside of any call (such as a connection without an `error` listener). A rejection or
 * exception from elsewhere may have left the gateway in any state, so it still ends the process. Returns the events that are handled here.
 */
export function guardProcess({ modules }: Pick<Config, 'modules'>, logger: ErrorLog): 'unhandledRejection'[] {
  const hasUserCode = modules.toolsDir !== undefined || modules.hooks.length > 0;
  /** Logging objects of an operator's code may throw, and an exception here would end the process. */
  const report = ({ err, ...fields }: FaultFields, message: string): void => {
    try {
      logger.error({ err, ...fields }, message);
    } catch {
      logger.error(fields, message);
    }
  };
  process.on('unhandledRejection', (error) => {
    const owner = hasUserCode && userModuleBehind(error) !== undefined ? undefined : turnOwner();
    if (owner !== undefined) {
      report({ err: error, connection: owner.name }, connectionMessage);
      owner.fail(error);
    } else if (hasUserCode) report({ err: error }, promiseMessage);
    else throw error instanceof Error ? error : new Error(String(error));
  });
  if (!hasUserCode) return ['unhandledRejection'];
  // Not an event listener, because other listeners would still end the process.
  process.setUncaughtExceptionCaptureCallback((error: unknown) => {
    const module = userModuleBehind(error);
    if (module === undefined) {
      // Rethrown here, it ends the process as it would without this callback.
      if (!process.emit('uncaughtException', error as Error)) throw error;
    } else report({ err: error, fault_id: randomUUID(), module }, exceptionMessage);
  });
  return ['unhandledRejection'];
}
