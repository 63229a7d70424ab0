import { createHash } from 'node:crypto';
import type { NoteStore } from '../../../core/note-store.ts';
import { limits } from '../../../core/limits.ts';
import type { RunContext } from '../../../core/run.ts';
import { FairMap } from '../../../shared/fair-map.ts';
import type { JsonValue } from '../../../shared/json.ts';
import type { FunctionState } from '../define/function-definition.ts';
import { toJson } from '../define/return-values.ts';

/** The state that functions keep, by caller and chat. */
export interface FunctionStates {
  /** Opens the state of a call's chat. Nothing is saved before `commit`. */
  open(run: RunContext): Promise<OpenedState>;
}

export interface StateStorage {
  store: NoteStore;
  now: () => number;
  /** The store failed: functions continue with what is in memory. */
  onFault: (error: unknown) => void;
}

export interface OpenedState extends FunctionState {
  /** Saves the changes. Of two concurrent calls the later one wins, key by key. Resolves when the state is durable, if it is stored at all. */
  commit(): Promise<void>;
  /** The saved values, for a worker thread, which cannot read single keys. */
  snapshot(): Record<string, JsonValue>;
}

/** By key, the value as JSON text. */
type Entries = ReadonlyMap<string, string>;
/** Undefined removes the key. */
type Changes = ReadonlyMap<string, JsonValue | undefined>;

const bounds = { maxNotes: limits.stateChats, maxCharacters: limits.stateLastingCharacters };
const noEntries: Entries = new Map();

/** Without `storage`, state is lost when the process ends. A run without a chat has its own state, which is dropped with the run. */
export function createFunctionStates(storage?: StateStorage): FunctionStates {
  const chats = new FairMap<Entries>({ entries: limits.stateChats, characters: limits.stateTotalCharacters });

  function put(chat: string, owner: string, entries: Entries): void {
    chats.set(chat, { owner, value: entries, characters: sizeOf(entries) });
  }

  /** Loads what an earlier process saved, unless this process has saved something meanwhile. */
  async function load(chat: string, owner: string, { store, now, onFault }: StateStorage): Promise<void> {
    const text = await store.find(idOf(chat), now()).catch(onFault);
    if (!chats.has(chat)) put(chat, owner, new Map(text === undefined ? [] : (JSON.parse(text) as [string, string][])));
  }

  async function save(chat: string, callerId: string, { store, now, onFault }: StateStorage): Promise<void> {
    const value = JSON.stringify([...(chats.get(chat) ?? [])]);
    await store.keep({ id: idOf(chat), callerId, value, expires: now() + limits.stateMs }, { ...bounds, time: now() }).catch(onFault);
  }

  return {
    async open({ caller, chatId, runId }) {
      const chat = JSON.stringify([caller.id, chatId ?? { run: runId }]);
      const chatStorage = chatId === undefined ? undefined : storage;
      if (chatStorage !== undefined && !chats.has(chat)) await load(chat, caller.id, chatStorage);
      const changes = new Map<string, JsonValue | undefined>();
      const saved = (): Entries => chats.get(chat) ?? noEntries;
      return {
        get(key) {
          if (changes.has(key)) return structuredClone(changes.get(key));
          const text = saved().get(key);
          return text === undefined ? undefined : (JSON.parse(text) as JsonValue);
        },
        set(key, value) {
          const json = value === undefined ? undefined : toJson(value);
          requireRoom(withChanges(saved(), new Map([...changes, [key, json]])));
          changes.set(key, json);
        },
        async commit() {
          if (changes.size === 0) return;
          put(chat, caller.id, withChanges(saved(), changes));
          changes.clear();
          if (chatStorage !== undefined) await save(chat, caller.id, chatStorage);
        },
        snapshot: () => Object.fromEntries(Array.from(saved(), ([key, text]) => [key, JSON.parse(text) as JsonValue])),
      };
    },
  };
}

/** A hash, so that the id has a fixed length however long the chat id is. */
function idOf(chat: string): string {
  return createHash('sha256').update(chat).digest('base64');
}

function withChanges(saved: Entries, changes: Changes): Entries {
  const entries = new Map(saved);
  for (const [key, value] of changes) {
    if (value === undefined) entries.delete(key);
    else entries.set(key, JSON.stringify(value));
  }
  return entries;
}

function sizeOf(entries: Entries): number {
  let sum = 0;
  for (const [key, text] of entries) sum += key.length + text.length;
  return sum;
}

/** @throws Error that names the limit */
function requireRoom(entries: Entries): void {
  if (entries.size > limits.stateKeys)
    throw new RangeError(`state.set: a chat may have at most ${limits.stateKeys} keys; remove others by setting them to undefined.`);
  if (sizeOf(entries) > limits.stateCharacters)
    throw new RangeError(`state.set: a chat may have at most ${limits.stateCharacters} characters; put the rest into a store of your own.`);
}
