import { createHash } from 'node:crypto';
import { limits } from '../core/limits.ts';

/** What a caller has decided for a function in a chat, until the chat is old. */
export interface RememberedApprovals {
  /** Without a chat there is nothing that it could hold for. `definition`: a function that changes is asked for anew. */
  remember(place: RememberedPlace, decision: 'approve' | 'reject'): void;
  find(place: RememberedPlace): 'approve' | 'reject' | undefined;
}

export interface RememberedPlace {
  callerId: string;
  chatId: string | undefined;
  /** As `definitionOf` gives it. */
  definition: string;
}

/** In this process: after a restart it is asked again, which is the safe side. */
export function createRememberedApprovals(now: () => number): RememberedApprovals {
  const kept = new Map<string, { decision: 'approve' | 'reject'; expires: number }>();
  return {
    remember(place, decision) {
      if (place.chatId === undefined) return;
      const key = keyOf(place);
      // Anew at the end: the order is that in which they expire.
      kept.delete(key);
      kept.set(key, { decision, expires: now() + limits.rememberedApprovalMs });
      for (const [oldest, { expires }] of kept) {
        if (kept.size <= limits.rememberedApprovals && expires > now()) return;
        kept.delete(oldest);
      }
    },
    find(place) {
      const entry = place.chatId === undefined ? undefined : kept.get(keyOf(place));
      return entry !== undefined && entry.expires > now() ? entry.decision : undefined;
    },
  };
}

/** A digest, because a definition holds a whole schema. */
function keyOf({ callerId, chatId, definition }: RememberedPlace): string {
  return createHash('sha256')
    .update(JSON.stringify([callerId, chatId, definition]))
    .digest('base64');
}
