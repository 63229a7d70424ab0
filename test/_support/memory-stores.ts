import type { ThoughtSeals } from '../../src/core/chat/thought.ts';
import type { NoteStore } from '../../src/core/stores/note-store.ts';
import type { ChatStore } from '../../src/core/stores/chat-store.ts';
import type { WaitingRunStore } from '../../src/core/runs/suspended-run.ts';
import type { Registry, ToolServerRecord } from '../../src/core/stores/registry.ts';
import type { RunStore } from '../../src/core/runs/run-log.ts';
import { openStores } from '../../src/storage/open-stores.ts';
import type { Stores } from '../../src/storage/open-stores.ts';
import { createSqliteRegistry } from '../../src/storage/sqlite/registry/sqlite-registry.ts';

/** Stores of a database in memory, each call in one of its own. */
export function memoryStores(now?: () => number): Stores {
  return openStores({ file: ':memory:', secret: 'a secret of tests', ...(now && { now }) });
}

export const memoryRuns = (): RunStore => memoryStores().runs;
export const memoryWaitingRuns = (): WaitingRunStore => memoryStores().waitingRuns;
export const memoryNotes = (): NoteStore => memoryStores().noteStores.state;
export const memorySeals = (): ThoughtSeals => memoryStores().thoughtSeals;
export const memoryChats = ({ now }: { now?: () => number } = {}): ChatStore => memoryStores(now).chats;

/** A registry that begins with these records. */
export function memoryRegistry(records: readonly ToolServerRecord[] = []): Registry {
  const { registry, connection } = memoryStores();
  if (records.length === 0) return registry;
  const filled = registry.replaceToolServers(records);
  const filledConnection: typeof connection = { ...connection, read: (work) => filled.then(() => connection.read(work)) };
  return createSqliteRegistry(filledConnection, { secret: 'a secret of tests', now: Date.now, cacheMs: 0 });
}
