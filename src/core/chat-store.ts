import type { JsonObject } from '../shared/json.ts';

/** One answered chat that its caller asked to keep (`store: true`). */
export interface StoredChat {
  /** The completion's. */
  id: string;
  callerId: string;
  /** Milliseconds since 1970. */
  created: number;
  model: string;
  /** At most sixteen texts, as OpenAI allows them. */
  metadata: Record<string, string>;
  /** What was asked, in OpenAI's words. */
  messages: JsonObject[];
  /** The answer as the client got it, without `metadata`. */
  completion: JsonObject;
  /** What a search looks through. */
  texts: ChatTexts;
}

/** The last question and its answer: what came before them was stored with its own answer. */
export interface ChatTexts {
  question: string;
  answer: string;
}

/** A chat as lists show it. */
export type ListedChat = Pick<StoredChat, 'id' | 'created' | 'model' | 'metadata' | 'completion'>;

/** Where a chat stands in the order of the list; those of one moment by their id. */
export type ChatPlace = Pick<StoredChat, 'id' | 'created'>;

export interface ChatPage {
  limit: number;
  order: 'asc' | 'desc';
  /** The last chat of the page before; it need not be there any more. */
  after: ChatPlace | undefined;
  model: string | undefined;
  /** Every one of these has to be there, with this value. */
  metadata: Readonly<Record<string, string>>;
}

export interface ChatHit extends ChatTexts {
  id: string;
  created: number;
}

/** How much is kept. Beyond what a caller may have, the caller's oldest go first; beyond `characters`, those of whoever has the most. Sizes are characters as JSON. */
export interface ChatBounds {
  ageMs: number;
  chatsPerCaller: number;
  charactersPerCaller: number;
  characters: number;
}

/**
 * Keeps chats. Every question names the caller whose chats it is about: another
 * one's are never found. What is too old is never found either, whether it was pruned or not.
 * @throws GatewayError `storage_unavailable`
 */
export interface ChatStore {
  /** Adds a chat and makes room for it. Resolves when it is durable. */
  save(chat: StoredChat): Promise<void>;
  find(callerId: string, id: string): Promise<StoredChat | undefined>;
  /** A page may be shorter than its limit where the chats are large; `hasMore` tells whether there is another one. */
  list(callerId: string, page: ChatPage): Promise<{ chats: ListedChat[]; hasMore: boolean }>;
  /** False when there is no such chat. */
  changeMetadata(callerId: string, id: string, metadata: Record<string, string>): Promise<boolean>;
  /** Where it stood; undefined when there is no such chat. */
  delete(callerId: string, id: string): Promise<ChatPlace | undefined>;
  deleteAllOf(callerId: string): Promise<void>;
  /** Best match first, of equal ones the newest. Any of the words is enough; empty where the query has none. */
  search(callerId: string, query: string, limit: number): Promise<ChatHit[]>;
  /** Forgets what is too old. */
  prune(): Promise<void>;
}
