import pLimit from 'p-limit';

/** Registered servers that are opened at the same time, and as many again that a request waits for. Each takes some file descriptors, a process more. */
export const serversOpenedAtOnce = 32;

/** A server that is being opened, or waits for its turn. */
export interface Turn<Value> {
  done: Promise<Value>;
  /** Starts it among those that a request waits for, if it has not started. */
  hasten(): void;
}

/**
 * Bounds how many servers are opened at the same time: each takes file descriptors, and a thousand at once would leave none for chats. Servers that
 * a request waits for have their own turns, because unresponsive servers occupy the others for seconds.
 */
export function createOpeningTurns(atOnce = serversOpenedAtOnce): <Value>(work: () => Promise<Value>) => Turn<Value> {
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
