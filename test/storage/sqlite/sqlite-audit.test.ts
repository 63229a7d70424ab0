import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { AuditStore } from '../../../src/core/stores/audit-store.ts';
import { createDatabaseConnection } from '../../../src/storage/sqlite/connection/database-connection.ts';
import { createSqliteAudit } from '../../../src/storage/sqlite/sqlite-audit.ts';
import { auditStoreContract } from '../audit-store-contract.ts';
import { temporaryFolders } from '../temporary-folder.ts';

const newFolder = temporaryFolders();

function open(file: string): AuditStore {
  const connection = createDatabaseConnection({ file, now: Date.now });
  onTestFinished(() => connection.close());
  return createSqliteAudit(connection);
}

auditStoreContract('in memory', () => open(':memory:'));
auditStoreContract('in a file', () => open(join(newFolder(), 'toolwharf.db')));
