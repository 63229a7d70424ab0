import { ProtocolError, ProtocolErrorCode, type Client, type McpSubscription } from '@modelcontextprotocol/client';

/** A request that subscribes; a server has nothing to work out for it. */
const subscribeMs = 30_000;
/** A resource that changes all the time is told of once in this time. */
const settlingMs = 300;

/** Who has subscribed to a resource over a connection. */
export interface ConnectionWatcher {
  onUpdated: () => void;
  /** The connection has ended, or the server has ended the subscription. */
  onLost: () => void;
}

/** The subscriptions of one connection: one for each resource, whoever wants it. */
interface ResourceSubscriptions {
  /** Gives a function that ends it. @throws what the SDK throws, and ProtocolError if the server does not tell of this resource */
  add(client: Client, uri: string, watcher: ConnectionWatcher): Promise<() => void>;
  /** The server says that a resource has changed: one that was subscribed to, or a part of it. */
  tell: (updated: string) => void;
  /** All are lost. */
  lose(): void;
}

export function createResourceSubscriptions(): ResourceSubscriptions {
  const watchers = new Map<string, Set<ConnectionWatcher>>();
  /** What the server knows of. */
  let subscribed = new Set<string>();
  /** Since 2026 one stream has them all. */
  let stream: McpSubscription | undefined;
  let changing: Promise<unknown> = Promise.resolve();
  const settling = new Map<string, NodeJS.Timeout>();

  /** Tells the server what is wanted, one change after the other. */
  function settle(client: Client, uri: string): Promise<void> {
    const settled = changing.then(async () => {
      const isWanted = watchers.has(uri);
      if (isWanted === subscribed.has(uri)) return;
      if (client.getProtocolEra() === 'modern') await listen(client);
      else if (isWanted) {
        await client.subscribeResource({ uri }, { timeout: subscribeMs });
        subscribed.add(uri);
      } else {
        subscribed.delete(uri);
        await client.unsubscribeResource({ uri }, { timeout: subscribeMs });
      }
    });
    changing = settled.catch(() => undefined);
    return settled;
  }

  /** Another stream takes the place of the one before, so that nothing is missed. */
  async function listen(client: Client): Promise<void> {
    const before = stream;
    const wanted = [...watchers.keys()];
    const opened = wanted.length === 0 ? undefined : await client.listen({ resourceSubscriptions: wanted }, { timeout: subscribeMs });
    stream = opened;
    subscribed = new Set(opened?.honoredFilter.resourceSubscriptions);
    void opened?.closed.then((cause) => {
      if (stream === opened && cause !== 'local') lose();
    });
    await before?.close();
  }

  function remove(uri: string, watcher: ConnectionWatcher): void {
    const known = watchers.get(uri);
    known?.delete(watcher);
    if (known?.size === 0) watchers.delete(uri);
  }

  function lose(): void {
    const lost = Array.from(watchers.values(), (known) => [...known]).flat();
    for (const timer of settling.values()) clearTimeout(timer);
    settling.clear();
    watchers.clear();
    subscribed = new Set();
    stream = undefined;
    for (const watcher of lost) watcher.onLost();
  }

  return {
    async add(client, uri, watcher) {
      watchers.set(uri, (watchers.get(uri) ?? new Set()).add(watcher));
      try {
        if (client.getServerCapabilities()?.resources?.subscribe !== true) throw notTold();
        await settle(client, uri);
        if (!subscribed.has(uri)) throw notTold();
      } catch (error) {
        remove(uri, watcher);
        throw error;
      }
      return () => {
        remove(uri, watcher);
        if (!watchers.has(uri)) void settle(client, uri).catch(() => undefined);
      };
    },
    tell(updated) {
      for (const uri of watchers.keys()) {
        if (settling.has(uri) || !isWithin(updated, uri)) continue;
        const timer = setTimeout(() => {
          settling.delete(uri);
          for (const watcher of watchers.get(uri) ?? []) watcher.onUpdated();
        }, settlingMs);
        settling.set(uri, timer.unref());
      }
    },
    lose,
  };
}

/** Servers of 2025 may tell of a part of what was subscribed to. */
function isWithin(updated: string, uri: string): boolean {
  return updated === uri || updated.startsWith(uri.endsWith('/') ? uri : `${uri}/`);
}

function notTold(): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, 'it does not tell when this resource changes.');
}
