import type { JsonObject } from '../shared/json/json.ts';
import { parseExactly } from '../shared/json/parse-exactly.ts';

/**
 * Publish and subscribe between replicas. A message reaches the current subscribers and is not stored.
 * All subscribers of a channel see its messages in the same order. Handlers must not throw, and must not trust messages.
 */
export interface RelayBus {
  /** Resolves with the number of subscribers that got it. @throws when the bus cannot be reached. */
  publish(channel: string, message: JsonObject): Promise<number>;
  /** Resolves once the subscription is active, with the function that ends it. @throws when the bus cannot be reached. */
  subscribe(channel: string, handler: (message: JsonObject) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** The implementation for a single process. Messages are copied and arrive asynchronously, as over a network, so that no code relies on shared objects. */
export function createInProcessBus(): RelayBus {
  const channels = new Map<string, Set<(message: JsonObject) => void>>();

  return {
    async publish(channel, message) {
      const handlers = [...(channels.get(channel) ?? [])];
      const text = JSON.stringify(message);
      for (const handler of handlers) {
        queueMicrotask(() => {
          if (channels.get(channel)?.has(handler) === true) handler(parseExactly(text) as JsonObject);
        });
      }
      return handlers.length;
    },

    async subscribe(channel, handler) {
      // A new wrapper each time, so that the same function can subscribe twice.
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
