import type { ChatBounds, ChatPage, ChatPlace, ChatStore, StoredChat } from '../core/chat-store.ts';
import { limits } from '../core/limits.ts';
import { chooseLosses, sharesOf } from '../shared/fair-shares.ts';
import type { ShareBounds } from '../shared/fair-shares.ts';
import { queryWordsOf, wordsOf } from './sqlite/chat-words.ts';
import { charactersOf, defaultChatBounds } from './chat-bounds.ts';

/** A word of the question tells more about a chat than one of the answer. */
const questionWeight = 3;

export interface MemoryChatsOptions {
  /** Milliseconds since 1970. */
  now?: () => number;
  bounds?: ChatBounds;
}

/** Chats as long as the process lives: the twin of the one in SQLite, with texts as there, so that nothing is shared with what was saved. */
export function createMemoryChats({ now = Date.now, bounds = defaultChatBounds }: MemoryChatsOptions = {}): ChatStore {
  const texts = new Map<string, string>();
  const all = (): StoredChat[] => [...texts.values()].map((text) => JSON.parse(text) as StoredChat);
  const chatsOf = (callerId: string): StoredChat[] =>
    all().filter((chat) => chat.callerId === callerId && chat.created >= now() - bounds.ageMs);
  const find = (callerId: string, id: string): StoredChat | undefined => chatsOf(callerId).find((chat) => chat.id === id);

  function prune(): void {
    for (const { id, created } of all()) if (created < now() - bounds.ageMs) texts.delete(id);
  }

  /** The oldest of whoever has the most go. */
  function keepWithin(chats: readonly StoredChat[], kept: ShareBounds): void {
    const shares = sharesOf(chats.toSorted(comparePlaces), charactersOf);
    for (const { id } of chooseLosses(shares, kept)) texts.delete(id);
  }

  return {
    async save(chat) {
      texts.set(chat.id, JSON.stringify(chat));
      prune();
      keepWithin(chatsOf(chat.callerId), { entries: bounds.chatsPerCaller, characters: bounds.charactersPerCaller });
      keepWithin(all(), { entries: Infinity, characters: bounds.characters });
    },
    find: async (callerId, id) => find(callerId, id),
    async list(callerId, page) {
      const sign = page.order === 'asc' ? 1 : -1;
      const matching = chatsOf(callerId)
        .filter((chat) => isMeant(chat, page) && (page.after === undefined || sign * comparePlaces(chat, page.after) > 0))
        .toSorted((left, right) => sign * comparePlaces(left, right));
      let characters = 0;
      const fitting = matching.slice(0, page.limit).filter(({ completion }, index) => {
        characters += JSON.stringify(completion).length;
        return index === 0 || characters <= limits.chatPageCharacters;
      });
      const chats = fitting.map(({ id, created, model, metadata, completion }) => ({ id, created, model, metadata, completion }));
      return { chats, hasMore: matching.length > chats.length };
    },
    async changeMetadata(callerId, id, metadata) {
      const chat = find(callerId, id);
      if (chat !== undefined) texts.set(id, JSON.stringify({ ...chat, metadata }));
      return chat !== undefined;
    },
    async delete(callerId, id) {
      const chat = find(callerId, id);
      if (chat === undefined) return undefined;
      texts.delete(id);
      return { id, created: chat.created };
    },
    async deleteAllOf(callerId) {
      for (const chat of all()) if (chat.callerId === callerId) texts.delete(chat.id);
    },
    async search(callerId, query, limit) {
      const chats = chatsOf(callerId).map((chat) => ({
        chat,
        question: wordsOf(chat.texts.question),
        answer: wordsOf(chat.texts.answer),
        score: 0,
      }));
      for (const { word, isPrefix } of queryWordsOf(query)) {
        const isIn = (words: readonly string[]): boolean => words.some((other) => (isPrefix ? other.startsWith(word) : other === word));
        const found = chats.filter(({ question, answer }) => isIn(question) || isIn(answer));
        // A word that stands in every chat tells little, but tells something.
        const weight = Math.log(1 + chats.length / Math.max(1, found.length));
        for (const entry of found) entry.score += weight * (isIn(entry.question) ? questionWeight : 1);
      }
      return chats
        .filter(({ score }) => score > 0)
        .toSorted((left, right) => right.score - left.score || comparePlaces(right.chat, left.chat))
        .slice(0, limit)
        .map(({ chat: { id, created, texts: found } }) => ({ id, created, ...found }));
    },
    async prune() {
      prune();
    },
  };
}

function isMeant(chat: StoredChat, { model, metadata }: ChatPage): boolean {
  if (model !== undefined && chat.model !== model) return false;
  return Object.entries(metadata).every(([key, value]) => Object.hasOwn(chat.metadata, key) && chat.metadata[key] === value);
}

/** The oldest first. */
function comparePlaces(left: ChatPlace, right: ChatPlace): number {
  if (left.created !== right.created) return left.created - right.created;
  if (left.id === right.id) return 0;
  return left.id < right.id ? -1 : 1;
}
