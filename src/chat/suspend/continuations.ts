import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { forAnotherModel } from '../messages/round-messages.ts';
import { derivedCallId } from './derived-call-id.ts';
import { appendKept } from './append-kept.ts';
import type { Caller } from '../../core/callers/caller.ts';
import type { NoteStore } from '../../core/stores/note-store.ts';
import type { ChatMessage, ToolCall } from '../../core/chat/chat.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import { parseExactly } from '../../shared/parse-exactly.ts';

/** How long results of calls made alongside a caller's own functions are kept for the caller's next request. */
export const continuationsLimit = 1_000;

/** How long results of calls made alongside a caller's own functions are kept for the caller's next request. */
export const continuationMs = 60 * 60 * 1000;
export const continuationsCharacters = 64 * 1024 * 1024;
/** Turns with calls, from the end of a history, for which stored results are looked up; a chat has fewer in an hour. */
export const continuationsPerRequest = 256;

/** Stores the gateway's calls and results of runs that ended with calls of the caller's functions. */
export interface Continuations {
  /**
   * Stores a turn, and returns the calls as they are to be handed over. Some backends restart their call ids in every turn; if these ids belong to
   * another stored turn, the calls get new ones, or a chat could continue with another one's results. Never rejects.
   */
  save(caller: Caller, callerCalls: readonly ToolCall[], messages: readonly ChatMessage[]): Promise<ToolCall[]>;
  /** The same with ids that are derived from the seed. The same calls of the same conversation replace the turn that was stored before. */
  keepDerived(caller: Caller, seed: string, turn: { calls: readonly ToolCall[]; messages: readonly ChatMessage[] }): Promise<ToolCall[]>;
  /** Restores the stored messages in a history; returns it unchanged if there are none. Never rejects. */
  restore(caller: Caller, messages: ChatMessage[]): MaybePromise<ChatMessage[]>;
}

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

/** A stored turn, as JSON. */
interface KeptTurn {
  calls: readonly ToolCall[];
  messages: ChatMessage[];
}

/**
 * The caller's history has only the calls of its own functions. When it returns their results, the gateway's calls and results are restored around
 * them, so that the model sees the complete turn. Stored for an hour by caller and call ids, across restarts.
 */
export function createContinuations({ store, fallback, now, newCallId, onFault }: ContinuationOptions): Continuations {
  /** Turns that are being stored: a second one with the same ids must not replace the first. */
  const arriving = new Set<string>();

  async function find(id: string): Promise<KeptTurn | undefined> {
    const value = (await fallback.find(id, now())) ?? (await findInStore(id));
    return value === undefined ? undefined : (parseExactly(value) as KeptTurn);
  }

  async function findInStore(id: string): Promise<string | undefined> {
    try {
      return await store.find(id, now());
    } catch (error) {
      onFault(error);
      return undefined;
    }
  }

  async function save(caller: Caller, turn: KeptTurn): Promise<void> {
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

  async function restoreTurns(caller: Caller, messages: readonly ChatMessage[], turns: ReadonlySet<ChatMessage>): Promise<ChatMessage[]> {
    let restored: ChatMessage[] = [];
    for (const message of messages) {
      const sent = message.role === 'assistant' && turns.has(message) ? message.toolCalls : undefined;
      const found = sent && (await find(idOf(caller, sent)));
      if (found !== undefined && isOfSameNames(found.calls, sent ?? []) && !isWhole([...restored, message], found.messages))
        restored = appendKept(restored, found.messages);
      else restored.push(message);
    }
    return restored;
  }

  return {
    async save(caller, callerCalls, messages) {
      const id = idOf(caller, callerCalls);
      const isArriving = arriving.has(id);
      arriving.add(id);
      try {
        const isTaken = isArriving || (await find(id)) !== undefined;
        const calls = isTaken ? callerCalls.map((call) => ({ ...call, id: newCallId() })) : [...callerCalls];
        await save(caller, { calls, messages: isTaken ? withCalls(messages, callerCalls, calls) : [...messages] });
        return calls;
      } finally {
        if (!isArriving) arriving.delete(id);
      }
    },

    async keepDerived(caller, seed, { calls: callerCalls, messages }) {
      const calls = callerCalls.map((call, position) => ({ ...call, id: derivedCallId(seed, position, call) }));
      await fallback.delete(idOf(caller, calls));
      await save(caller, { calls, messages: withCalls(messages, callerCalls, calls) });
      return calls;
    },

    restore(caller, messages) {
      const turns = messages.filter((message) => message.role === 'assistant' && message.toolCalls.length > 0);
      return turns.length === 0 ? messages : restoreTurns(caller, messages, new Set(turns.slice(-continuationsPerRequest)));
    },
  };
}

/** Replaces the caller's calls, which are in the last turn, without results. Some backends give several calls of a turn the same id. */
export function withCalls(messages: readonly ChatMessage[], old: readonly ToolCall[], calls: readonly ToolCall[]): ChatMessage[] {
  const last = messages.findLastIndex((message) => message.role === 'assistant');
  const left = old.map((call, place) => ({ call, place }));
  const replaced = ({ id, name }: ToolCall): ToolCall | undefined => {
    const found = left.findIndex(({ call }) => call.id === id && call.name === name);
    const [taken] = found < 0 ? [] : left.splice(found, 1);
    return taken && calls[taken.place];
  };
  return messages.map((message, index) => {
    if (index !== last || message.role !== 'assistant') return message;
    return { ...message, toolCalls: message.toolCalls.map((call) => replaced(call) ?? call) };
  });
}

/** A conversation that the gateway has kept has all calls already. */
function isWhole(history: readonly ChatMessage[], turn: readonly ChatMessage[]): boolean {
  return isDeepStrictEqual(forAnotherModel(history.slice(-turn.length)), forAnotherModel(turn));
}

/** With a backend that numbers its calls, an id may refer to a turn that was never stored. */
function isOfSameNames(kept: readonly ToolCall[], sent: readonly ToolCall[]): boolean {
  return kept.every(({ id, name }) => sent.some((call) => call.id === id && call.name === name));
}

/** Hashed, because call ids may contain kilobytes of provider signatures. */
function idOf(caller: Caller, calls: readonly ToolCall[]): string {
  return hash('sha256', JSON.stringify([caller.id, ...calls.map((call) => call.id).toSorted()]), 'base64url');
}
