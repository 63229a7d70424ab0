import { LRUCache } from 'lru-cache';

import type { Caller } from '../core/callers/caller.ts';
import { GatewayError } from '../core/errors.ts';
import type { JsonObject } from '../shared/json/json.ts';
import type { CallerLimits } from '../core/callers/caller.ts';
import type { PeopleRule } from '../core/callers/people.ts';
import type { KeyRecord, Registry } from '../core/stores/registry.ts';
import type { MaybePromise } from '../shared/async/maybe-promise.ts';

/** How long keys are cached. Changes of this process clear the cache; those of another process that shares the store do not. */
const ttlMs = 5_000;
/** Cached keys; a key that is not cached only costs a look-up. */
const maxEntries = 1_000;

interface Entry {
  record: KeyRecord;
  key: StoredKey;
  readAt: number;
}

interface StoredKeysOptions {
  registry: Registry;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Called each time a key with an expiry date is used. */
  onExpiring?: ((keyId: string, expiresAt: number) => void) | undefined;
}

/** A key that is good. `people`: it speaks for several, and `caller` is the key without any of them. */
export interface StoredKey {
  caller: Caller;
  people?: PeopleRule | undefined;
}

interface StoredKeys {
  /** Undefined for an unknown hash and for an expired key. @throws GatewayError `storage_unavailable` */
  find(hash: string): MaybePromise<StoredKey | undefined>;
  /** The same by the id of a key; not cached. @throws GatewayError `storage_unavailable` */
  findById(id: string): Promise<StoredKey | undefined>;
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
    const entry: Entry = { record, key: toStoredKey(record), readAt: now() };
    if (startEpoch !== epoch) return entry;
    entries.set(hash, entry);
    return entry;
  }

  async function readAny(): Promise<boolean> {
    const startEpoch = epoch;
    const answer = (await readStore(() => registry.countKeys())) > 0;
    if (startEpoch === epoch) any = { answer, readAt: now() };
    return answer;
  }

  function keyOf(entry: Entry | undefined): StoredKey | undefined {
    if (entry === undefined || isExpired(entry.record, now())) return undefined;
    const { id, expiresAt } = entry.record;
    if (expiresAt !== undefined) onExpiring?.(id, expiresAt);
    return entry.key;
  }

  return {
    find(hash) {
      const known = entries.get(hash);
      return known !== undefined && isFresh(known.readAt) ? keyOf(known) : readEntry(hash).then(keyOf);
    },
    async findById(id) {
      const record = await readStore(() => registry.findKey(id));
      if (record === undefined || isExpired(record, now())) return undefined;
      if (record.expiresAt !== undefined) onExpiring?.(id, record.expiresAt);
      return toStoredKey(record);
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

function toStoredKey(record: KeyRecord): StoredKey {
  return { caller: toCaller(record), people: record.people };
}

function toCaller({ id, name, role, models, tools, limits, totalLimits, expiresAt, people }: KeyRecord): Caller {
  const callerLimits = toLimits(limits ?? {});
  const keyLimits = toLimits(totalLimits ?? {});
  return {
    id,
    name,
    role,
    isOpen: false,
    ...(people && { personHeaders: headersOf(people) }),
    ...(models && { models }),
    ...(tools && { tools }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(Object.keys(callerLimits).length > 0 && { limits: callerLimits }),
    ...(Object.keys(keyLimits).length > 0 && { totalLimits: keyLimits }),
  };
}

/** Of a rule by a token too: whoever has the token can speak for the person. */
function headersOf(people: PeopleRule): string[] {
  const names = people.from === 'header' ? [people.name, people.nameHeader, people.emailHeader] : [people.name];
  return names.flatMap((name) => (name === undefined ? [] : [name.toLowerCase()]));
}

/** Other fields, which an earlier release accepted, have no effect. */
export function toLimits(limits: JsonObject): CallerLimits {
  const { requests_per_minute: requestsPerMinute, concurrent_runs: concurrentRuns, tokens_per_day: tokensPerDay } = limits;
  return {
    ...(typeof requestsPerMinute === 'number' && { requestsPerMinute }),
    ...(typeof concurrentRuns === 'number' && { concurrentRuns }),
    ...(typeof tokensPerDay === 'number' && { tokensPerDay }),
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
