/** The limits of stored chats (`STORE_CHATS`); a part of `limits`. */
export const storedChatLimits = {
  /** How long a chat with `store: true` is kept: as long as OpenAI keeps one. */
  storedChatMs: 30 * 24 * 60 * 60 * 1000,
  /** A chat every nine minutes of that time; beyond it a caller's oldest go first. */
  storedChatsPerCaller: 5_000,
  /** One caller must not fill what all share. */
  storedCharactersPerCaller: 64 * 1024 * 1024,
  /** A quarter of the largest database, over all callers. */
  storedChatsCharacters: 256 * 1024 * 1024,
  /** One stored chat with its question; images beyond it are left out, and a chat whose texts alone are larger is not stored. */
  storedChatCharacters: 2 * 1024 * 1024,
  /** Keys and values of `metadata`, as OpenAI limits them. */
  metadataEntries: 16,
  metadataKeyCharacters: 64,
  metadataValueCharacters: 512,
  /** Stored chats, or messages of one, in one page. */
  chatsPerPage: 100,
  /** The same for their size; the page is shorter then. */
  chatPageCharacters: 8 * 1024 * 1024,
  /** Chats that one search finds; a model reads every one of them. */
  foundChats: 20,
} as const;
