import { AsyncLocalStorage } from 'node:async_hooks';
import { loadParameter } from './module-hooks.ts';

/** The module whose code has begun what runs now, timers and connections that it left behind included. */
const module = new AsyncLocalStorage<string>();

/** Runs code of the operator's own module, so that what it leaves behind can be told from the gateway's. */
export function asOwnCode<Value>(path: string, work: () => Value): Value {
  return module.run(path, work);
}

/** A file of such a module in a stack: its address says that it was loaded here. */
const ownFrame = new RegExp(String.raw`(file:[^\s()]*)\?${loadParameter}=`);

/**
 * The operator's module to which an exception belongs that nothing caught: it stands in the stack, or has begun what failed, as with the error of a
 * connection, whose stack shows Node alone. Undefined: the exception may be the gateway's. To be asked where the exception is reported.
 */
export function ownModuleBehind(error: unknown): string | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  return ownFrame.exec(stack)?.[1] ?? module.getStore();
}
