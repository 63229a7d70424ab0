import { AsyncLocalStorage } from 'node:async_hooks';

/** A query parameter in the URL of every file of a loaded module. */
export const loadParameter = 'toolwharf-load';

/** The module whose code started the current async work, including timers and connections that it left behind. */
const module = new AsyncLocalStorage<string>();

/** Runs code of an operator's module, so that errors of its unfinished work can be distinguished from the gateway's own. */
export function asUserCode<Value>(path: string, work: () => Value): Value {
  return module.run(path, work);
}

/**
 * A copy of a signal for user code. Its listeners run in the module's context, so that an error they cause, such as a connection destroyed with the
 * signal's reason, is attributed to the module although the stack shows only the gateway. Call it within `asUserCode`.
 */
export function toUserSignal(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const abort = AsyncLocalStorage.bind(() => controller.abort(signal.reason));
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return controller.signal;
}

/** Matches a stack frame (not the message) in a file of a loaded module. */
const userFrame = new RegExp(String.raw`^ +at .*(file:[^\s()]*)\?${loadParameter}=`, 'm');

/**
 * Finds the operator's module that an uncaught exception belongs to: by the stack, or by the module that started the failed work, since the error of
 * a connection has only Node.js in its stack. Undefined: it may be the gateway's own. Call it where the exception is reported.
 */
export function userModuleBehind(error: unknown): string | undefined {
  return userFrame.exec(stackOf(error))?.[1] ?? module.getStore();
}

/** Reading a foreign object may throw, and an error while reporting an error would end the process. */
function stackOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.stack) : '';
  } catch {
    return '';
  }
}

/** The message of anything that a module has thrown. */
export function messageOfThrown(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return 'it threw something that cannot be written as text';
  }
}

/** What user code threw, for code that reads and logs it: the properties of an error may be getters that throw. */
export function toReadable(error: unknown): unknown {
  try {
    return isReadable(error, maxCauses) ? error : new Error(messageOfThrown(error));
  } catch {
    return new Error(messageOfThrown(error));
  }
}

/** Causes of causes that the log shows at most. */
const maxCauses = 10;

/** May throw, which means that it is not. */
function isReadable(error: unknown, causes: number): boolean {
  if (!(error instanceof Error)) return true;
  for (const key of Reflect.ownKeys(error)) Reflect.get(error, key);
  const { name, message, stack = '', cause } = error;
  if ([name, message, stack].some((text) => typeof text !== 'string')) return false;
  return causes === 0 || isReadable(cause, causes - 1);
}
