import type { JsonValue } from '../../core/json.ts';
import { limits } from '../../core/limits.ts';
import type { RunContext } from '../../core/run.ts';
import type { FunctionState } from './function-definition.ts';
import { toJson } from './return-values.ts';

/** What functions remember of chats: in memory, by caller and chat. */
export interface ChatStates {
  /** A call's view of its chat. Nothing is kept before `commit`. */
  open(run: RunContext): OpenedState;
}

export interface OpenedState extends FunctionState {
  /** Keeps what was set; of two calls at a time the later one stands, key by key. */
  commit(): void;
  /** What is set and not yet kept. */
  changes(): Map<string, JsonValue | undefined>;
  /** What is kept, for a thread that has no way to ask. */
  snapshot(): Record<string, JsonValue>;
}

type Entries = Map<string, string>;

export function createChatStates(): ChatStates {
  const chats = new Map<string, Entries>();
  let characters = 0;

  function keep(chat: string, changed: ReadonlyMap<string, JsonValue | undefined>): void {
    const entries = chats.get(chat) ?? new Map<string, string>();
    characters -= sizeOf(entries);
    for (const [key, value] of changed) {
      if (value === undefined) entries.delete(key);
      else entries.set(key, JSON.stringify(value));
    }
    // Last used stands last.
    chats.delete(chat);
    if (entries.size > 0) chats.set(chat, entries);
    characters += sizeOf(entries);
    for (const [oldest, forgotten] of chats) {
      if (chats.size <= limits.stateChats && characters <= limits.stateTotalCharacters) return;
      chats.delete(oldest);
      characters -= sizeOf(forgotten);
    }
  }

  return {
    open(run) {
      const chat = JSON.stringify([run.caller.id, run.chatId === undefined ? { run: run.runId } : run.chatId]);
      const changed = new Map<string, JsonValue | undefined>();
      function get(key: string): JsonValue | undefined {
        if (changed.has(key)) return structuredClone(changed.get(key));
        const kept = chats.get(chat)?.get(key);
        return kept === undefined ? undefined : (JSON.parse(kept) as JsonValue);
      }
      return {
        get,
        set(key, value) {
          const json = value === undefined ? undefined : toJson(value);
          requireRoom(chats.get(chat), new Map([...changed, [key, json]]));
          changed.set(key, json);
        },
        commit() {
          if (changed.size > 0) keep(chat, changed);
          changed.clear();
        },
        changes: () => changed,
        snapshot: () => Object.fromEntries(Array.from(chats.get(chat) ?? [], ([key, text]) => [key, JSON.parse(text) as JsonValue])),
      };
    },
  };
}

function sizeOf(entries: Entries): number {
  let sum = 0;
  for (const [key, text] of entries) sum += key.length + text.length;
  return sum;
}

/** @throws Error that names the limit */
function requireRoom(kept: Entries | undefined, changed: ReadonlyMap<string, JsonValue | undefined>): void {
  const entries = new Map(kept);
  for (const [key, value] of changed) {
    if (value === undefined) entries.delete(key);
    else entries.set(key, JSON.stringify(value));
  }
  if (entries.size > limits.stateKeys)
    throw new RangeError(`state.set: at most ${limits.stateKeys} keys are kept for a chat; take others away with undefined.`);
  if (sizeOf(entries) > limits.stateCharacters) {
    throw new RangeError(
      `state.set: at most ${limits.stateCharacters} characters are kept for a chat; keep the rest in a store of your own.`,
    );
  }
}
