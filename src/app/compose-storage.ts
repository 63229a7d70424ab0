import type { NoteStores, NoteStore } from '../core/note-store.ts';
import type { ChatStore } from '../core/chat-store.ts';
import type { Registry } from '../core/registry.ts';
import type { ResponseStore } from '../core/response-store.ts';
import type { RunStore } from '../core/run-log.ts';
import type { UsageStore } from '../core/usage-store.ts';
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
  responses?: ResponseStore;
  usage?: UsageStore;
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
  responses: ResponseStore;
  usage: UsageStore;
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
  const { runs = inProcess.runs, waitingRuns = inProcess.waitingRuns, chats = inProcess.chats, responses = inProcess.responses } = opened;
  return {
    registry,
    presets: createPresetStore({ registry, fixed: config.presets, now, cacheMs: presetCacheMs }),
    runs,
    waitingRuns,
    noteStores,
    spareNotes,
    chats: forgetWithChats(chats, { notes: [...Object.values(noteStores), spareNotes], responses }),
    responses,
    usage: opened.usage ?? inProcess.usage,
    close: () => connection.close(),
  };
}

/** Wraps the store: deleting all chats of a caller also deletes its responses, and what is remembered about chats. */
function forgetWithChats(chats: ChatStore, { notes, responses }: { notes: readonly NoteStore[]; responses: ResponseStore }): ChatStore {
  return {
    ...chats,
    async deleteAllOf(callerId) {
      const forgotten = notes.map((store) => store.forgetAllOf(callerId));
      await Promise.all([chats.deleteAllOf(callerId), responses.deleteAllOf(callerId), ...forgotten]);
    },
  };
}
