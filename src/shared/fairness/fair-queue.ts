import { groupOf } from './fair-shares.ts';

/**
 * A queue in which owners take turns: groups (keys) first, then the owners (people) of one group. So nobody waits for more than one entry of each other
 * group, however many entries one of them has queued. The entries of one owner stay in order.
 */
export class FairQueue<Entry> {
  /** Each map begins with whoever is next. */
  readonly #groups = new Map<string, Map<string, Entry[]>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(owner: string, entry: Entry): void {
    const group = groupOf(owner);
    const owners = this.#groups.get(group) ?? new Map<string, Entry[]>();
    this.#groups.set(group, owners);
    const entries = owners.get(owner);
    if (entries === undefined) owners.set(owner, [entry]);
    else entries.push(entry);
    this.#size += 1;
  }

  /** False if it is not in the queue. */
  remove(owner: string, entry: Entry): boolean {
    const group = groupOf(owner);
    const owners = this.#groups.get(group);
    const entries = owners?.get(owner) ?? [];
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
    const next = this.#groups.entries().find(([group]) => mayServe(group));
    if (next === undefined) return undefined;
    const [group, owners] = next;
    const [first] = owners;
    if (first === undefined) return undefined;
    const [owner, entries] = first;
    const entry = entries.shift();
    this.#size -= 1;
    // To the end of the order.
    owners.delete(owner);
    if (entries.length > 0) owners.set(owner, entries);
    this.#groups.delete(group);
    if (owners.size > 0) this.#groups.set(group, owners);
    return entry;
  }
}
