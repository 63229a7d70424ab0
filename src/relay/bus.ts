import type { JsonObject } from '../shared/json.ts';

/**
 * How replicas reach each other: a message goes to whoever listens at that moment, and is kept for nobody.
 * All subscribers of a channel see its messages in the same order. A handler must not throw, and must not trust what it is given.
 */
export interface RelayBus {
  /** Resolves with the number of subscribers that got it. @throws when the bus cannot be reached. */
  publish(channel: string, message: JsonObject): Promise<number>;
  /** Resolves once messages arrive, with the function that ends it. @throws when the bus cannot be reached. */
  subscribe(channel: string, handler: (message: JsonObject) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** The twin for one process. Messages are copied and arrive later, as over a network, so that nothing can lean on a shared object. */
export function createInProcessBus(): RelayBus {
  const channels = new Map<string, Set<(message: JsonObject) => void>>();

  return {
    async publish(channel, message) {
      const handlers = [...(channels.get(channel) ?? [])];
      const text = JSON.stringify(message);
      for (const handler of handlers) {
        queueMicrotask(() => {
          if (channels.get(channel)?.has(handler) === true) handler(JSON.parse(text) as JsonObject);
        });
      }
      return handlers.length;
    },

    async subscribe(channel, handler) {
      // A wrapper of its own, so that the same function can listen twice.
      const listener = (message: JsonObject): void => handler(message);
      const handlers = channels.get(channel) ?? new Set();
      channels.set(channel, handlers.add(listener));
      return async () => {
        handlers.delete(listener);
        if (handlers.size === 0 && channels.get(channel) === handlers) channels.delete(channel);
      };
    },

    async close() {
      channels.clear();
    },
  };
}
