import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { forAnotherModel } from '../messages/round-messages.ts';
import { derivedCallId } from './derived-call-id.ts';
import { appendStored } from './append-stored.ts';
import type { Caller } from '../../core/callers/caller.ts';
import type { NoteStore } from '../../core/stores/note-store.ts';
import type { ChatMessage, ToolCall } from '../../core/chat/chat.ts';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';
import { parseExactly } from '../../shared/json/parse-exactly.ts';

export const continuationsLimit = 1_000;
/** How long results of calls that ran beside the caller's own functions are stored for the caller's next request. */
export const continuationMs = 60 * 60 * 1000;
export const continuationsCharacters = 64 * 1024 * 1024;
/** Turns with calls, from the end of a history, for which stored results are looked up; a chat has fewer in an hour. */
export const continuationsPerRequest = 256;

export interface ContinuationOptions {
  /** Stores turns for an hour, with a share for each caller. */
  store: NoteStore;
  /** In-memory fallback, for turns without results and while the store cannot be written: without a stored turn a model would repeat its calls. */
  fallback: NoteStore;
  /** Milliseconds since 1970. */
  now: () => number;
  newCallId: () => string;
  onFault: (error: unknown) => void;
}

/** A turn with its results, stored as JSON. `calls`: those of the caller's functions, as the client got them. */
interface StoredTurn {
  calls: readonly ToolCall[];
  messages: ChatMessage[];
}

/**
 * The gateway's calls and results of runs that ended with calls of the caller's functions. The history of the client has only the latter. When it
 * returns their results, the gateway's calls and results are restored around them, so that the model sees the complete turn. Stored for an hour by
 * caller and call ids, across restarts. No method rejects.
 */
export class Continuations {
  readonly #options: ContinuationOptions;
  /** Turns that are being stored: a second one with the same ids must not replace the first. */
  readonly #arriving = new Set<string>();

  constructor(options: ContinuationOptions) {
    this.#options = options;
  }

  /**
   * Stores a turn, and returns the caller's calls as they are to be returned to the client. Some backends restart their call ids in every turn; if
   * these ids belong to another stored turn, the calls get new ones, or a chat could continue with another one's results.
   */
  async save(caller: Caller, callerCalls: readonly ToolCall[], messages: readonly ChatMessage[]): Promise<ToolCall[]> {
    const id = idOf(caller, callerCalls);
    const isArriving = this.#arriving.has(id);
    this.#arriving.add(id);
    try {
      const isTaken = isArriving || (await this.#find(id)) !== undefined;
      const calls = isTaken ? callerCalls.map((call) => ({ ...call, id: this.#options.newCallId() })) : [...callerCalls];
      await this.#store(caller, { calls, messages: isTaken ? withCalls(messages, callerCalls, calls) : [...messages] });
      return calls;
    } finally {
      if (!isArriving) this.#arriving.delete(id);
    }
  }

  /** The same with ids that are derived from the seed. The same calls of the same conversation replace the turn that was stored before. */
  async saveDerived(
    caller: Caller,
    seed: string,
    { calls: callerCalls, messages }: { calls: readonly ToolCall[]; messages: readonly ChatMessage[] },
  ): Promise<ToolCall[]> {
    const calls = callerCalls.map((call, position) => ({ ...call, id: derivedCallId(seed, position, call) }));
    await this.#options.fallback.delete(idOf(caller, calls));
    await this.#store(caller, { calls, messages: withCalls(messages, callerCalls, calls) });
    return calls;
  }

  /** Restores the stored messages in a history; returns it unchanged if there are none. */
  restore(caller: Caller, messages: ChatMessage[]): MaybePromise<ChatMessage[]> {
    const turns = messages.filter((message) => message.role === 'assistant' && message.toolCalls.length > 0);
    return turns.length === 0 ? messages : this.#restoreTurns(caller, messages, new Set(turns.slice(-continuationsPerRequest)));
  }

  async #restoreTurns(caller: Caller, messages: readonly ChatMessage[], turns: ReadonlySet<ChatMessage>): Promise<ChatMessage[]> {
    let restored: ChatMessage[] = [];
    for (const message of messages) {
      const sent = message.role === 'assistant' && turns.has(message) ? message.toolCalls : undefined;
      const found = sent && (await this.#find(idOf(caller, sent)));
      if (found !== undefined && haveSameNames(found.calls, sent ?? []) && !isComplete([...restored, message], found.messages))
        restored = appendStored(restored, found.messages);
      else restored.push(message);
    }
    return restored;
  }

  async #find(id: string): Promise<StoredTurn | undefined> {
    const { fallback, now } = this.#options;
    const value = (await fallback.find(id, now())) ?? (await this.#findInStore(id));
    return value === undefined ? undefined : (parseExactly(value) as StoredTurn);
  }

  async #findInStore(id: string): Promise<string | undefined> {
    const { store, now, onFault } = this.#options;
    try {
      return await store.find(id, now());
    } catch (error) {
      onFault(error);
      return undefined;
    }
  }

  async #store(caller: Caller, turn: StoredTurn): Promise<void> {
    const { store, fallback, now, onFault } = this.#options;
    const time = now();
    const note = { id: idOf(caller, turn.calls), callerId: caller.id, value: JSON.stringify(turn), expires: time + continuationMs };
    const bounds = { time, maxNotes: continuationsLimit, maxCharacters: continuationsCharacters };
    // If the gateway ran no calls in this turn, the model can safely repeat it, so it is not worth a database write.
    if (!turn.messages.some(({ role }) => role === 'tool')) return fallback.save(note, bounds);
    try {
      await store.save(note, bounds);
    } catch (error) {
      onFault(error);
      await fallback.save(note, bounds);
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

/** A conversation that the gateway has stored itself has all calls already. */
function isComplete(history: readonly ChatMessage[], turn: readonly ChatMessage[]): boolean {
  return isDeepStrictEqual(forAnotherModel(history.slice(-turn.length)), forAnotherModel(turn));
}

/** With a backend that numbers its calls, an id may refer to a turn that was never stored. */
function haveSameNames(stored: readonly ToolCall[], sent: readonly ToolCall[]): boolean {
  return stored.every(({ id, name }) => sent.some((call) => call.id === id && call.name === name));
}

/** Hashed, because call ids may contain kilobytes of provider signatures. */
function idOf(caller: Caller, calls: readonly ToolCall[]): string {
  return hash('sha256', JSON.stringify([caller.id, ...calls.map((call) => call.id).toSorted()]), 'base64url');
}
