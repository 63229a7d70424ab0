import type { Caller } from '../core/caller.ts';
import type { ChatMessage, ToolCall } from '../core/chat.ts';
import { limits } from '../core/limits.ts';

/** What the gateway executed in a run that ended with calls to the caller's own functions. */
export interface Continuations {
  /**
   * The calls as they are to be handed over. Some backends count their ids anew in every turn: where these ids stand for another turn that is kept,
   * the calls get ids of their own, or one chat would go on with the results of another.
   */
  keep(caller: Caller, callerCalls: readonly ToolCall[], messages: readonly ChatMessage[]): ToolCall[];
  /** The history with the kept messages put back; as it was sent where nothing is kept. */
  restore(caller: Caller, messages: readonly ChatMessage[]): ChatMessage[];
}

interface Kept {
  calls: readonly ToolCall[];
  messages: readonly ChatMessage[];
  characters: number;
  expires: number;
}

/**
 * The caller's history knows only its own calls. When it answers them, the calls and results of the gateway are put back around them,
 * so that the model sees the turn as it was. Kept for an hour, by caller and call ids; the oldest go first when there are too many.
 */
export function createContinuations(now: () => number, newCallId: () => string): Continuations {
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
    keep(caller, callerCalls, given) {
      const isTaken = kept.has(keyOf(caller, callerCalls));
      const calls = isTaken ? callerCalls.map((call) => ({ ...call, id: newCallId() })) : [...callerCalls];
      const messages = isTaken ? withCalls(given, callerCalls, calls) : given;
      const key = keyOf(caller, calls);
      const size = messages.reduce((sum, message) => sum + JSON.stringify(message).length, key.length);
      kept.set(key, { calls, messages, characters: size, expires: now() + limits.continuationMs });
      characters += size;
      makeRoom();
      return calls;
    },
    restore(caller, messages) {
      return messages.flatMap((message) => {
        if (message.role !== 'assistant' || message.toolCalls.length === 0) return [message];
        const found = kept.get(keyOf(caller, message.toolCalls));
        return found === undefined || found.expires < now() || !isOfSameNames(found.calls, message.toolCalls)
          ? [message]
          : [...found.messages];
      });
    },
  };
}

/** The caller's calls stand in the last turn, where nothing has answered them. */
function withCalls(messages: readonly ChatMessage[], old: readonly ToolCall[], calls: readonly ToolCall[]): ChatMessage[] {
  const last = messages.findLastIndex((message) => message.role === 'assistant');
  return messages.map((message, index) => {
    if (index !== last || message.role !== 'assistant') return message;
    return { ...message, toolCalls: message.toolCalls.map((call) => calls[old.findIndex(({ id }) => id === call.id)] ?? call) };
  });
}

/** After a restart an id may stand for a turn that was never kept. */
function isOfSameNames(kept: readonly ToolCall[], sent: readonly ToolCall[]): boolean {
  return kept.every(({ id, name }) => sent.some((call) => call.id === id && call.name === name));
}

function keyOf(caller: Caller, calls: readonly ToolCall[]): string {
  return JSON.stringify([caller.id, ...calls.map((call) => call.id).toSorted()]);
}
