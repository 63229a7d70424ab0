/** Counts of one day (UTC, as 2026-11-22) for one key, one of its people, and one model or tool. Empty texts: none, or not known. */
export interface UsageCounts {
  day: string;
  keyId: string;
  /** The id of the person behind the key. */
  personId: string;
  /** As requests name it. */
  model: string;
  /** `<server>/<function>`. Of rows with a tool only `toolCalls` and `failures` count, which are those of its calls. */
  tool: string;
  requests: number;
  tokensIn: number;
  tokensOut: number;
  toolCalls: number;
  failures: number;
}

export type UsageDimension = 'key' | 'user' | 'model' | 'tool';

export interface UsageQuery {
  by: UsageDimension;
  /** Days, both included. */
  from: string;
  to: string;
  /** Of this key, or this person of it alone; undefined: all. */
  owner: { keyId: string; personId: string } | undefined;
  /** At most so many rows, newest day first. */
  limit: number;
}

/** Sums of a day. Fields that were summed over are empty. */
export type UsageRow = UsageCounts;

/** A person who has used the gateway. */
export interface KnownPerson {
  keyId: string;
  id: string;
  name?: string;
  email?: string;
  /** The last request, in milliseconds since 1970. */
  last: number;
}

export interface PeoplePage {
  limit: number;
  offset: number;
  search?: string | undefined;
}

/**
 * Stores what was used, by day, and the people who used it.
 * @throws GatewayError `storage_unavailable`
 */
export interface UsageStore {
  /** Adds the counts to those that are stored, and notes the people, all or nothing, in one tick of the event loop. */
  add(counts: readonly UsageCounts[], people: readonly KnownPerson[]): Promise<void>;
  report(query: UsageQuery): Promise<UsageRow[]>;
  /** Tokens of a day, in and out, some rows in each tick of the event loop; several rows may be of the same key and person. */
  readTokens(day: string, read: (tokens: { keyId: string; personId: string; tokens: number }) => void): Promise<void>;
  /** The last to use it first. `search`: only those whose id, name or address contains it, whatever the case. */
  listPeople(page: PeoplePage): Promise<KnownPerson[]>;
  /** Forgets one of the people of a key, or all of them: what they used counts for the key from now on. False if nobody was known. */
  deleteAllOf(ownerId: string): Promise<boolean>;
  /** Deletes the days before this one, and people who were last seen before this time. */
  prune(day: string, time: number): Promise<void>;
}

/** Of the same group. */
export function sumOf(left: UsageCounts, right: UsageCounts): UsageCounts {
  return {
    ...left,
    requests: left.requests + right.requests,
    tokensIn: left.tokensIn + right.tokensIn,
    tokensOut: left.tokensOut + right.tokensOut,
    toolCalls: left.toolCalls + right.toolCalls,
    failures: left.failures + right.failures,
  };
}

/** In UTC, as 2026-11-22. */
export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
