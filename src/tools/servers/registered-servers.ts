import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../core/limits.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import { waitAtMost, waitUnlessAborted } from '../../shared/wait-for.ts';
import { openServer } from './open-registered-server.ts';
import type { Opening, OpenMcp } from './open-registered-server.ts';

/** A server that failed is not tried again for this long, so that not every chat waits for it. */
export const failureMemoryMs = 10_000;

/** How long a request that names this very server waits for it: longer than a document may take, whose own error says more than "still being opened". */
const neededWaitMs = 12_000;
/** What failed the last time is opened again beside the chat. */
const reopeningWaitMs = 1_000;

const stillOpening = 'it is still being opened; later chats have it when that is done';

export interface RegisteredServers {
  /**
   * Loads the server's document at the first call; its functions are used from then on. Where that takes longer than `limits.serverPatienceMs` (with `isNeeded`:
   * twelve seconds) it goes on for later calls, and this one gets `unreachable`. @throws the signal's reason
   */
  open(record: ToolServerRecord, signal: AbortSignal, isNeeded?: boolean): Promise<Opening>;
  /** Loads it anew; what is there stays in use meanwhile, and afterwards too when this fails. Gives what came of it. @throws the signal's reason */
  refresh(record: ToolServerRecord, signal: AbortSignal): Promise<Opening>;
  /** The same without a validator's remarks: for refreshes that no administrator has asked for. */
  renew(record: ToolServerRecord, signal: AbortSignal): Promise<Opening>;
  /** What is known without asking the server. */
  stateOf(record: ToolServerRecord): Opening | undefined;
  /** Whether it is being opened, and somebody has waited for it in vain. */
  isSlow(record: ToolServerRecord): boolean;
  /** Loads that failed one after the other, and when the last one ended, by `now`; undefined when the last one did not fail, or there was none. */
  failuresOf(record: ToolServerRecord): { count: number; reason: string; endedAt: number } | undefined;
  /** When it was last loaded or found unchanged, by `now`. */
  loadedAt(record: ToolServerRecord): number | undefined;
  /** Forgets servers that are no longer registered. */
  keepOnly(ids: ReadonlySet<string>): void;
  /** Stops what is being loaded. */
  close(): void;
}

export interface RegisteredServersOptions {
  send: SendOutbound;
  openMcp?: OpenMcp | undefined;
  /** Milliseconds; any zero. */
  now: () => number;
}

interface Entry {
  record: ToolServerRecord;
  loading: Promise<Opening> | undefined;
  /** The load that somebody has waited for in vain: nobody else does before it has ended. */
  slow: Promise<Opening> | undefined;
  /** What chats get. A failure does not replace an `opened` one. */
  opening: Opening | undefined;
  failures: { count: number; reason: string; endedAt: number } | undefined;
  loadedAt: number | undefined;
}

export function createRegisteredServers({ send, openMcp, now }: RegisteredServersOptions): RegisteredServers {
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
    const entry: Entry = { record, loading: undefined, slow: undefined, opening: undefined, failures: undefined, loadedAt: undefined };
    entries.set(record.id, entry);
    return entry;
  }

  /** One load serves all who wait, so no single one of them may end it. */
  function startLoading(entry: Entry, isChecked: boolean): Promise<Opening> {
    const known = entry.opening?.type === 'opened' ? entry.opening.server : undefined;
    const loading: Promise<Opening> = openServer(entry.record, send, { signal: closing.signal, isChecked, known, openMcp }).then(
      (opening) => {
        if (entry.loading !== loading) return entry.loading ?? opening;
        entry.loading = undefined;
        note(entry, opening);
        return opening;
      },
    );
    entry.loading = loading;
    return loading;
  }

  function note(entry: Entry, opening: Opening): void {
    if (opening.type !== 'unreachable') {
      entry.opening = opening;
      entry.failures = undefined;
      entry.loadedAt = now();
      return;
    }
    // A document that broke must not take the functions from the chats that use them.
    if (entry.opening?.type !== 'opened') entry.opening = opening;
    entry.failures = { count: (entry.failures?.count ?? 0) + 1, reason: opening.reason, endedAt: now() };
  }

  function open(record: ToolServerRecord, signal: AbortSignal, isNeeded = false): Promise<Opening> {
    const entry = entryFor(record);
    const { opening, failures, loading } = entry;
    const isRecentFailure = failures !== undefined && now() - failures.endedAt < failureMemoryMs;
    if (opening !== undefined && (opening.type !== 'unreachable' || isRecentFailure)) return Promise.resolve(opening);
    const load = loading ?? startLoading(entry, false);
    return waitAtMost(patienceFor(entry, { load, isNeeded }), waitUnlessAborted(load, signal), (): Opening => {
      entry.slow = load;
      return { type: 'unreachable', reason: failures?.reason ?? stillOpening, isOpening: true };
    });
  }

  return {
    open,
    refresh: (record, signal) => waitUnlessAborted(startLoading(entryFor(record), true), signal),
    renew: (record, signal) => waitUnlessAborted(startLoading(entryFor(record), false), signal),
    stateOf: (record) => findEntry(record)?.opening,
    isSlow(record) {
      const entry = findEntry(record);
      return entry?.loading !== undefined && entry.slow === entry.loading;
    },
    failuresOf: (record) => findEntry(record)?.failures,
    loadedAt: (record) => findEntry(record)?.loadedAt,
    keepOnly(ids) {
      for (const id of entries.keys()) if (!ids.has(id)) entries.delete(id);
    },
    close: () => closing.abort(new Error('The gateway is shutting down.')),
  };
}

function patienceFor({ failures, slow }: Entry, { load, isNeeded }: { load: Promise<Opening>; isNeeded: boolean }): number {
  if (isNeeded) return neededWaitMs;
  if (slow === load) return 0;
  return failures === undefined ? limits.serverPatienceMs : reopeningWaitMs;
}
