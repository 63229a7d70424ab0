import { hash } from 'node:crypto';
import type { Caller } from '../../core/callers/caller.ts';
import type { NoteStore } from '../../core/stores/note-store.ts';
import type { ChatMessage, ToolCall, ToolMessage } from '../../core/chat/chat.ts';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';
import { parseExactly } from '../../shared/json/parse-exactly.ts';
import { hasSignedBlocks, hasThoughts } from '../thoughts/thought-fields.ts';
import { derivedCallId } from './derived-call-id.ts';
import { regroupReturned, type FoundCall, type FoundCalls } from './regroup-returned.ts';
import { findReturned, restoreTurn, type Readers } from './returned-turns.ts';
import { findPlace, placeOf, questionBefore, withPlaces, type CallPlace } from './turn-places.ts';
import { TurnLookup, type TurnReference } from './turn-lookup.ts';

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

/** Where a turn is. `seed`: what identifies the conversation before it; `question`: from `questionBefore`. */
export interface TurnPlace {
  seed: string;
  question: string;
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
  /** By the id of their note: resolves when the places before are stored. */
  readonly #placing = new Map<string, Promise<void>>();
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

  /**
   * The same with ids that follow from the conversation before, where they are not taken, and with the places of the calls: a client that sends other
   * ids, or none, has its turn found by these.
   */
  async saveByPlace(caller: Caller, { seed, question }: TurnPlace, turn: ReturnedTurn): Promise<ToolCall[]> {
    const derived = turn.calls.map((call, position) => ({ ...call, id: derivedCallId(seed, position, call) }));
    const calls = await this.save(caller, { ...turn, calls: derived, messages: withCalls(turn.messages, turn.calls, derived) });
    const places = Map.groupBy(calls.entries(), ([, { name }]) => name);
    for (const [name, named] of places) {
      const added = named.map(([position, call]) => placeOf(call, seed, position));
      await this.#addPlaces(caller, placesIdOf(caller, question, name), { added, store: this.#storeFor(turn) });
    }
    return calls;
  }

  /**
   * Restores the stored turns in a history that is sent to these models; returns it unchanged if there are none. Each turn is restored once, also if the
   * client has split it into a message for each call.
   */
  restore(caller: Caller, messages: ChatMessage[], readers: Readers): MaybePromise<ChatMessage[]> {
    const hasCalls = messages.some((message) => message.role === 'tool' || (message.role === 'assistant' && message.toolCalls.length > 0));
    return hasCalls ? this.#restoreTurns(caller, { messages, readers }) : messages;
  }

  async #restoreTurns(caller: Caller, { messages: sent, readers }: { messages: ChatMessage[]; readers: Readers }): Promise<ChatMessage[]> {
    const found = await this.#findCalls(caller, sent);
    if (found.size === 0) return sent;
    const { messages, turns } = regroupReturned(sent, found);
    const returned = findReturned(messages, turns);
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

  /** What belongs to stored turns, from the last call on: calls, and results without a call. */
  async #findCalls(caller: Caller, messages: readonly ChatMessage[]): Promise<FoundCalls> {
    const lookup = new TurnLookup({ noteIdOf: (id) => noteIdOf(caller, id), findText: (noteId) => this.#findText(noteId) });
    const found = new Map<ToolCall | ToolMessage, FoundCall>();
    for (const { part, index } of partsToFind(messages).slice(-continuationsPerRequest).toReversed()) {
      const match = isCall(part)
        ? await this.#findCall(caller, part, { lookup, messages, index })
        : await lookup.byId(part.toolCallId, part.name);
      if (match !== undefined) found.set(part, match);
    }
    return found;
  }

  /** By the id that the client has sent, by its place if it has sent none of ours, and by the id that follows from the place. */
  async #findCall(
    caller: Caller,
    call: ToolCall,
    { lookup, messages, index }: { lookup: TurnLookup; messages: readonly ChatMessage[]; index: number },
  ): Promise<FoundCall | undefined> {
    const bySentId = await lookup.byId(call.sentId ?? (call.place === undefined ? call.id : undefined), call.name);
    if (bySentId !== undefined || call.place === undefined) return bySentId ?? lookup.byId(call.id, call.name);
    const places = await this.#findPlaces(placesIdOf(caller, questionBefore(messages, index), call.name));
    return lookup.byId(findPlace(places, call)?.id ?? call.id, call.name);
  }

  async #isAnyStored(ids: readonly string[]): Promise<boolean> {
    for (const id of ids) if ((await this.#findText(id)) !== undefined) return true;
    return false;
  }

  async #findText(id: string): Promise<string | undefined> {
    const { fallback, now } = this.#options;
    return (await fallback.find(id, now())) ?? (await this.#findStored(id));
  }

  async #findStored(id: string): Promise<string | undefined> {
    const { store, now, onFault } = this.#options;
    try {
      return await store.find(id, now());
    } catch (error) {
      onFault(error);
      return undefined;
    }
  }

  async #findPlaces(id: string): Promise<CallPlace[]> {
    const { fallback, now } = this.#options;
    const texts = [await this.#findStored(id), await fallback.find(id, now())];
    return texts.flatMap((text) => (text === undefined ? [] : (parseExactly(text) as CallPlace[])));
  }

  /** Those of one note one after the other, or one of two turns that end at the same time would be missing. */
  async #addPlaces(caller: Caller, id: string, { added, store }: { added: readonly CallPlace[]; store: NoteStore }): Promise<void> {
    const before = this.#placing.get(id);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#placing.set(id, promise);
    await before;
    try {
      const { now, fallback, onFault } = this.#options;
      const placeIn = async (into: NoteStore): Promise<void> => {
        const text = await into.find(id, now());
        const places = withPlaces(text === undefined ? [] : (parseExactly(text) as CallPlace[]), added);
        await this.#saveIn(into, caller, [[id, JSON.stringify(places)]]);
      };
      await placeIn(store).catch((error: unknown) => {
        onFault(error);
        return placeIn(fallback);
      });
    } finally {
      if (this.#placing.get(id) === promise) this.#placing.delete(id);
      resolve();
    }
  }

  /** The turn under its first call, and a reference to it under each further one, and under other spellings of their ids. */
  async #store(caller: Caller, turn: ReturnedTurn): Promise<void> {
    const { fallback, onFault } = this.#options;
    const { model, calls, messages } = turn;
    const [first, ...others] = noteIdsOf(caller, calls);
    if (first === undefined) return;
    const spellings = calls.flatMap(({ id }) => spellingsOf(id).map((spelling) => ({ id, noteId: noteIdOf(caller, spelling) })));
    const referenceOf = (reference: TurnReference): string => JSON.stringify(reference);
    const notes: [id: string, value: string][] = [
      [first, JSON.stringify({ model, calls, messages })],
      ...others.map((id): [string, string] => [id, referenceOf({ of: first })]),
      ...spellings.map(({ id, noteId }): [string, string] => [noteId, referenceOf({ of: first, id })]),
    ];
    const into = this.#storeFor(turn);
    await this.#saveIn(into, caller, notes).catch((error: unknown) => {
      if (into === fallback) throw error;
      onFault(error);
      return this.#saveIn(fallback, caller, notes);
    });
  }

  async #saveIn(store: NoteStore, caller: Caller, notes: readonly (readonly [id: string, value: string])[]): Promise<void> {
    const time = this.#options.now();
    const bounds = { time, maxNotes: continuationsLimit, maxCharacters: continuationsCharacters };
    for (const [id, value] of notes) await store.save({ id, callerId: caller.id, value, expires: time + continuationMs }, bounds);
  }

  /** Without results or thoughts there is nothing to restore but the ids, and the model can safely repeat the turn. */
  #storeFor({ messages, returnsThoughts }: ReturnedTurn): NoteStore {
    const { store, fallback } = this.#options;
    const isReturned = returnsThoughts === true && !messages.some(hasSignedBlocks);
    const isWorthStoring = messages.some(({ role }) => role === 'tool') || (!isReturned && messages.some(hasThoughts));
    return isWorthStoring ? store : fallback;
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

/** A part of a history that may belong to a stored turn. `index`: of its message. */
interface PartToFind {
  part: ToolCall | ToolMessage;
  index: number;
}

/** Calls, and results whose calls are not in the history. */
function partsToFind(messages: readonly ChatMessage[]): PartToFind[] {
  const called = new Set<string>();
  return messages.flatMap((message, index): PartToFind[] => {
    if (message.role === 'tool') return called.has(message.toolCallId) ? [] : [{ part: message, index }];
    if (message.role !== 'assistant') return [];
    for (const { id } of message.toolCalls) called.add(id);
    return message.toolCalls.map((part) => ({ part, index }));
  });
}

function isCall(part: ToolCall | ToolMessage): part is ToolCall {
  return !('role' in part);
}

/** The longest ids that programs between client and gateway leave as they are: OpenAI's limits. */
const shortenedIds = [40, 64];

/** How programs change ids that are long, or contain characters that Anthropic rejects. */
function spellingsOf(id: string): string[] {
  const plain = id.replaceAll(/[^\w-]/gu, '_');
  const spellings = [plain, ...[id, plain].flatMap((text) => shortenedIds.map((length) => text.slice(0, length)))];
  return [...new Set(spellings)].filter((spelling) => spelling !== id);
}

/** Where the calls of a function after a question are. */
function placesIdOf(caller: Caller, question: string, name: string): string {
  return hash('sha256', JSON.stringify(['place', caller.id, question, name]), 'base64url');
}

function noteIdsOf(caller: Caller, calls: readonly ToolCall[]): string[] {
  return [...new Set(calls.map(({ id }) => noteIdOf(caller, id)))];
}

/** Hashed, because call ids may contain kilobytes of provider signatures. */
function noteIdOf(caller: Caller, callId: string): string {
  return hash('sha256', JSON.stringify([caller.id, callId]), 'base64url');
}
