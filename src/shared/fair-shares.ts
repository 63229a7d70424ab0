/** How much a store may hold, over all owners. */
export interface ShareBounds {
  entries: number;
  /** Size as stored: JSON, or encrypted text. */
  characters: number;
}

/** What one owner has in a store. */
export interface Share<Id> {
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
 * Chooses entries to delete until a store is within its bounds: repeatedly the oldest entry of the owner who uses the most, so that no owner loses
 * anything while another one uses more. The store may stay too large if the remaining entries must not be deleted.
 */
export function chooseLosses<Id>(shares: Iterable<Share<Id>>, bounds: ShareBounds): Loss<Id>[] {
  const holders = Array.from(shares, (share) => ({ ...holdingOf(share), share, left: undefined as Oldest<Id> | undefined }));
  let entries = holders.reduce((sum, holder) => sum + holder.entries, 0);
  let characters = holders.reduce((sum, holder) => sum + holder.characters, 0);
  const losses: Loss<Id>[] = [];
  while (holders.length > 0 && (entries > bounds.entries || characters > bounds.characters)) {
    const measure = entries > bounds.entries ? 'entries' : 'characters';
    const heaviest = holders.reduce((most, next) => (next[measure] > most[measure] ? next : most));
    heaviest.left ??= heaviest.share.oldestFirst()[Symbol.iterator]();
    const oldest = heaviest.left.next();
    if (oldest.done === true) {
      holders.splice(holders.indexOf(heaviest), 1);
      continue;
    }
    losses.push({ owner: heaviest.share.owner, id: oldest.value.id });
    entries -= 1;
    heaviest.entries -= 1;
    characters -= oldest.value.characters;
    heaviest.characters -= oldest.value.characters;
  }
  return losses;
}

type Oldest<Id> = Iterator<{ id: Id; characters: number }>;

function holdingOf<Id>({ entries, characters }: Share<Id>): ShareBounds {
  return { entries, characters };
}

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
