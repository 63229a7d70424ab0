import type { NoteStore, NoteBounds, NoteKind } from '../../core/stores/note-store.ts';
import { deleteInParts } from './delete-in-parts.ts';
import { createSecretCipher } from '../secrets/encrypt-secrets.ts';
import { ownedBy } from './owned-by.ts';
import { execute, mapped, selectFirst, type Database, type Script, type SqlValue } from './database.ts';
import { lossesIn } from './shares.ts';

/** Notes of one kind, encrypted one by one. */
export function createNoteStore(database: Database, secret: string, kind: NoteKind): NoteStore {
  const cipher = createSecretCipher(secret, 'chat_memory');
  async function removeAny(condition: string, ...values: SqlValue[]): Promise<number> {
    const table = { store: 'chat_memory', table: 'chat_memory', key: ['position'], columns: ['characters'] } as const;
    return (await deleteInParts(database, { ...table, condition, values })).length;
  }

  return {
    save({ id, callerId, value, expires }, bounds) {
      const encrypted = cipher.encrypt(value, { id, field: kind });
      return database.write('chat_memory', () => save(kind, { id, callerId, expires, encrypted }, bounds), {
        callerId,
        characters: encrypted.length,
      });
    },

    find: (id, time) =>
      database.read(() =>
        mapped(selectFirst<{ value: string }>(findSql, kind, id, time), (row) => row && cipher.decrypt(row.value, { id, field: kind })),
      ),

    isEmpty: () =>
      database.read(() =>
        mapped(selectFirst('SELECT 1 AS found FROM chat_memory WHERE kind = ? LIMIT 1', kind), (found) => found === undefined),
      ),

    async delete(id) {
      await database.write('chat_memory', () => execute('DELETE FROM chat_memory WHERE kind = ? AND id = ?', kind, id));
    },

    async deleteAllOf(callerId) {
      const { condition, values } = ownedBy(callerId);
      await removeAny(`${condition} AND kind = ?`, ...values, kind);
    },

    deleteExpired: (time) => removeAny('kind = ? AND expires <= ?', kind, time),
  };
}

const findSql = 'SELECT value FROM chat_memory WHERE kind = ? AND id = ? AND expires > ?';
const insertSql = 'INSERT INTO chat_memory (kind, id, caller_id, expires, characters, value) VALUES (?, ?, ?, ?, ?, ?)';

function* save(
  kind: NoteKind,
  { id, callerId, expires, encrypted }: { id: string; callerId: string; expires: number; encrypted: string },
  bounds: NoteBounds,
): Script<void> {
  yield* execute('DELETE FROM chat_memory WHERE kind = ? AND (id = ? OR expires <= ?)', kind, id, bounds.time);
  yield* execute(insertSql, kind, id, callerId, expires, encrypted.length, encrypted);
  yield* enforceBounds(kind, bounds);
}

function* enforceBounds(kind: NoteKind, { maxNotes, maxCharacters }: NoteBounds): Script<void> {
  const shared = { table: 'chat_memory', id: 'position', where: 'kind = ?', values: [kind], order: 'position' } as const;
  for (const { id } of yield* lossesIn(shared, { entries: maxNotes, characters: maxCharacters }))
    yield* execute('DELETE FROM chat_memory WHERE position = ?', id);
}
