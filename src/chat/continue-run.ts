import type { Caller } from '../core/caller.ts';
import type { ChatMessage, ToolCall } from '../core/chat.ts';
import { limits } from '../core/limits.ts';

/** What the gateway executed in a run that ended with calls to the caller's own functions. */
export interface Continuations {
  keep(caller: Caller, callerCalls: readonly ToolCall[], messages: readonly ChatMessage[]): void;
  /** The history with the kept messages put back; as it was sent where nothing is kept. */
  restore(caller: Caller, messages: readonly ChatMessage[]): ChatMessage[];
}

interface Kept {
  messages: readonly ChatMessage[];
  expires: number;
}

/**
 * The caller's history knows only its own calls. When it answers them, the calls and results of the gateway are put back around them,
 * so that the model sees the turn as it was. Kept for an hour, by caller and call ids; the oldest go first when there are too many.
 */
export function createContinuations(now: () => number): Continuations {
  const kept = new Map<string, Kept>();
  return {
    keep(caller, callerCalls, messages) {
      const oldest = kept.size >= limits.continuations ? kept.keys().next() : undefined;
      if (oldest?.done === false) kept.delete(oldest.value);
      kept.set(keyOf(caller, callerCalls), { messages, expires: now() + limits.continuationMs });
    },
    restore(caller, messages) {
      return messages.flatMap((message) => {
        if (message.role !== 'assistant' || message.toolCalls.length === 0) return [message];
        const found = kept.get(keyOf(caller, message.toolCalls));
        return found === undefined || found.expires < now() ? [message] : [...found.messages];
      });
    },
  };
}

function keyOf(caller: Caller, calls: readonly ToolCall[]): string {
  return JSON.stringify([caller.id, ...calls.map((call) => call.id).toSorted()]);
}
