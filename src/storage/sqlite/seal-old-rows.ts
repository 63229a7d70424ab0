import type { DatabaseSync } from 'node:sqlite';
import type { DatabaseConnection } from './database-connection.ts';
import type { SecretCipher } from '../secrets/encrypt-secrets.ts';
import { findSealedRow } from './tool-server-row.ts';
import type { ReadToolServer, ToolServerRow } from './tool-server-row.ts';

/** A fact that is there from the sealing until the file was written anew. */
const unsweptFact = 'unswept_secrets';

export interface OldRows {
  rows: readonly { row: ToolServerRow; value: ReadToolServer }[];
  cipher: SecretCipher;
  connection: DatabaseConnection;
}

/**
 * Seals what an earlier release wrote in the clear. Then, once, the whole file is written anew: SQLite leaves older states of a row in pages that it
 * does not use or has split. A process that is killed amid that does it at its next start.
 *
 * Nothing is sealed while a secret cannot be read: this TOOLWHARF_SECRET may be a wrong one, and would lock away what everybody can still read.
 * @throws GatewayError `storage_unavailable` for a database that cannot be written just now
 */
export async function sealOldRows({ rows, cipher, connection }: OldRows): Promise<void> {
  if (rows.some(({ value }) => value.unreadable.length > 0)) return;
  const pairs = rows.flatMap(({ row, value }) => {
    const sealed = findSealedRow(row, value, cipher);
    return sealed === undefined ? [] : [{ row, sealed }];
  });
  if (pairs.length > 0) {
    await connection.write((database) => {
      // Another process may have changed a row meanwhile.
      const update = database.prepare('UPDATE tool_servers SET record = ?, secrets = ? WHERE id = ? AND record = ? AND secrets = ?');
      for (const { row, sealed } of pairs) update.run(sealed.record, sealed.secrets, row.id, row.record, row.secrets);
      database.prepare('INSERT OR IGNORE INTO facts (name, value) VALUES (?, ?)').run(unsweptFact, 'yes');
    });
  }
  const unswept = await connection.read((database) => database.prepare('SELECT 1 FROM facts WHERE name = ?').get(unsweptFact));
  if (unswept === undefined) return;
  if (await connection.read(rewriteFile))
    await connection.write((database) => database.prepare('DELETE FROM facts WHERE name = ?').run(unsweptFact));
}

/** False where somebody still reads an older state: then it stays in the file. Outside of a transaction, so not by `write`. */
function rewriteFile(database: DatabaseSync): boolean {
  database.exec('VACUUM');
  return database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.['busy'] === 0;
}
