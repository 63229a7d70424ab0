import type { ChatMemories, ChatMemory } from '../core/chat-memory.ts';
import type { ChatStore } from '../core/chat-store.ts';
import type { Registry } from '../core/registry.ts';
import type { RunStore } from '../core/run-log.ts';
import type { WaitingRunStore } from '../core/suspended-run.ts';
import { createLayeredRegistry } from '../storage/layered-registry.ts';
import { openStores } from '../storage/open-stores.ts';
import { createPresetStore } from '../storage/preset-store.ts';
import type { PresetStore } from '../storage/preset-store.ts';
import type { AppContext } from './app-context.ts';

/** Stores to use instead of stores in memory. */
export interface OpenedStores {
  registry?: Registry;
  runs?: RunStore;
  waitingRuns?: WaitingRunStore;
  chatMemory?: Partial<ChatMemories>;
  chats?: ChatStore;
}

export interface Storage {
  registry: Registry;
  presets: PresetStore;
  runs: RunStore;
  waitingRuns: WaitingRunStore;
  chatMemory: ChatMemories;
  /** In memory, for continuations while the store cannot be written. */
  spareMemory: ChatMemory;
  chats: ChatStore;
  close(): Promise<void>;
}

/** How old the list of presets may be before it is read again. */
const presetCacheMs = 200;

/** Stores that were not opened are replaced by stores in memory. */
export function composeStorage({ config, now, newId }: AppContext, opened: OpenedStores): Storage {
  const { connection, ...inProcess } = openStores({ file: ':memory:', secret: newId(), now });
  const registry = opened.registry ?? createLayeredRegistry({ fixed: config.toolServers, store: inProcess.registry });
  const chatMemory = { ...inProcess.chatMemory, ...opened.chatMemory };
  const spareMemory = inProcess.chatMemory.continuation;
  const { runs = inProcess.runs, waitingRuns = inProcess.waitingRuns, chats = inProcess.chats } = opened;
  return {
    registry,
    presets: createPresetStore({ registry, fixed: config.presets, now, cacheMs: presetCacheMs }),
    runs,
    waitingRuns,
    chatMemory,
    spareMemory,
    chats: forgetWithChats(chats, [...Object.values(chatMemory), spareMemory]),
    close: () => connection.close(),
  };
}

/** Wraps the store: deleting all chats of a caller also deletes what is remembered about them. */
function forgetWithChats(chats: ChatStore, memories: readonly ChatMemory[]): ChatStore {
  return {
    ...chats,
    async deleteAllOf(callerId) {
      await Promise.all([chats.deleteAllOf(callerId), ...memories.map((memory) => memory.forgetAllOf(callerId))]);
    },
  };
}
