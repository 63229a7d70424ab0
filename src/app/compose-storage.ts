import type { NoteStores, NoteStore } from '../core/note-store.ts';
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
  noteStores?: Partial<NoteStores>;
  chats?: ChatStore;
}

export interface Storage {
  registry: Registry;
  presets: PresetStore;
  runs: RunStore;
  waitingRuns: WaitingRunStore;
  noteStores: NoteStores;
  /** In memory, for continuations while the store cannot be written. */
  spareNotes: NoteStore;
  chats: ChatStore;
  close(): Promise<void>;
}

/** How old the list of presets may be before it is read again. */
const presetCacheMs = 200;

/** Stores that were not opened are replaced by stores in memory. */
export function composeStorage({ config, now, newId }: AppContext, opened: OpenedStores): Storage {
  const { connection, ...inProcess } = openStores({ file: ':memory:', secret: newId(), now });
  const registry = opened.registry ?? createLayeredRegistry({ fixed: config.toolServers, store: inProcess.registry });
  const noteStores = { ...inProcess.noteStores, ...opened.noteStores };
  const spareNotes = inProcess.noteStores.continuation;
  const { runs = inProcess.runs, waitingRuns = inProcess.waitingRuns, chats = inProcess.chats } = opened;
  return {
    registry,
    presets: createPresetStore({ registry, fixed: config.presets, now, cacheMs: presetCacheMs }),
    runs,
    waitingRuns,
    noteStores,
    spareNotes,
    chats: forgetWithChats(chats, [...Object.values(noteStores), spareNotes]),
    close: () => connection.close(),
  };
}

/** Wraps the store: deleting all chats of a caller also deletes what is remembered about them. */
function forgetWithChats(chats: ChatStore, stores: readonly NoteStore[]): ChatStore {
  return {
    ...chats,
    async deleteAllOf(callerId) {
      await Promise.all([chats.deleteAllOf(callerId), ...stores.map((store) => store.forgetAllOf(callerId))]);
    },
  };
}
