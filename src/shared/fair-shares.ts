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

/**
 * Chooses entries to delete until a store is within its bounds: repeatedly the oldest entry of the owner who uses the most in the group that uses the
 * most, so that none of them loses anything while another one uses more. The store may stay too large if the remaining entries must not be deleted.
 */
export function chooseLosses<Id>(shares: Iterable<Share<Id>>, bounds: ShareBounds): Loss<Id>[] {
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
  while (groups.size > 0 && (total.entries > bounds.entries || total.characters > bounds.characters)) {
    const measure = total.entries > bounds.entries ? 'entries' : 'characters';
    const [name, group] = [...groups].reduce((most, next) => (next[1][measure] > most[1][measure] ? next : most));
    const { holders } = group;
    const heaviest = holders.reduce((most, next) => (next[measure] > most[measure] ? next : most));
    heaviest.left ??= heaviest.share.oldestFirst()[Symbol.iterator]();
    const oldest = heaviest.left.next();
    if (oldest.done === true) {
      holders.splice(holders.indexOf(heaviest), 1);
      if (holders.length === 0) groups.delete(name);
      continue;
    }
    losses.push({ owner: heaviest.share.owner, id: oldest.value.id });
    for (const sum of [heaviest, group, total]) add(sum, { entries: -1, characters: -oldest.value.characters });
  }
  return losses;
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
