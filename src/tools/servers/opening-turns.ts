import pLimit from 'p-limit';

/** A server that is being opened, or waits for its turn. */
export interface Turn<Value> {
  done: Promise<Value>;
  /** Begins in a turn of those that somebody waits for, if it has not begun. */
  hasten(): void;
}

/**
 * Bounds how many servers are opened at the same time: each takes file descriptors, and a thousand at once would leave none for chats. Those that
 * somebody waits for have turns of their own, because servers that do not answer hold theirs for seconds.
 */
export function createOpeningTurns(atOnce: number): <Value>(work: () => Promise<Value>) => Turn<Value> {
  const unhurried = pLimit(atOnce);
  const hastened = pLimit(atOnce);
  return <Value>(work: () => Promise<Value>) => {
    const { promise, resolve } = Promise.withResolvers<Value>();
    let hasBegun = false;
    /** Holds the turn in which it began; does nothing in another one. */
    const begin = async (): Promise<void> => {
      if (hasBegun) return;
      hasBegun = true;
      resolve(work());
      await promise.catch(() => undefined);
    };
    void unhurried(begin);
    return { done: promise, hasten: () => void (hasBegun ? undefined : hastened(begin)) };
  };
}
