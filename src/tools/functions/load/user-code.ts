import { AsyncLocalStorage } from 'node:async_hooks';

/** In the address of every file of a module that was loaded here. */
export const loadParameter = 'toolwharf-load';

/** The module whose code has begun what runs now, timers and connections that it left behind included. */
const module = new AsyncLocalStorage<string>();

/** Runs code of the operator's own module, so that errors of what it leaves behind can be distinguished from the gateway's. */
export function asUserCode<Value>(path: string, work: () => Value): Value {
  return module.run(path, work);
}

/**
 * The same signal for such code: what its listeners do counts as the module's too, such as destroying a connection with the signal's reason, whose
 * stack shows the gateway alone. To be called where such code runs.
 */
export function toUserSignal(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const abort = AsyncLocalStorage.bind(() => controller.abort(signal.reason));
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return controller.signal;
}

/** A file of such a module in a line of a stack, not in a message: its address says that it was loaded here. */
const userFrame = new RegExp(String.raw`^ +at .*(file:[^\s()]*)\?${loadParameter}=`, 'm');

/**
 * The operator's module to which an exception belongs that nothing caught: its file is in the stack, or its code has begun what failed, as with the
 * error of a connection, whose stack shows Node alone. Undefined: the exception may be the gateway's. To be called where the exception is reported.
 */
export function userModuleBehind(error: unknown): string | undefined {
  return userFrame.exec(stackOf(error))?.[1] ?? module.getStore();
}

/** A foreign object may fail when it is read, and an error in the report of an error ends the process. */
function stackOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.stack) : '';
  } catch {
    return '';
  }
}
