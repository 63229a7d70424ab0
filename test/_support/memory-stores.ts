import type { ThoughtSeals } from '../../src/core/chat/thought.ts';
import type { NoteStore } from '../../src/core/stores/note-store.ts';
import type { ChatStore } from '../../src/core/stores/chat-store.ts';
import type { WaitingRunStore } from '../../src/core/runs/suspended-run.ts';
import type { Registry, ToolServerRecord } from '../../src/core/stores/registry.ts';
import type { RunStore } from '../../src/core/runs/run-log.ts';
import { createMemoryStores, createStores, type Stores } from '../../src/storage/open-stores.ts';
import { createRegistry } from '../../src/storage/sql/registry/registry.ts';
import type { ConnectionOptions } from '../../src/storage/sqlite/connection/database-connection.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite-database.ts';

/** Stores of a database in memory, each call in one of its own. */
export function memoryStores(now?: () => number): Stores {
  return createMemoryStores({ secret: 'a secret of tests', now });
}

export const memoryRuns = (): RunStore => memoryStores().runs;
export const memoryWaitingRuns = (): WaitingRunStore => memoryStores().waitingRuns;
export const memoryNotes = (): NoteStore => memoryStores().noteStores.state;
export const memorySeals = (): ThoughtSeals => memoryStores().thoughtSeals;
export const memoryChats = ({ now }: { now?: () => number } = {}): ChatStore => memoryStores(now).chats;

/** A registry that begins with these records. */
export function memoryRegistry(records: readonly ToolServerRecord[] = []): Registry {
  const { registry, database } = memoryStores();
  if (records.length === 0) return registry;
  const filled = registry.replaceToolServers(records);
  const filledDatabase: typeof database = { ...database, read: (script) => filled.then(() => database.read(script)) };
  return createRegistry(filledDatabase, { secret: 'a secret of tests', now: Date.now, cacheMs: 0 });
}

interface FileOptions extends Omit<ConnectionOptions, 'now'> {
  secret: string;
  now?: () => number;
  cacheMs?: number;
}

/** The stores of a database in a file. */
export function openStores({ secret, now = Date.now, cacheMs = 0, ...options }: FileOptions): Stores {
  return createStores(openSqlite({ ...options, now }), { secret, now, cacheMs });
}
