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
  characters: number;
  expires: number;
}

/**
 * The caller's history knows only its own calls. When it answers them, the calls and results of the gateway are put back around them,
 * so that the model sees the turn as it was. Kept for an hour, by caller and call ids; the oldest go first when there are too many.
 */
export function createContinuations(now: () => number): Continuations {
  const kept = new Map<string, Kept>();
  let characters = 0;

  function drop(key: string): void {
    characters -= kept.get(key)?.characters ?? 0;
    kept.delete(key);
  }
  function makeRoom(): void {
    for (const [key, { expires }] of kept) {
      const isTooMuch = kept.size > limits.continuations || characters > limits.continuationsCharacters;
      // In the order in which they were kept, which is the order in which they expire.
      if (!isTooMuch && expires >= now()) return;
      drop(key);
    }
  }

  return {
    keep(caller, callerCalls, messages) {
      const key = keyOf(caller, callerCalls);
      const size = messages.reduce((sum, message) => sum + JSON.stringify(message).length, key.length);
      drop(key);
      kept.set(key, { messages, characters: size, expires: now() + limits.continuationMs });
      characters += size;
      makeRoom();
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
