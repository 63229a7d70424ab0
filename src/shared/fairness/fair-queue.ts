import { groupOf } from './fair-shares.ts';

/** What one owner has in the queue. */
interface Waiting<Entry> {
  readonly owner: string;
  readonly entries: Entry[];
  /** The number of its entry that was pushed last. */
  latest: number;
}

/**
 * A queue in which owners take turns: groups (keys) first, then the owners (people) of one group. So nobody waits for more than one entry of each other
 * group, however many entries one of them has queued. The entries of one owner stay in order.
 */
export class FairQueue<Entry> {
  /** Each map begins with whoever is next. */
  readonly #groups = new Map<string, Map<string, Waiting<Entry>>>();
  #size = 0;
  #pushed = 0;

  get size(): number {
    return this.#size;
  }

  push(owner: string, entry: Entry): void {
    const group = groupOf(owner);
    const owners = this.#groups.get(group) ?? new Map<string, Waiting<Entry>>();
    this.#groups.set(group, owners);
    const waiting = owners.get(owner) ?? { owner, entries: [], latest: 0 };
    owners.set(owner, waiting);
    waiting.entries.push(entry);
    this.#size += 1;
    this.#pushed += 1;
    waiting.latest = this.#pushed;
  }

  /** False if it is not in the queue. */
  remove(owner: string, entry: Entry): boolean {
    const group = groupOf(owner);
    const owners = this.#groups.get(group);
    const entries = owners?.get(owner)?.entries ?? [];
    const index = entries.indexOf(entry);
    if (index === -1) return false;
    entries.splice(index, 1);
    this.#size -= 1;
    if (entries.length === 0) owners?.delete(owner);
    if (owners?.size === 0) this.#groups.delete(group);
    return true;
  }

  /** `mayServe`: groups that it refuses are passed over and keep their place. */
  shift(mayServe: (group: string) => boolean = () => true): Entry | undefined {
    if (this.#size === 0) return undefined;
    const next = this.#groups.entries().find(([group]) => mayServe(group));
    const first = next?.[1].values().next().value;
    return next === undefined || first === undefined ? undefined : this.#serve(next, first, 0);
  }

  /** The first entry that may be served; the others keep their place. */
  shiftWhere(mayServe: (entry: Entry) => boolean): Entry | undefined {
    for (const next of this.#groups) {
      for (const waiting of next[1].values()) {
        const index = waiting.entries.findIndex(mayServe);
        if (index !== -1) return this.#serve(next, waiting, index);
      }
    }
    return undefined;
  }

  /** The entries in the order in which they are served if nobody comes or leaves. */
  inOrder(): Iterable<Entry> {
    return takingTurns(this.#groups.values().map((owners) => takingTurns(owners.values().map(({ entries }) => entries))));
  }

  /** The entry to give up where there are too many: the last one of the owner with the most in the group with the most. Among equals, the latest. */
  last(): Entry | undefined {
    let most: { ofGroup: number; waiting: Waiting<Entry> } | undefined;
    for (const owners of this.#groups.values()) {
      const ofGroup = owners.values().reduce((sum, { entries }) => sum + entries.length, 0);
      for (const waiting of owners.values()) {
        const more = most === undefined ? 0 : ofGroup - most.ofGroup || waiting.entries.length - most.waiting.entries.length;
        if (most === undefined || more > 0 || (more === 0 && waiting.latest > most.waiting.latest)) most = { ofGroup, waiting };
      }
    }
    return most?.waiting.entries.at(-1);
  }

  #serve([group, owners]: [string, Map<string, Waiting<Entry>>], waiting: Waiting<Entry>, index: number): Entry | undefined {
    const [entry] = waiting.entries.splice(index, 1);
    this.#size -= 1;
    toEnd(owners, waiting.owner, waiting.entries.length > 0 ? waiting : undefined);
    toEnd(this.#groups, group, owners.size > 0 ? owners : undefined);
    return entry;
  }
}

/** To the end of the order, or out of it. One that is alone stays where it is. */
function toEnd<Value>(order: Map<string, Value>, key: string, value: Value | undefined): void {
  if (value !== undefined && order.size === 1) return;
  order.delete(key);
  if (value !== undefined) order.set(key, value);
}

/** One of each in turn, until none has any left. */
function* takingTurns<Entry>(lists: Iterable<Iterable<Entry>>): Generator<Entry> {
  let open = Array.from(lists, (list) => list[Symbol.iterator]());
  while (open.length > 0) {
    const remaining: Iterator<Entry>[] = [];
    for (const iterator of open) {
      const next = iterator.next();
      if (next.done === true) continue;
      yield next.value;
      remaining.push(iterator);
    }
    open = remaining;
  }
}
