import type { DatabaseSync } from 'node:sqlite';
import type { ChatMemory, MemoryBounds, MemoryKind } from '../core/chat-memory.ts';
import type { DatabaseConnection } from './database-connection.ts';
import { createSecretCipher } from './encrypt-secrets.ts';

/** Notes of one kind in the gateway's SQLite file, each sealed. To be given the connection of the registry. */
export function createSqliteChatMemory(connection: DatabaseConnection, secret: string, kind: MemoryKind): ChatMemory {
  const cipher = createSecretCipher(secret, 'chat_memory');
  return {
    keep({ id, callerId, value, expires }, bounds) {
      const sealed = cipher.encrypt(value, { id, field: kind });
      return connection.write((database) => {
        database.prepare('DELETE FROM chat_memory WHERE kind = ? AND (id = ? OR expires <= ?)').run(kind, id, bounds.time);
        database
          .prepare('INSERT INTO chat_memory (kind, id, caller_id, expires, characters, value) VALUES (?, ?, ?, ?, ?, ?)')
          .run(kind, id, callerId, expires, sealed.length, sealed);
        makeRoom(database, kind, bounds);
      });
    },

    find: (id, time) =>
      connection.read((database) => {
        const row = database.prepare('SELECT value FROM chat_memory WHERE kind = ? AND id = ? AND expires > ?').get(kind, id, time);
        return row === undefined ? undefined : cipher.decrypt(String(row['value']), { id, field: kind });
      }),

    async forget(id) {
      await connection.write((database) => database.prepare('DELETE FROM chat_memory WHERE kind = ? AND id = ?').run(kind, id));
    },

    async forgetAllOf(callerId) {
      // Most keys have left nothing, and a write would wait for locks.
      const find = 'SELECT 1 FROM chat_memory WHERE caller_id = ? AND kind = ? LIMIT 1';
      if ((await connection.read((database) => database.prepare(find).get(callerId, kind))) === undefined) return;
      await connection.write((database) =>
        database.prepare('DELETE FROM chat_memory WHERE caller_id = ? AND kind = ?').run(callerId, kind),
      );
    },
  };
}

interface Share {
  callerId: string;
  notes: number;
  size: number;
  /** From the oldest; read when it is needed. */
  left?: Iterator<Record<string, unknown>>;
}

/** Whoever fills the memory loses what is oldest of the own, and nothing of the others. */
function makeRoom(database: DatabaseSync, kind: MemoryKind, { maxNotes, maxCharacters }: MemoryBounds): void {
  const total = database.prepare('SELECT count(*) AS notes, sum(characters) AS size FROM chat_memory WHERE kind = ?').get(kind);
  let notes = Number(total?.['notes']);
  let size = Number(total?.['size']);
  if (notes <= maxNotes && size <= maxCharacters) return;
  const shares = sharesOf(database, kind);
  while (notes > maxNotes || size > maxCharacters) {
    const measure = notes > maxNotes ? 'notes' : 'size';
    const heaviest = shares.reduce((most, next) => (next[measure] > most[measure] ? next : most));
    heaviest.left ??= notesOf(database, kind, heaviest.callerId);
    const oldest = heaviest.left.next();
    if (oldest.done === true) return;
    const { position, characters } = oldest.value;
    database.prepare('DELETE FROM chat_memory WHERE position = ?').run(Number(position));
    notes -= 1;
    heaviest.notes -= 1;
    size -= Number(characters);
    heaviest.size -= Number(characters);
  }
}

function sharesOf(database: DatabaseSync, kind: MemoryKind): Share[] {
  const sql = 'SELECT caller_id, count(*) AS notes, sum(characters) AS size FROM chat_memory WHERE kind = ? GROUP BY caller_id';
  const rows = database.prepare(sql).all(kind);
  return rows.map((row) => ({ callerId: String(row['caller_id']), notes: Number(row['notes']), size: Number(row['size']) }));
}

function notesOf(database: DatabaseSync, kind: MemoryKind, callerId: string): Iterator<Record<string, unknown>> {
  const sql = 'SELECT position, characters FROM chat_memory WHERE kind = ? AND caller_id = ? ORDER BY position';
  return database.prepare(sql).all(kind, callerId).values();
}
