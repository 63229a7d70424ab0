/** How much a store may hold, over all owners. */
export interface ShareBounds {
  entries: number;
  /** Size as stored: JSON, or encrypted text. */
  characters: number;
}

/** What one owner has in a store. */
export interface Share<Id> {
  /** What stands before the first slash is the owner's group: one key, whose people cannot multiply their share by being many. */
  owner: string;
  entries: number;
  characters: number;
  /** Entries that may be deleted, oldest first. Called only if the owner has to lose some. */
  oldestFirst(): Iterable<{ id: Id; characters: number }>;
}

export interface Loss<Id> {
  owner: string;
  id: Id;
}

/** How much is chosen at once: for each owner the oldest entries have to be looked up, which takes longer than to delete some. */
export interface MostLosses {
  entries: number;
  owners: number;
}

const noMost: MostLosses = { entries: Number.POSITIVE_INFINITY, owners: Number.POSITIVE_INFINITY };

/**
 * Chooses entries to delete until a store is within its bounds: repeatedly the oldest entry of the owner who uses the most in the group that uses the
 * most, so that none of them loses anything while another one uses more. The store may stay too large if the remaining entries must not be deleted, or
 * where `most` is reached.
 */
export function chooseLosses<Id>(shares: Iterable<Share<Id>>, bounds: ShareBounds, most: MostLosses = noMost): Loss<Id>[] {
  const groups = new Map<string, Group<Id>>();
  const total: ShareBounds = { entries: 0, characters: 0 };
  for (const share of shares) {
    const name = groupOf(share.owner);
    const group = groups.get(name) ?? { entries: 0, characters: 0, holders: [] };
    groups.set(name, group);
    group.holders.push({ entries: share.entries, characters: share.characters, share, left: undefined });
    for (const sum of [group, total]) add(sum, share);
  }
  const losses: Loss<Id>[] = [];
  const losers = new Set<Holder<Id>>();
  // Entries never become more, so that they are too many only in the beginning.
  for (const measure of ['entries', 'characters'] as const) {
    if (total[measure] <= bounds[measure]) continue;
    const heaviestGroups = new Heaviest([...groups.values()], measure);
    const heaviestHolders = new Map<Group<Id>, Heaviest<Holder<Id>>>();
    while (total[measure] > bounds[measure] && losses.length < most.entries) {
      const group = heaviestGroups.first();
      if (group === undefined) break;
      const holders = heaviestHolders.get(group) ?? new Heaviest(group.holders, measure);
      heaviestHolders.set(group, holders);
      const heaviest = holders.first();
      if (heaviest === undefined) {
        heaviestGroups.removeFirst();
        continue;
      }
      if (losers.size >= most.owners && !losers.has(heaviest)) return losses;
      losers.add(heaviest);
      heaviest.left ??= heaviest.share.oldestFirst()[Symbol.iterator]();
      const oldest = heaviest.left.next();
      if (oldest.done === true) {
        holders.removeFirst();
        continue;
      }
      losses.push({ owner: heaviest.share.owner, id: oldest.value.id });
      for (const sum of [heaviest, group, total]) add(sum, { entries: -1, characters: -oldest.value.characters });
      holders.lowerFirst();
      heaviestGroups.lowerFirst();
    }
  }
  return losses;
}

/** Finds who uses the most without comparing all: a store may have thousands of owners, and lose thousands of entries at once. A binary heap. */
class Heaviest<One extends ShareBounds> {
  readonly #heap: { one: One; index: number }[];
  readonly #measure: keyof ShareBounds;

  constructor(all: readonly One[], measure: keyof ShareBounds) {
    this.#measure = measure;
    this.#heap = all.map((one, index) => ({ one, index }));
    // A sorted list is a heap.
    this.#heap.sort((one, other) => (this.#isBefore(one, other) ? -1 : 1));
  }

  first(): One | undefined {
    return this.#heap[0]?.one;
  }

  removeFirst(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.lowerFirst();
  }

  /** Puts the first in its place after it has lost something. */
  lowerFirst(): void {
    const heap = this.#heap;
    for (let at = 0; ;) {
      const before = [2 * at + 1, 2 * at + 2].reduce((best, next) => (this.#comesBefore(next, best) ? next : best), at);
      const [lower, higher] = [heap[at], heap[before]];
      if (before === at || lower === undefined || higher === undefined) return;
      heap[at] = higher;
      heap[before] = lower;
      at = before;
    }
  }

  #comesBefore(at: number, other: number): boolean {
    const [one, two] = [this.#heap[at], this.#heap[other]];
    return one !== undefined && two !== undefined && this.#isBefore(one, two);
  }

  /** Among equals, the one that was given first. */
  #isBefore(one: { one: One; index: number }, other: { one: One; index: number }): boolean {
    const more = one.one[this.#measure] - other.one[this.#measure];
    return more > 0 || (more === 0 && one.index < other.index);
  }
}

interface Holder<Id> extends ShareBounds {
  share: Share<Id>;
  left: Oldest<Id> | undefined;
}

interface Group<Id> extends ShareBounds {
  holders: Holder<Id>[];
}

/** The key of a caller: what stands before the first slash. */
export function groupOf(owner: string): string {
  return owner.split('/', 1)[0] ?? owner;
}

function add(sum: ShareBounds, { entries, characters }: ShareBounds): void {
  sum.entries += entries;
  sum.characters += characters;
}

type Oldest<Id> = Iterator<{ id: Id; characters: number }>;

/**
 * Chooses entries of other owners to delete so that a new entry fits. Undefined if its own owner would have to lose something: a store whose entries
 * must not be lost then refuses the new one.
 */
export function chooseLossesOfOthers<Id>(
  added: { owner: string; characters: number },
  shares: readonly Share<Id>[],
  bounds: ShareBounds,
): Loss<Id>[] | undefined {
  const { owner } = added;
  const own = shares.find((share) => share.owner === owner) ?? { owner, entries: 0, characters: 0, oldestFirst: () => [] };
  const grown: Share<Id> = {
    owner,
    entries: own.entries + 1,
    characters: own.characters + added.characters,
    oldestFirst: () => oldestWithNew(own, added.characters),
  };
  const losses = chooseLosses([grown, ...shares.filter((share) => share !== own)], bounds);
  return losses.some((loss) => loss.owner === owner) ? undefined : losses;
}

function* oldestWithNew<Id>(own: Share<Id>, characters: number): Generator<{ id: Id; characters: number }> {
  yield* own.oldestFirst();
  // Reached if no older entry may be deleted: then the new entry does not fit.
  yield { id: undefined as Id, characters };
}

/** The shares of a list of entries that is ordered oldest first. */
export function sharesOf<Entry extends { id: string; callerId: string }>(
  entries: Iterable<Entry>,
  charactersOf: (entry: Entry) => number,
): Share<string>[] {
  const shares = new Map<string, ShareBounds & { owner: string; all: { id: string; characters: number }[] }>();
  for (const entry of entries) {
    const { id, callerId: owner } = entry;
    const share = shares.get(owner) ?? { owner, entries: 0, characters: 0, all: [] };
    const characters = charactersOf(entry);
    share.entries += 1;
    share.characters += characters;
    share.all.push({ id, characters });
    shares.set(owner, share);
  }
  return Array.from(shares.values(), ({ all, ...share }) => ({ ...share, oldestFirst: () => all }));
}
