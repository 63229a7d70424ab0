import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { NoteStore } from '../../../core/stores/note-store.ts';
import { limits } from '../../../core/limits.ts';
import { conversationOf, type RunContext } from '../../../core/runs/run.ts';
import { FairMap } from '../../../shared/fairness/fair-map.ts';
import type { PlainJsonValue as JsonValue } from '../../../shared/json/json.ts';
import type { FunctionState, StateUpdate } from '../define/function-definition.ts';
import { toStateUpdate } from '../define/state-update.ts';

/** Chats with state in memory; the least recently used are evicted first. */
export const stateChats = 10_000;

export const stateTotalCharacters = 32 * 1024 * 1024;
/** Stored state of all chats, encrypted. */
export const stateLastingCharacters = 64 * 1024 * 1024;
/** How long state is stored after its last write: as long as a stored chat. */
export const stateMs = 30 * 24 * 60 * 60 * 1000;

/** The state that functions keep, by caller and conversation. */
export interface FunctionStates {
  /** Reads the state of a run's chat as it is now; what is saved later is seen as well. */
  read(run: RunContext): Promise<Pick<FunctionState, 'get'>>;
  /** Opens the state for a call, which disposes of it at its end. Nothing is saved before `commit`. */
  open(run: RunContext): Promise<OpenedState>;
}

interface StateStorage {
  store: NoteStore;
  now: () => number;
  /** The store failed: functions continue with what is in memory. */
  onFault: (error: unknown) => void;
}

export interface OpenedState extends FunctionState {
  /**
   * Saves the changes of this call key by key, and what is an update by what the key holds by now: another call that ran beside it may have saved
   * meanwhile. Resolves when the state is durable, if it is stored at all.
   */
  commit(): Promise<void>;
  /** The saved values, for a worker thread, which cannot read single keys. */
  snapshot(): Record<string, JsonValue>;
  [Symbol.dispose](): void;
}

/** By key, the value as JSON text. */
type Entries = ReadonlyMap<string, string>;
/** How a call changes the saved value of a key; undefined removes the key. */
type Changes = ReadonlyMap<string, StateUpdate>;

const bounds = { maxNotes: stateChats, maxCharacters: stateLastingCharacters };
const noEntries: Entries = new Map();

/** Without `storage`, state is lost when the process ends. A run without a conversation has its own state, which is dropped with the run. */
export function createFunctionStates(storage?: StateStorage): FunctionStates {
  const chats = new FairMap<Entries>({ entries: stateChats, characters: stateTotalCharacters });
  /** How many calls have each chat's state open. */
  const openCalls = new Map<string, number>();

  function put(chat: string, owner: string, entries: Entries): void {
    chats.set(chat, { owner, value: entries, characters: sizeOf(entries) });
  }

  /** Loads what an earlier process saved, unless this process has saved something meanwhile. */
  async function load({ chat, owner, chatStorage }: StateAddress): Promise<void> {
    if (chatStorage === undefined || chats.has(chat)) return;
    const { store, now, onFault } = chatStorage;
    const text = await store.find(idOf(chat), now()).catch(onFault);
    if (!chats.has(chat)) put(chat, owner, new Map(text === undefined ? [] : (JSON.parse(text) as [string, string][])));
  }

  async function save({ chat, owner, chatStorage }: StateAddress): Promise<void> {
    if (chatStorage === undefined) return;
    const { store, now, onFault } = chatStorage;
    const value = JSON.stringify([...(chats.get(chat) ?? [])]);
    const note = { id: idOf(chat), callerId: owner, value, expires: now() + stateMs };
    await store.save(note, { ...bounds, time: now() }).catch(onFault);
  }

  interface StateAddress {
    chat: string;
    owner: string;
    chatStorage: StateStorage | undefined;
  }

  function addressOf(run: RunContext): StateAddress {
    const conversation = conversationOf(run);
    const chat = JSON.stringify([run.caller.id, conversation ?? { run: run.runId }]);
    return { chat, owner: run.caller.id, chatStorage: conversation === undefined ? undefined : storage };
  }

  /** The saved state, always as it is now. If the chat's memory was given up meanwhile, as it was before. */
  function follow(chat: string): () => Entries {
    let latest = noEntries;
    return () => (latest = chats.get(chat) ?? latest);
  }

  function enter(chat: string): () => void {
    openCalls.set(chat, (openCalls.get(chat) ?? 0) + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      const others = (openCalls.get(chat) ?? 1) - 1;
      if (others === 0) openCalls.delete(chat);
      else openCalls.set(chat, others);
    };
  }

  return {
    async read(run) {
      const address = addressOf(run);
      await load(address);
      const saved = follow(address.chat);
      return { get: (key) => valueOf(saved().get(key)) };
    },

    async open(run) {
      const address = addressOf(run);
      const { chat, owner } = address;
      const isAlone = !openCalls.has(chat);
      const leave = enter(chat);
      await load(address);
      // Calls that run side by side begin one after the other, so that one which waits for nothing has saved its state before the next one reads it.
      if (!isAlone) await nextTurn();
      const changes = new Map<string, StateUpdate>();
      const saved = follow(chat);
      saved();
      return {
        get(key) {
          const value = valueOf(saved().get(key));
          const update = changes.get(key);
          return update === undefined ? value : update(value);
        },
        set(key, change) {
          const before = changes.get(key);
          const update = toStateUpdate(change, before);
          requireRoom(withChanges(saved(), new Map([...changes, [key, update]])));
          changes.set(key, update);
        },
        async commit() {
          if (changes.size === 0) return;
          await load(address);
          put(chat, owner, withChanges(saved(), changes));
          changes.clear();
          await save(address);
        },
        snapshot: () => Object.fromEntries(Array.from(saved(), ([key, text]) => [key, JSON.parse(text) as JsonValue])),
        [Symbol.dispose]: leave,
      };
    },
  };
}

function valueOf(text: string | undefined): JsonValue | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as JsonValue);
}

/** A hash, so that the id has a fixed length however long the chat id is. */
function idOf(chat: string): string {
  return createHash('sha256').update(chat).digest('base64');
}

function withChanges(saved: Entries, changes: Changes): Entries {
  const entries = new Map(saved);
  for (const [key, update] of changes) {
    const value = update(valueOf(saved.get(key)));
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
