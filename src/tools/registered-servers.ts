import { isDeepStrictEqual } from 'node:util';
import type { SendOutbound } from '../core/outbound.ts';
import type { ToolServerRecord } from '../core/registry.ts';
import { openRegisteredServer } from './open-registered-server.ts';
import type { Opening } from './open-registered-server.ts';

/** A server that failed is left alone for this long, so that not every chat waits for it. */
export const failureMemoryMs = 10_000;

export interface RegisteredServers {
  /** Loads the server's document at the first call and keeps its functions. @throws the signal's reason */
  open(record: ToolServerRecord, signal: AbortSignal): Promise<Opening>;
  /** Loads it anew, whatever is kept. @throws the signal's reason */
  refresh(record: ToolServerRecord, signal: AbortSignal): Promise<Opening>;
  /** What is known without asking the server. */
  stateOf(record: ToolServerRecord): Opening | undefined;
  /** Gives up what is kept for servers that are no longer registered. */
  keepOnly(ids: ReadonlySet<string>): void;
  /** Stops what is being loaded. */
  close(): void;
}

export interface RegisteredServersOptions {
  send: SendOutbound;
  /** Milliseconds; any zero. */
  now: () => number;
}

interface Entry {
  record: ToolServerRecord;
  loading: Promise<Opening> | undefined;
  opening: Opening | undefined;
  endedAt: number;
}

export function createRegisteredServers({ send, now }: RegisteredServersOptions): RegisteredServers {
  const entries = new Map<string, Entry>();
  const closing = new AbortController();

  /** A record that was changed is another server. */
  function findEntry(record: ToolServerRecord): Entry | undefined {
    const known = entries.get(record.id);
    const isSame = known !== undefined && (known.record === record || isDeepStrictEqual(known.record, record));
    return isSame ? known : undefined;
  }

  function entryFor(record: ToolServerRecord): Entry {
    const known = findEntry(record);
    if (known !== undefined) return known;
    const entry: Entry = { record, loading: undefined, opening: undefined, endedAt: 0 };
    entries.set(record.id, entry);
    return entry;
  }

  /** One load serves all who wait, so no single one of them may end it. */
  function startLoading(entry: Entry): Promise<Opening> {
    const loading: Promise<Opening> = openRegisteredServer(entry.record, send, closing.signal).then((opening) => {
      if (entry.loading !== loading) return entry.loading ?? opening;
      entry.loading = undefined;
      entry.opening = opening;
      entry.endedAt = now();
      return opening;
    });
    entry.loading = loading;
    return loading;
  }

  function open(record: ToolServerRecord, signal: AbortSignal): Promise<Opening> {
    const entry = entryFor(record);
    if (entry.loading !== undefined) return waitFor(entry.loading, signal);
    const { opening, endedAt } = entry;
    const isKept = opening !== undefined && (opening.type !== 'unreachable' || now() - endedAt < failureMemoryMs);
    return isKept ? Promise.resolve(opening) : waitFor(startLoading(entry), signal);
  }

  return {
    open,
    refresh: (record, signal) => waitFor(startLoading(entryFor(record)), signal),
    stateOf: (record) => findEntry(record)?.opening,
    keepOnly(ids) {
      for (const id of entries.keys()) if (!ids.has(id)) entries.delete(id);
    },
    close: () => closing.abort(new Error('The gateway is shutting down.')),
  };
}

function waitFor<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error);
    if (signal.aborted) return leave();
    signal.addEventListener('abort', leave, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
