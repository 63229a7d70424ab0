import { LRUCache } from 'lru-cache';

import type { Caller } from '../core/caller.ts';
import { GatewayError } from '../core/errors.ts';
import type { JsonObject } from '../shared/json.ts';
import type { CallerLimits } from '../core/caller.ts';
import type { KeyRecord, Registry } from '../core/registry.ts';
import type { MaybePromise } from '../shared/maybe-promise.ts';

/** How long keys are cached. Changes of this process clear the cache; those of another process that shares the store do not. */
const ttlMs = 5_000;
/** Cached keys; a key that is not cached only costs a look-up. */
const maxEntries = 1_000;

interface Entry {
  record: KeyRecord;
  caller: Caller;
  readAt: number;
}

export interface StoredKeysOptions {
  registry: Registry;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Called each time a key with an expiry date is used. */
  onExpiring?: ((keyId: string, expiresAt: number) => void) | undefined;
}

export interface StoredKeys {
  /** Undefined for an unknown hash and for an expired key. @throws GatewayError `storage_unavailable` */
  findCaller(hash: string): MaybePromise<Caller | undefined>;
  /** The same by the id of a key; not cached. @throws GatewayError `storage_unavailable` */
  findById(id: string): Promise<Caller | undefined>;
  /** Whether any key is stored, even an expired one. @throws GatewayError `storage_unavailable` */
  hasAny(): MaybePromise<boolean>;
  forget: () => void;
}

/** Looks up callers by the hashes of their keys, with a small cache. Unknown hashes are not cached, because anybody could fill it with them. */
export function createStoredKeys({ registry, now, onExpiring }: StoredKeysOptions): StoredKeys {
  const entries = new LRUCache<string, Entry>({ max: maxEntries });
  let any: { answer: boolean; readAt: number } | undefined;
  /** Incremented with every change: a read that started before may return the old state and must not be cached. */
  let epoch = 0;

  const isFresh = (readAt: number): boolean => now() - readAt < ttlMs;

  async function readEntry(hash: string): Promise<Entry | undefined> {
    const startEpoch = epoch;
    const record = await readStore(() => registry.findKeyByHash(hash));
    if (record === undefined) {
      entries.delete(hash);
      return undefined;
    }
    const entry: Entry = { record, caller: toCaller(record), readAt: now() };
    if (startEpoch !== epoch) return entry;
    entries.set(hash, entry);
    return entry;
  }

  async function readAny(): Promise<boolean> {
    const startEpoch = epoch;
    const answer = (await readStore(() => registry.listKeys())).length > 0;
    if (startEpoch === epoch) any = { answer, readAt: now() };
    return answer;
  }

  function callerOf(entry: Entry | undefined): Caller | undefined {
    if (entry === undefined || isExpired(entry.record, now())) return undefined;
    if (entry.caller.expiresAt !== undefined) onExpiring?.(entry.caller.id, entry.caller.expiresAt);
    return entry.caller;
  }

  return {
    findCaller(hash) {
      const known = entries.get(hash);
      return known !== undefined && isFresh(known.readAt) ? callerOf(known) : readEntry(hash).then(callerOf);
    },
    async findById(id) {
      const record = (await readStore(() => registry.listKeys())).find((key) => key.id === id);
      if (record === undefined || isExpired(record, now())) return undefined;
      if (record.expiresAt !== undefined) onExpiring?.(id, record.expiresAt);
      return toCaller(record);
    },
    hasAny: () => (any !== undefined && isFresh(any.readAt) ? any.answer : readAny()),
    forget() {
      epoch += 1;
      entries.clear();
      any = undefined;
    },
  };
}

/** `time` in milliseconds since 1970. */
export function isExpired({ expiresAt }: KeyRecord, time: number): boolean {
  return expiresAt !== undefined && expiresAt <= time;
}

function toCaller({ id, name, role, models, tools, limits, expiresAt }: KeyRecord): Caller {
  const callerLimits = toLimits(limits ?? {});
  return {
    id,
    name,
    role,
    isOpen: false,
    ...(models && { models }),
    ...(tools && { tools }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(Object.keys(callerLimits).length > 0 && { limits: callerLimits }),
  };
}

/** Other fields, which an earlier release accepted, have no effect. */
function toLimits(limits: JsonObject): CallerLimits {
  const { requests_per_minute: requestsPerMinute, concurrent_runs: concurrentRuns } = limits;
  return {
    ...(typeof requestsPerMinute === 'number' && { requestsPerMinute }),
    ...(typeof concurrentRuns === 'number' && { concurrentRuns }),
  };
}

/** The client is not authenticated yet, so the store's message, which names a path, only goes to the log. */
async function readStore<Value>(read: () => Promise<Value>): Promise<Value> {
  try {
    return await read();
  } catch (error) {
    throw new GatewayError('storage_unavailable', 'The keys cannot be read at the moment. Try again later; the log says why.', {
      retryAfter: '5',
      cause: error,
    });
  }
}
