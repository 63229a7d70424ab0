import { isDeepStrictEqual } from 'node:util';
import type { SendOutbound } from '../core/outbound.ts';
import type { ToolServerRecord } from '../core/registry.ts';
import { openWithRemarks } from './open-registered-server.ts';
import type { Opening, RemarkOnDocument } from './open-registered-server.ts';

/** A server that failed is left alone for this long, so that not every chat waits for it. */
export const failureMemoryMs = 10_000;

export interface RegisteredServers {
  /** Loads the server's document at the first call and keeps its functions. @throws the signal's reason */
  open(record: ToolServerRecord, signal: AbortSignal): Promise<Opening>;
  /** Loads it anew; what is kept stays in use meanwhile, and afterwards too when this fails. Gives what came of it. @throws the signal's reason */
  refresh(record: ToolServerRecord, signal: AbortSignal): Promise<Opening>;
  /** What is known without asking the server. */
  stateOf(record: ToolServerRecord): Opening | undefined;
  /** Loads that failed one after the other, and when the last one ended, by `now`; undefined when the last one did not fail, or there was none. */
  failuresOf(record: ToolServerRecord): { count: number; reason: string; endedAt: number } | undefined;
  /** Gives up what is kept for servers that are no longer registered. */
  keepOnly(ids: ReadonlySet<string>): void;
  /** Stops what is being loaded. */
  close(): void;
}

export interface RegisteredServersOptions {
  send: SendOutbound;
  /** Milliseconds; any zero. */
  now: () => number;
  /** What a refresh says about the document, for people. */
  remark?: RemarkOnDocument;
}

interface Entry {
  record: ToolServerRecord;
  loading: Promise<Opening> | undefined;
  /** What chats get. An `opened` one is not given up for a failure. */
  opening: Opening | undefined;
  failures: { count: number; reason: string; endedAt: number } | undefined;
}

export function createRegisteredServers({ send, now, remark = noRemarks }: RegisteredServersOptions): RegisteredServers {
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
    const entry: Entry = { record, loading: undefined, opening: undefined, failures: undefined };
    entries.set(record.id, entry);
    return entry;
  }

  /** One load serves all who wait, so no single one of them may end it. */
  function startLoading(entry: Entry, remark: RemarkOnDocument): Promise<Opening> {
    const loading: Promise<Opening> = openWithRemarks(entry.record, send, { signal: closing.signal, remark }).then((opening) => {
      if (entry.loading !== loading) return entry.loading ?? opening;
      entry.loading = undefined;
      keep(entry, opening);
      return opening;
    });
    entry.loading = loading;
    return loading;
  }

  function keep(entry: Entry, opening: Opening): void {
    if (opening.type !== 'unreachable') {
      entry.opening = opening;
      entry.failures = undefined;
      return;
    }
    // A document that broke must not take the functions from the chats that use them.
    if (entry.opening?.type !== 'opened') entry.opening = opening;
    entry.failures = { count: (entry.failures?.count ?? 0) + 1, reason: opening.reason, endedAt: now() };
  }

  function open(record: ToolServerRecord, signal: AbortSignal): Promise<Opening> {
    const entry = entryFor(record);
    const { opening, failures, loading } = entry;
    if (opening !== undefined && opening.type !== 'unreachable') return Promise.resolve(opening);
    if (loading !== undefined) return waitFor(loading, signal);
    const isRecent = failures !== undefined && now() - failures.endedAt < failureMemoryMs;
    return opening !== undefined && isRecent ? Promise.resolve(opening) : waitFor(startLoading(entry, noRemarks), signal);
  }

  return {
    open,
    refresh: (record, signal) => waitFor(startLoading(entryFor(record), remark), signal),
    stateOf: (record) => findEntry(record)?.opening,
    failuresOf: (record) => findEntry(record)?.failures,
    keepOnly(ids) {
      for (const id of entries.keys()) if (!ids.has(id)) entries.delete(id);
    },
    close: () => closing.abort(new Error('The gateway is shutting down.')),
  };
}

const noRemarks: RemarkOnDocument = async () => [];

function waitFor<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error);
    if (signal.aborted) return leave();
    signal.addEventListener('abort', leave, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
