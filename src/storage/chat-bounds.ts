import type { ChatBounds, StoredChat } from '../core/chat-store.ts';
import { limits } from '../core/limits.ts';

export const defaultChatBounds: ChatBounds = {
  ageMs: limits.storedChatMs,
  chatsPerCaller: limits.storedChatsPerCaller,
  charactersPerCaller: limits.storedCharactersPerCaller,
  characters: limits.storedChatsCharacters,
};

/** What a chat counts towards the bounds. */
export function charactersOf({ messages, completion }: Pick<StoredChat, 'messages' | 'completion'>): number {
  return JSON.stringify(messages).length + JSON.stringify(completion).length;
}
