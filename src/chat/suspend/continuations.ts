import { hash } from 'node:crypto';
import type { Caller } from '../../core/callers/caller.ts';
import type { NoteStore } from '../../core/stores/note-store.ts';
import type { AssistantMessage, ChatMessage, ToolCall } from '../../core/chat/chat.ts';
import { isJsonObject } from '../../shared/json/json.ts';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';
import { parseExactly } from '../../shared/json/parse-exactly.ts';
import { hasSignedBlocks, hasThoughts } from '../thoughts/thought-fields.ts';
import { derivedCallId } from './derived-call-id.ts';
import { findReturned, restoreTurn, type Readers, type StoredTurn } from './returned-turns.ts';

export const continuationsLimit = 5_000;
/** How long a turn is stored for the caller's next request. */
export const continuationMs = 60 * 60 * 1000;
export const continuationsCharacters = 64 * 1024 * 1024;
/** Calls, from the end of a history, for which a stored turn is looked up; a chat has fewer in an hour. */
export const continuationsPerRequest = 256;

export interface ContinuationOptions {
  /** Stores turns for an hour, with a share for each caller. */
  store: NoteStore;
  /** In-memory fallback, for turns with nothing to restore and while the store cannot be written: without a stored turn a model would repeat its calls. */
  fallback: NoteStore;
  /** Milliseconds since 1970. */
  now: () => number;
  newCallId: () => string;
  onFault: (error: unknown) => void;
}

/** A turn that ends with calls of the caller's functions. */
export interface ReturnedTurn {
  /** The model that wrote it. */
  model: string;
  /** Those of the caller's functions. */
  calls: readonly ToolCall[];
  /** What the run has added to the conversation, with this turn at its end. */
  messages: readonly ChatMessage[];
  /** The client returns what the model wants back, so that need not be stored. */
  returnsThoughts?: boolean | undefined;
}

/**
 * The parts of turns that the history of a client lacks when it returns the results of its own functions: the gateway's calls and results, and what the
 * model wants back with its calls. Stored for an hour by caller and call id, across restarts. No method rejects.
 */
export class Continuations {
  readonly #options: ContinuationOptions;
  /** Calls that are being stored: a second turn with the same ids must not replace the first. */
  readonly #arriving = new Set<string>();

  constructor(options: ContinuationOptions) {
    this.#options = options;
  }

  /**
   * Stores a turn, and returns the caller's calls as they are to be returned to the client. Some backends restart their call ids in every turn; if
   * one of these ids belongs to another stored turn, the calls get new ones, or a chat could continue with another one's results.
   */
  async save(caller: Caller, turn: ReturnedTurn): Promise<ToolCall[]> {
    const ids = noteIdsOf(caller, turn.calls);
    const arriving = ids.filter((id) => !this.#arriving.has(id));
    for (const id of arriving) this.#arriving.add(id);
    try {
      const isTaken = arriving.length < ids.length || (await this.#isAnyStored(ids));
      const calls = isTaken ? turn.calls.map((call) => ({ ...call, id: this.#options.newCallId() })) : [...turn.calls];
      await this.#store(caller, isTaken ? { ...turn, calls, messages: withCalls(turn.messages, turn.calls, calls) } : turn);
      return calls;
    } finally {
      for (const id of arriving) this.#arriving.delete(id);
    }
  }

  /** The same with ids that are derived from the seed. The same calls of the same conversation replace the turn that was stored before. */
  async saveDerived(caller: Caller, seed: string, turn: ReturnedTurn): Promise<ToolCall[]> {
    const calls = turn.calls.map((call, position) => ({ ...call, id: derivedCallId(seed, position, call) }));
    for (const id of noteIdsOf(caller, calls)) await this.#options.fallback.delete(id);
    await this.#store(caller, { ...turn, calls, messages: withCalls(turn.messages, turn.calls, calls) });
    return calls;
  }

  /**
   * Restores the stored turns in a history that is sent to these models; returns it unchanged if there are none. Each turn is restored once, also if the
   * client has split it into a message for each call.
   */
  restore(caller: Caller, messages: ChatMessage[], readers: Readers): MaybePromise<ChatMessage[]> {
    const turns = messages.filter((message) => message.role === 'assistant' && message.toolCalls.length > 0) as AssistantMessage[];
    return turns.length === 0 ? messages : this.#restoreTurns(caller, { messages, turns, readers });
  }

  async #restoreTurns(
    caller: Caller,
    { messages, turns, readers }: { messages: ChatMessage[]; turns: readonly AssistantMessage[]; readers: Readers },
  ): Promise<ChatMessage[]> {
    const found = await this.#findTurns(caller, turns);
    if (found.size === 0) return messages;
    const returned = findReturned(messages, found);
    let restored: ChatMessage[] = [];
    for (let index = 0; index < messages.length;) {
      const turn = returned.get(index);
      const message = messages[index];
      if (turn !== undefined) restored = restoreTurn(restored, turn, readers);
      else if (message !== undefined) restored.push(message);
      index += turn?.messages.length ?? 1;
    }
    return restored;
  }

  /** The stored turns of calls, from the last call on. */
  async #findTurns(caller: Caller, turns: readonly AssistantMessage[]): Promise<ReadonlyMap<ToolCall, StoredTurn>> {
    const known = new Map<string, StoredTurn | undefined>();
    const found = new Map<ToolCall, StoredTurn>();
    const calls = turns.flatMap(({ toolCalls }) => toolCalls).slice(-continuationsPerRequest);
    for (const call of calls.toReversed()) {
      for (const id of idsOf(call)) {
        const turn = known.has(id) ? known.get(id) : await this.#find(noteIdOf(caller, id));
        for (const other of turn?.calls ?? []) known.set(other.id, turn);
        known.set(id, turn);
        // With a backend that numbers its calls, an id may refer to a turn that was never stored.
        if (turn?.calls.some((stored) => stored.id === id && stored.name === call.name) === true && !found.has(call)) found.set(call, turn);
      }
    }
    return found;
  }

  async #isAnyStored(ids: readonly string[]): Promise<boolean> {
    for (const id of ids) if ((await this.#find(id)) !== undefined) return true;
    return false;
  }

  /** By the id of the note of any of its calls. */
  async #find(id: string): Promise<StoredTurn | undefined> {
    const value = await this.#findNote(id);
    if (!isJsonObject(value) || typeof value['of'] !== 'string') return value as StoredTurn | undefined;
    return (await this.#findNote(value['of'])) as StoredTurn | undefined;
  }

  async #findNote(id: string): Promise<unknown> {
    const { fallback, store, now, onFault } = this.#options;
    let value = await fallback.find(id, now());
    try {
      value ??= await store.find(id, now());
    } catch (error) {
      onFault(error);
    }
    return value === undefined ? undefined : parseExactly(value);
  }

  /** The turn under its first call, and a reference to it under each further one. */
  async #store(caller: Caller, { model, calls, messages, returnsThoughts }: ReturnedTurn): Promise<void> {
    const { store, fallback, now, onFault } = this.#options;
    const time = now();
    const [first, ...others] = noteIdsOf(caller, calls);
    if (first === undefined) return;
    const bounds = { time, maxNotes: continuationsLimit, maxCharacters: continuationsCharacters };
    const saveIn = async (into: NoteStore): Promise<void> => {
      const note = { callerId: caller.id, expires: time + continuationMs };
      await into.save({ ...note, id: first, value: JSON.stringify({ model, calls, messages }) }, bounds);
      for (const id of others) await into.save({ ...note, id, value: JSON.stringify({ of: first }) }, bounds);
    };
    // Without results or thoughts there is nothing to restore but the ids, and the model can safely repeat the turn.
    const isReturned = returnsThoughts === true && !messages.some(hasSignedBlocks);
    const isWorthStoring = messages.some(({ role }) => role === 'tool') || (!isReturned && messages.some(hasThoughts));
    if (!isWorthStoring) return saveIn(fallback);
    try {
      await saveIn(store);
    } catch (error) {
      onFault(error);
      await saveIn(fallback);
    }
  }
}

/** Replaces the caller's calls, which are in the last turn, without results. Some backends give several calls of a turn the same id. */
export function withCalls(messages: readonly ChatMessage[], old: readonly ToolCall[], calls: readonly ToolCall[]): ChatMessage[] {
  const last = messages.findLastIndex((message) => message.role === 'assistant');
  const remaining = [...old.entries()];
  const replacementOf = ({ id, name }: ToolCall): ToolCall | undefined => {
    const found = remaining.findIndex(([, call]) => call.id === id && call.name === name);
    const [taken] = found < 0 ? [] : remaining.splice(found, 1);
    return taken && calls[taken[0]];
  };
  return messages.map((message, index) => {
    if (index !== last || message.role !== 'assistant') return message;
    return { ...message, toolCalls: message.toolCalls.map((call) => replacementOf(call) ?? call) };
  });
}

/** The id that a client has sent for a call, if it is not the one that the gateway has derived, comes first. */
function idsOf({ id, sentId }: ToolCall): string[] {
  return sentId === undefined ? [id] : [sentId, id];
}

function noteIdsOf(caller: Caller, calls: readonly ToolCall[]): string[] {
  return [...new Set(calls.map(({ id }) => noteIdOf(caller, id)))];
}

/** Hashed, because call ids may contain kilobytes of provider signatures. */
function noteIdOf(caller: Caller, callId: string): string {
  return hash('sha256', JSON.stringify([caller.id, callId]), 'base64url');
}
