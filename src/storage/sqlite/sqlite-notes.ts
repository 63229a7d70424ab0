import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { NoteStore, NoteBounds, NoteKind } from '../../core/stores/note-store.ts';
import type { DatabaseConnection } from './connection/database-connection.ts';
import { deleteInParts } from './connection/delete-in-parts.ts';
import { createSecretCipher } from '../secrets/encrypt-secrets.ts';
import { ownedBy } from './owned-by.ts';
import { execute, selectFirst } from './connection/select.ts';
import { lossesIn } from './sqlite-shares.ts';

/** Notes of one kind, encrypted one by one, on the registry's connection (see `createSqliteRuns`). */
export function createSqliteNotes(connection: DatabaseConnection, secret: string, kind: NoteKind): NoteStore {
  const cipher = createSecretCipher(secret, 'chat_memory');
  async function removeAny(condition: string, ...values: SQLInputValue[]): Promise<number> {
    return (await deleteInParts(connection, { table: 'chat_memory', key: ['position'], columns: ['characters'], condition, values }))
      .length;
  }

  return {
    save({ id, callerId, value, expires }, bounds) {
      const encrypted = cipher.encrypt(value, { id, field: kind });
      return connection.write(
        (database) => {
          execute(database, 'DELETE FROM chat_memory WHERE kind = ? AND (id = ? OR expires <= ?)', kind, id, bounds.time);
          const sql = 'INSERT INTO chat_memory (kind, id, caller_id, expires, characters, value) VALUES (?, ?, ?, ?, ?, ?)';
          execute(database, sql, kind, id, callerId, expires, encrypted.length, encrypted);
          enforceBounds(database, kind, bounds);
        },
        { callerId, characters: encrypted.length },
      );
    },

    find: (id, time) =>
      connection.read((database) => {
        const sql = 'SELECT value FROM chat_memory WHERE kind = ? AND id = ? AND expires > ?';
        const row = selectFirst<{ value: string }>(database, sql, kind, id, time);
        return row && cipher.decrypt(row.value, { id, field: kind });
      }),

    isEmpty: () =>
      connection.read((database) => selectFirst(database, 'SELECT 1 FROM chat_memory WHERE kind = ? LIMIT 1', kind) === undefined),

    async delete(id) {
      await connection.write((database) => execute(database, 'DELETE FROM chat_memory WHERE kind = ? AND id = ?', kind, id));
    },

    async deleteAllOf(callerId) {
      const { condition, values } = ownedBy(callerId);
      await removeAny(`${condition} AND kind = ?`, ...values, kind);
    },

    deleteExpired: (time) => removeAny('kind = ? AND expires <= ?', kind, time),
  };
}

function enforceBounds(database: DatabaseSync, kind: NoteKind, { maxNotes, maxCharacters }: NoteBounds): void {
  const shared = { table: 'chat_memory', id: 'position', where: 'kind = ?', values: [kind], order: 'position' } as const;
  for (const { id } of lossesIn(database, shared, { entries: maxNotes, characters: maxCharacters }))
    execute(database, 'DELETE FROM chat_memory WHERE position = ?', id);
}
