import { isWithin } from '../../core/callers/people.ts';
import type { OfferChange, OfferChanges, OfferList } from '../../core/tools/offer-changes.ts';

/** Changes within this time are one notification: a registered server is opened a moment later, and an administrator may change several. */
const settlingMs = 300;

interface Listener {
  callerId: string;
  tell: (change: OfferChange) => void;
}

export function createOfferChanges(): OfferChanges {
  const listeners = new Set<Listener>();
  /** By whom they concern, and the gateways that told them. */
  const pending = new Map<string, { change: OfferChange; lists: Set<OfferList> }>();
  let timer: NodeJS.Timeout | undefined;

  function tellAll(): void {
    timer = undefined;
    const changes = Array.from(pending.values(), ({ change, lists }): OfferChange => ({ ...change, lists: [...lists] }));
    pending.clear();
    for (const { callerId, tell } of listeners) {
      for (const change of changes) if (change.ownerId === undefined || isWithin(callerId, change.ownerId)) tell(change);
    }
  }

  return {
    publish(change) {
      if (listeners.size === 0) return;
      const key = JSON.stringify([change.ownerId, change.hasOtherRights, change.gateways ?? []]);
      const known = pending.get(key) ?? { change, lists: new Set() };
      for (const list of change.lists) known.lists.add(list);
      pending.set(key, known);
      timer ??= setTimeout(tellAll, settlingMs).unref();
    },
    subscribe(callerId, tell) {
      const listener = { callerId, tell };
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
