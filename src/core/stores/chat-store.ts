import type { JsonObject } from '../../shared/json/json.ts';

/** An answered chat that its caller asked to store (`store: true`). */
export interface StoredChat {
  /** The id of the completion. */
  id: string;
  callerId: string;
  /** Milliseconds since 1970. */
  created: number;
  model: string;
  /** At most sixteen texts, as OpenAI allows them. */
  metadata: Record<string, string>;
  /** The messages of the request, in OpenAI's format. */
  messages: JsonObject[];
  /** The answer as the client got it, without `metadata`. */
  completion: JsonObject;
  /** The texts for the full-text search. */
  texts: ChatTexts;
}

/** The last question and its answer; earlier ones were stored with their own chats. */
export interface ChatTexts {
  question: string;
  answer: string;
}

/** A chat as lists show it. */
export type ListedChat = Pick<StoredChat, 'id' | 'created' | 'model' | 'metadata' | 'completion'>;

/** The position of a chat in the order of the list: by time, then by id. */
export type ChatPlace = Pick<StoredChat, 'id' | 'created'>;

export interface ChatPage {
  limit: number;
  order: 'asc' | 'desc';
  /** The last chat of the previous page, which may have been deleted since. */
  after: ChatPlace | undefined;
  model: string | undefined;
  /** Entries that the metadata of a chat must contain. */
  metadata: Readonly<Record<string, string>>;
}

export interface ChatHit extends ChatTexts {
  id: string;
  created: number;
}

/** Beyond the bounds of one caller, that caller's oldest chats are deleted; beyond `characters`, those of the caller with the most. Sizes are characters of JSON. */
export interface ChatBounds {
  ageMs: number;
  chatsPerCaller: number;
  charactersPerCaller: number;
  characters: number;
}

/**
 * Stores chats. Every method is limited to the chats of one caller. Chats that are too old are never found, even if they are not pruned yet.
 * @throws GatewayError `storage_unavailable`
 */
export interface ChatStore {
  /** Adds a chat and makes room for it. Resolves when it is durable. */
  save(chat: StoredChat): Promise<void>;
  find(callerId: string, id: string): Promise<StoredChat | undefined>;
  /** A page of large chats may be shorter than its limit; `hasMore` tells whether there is another page. */
  list(callerId: string, page: ChatPage): Promise<{ chats: ListedChat[]; hasMore: boolean }>;
  /** False when there is no such chat. */
  changeMetadata(callerId: string, id: string, metadata: Record<string, string>): Promise<boolean>;
  /** Returns the position that the chat had; undefined when there is no such chat. */
  delete(callerId: string, id: string): Promise<ChatPlace | undefined>;
  /** Of a key also those of its people. */
  deleteAllOf(callerId: string): Promise<void>;
  /** Best match first, then newest. A chat matches if it contains any word of the query; without words there are no hits. */
  search(callerId: string, query: string, limit: number): Promise<ChatHit[]>;
  /** Deletes chats that are too old. */
  prune(): Promise<void>;
}
