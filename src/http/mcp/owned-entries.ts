import { FairMap } from '../../shared/fairness/fair-map.ts';

/** Entries that clients come back for in a later request. Only the owner of an entry can use it. */
interface OwnedEntries<Value> {
  /** Beyond a limit, the least recently used entries are ended: the owner's own, or those of the owner with the most. */
  add(id: string, owner: string, value: Value): void;
  find(id: string, owner: string): Value | undefined;
  delete(id: string): void;
  /** Ends one; does nothing if it is gone. */
  end(id: string): void;
  countOf(owner: string): number;
  /** Ends those of a key and its people, or of one of them. */
  endAllOf(ownerId: string): void;
  /** Ends all that fulfil a condition. */
  endWhere(isOver: (value: Value) => boolean): void;
}

interface OwnedEntriesOptions<Value> {
  perOwner: number;
  total: number;
  end: (value: Value) => void;
}

export function createOwnedEntries<Value>({ perOwner, total, end }: OwnedEntriesOptions<Value>): OwnedEntries<Value> {
  const entries = new FairMap<{ owner: string; value: Value }>({ entries: total, characters: Number.POSITIVE_INFINITY });

  function drop(id: string): void {
    const entry = entries.get(id);
    entries.delete(id);
    if (entry !== undefined) end(entry.value);
  }

  return {
    add(id, owner, value) {
      const [oldest, ...others] = [...entries.keysOf(owner)];
      if (oldest !== undefined && others.length + 1 >= perOwner && !entries.has(id)) drop(oldest);
      for (const lost of entries.set(id, { owner, value: { owner, value }, characters: 0 })) end(lost.value);
    },
    find(id, owner) {
      // Used only once the owner is known: others must not keep it alive.
      return entries.get(id)?.owner === owner ? entries.use(id)?.value : undefined;
    },
    delete: (id) => entries.delete(id),
    end: drop,
    countOf: (owner) => entries.keysOf(owner).size,
    endAllOf(ownerId) {
      for (const { value } of entries.deleteAllOf(ownerId)) end(value);
    },
    endWhere(isOver) {
      for (const [id, { value }] of Array.from(entries)) if (isOver(value)) drop(id);
    },
  };
}
