import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { AuditStore } from '../../../src/core/stores/audit-store.ts';
import { createAuditStore } from '../../../src/storage/sql/audit.ts';
import { openSqlite } from '../../../src/storage/sqlite/sqlite-database.ts';
import { auditStoreContract } from '../audit-store-contract.ts';
import { temporaryFolders } from '../temporary-folder.ts';

const newFolder = temporaryFolders();

function open(file: string): AuditStore {
  const database = openSqlite({ file, now: Date.now });
  onTestFinished(() => database.close());
  return createAuditStore(database);
}

auditStoreContract('in memory', () => open(':memory:'));
auditStoreContract('in a file', () => open(join(newFolder(), 'toolwharf.db')));
