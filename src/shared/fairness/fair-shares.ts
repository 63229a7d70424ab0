/** How much a store may hold, over all owners. */
export interface ShareBounds {
  entries: number;
  /** Size as stored: JSON, or encrypted text. */
  characters: number;
}

interface Held {
  /** What stands before the first slash is the owner's group: one key, whose people cannot multiply their share by being many. */
  owner: string;
  entries: number;
  characters: number;
}

/** What one owner has in a store. */
export interface Share<Id> extends Held {
  /** Entries that may be deleted, oldest first. Called only if the owner has to lose some. */
  oldestFirst(): Iterable<Entry<Id>>;
}

/** What one owner has in a store that is read in steps. */
export interface SteppedShare<Id, Step> extends Held {
  /** Called only if the owner has to lose some. */
  oldestFirst(): SteppedEntries<Id, Step>;
}

/** Entries that may be deleted, oldest first. */
export interface SteppedEntries<Id, Step> {
  next(): Generator<Step, Entry<Id> | undefined, unknown>;
}

export interface Entry<Id> {
  id: Id;
  characters: number;
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

/** As `chooseLossesInSteps`, for a store in memory. */
export function chooseLosses<Id>(shares: Iterable<Share<Id>>, bounds: ShareBounds, most?: MostLosses): Loss<Id>[] {
  const result = chooseLossesInSteps<Id, never>(Array.from(shares, withoutSteps), bounds, most).next();
  return result.done === true ? result.value : [];
}

function withoutSteps<Id>(share: Share<Id>): SteppedShare<Id, never> {
  return { ...share, oldestFirst: () => new EntriesInMemory(share.oldestFirst()[Symbol.iterator]()) };
}

class EntriesInMemory<Id> implements SteppedEntries<Id, never> {
  readonly #entries: Iterator<Entry<Id>>;

  constructor(entries: Iterator<Entry<Id>>) {
    this.#entries = entries;
  }

  // eslint-disable-next-line require-yield -- a store in memory takes no steps
  *next(): Generator<never, Entry<Id> | undefined, unknown> {
    const entry = this.#entries.next();
    return entry.done === true ? undefined : entry.value;
  }
}

/**
 * Chooses entries to delete until a store is within its bounds: repeatedly the oldest entry of the owner who uses the most in the group that uses the
 * most, so that none of them loses anything while another one uses more. The store may stay too large if the remaining entries must not be deleted, or
 * where `most` is reached.
 */
export function* chooseLossesInSteps<Id, Step>(
  shares: Iterable<SteppedShare<Id, Step>>,
  bounds: ShareBounds,
  most: MostLosses = noMost,
): Generator<Step, Loss<Id>[], unknown> {
  const groups = new Map<string, Group<Id, Step>>();
  const total: ShareBounds = { entries: 0, characters: 0 };
  for (const share of shares) {
    const name = groupOf(share.owner);
    const group = groups.get(name) ?? { entries: 0, characters: 0, holders: [] };
    groups.set(name, group);
    group.holders.push({ entries: share.entries, characters: share.characters, share, left: undefined });
    for (const sum of [group, total]) add(sum, share);
  }
  const losses: Loss<Id>[] = [];
  const losers = new Set<Holder<Id, Step>>();
  // Entries never become more, so that they are too many only in the beginning.
  for (const measure of ['entries', 'characters'] as const) {
    if (total[measure] <= bounds[measure]) continue;
    const heaviestGroups = new Heaviest([...groups.values()], measure);
    const heaviestHolders = new Map<Group<Id, Step>, Heaviest<Holder<Id, Step>>>();
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
      heaviest.left ??= heaviest.share.oldestFirst();
      const oldest = yield* heaviest.left.next();
      if (oldest === undefined) {
        holders.removeFirst();
        continue;
      }
      losses.push({ owner: heaviest.share.owner, id: oldest.id });
      for (const sum of [heaviest, group, total]) add(sum, { entries: -1, characters: -oldest.characters });
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

interface Holder<Id, Step> extends ShareBounds {
  share: SteppedShare<Id, Step>;
  left: SteppedEntries<Id, Step> | undefined;
}

interface Group<Id, Step> extends ShareBounds {
  holders: Holder<Id, Step>[];
}

/** The key of a caller: what stands before the first slash. */
export function groupOf(owner: string): string {
  return owner.split('/', 1)[0] ?? owner;
}

function add(sum: ShareBounds, { entries, characters }: ShareBounds): void {
  sum.entries += entries;
  sum.characters += characters;
}

/** As `chooseLossesOfOthersInSteps`, for a store in memory. */
export function chooseLossesOfOthers<Id>(added: Added, shares: readonly Share<Id>[], bounds: ShareBounds): Loss<Id>[] | undefined {
  const result = chooseLossesOfOthersInSteps<Id, never>(added, shares.map(withoutSteps), bounds).next();
  return result.done === true ? result.value : undefined;
}

interface Added {
  owner: string;
  characters: number;
}

/**
 * Chooses entries of other owners to delete so that a new entry fits. Undefined if its own owner would have to lose something: a store whose entries
 * must not be lost then refuses the new one.
 */
export function* chooseLossesOfOthersInSteps<Id, Step>(
  { owner, characters }: Added,
  shares: readonly SteppedShare<Id, Step>[],
  bounds: ShareBounds,
): Generator<Step, Loss<Id>[] | undefined, unknown> {
  const own = shares.find((share) => share.owner === owner);
  const grown: SteppedShare<Id, Step> = {
    owner,
    entries: (own?.entries ?? 0) + 1,
    characters: (own?.characters ?? 0) + characters,
    oldestFirst: () => new EntriesWithNew(own?.oldestFirst(), characters),
  };
  const losses = yield* chooseLossesInSteps([grown, ...shares.filter((share) => share !== own)], bounds);
  return losses.some((loss) => loss.owner === owner) ? undefined : losses;
}

class EntriesWithNew<Id, Step> implements SteppedEntries<Id, Step> {
  readonly #own: SteppedEntries<Id, Step> | undefined;
  /** Reached if no older entry may be deleted: then the new entry does not fit. */
  #added: Entry<Id> | undefined;

  constructor(own: SteppedEntries<Id, Step> | undefined, characters: number) {
    this.#own = own;
    this.#added = { id: undefined as Id, characters };
  }

  *next(): Generator<Step, Entry<Id> | undefined, unknown> {
    const oldest = this.#own && (yield* this.#own.next());
    if (oldest !== undefined) return oldest;
    const added = this.#added;
    this.#added = undefined;
    return added;
  }
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
