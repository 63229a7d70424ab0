import { chooseLosses, groupOf, type Share, type ShareBounds } from './fair-shares.ts';

interface Entry<Value> {
  owner: string;
  value: Value;
  characters: number;
}

interface Holding {
  owner: string;
  characters: number;
  /** Least recently written or used first. */
  keys: Set<string>;
}

/** A map that callers share, in which each entry has an owner. Beyond its bounds, the owner with the most loses the least recently written or used entry. */
export class FairMap<Value> {
  readonly #bounds: ShareBounds;
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #holdings = new Map<string, Holding>();
  #characters = 0;

  constructor(bounds: ShareBounds) {
    this.#bounds = bounds;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Like `get`, and marks the entry as most recently used. */
  use(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.#put(key, entry);
    return entry?.value;
  }

  /** Adds or replaces an entry, and evicts others beyond the bounds, which it returns. */
  set(key: string, entry: Entry<Value>, bounds: ShareBounds = this.#bounds): Value[] {
    this.#put(key, { ...entry });
    if (this.#entries.size <= bounds.entries && this.#characters <= bounds.characters) return [];
    return chooseLosses(this.#shares(), bounds).flatMap(({ id }) => this.#take(id));
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#characters -= entry.characters;
    const holding = this.#holdings.get(entry.owner);
    if (holding === undefined) return;
    holding.keys.delete(key);
    holding.characters -= entry.characters;
    if (holding.keys.size === 0) this.#holdings.delete(entry.owner);
  }

  /** Deletes what is this owner's, or that of anybody in this group, and returns it. */
  deleteAllOf(ownerOrGroup: string): Value[] {
    const owners = this.#holdings.values().filter(({ owner }) => owner === ownerOrGroup || groupOf(owner) === ownerOrGroup);
    return [...owners].flatMap(({ keys }) => [...keys].flatMap((key) => this.#take(key)));
  }

  /** The keys of one owner, least recently written or used first. */
  keysOf(owner: string): ReadonlySet<string> {
    return this.#holdings.get(owner)?.keys ?? new Set();
  }

  /** Least recently written or used first. */
  *[Symbol.iterator](): Generator<[string, Value]> {
    for (const [key, { value }] of this.#entries) yield [key, value];
  }

  #take(key: string): Value[] {
    const entry = this.#entries.get(key);
    this.delete(key);
    return entry === undefined ? [] : [entry.value];
  }

  #put(key: string, entry: Entry<Value>): void {
    this.delete(key);
    this.#entries.set(key, entry);
    this.#characters += entry.characters;
    const holding = this.#holdings.get(entry.owner) ?? { owner: entry.owner, characters: 0, keys: new Set() };
    holding.keys.add(key);
    holding.characters += entry.characters;
    this.#holdings.set(entry.owner, holding);
  }

  *#shares(): Generator<Share<string>> {
    for (const { owner, characters, keys } of this.#holdings.values()) {
      yield { owner, entries: keys.size, characters, oldestFirst: () => this.#sized(keys) };
    }
  }

  /** Lazy, because mostly one entry is enough. */
  *#sized(keys: ReadonlySet<string>): Generator<{ id: string; characters: number }> {
    for (const id of keys) yield { id, characters: this.#entries.get(id)?.characters ?? 0 };
  }
}
