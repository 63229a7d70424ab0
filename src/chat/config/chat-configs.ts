import { hash } from 'node:crypto';
import type { ChatConfig, ChatConfigs, ConfiguredChat } from '../../core/chat/chat-config.ts';
import type { NoteStore } from '../../core/stores/note-store.ts';
import { parseExactly } from '../../shared/json/parse-exactly.ts';

/** Chats with changed tools, instructions or presets. Beyond it the oldest changes are deleted, and these chats are answered as their requests say. */
export const chatConfigs = 10_000;

/** The size of all of them, encrypted. */
export const chatConfigsCharacters = 32 * 1024 * 1024;
/** How long such a change is stored: as long as state. */
const chatConfigMs = 30 * 24 * 60 * 60 * 1000;

interface ChatConfigsOptions {
  store: NoteStore;
  /** Milliseconds since 1970. */
  now: () => number;
  onFault: (error: unknown) => void;
}

const bounds = { maxNotes: chatConfigs, maxCharacters: chatConfigsCharacters };

export function createChatConfigs({ store, now, onFault }: ChatConfigsOptions): ChatConfigs {
  /** Whether any chat was ever changed: most gateways have none, and then no request has to look one up. */
  let isUsed: boolean | undefined;

  async function mayHaveAny(): Promise<boolean> {
    isUsed ??= !(await store.isEmpty());
    return isUsed;
  }

  return {
    async find(chat) {
      try {
        if (!(await mayHaveAny())) return undefined;
        const text = await store.find(idOf(chat), now());
        return text === undefined ? undefined : (parseExactly(text) as ChatConfig);
      } catch (error) {
        onFault(error);
        return undefined;
      }
    },
    async save(chat, config) {
      try {
        if (config === undefined) return await store.delete(idOf(chat));
        isUsed = true;
        const note = { id: idOf(chat), callerId: chat.callerId, value: JSON.stringify(config), expires: now() + chatConfigMs };
        await store.save(note, { ...bounds, time: now() });
      } catch (error) {
        onFault(error);
      }
    },
  };
}

/** A hash, so that the id has a fixed length however long the chat id is. */
function idOf({ callerId, conversation, model }: ConfiguredChat): string {
  return hash('sha256', JSON.stringify([callerId, conversation, model]), 'base64url');
}
