import { hash } from 'node:crypto';
import { forAnotherModel } from '../../../chat/messages/round-messages.ts';
import { textOf, type ChatMessage } from '../../../core/chat/chat.ts';
import { limits } from '../../../core/limits.ts';
import type { NoteStore } from '../../../core/stores/note-store.ts';
import { parseExactly } from '../../../shared/json/parse-exactly.ts';

/** All stored conversations, encrypted. Beyond it the caller with the most loses the oldest ones. */
export const conversationsLimit = 10_000;

/** How long a conversation over a socket can be continued after its last message: the next morning too. Nobody has asked to store it for longer. */
export const conversationMs = 24 * 60 * 60 * 1000;
/** Beyond these its oldest exchanges are dropped: no model's context holds more. */
export const conversationMessages = 1_000;
export const conversationCharacters = 2 * 1024 * 1024;
export const conversationsCharacters = 128 * 1024 * 1024;

/** A conversation of a caller: a chat by its `chat_id`, or a session's chat without one. */
export interface ConversationId {
  callerId: string;
  of: 'chat' | 'session';
  id: string;
}

export interface Conversation {
  /** As the request named it. */
  model: string;
  messages: readonly ChatMessage[];
  /** The last round has calls that were returned to the client, and no results for them yet. */
  hasReturnedCalls: boolean;
}

/** The messages of conversations over sockets, so that a client need send only what is new. */
export interface KeptConversations {
  /** For a request of this model; empty if none are stored. @throws GatewayError `storage_unavailable`: an answer without the history would be wrong. */
  find(id: ConversationId, model: string): Promise<ChatMessage[]>;
  /** Replaces the stored messages. Beyond the limits the oldest exchanges are dropped, system prompts excepted. Never rejects. */
  save(id: ConversationId, conversation: Conversation): Promise<void>;
}

export interface KeptConversationsOptions {
  store: NoteStore;
  /** A store in memory, for when the store cannot be written. */
  fallback: NoteStore;
  /** Milliseconds since 1970. */
  now: () => number;
  onFault: (error: unknown) => void;
}

export function createKeptConversations({ store, fallback, now, onFault }: KeptConversationsOptions): KeptConversations {
  return {
    async find(of, model) {
      const id = noteIdOf(of);
      const value = (await fallback.find(id, now())) ?? (await store.find(id, now()));
      if (value === undefined) return [];
      const kept = parseExactly(value) as { model: string; messages: ChatMessage[] };
      return kept.model === model ? kept.messages : forAnotherModel(kept.messages);
    },

    async save(of, { model, messages, hasReturnedCalls }) {
      const id = noteIdOf(of);
      const time = now();
      // Fields that only the same backend reads are needed until the model has answered.
      const kept = withinBounds(hasReturnedCalls ? messages : forAnotherModel(messages));
      const value = `{"model":${JSON.stringify(model)},"messages":[${kept.join(',')}]}`;
      const note = { id, callerId: of.callerId, value, expires: time + conversationMs };
      const bounds = { time, maxNotes: conversationsLimit, maxCharacters: conversationsCharacters };
      try {
        await store.save(note, bounds);
        await fallback.delete(id);
      } catch (error) {
        onFault(error);
        await fallback.save(note, bounds);
      }
    },
  };
}

/** The messages as JSON. An exchange is dropped as a whole, so that no result loses its call; if the last one is too large, its results are shortened. */
function withinBounds(messages: readonly ChatMessage[]): string[] {
  const start = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const prompts = messages.slice(0, Math.max(start, 0)).map((message) => JSON.stringify(message));
  const exchanges = exchangesIn(messages.slice(prompts.length));
  const room = { messages: conversationMessages, characters: conversationCharacters };
  function fits(written: readonly string[]): boolean {
    room.messages -= written.length;
    room.characters -= written.reduce((sum, { length }) => sum + length, 0);
    return room.messages >= 0 && room.characters >= 0;
  }

  if (!fits(prompts)) return [];
  const left = { ...room };
  const kept: string[][] = [];
  for (const exchange of exchanges.toReversed()) {
    const written = exchange.map((message) => JSON.stringify(message));
    if (!fits(written)) break;
    kept.push(written);
  }
  if (kept.length > 0) return [...prompts, ...kept.toReversed().flat()];
  Object.assign(room, left);
  const last = (exchanges.at(-1) ?? []).map((message) => JSON.stringify(shortened(message)));
  return fits(last) ? [...prompts, ...last] : prompts;
}

/** An exchange begins with a message of the user. */
function exchangesIn(messages: readonly ChatMessage[]): ChatMessage[][] {
  const exchanges: ChatMessage[][] = [];
  for (const message of messages) {
    if (message.role === 'user' || exchanges.length === 0) exchanges.push([message]);
    else exchanges.at(-1)?.push(message);
  }
  return exchanges;
}

function shortened(message: ChatMessage): ChatMessage {
  const text = textOf(message.content);
  if (message.role !== 'tool' || text.length <= limits.shortenedResultCharacters) return message;
  return { ...message, content: `${text.slice(0, limits.shortenedResultCharacters).toWellFormed()}\n\n[The rest is not kept.]` };
}

/** Hashed with the caller, so that no caller finds another's. */
function noteIdOf({ callerId, of, id }: ConversationId): string {
  return hash('sha256', JSON.stringify(['conversation', callerId, of, id]), 'base64url');
}
