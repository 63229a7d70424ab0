import { createHash } from 'node:crypto';
import type { ChatMemory } from '../../../core/chat-memory.ts';
import type { JsonValue } from '../../../shared/json.ts';
import { limits } from '../../../core/limits.ts';
import type { RunContext } from '../../../core/run.ts';
import { FairMap } from '../../../shared/fair-map.ts';
import type { FunctionState } from '../define/function-definition.ts';
import { toJson } from '../define/return-values.ts';

/** What functions remember of chats, by caller and chat. */
export interface ChatStates {
  /** A call's view of its chat. Nothing is kept before `commit`. */
  open(run: RunContext): Promise<OpenedState>;
}

export interface LastingStates {
  memory: ChatMemory;
  now: () => number;
  /** Told where the memory fails: functions go on with what this process knows. */
  onFault: (error: unknown) => void;
}

export interface OpenedState extends FunctionState {
  /** Keeps what was set; of two calls at a time the later one stands, key by key. Resolves when it is durable, where it can be. */
  commit(): Promise<void>;
  /** What is set and not yet kept. */
  changes(): Map<string, JsonValue | undefined>;
  /** What is kept, for a thread that has no way to ask. */
  snapshot(): Record<string, JsonValue>;
}

type Entries = Map<string, string>;

const bounds = { maxNotes: limits.stateChats, maxCharacters: limits.stateLastingCharacters };

/** Without `lasting` they end with this process. A run without a chat has a state of its own, which never outlives it. */
export function createChatStates(lasting?: LastingStates): ChatStates {
  const chats = new FairMap<Entries>({ entries: limits.stateChats, characters: limits.stateTotalCharacters });

  /** What an earlier process has kept; what this one has kept meanwhile goes first. */
  async function load(chat: string, owner: string, { memory, now, onFault }: LastingStates): Promise<void> {
    const text = await memory.find(idOf(chat), now()).catch(onFault);
    if (!chats.has(chat)) put(chat, owner, new Map(text === undefined ? [] : (JSON.parse(text) as [string, string][])));
  }

  async function save(chat: string, callerId: string, { memory, now, onFault }: LastingStates): Promise<void> {
    const value = JSON.stringify([...(chats.get(chat) ?? [])]);
    await memory.keep({ id: idOf(chat), callerId, value, expires: now() + limits.stateMs }, { ...bounds, time: now() }).catch(onFault);
  }

  function put(chat: string, owner: string, entries: Entries): void {
    chats.set(chat, { owner, value: entries, characters: sizeOf(entries) });
  }

  function keep(chat: string, owner: string, changed: ReadonlyMap<string, JsonValue | undefined>): void {
    const entries = new Map(chats.get(chat));
    for (const [key, value] of changed) {
      if (value === undefined) entries.delete(key);
      else entries.set(key, JSON.stringify(value));
    }
    put(chat, owner, entries);
  }

  return {
    async open(run) {
      const chat = JSON.stringify([run.caller.id, run.chatId === undefined ? { run: run.runId } : run.chatId]);
      const isLasting = lasting !== undefined && run.chatId !== undefined;
      if (isLasting && !chats.has(chat)) await load(chat, run.caller.id, lasting);
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
        async commit() {
          if (changed.size === 0) return;
          keep(chat, run.caller.id, changed);
          changed.clear();
          if (isLasting) await save(chat, run.caller.id, lasting);
        },
        changes: () => changed,
        snapshot: () => Object.fromEntries(Array.from(chats.get(chat) ?? [], ([key, text]) => [key, JSON.parse(text) as JsonValue])),
      };
    },
  };
}

/** Of one length, however long the name of a chat is. */
function idOf(chat: string): string {
  return createHash('sha256').update(chat).digest('base64');
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
