/**
 * The result of something that rarely has to wait, such as a look-up in a cache. Whoever is called with every request awaits it only where it is a
 * promise: awaiting a plain value costs a promise and a turn of the queue.
 */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Passes the value on, at once if it is there already. */
export function whenThere<Value, Result>(value: MaybePromise<Value>, use: (value: Value) => MaybePromise<Result>): MaybePromise<Result> {
  return value instanceof Promise ? value.then(use) : use(value);
}

/** `Promise.all`, unless all values are there. */
export function allThere<Value>(values: readonly MaybePromise<Value>[]): MaybePromise<readonly Value[]> {
  return values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as readonly Value[]);
}

/** Calls back when the work is done, with the error that ended it if one did; at once if there is nothing to wait for. */
export function callWhenDone(work: () => MaybePromise<void>, report: (error?: Error) => void): void {
  let pending: MaybePromise<void>;
  try {
    pending = work();
  } catch (error) {
    report(error as Error);
    return;
  }
  if (pending instanceof Promise) pending.then(() => report(), report);
  else report();
}
