import { createHash } from 'node:crypto';
import type { NoteStore } from '../../core/stores/note-store.ts';
import type { Tool } from '../../core/tools/tool.ts';

/** Decisions that apply to the rest of a chat, over all callers. Beyond it the oldest are deleted, and users are asked again. */
export const rememberedApprovals = 10_000;

/** Size of all stored decisions, encrypted: far more than one word each takes. */
const rememberedApprovalsCharacters = 4 * 1024 * 1024;
/** In a chat that continues the next day, the user is asked again. */
export const rememberedApprovalMs = 24 * 60 * 60 * 1000;

/** A caller's decisions on functions for the rest of a conversation, for a day at most. */
export interface RememberedApprovals {
  /** Does nothing without a conversation. */
  remember(scope: ApprovalScope, decision: 'approve' | 'reject'): Promise<void>;
  find(scope: ApprovalScope): Promise<'approve' | 'reject' | undefined>;
}

export interface ApprovalScope {
  callerId: string;
  /** From `conversationOf`. */
  conversation: string | undefined;
  /** From `definitionOf`: a function that has changed needs another approval. */
  definition: string;
}

interface RememberedOptions {
  store: NoteStore;
  now: () => number;
  /** Called when the store fails; then the user is asked again, which is safe. */
  onFault: (error: unknown) => void;
}

const bounds = { maxNotes: rememberedApprovals, maxCharacters: rememberedApprovalsCharacters };

export function createRememberedApprovals({ store, now, onFault }: RememberedOptions): RememberedApprovals {
  return {
    async remember(scope, decision) {
      if (scope.conversation === undefined) return;
      const { callerId } = scope;
      const note = { id: idOf(scope), callerId, value: decision, expires: now() + rememberedApprovalMs };
      await store.save(note, { ...bounds, time: now() }).catch(onFault);
    },
    async find(scope) {
      if (scope.conversation === undefined) return undefined;
      const found = await store.find(idOf(scope), now()).catch(onFault);
      // Anything else is no decision.
      return found === 'approve' || found === 'reject' ? found : undefined;
    },
  };
}

/** A digest, because a definition contains a whole schema. */
function idOf({ callerId, conversation, definition }: ApprovalScope): string {
  return createHash('sha256')
    .update(JSON.stringify([callerId, conversation, definition]))
    .digest('base64');
}

/** Identifies a function by its name, its description and parameters, and where it runs. */
export function definitionOf({ spec, whole = spec, label, server, kind, endpoint }: Tool): string {
  return JSON.stringify([
    spec.name,
    whole.description,
    whole.parameters,
    label,
    server,
    kind,
    ...(endpoint === undefined ? [] : [endpoint]),
  ]);
}
