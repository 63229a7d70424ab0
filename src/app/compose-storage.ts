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

/** Stores that were opened for the gateway. */
export interface GivenStores {
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
  /** In this process, for turns that the store cannot keep just now. */
  spareMemory: ChatMemory;
  chats: ChatStore;
  close(): Promise<void>;
}

/** How old the list of presets may be before it is read again. */
const presetCacheMs = 200;

/** What is not given lasts as long as the process. */
export function composeStorage({ config, now, newId }: AppContext, given: GivenStores): Storage {
  const { connection, ...inProcess } = openStores({ file: ':memory:', secret: newId(), now });
  const registry = given.registry ?? createLayeredRegistry({ fixed: config.toolServers, store: inProcess.registry });
  const chatMemory = { ...inProcess.chatMemory, ...given.chatMemory };
  const spareMemory = inProcess.chatMemory.continuation;
  const { runs = inProcess.runs, waitingRuns = inProcess.waitingRuns, chats = inProcess.chats } = given;
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

/** The same store, where what is remembered about the chats of a caller is deleted with them. */
function forgetWithChats(chats: ChatStore, memories: readonly ChatMemory[]): ChatStore {
  return {
    ...chats,
    async deleteAllOf(callerId) {
      await Promise.all([chats.deleteAllOf(callerId), ...memories.map((memory) => memory.forgetAllOf(callerId))]);
    },
  };
}
