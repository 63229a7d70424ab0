import { createHash } from 'node:crypto';
import type { ChatMemory } from '../../core/chat-memory.ts';
import { limits } from '../../core/limits.ts';
import type { Tool } from '../../core/tool.ts';

/** What a caller has decided for a function in a chat, until the chat is old. */
export interface RememberedApprovals {
  /** Without a chat there is nothing that it could hold for. `definition`: a function that changes is asked for anew. */
  remember(place: RememberedPlace, decision: 'approve' | 'reject'): Promise<void>;
  find(place: RememberedPlace): Promise<'approve' | 'reject' | undefined>;
}

export interface RememberedPlace {
  callerId: string;
  chatId: string | undefined;
  /** As `definitionOf` gives it. */
  definition: string;
}

export interface RememberedOptions {
  memory: ChatMemory;
  now: () => number;
  /** Told where the memory fails: then it is asked, and asked again, which is the safe side. */
  onFault: (error: unknown) => void;
}

const bounds = { maxNotes: limits.rememberedApprovals, maxCharacters: limits.rememberedApprovalsCharacters };

export function createRememberedApprovals({ memory, now, onFault }: RememberedOptions): RememberedApprovals {
  return {
    async remember(place, decision) {
      if (place.chatId === undefined) return;
      const { callerId } = place;
      const note = { id: idOf(place), callerId, value: decision, expires: now() + limits.rememberedApprovalMs };
      await memory.keep(note, { ...bounds, time: now() }).catch(onFault);
    },
    async find(place) {
      if (place.chatId === undefined) return undefined;
      const found = await memory.find(idOf(place), now()).catch(onFault);
      // Only the words themselves decide.
      return found === 'approve' || found === 'reject' ? found : undefined;
    },
  };
}

/** A digest, because a definition holds a whole schema. */
function idOf({ callerId, chatId, definition }: RememberedPlace): string {
  return createHash('sha256')
    .update(JSON.stringify([callerId, chatId, definition]))
    .digest('base64');
}

/** By what a function is known again: its name, what a model reads of it, where it runs, and what it asks for there. */
export function definitionOf({ spec, label, server, kind, endpoint }: Tool): string {
  return JSON.stringify([spec.name, spec.description, spec.parameters, label, server, kind, ...(endpoint === undefined ? [] : [endpoint])]);
}
