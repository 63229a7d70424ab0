import type { ChatMemories } from '../core/chat-memory.ts';
import type { ChatStore } from '../core/chat-store.ts';

/** The same store, where what lasts about the chats of a caller goes with them. */
export function forgetWithChats(chats: ChatStore, memories: Partial<ChatMemories> = {}): ChatStore {
  return {
    ...chats,
    async deleteAllOf(callerId) {
      await Promise.all([chats.deleteAllOf(callerId), ...Object.values(memories).map((memory) => memory.forgetAllOf(callerId))]);
    },
  };
}
