import type { ChatMemory } from '../core/chat-memory.ts';
import type { ChatStore } from '../core/chat-store.ts';

/** The same store, where what lasts about the chats of a caller goes with them. */
export function forgetWithChats(chats: ChatStore, memories: readonly ChatMemory[]): ChatStore {
  return {
    ...chats,
    async deleteAllOf(callerId) {
      await Promise.all([chats.deleteAllOf(callerId), ...memories.map((memory) => memory.forgetAllOf(callerId))]);
    },
  };
}
