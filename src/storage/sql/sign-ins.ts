import type { BegunSignIn, SignInBounds, SignInStore, StoredSignIn } from '../../core/stores/sign-in-store.ts';
import { createSecretCipher } from '../secrets/encrypt-secrets.ts';
import { deleteInParts } from './delete-in-parts.ts';
import { ownedBy } from './owned-by.ts';
import { execute, hasChanged, mapped, selectFirst, type Database, type Script } from './database.ts';
import { lossesIn } from './shares.ts';

interface SignInRow {
  id: string;
  caller_id: string;
  server_id: string;
  expires: number;
  is_used: number;
  value: string;
  begun: string | null;
}

const signIns = { store: 'sign_ins', table: 'sign_ins', key: ['position'] } as const;
const columns = 'id, caller_id, server_id, expires, is_used, value, begun';

/** Links and sign-ins, encrypted one by one. */
export function createSignInStore(database: Database, secret: string): SignInStore {
  const cipher = createSecretCipher(secret, 'sign_in');

  function read({ id, caller_id: callerId, server_id: server, expires, is_used: used, value }: SignInRow): StoredSignIn | undefined {
    const text = cipher.decrypt(value, { id, field: fieldOf(callerId, server) });
    return text === undefined ? undefined : { ...(JSON.parse(text) as object), id, callerId, server, expires, isUsed: used === 1 };
  }

  return {
    add({ id, callerId, server, expires, person }, bounds) {
      const value = cipher.encrypt(JSON.stringify({ person }), { id, field: fieldOf(callerId, server) });
      return database.write('sign_ins', () => add({ id, callerId, server, expires, value }, bounds), {
        callerId,
        characters: value.length,
      });
    },

    find: (id, time) =>
      database.read(() =>
        mapped(selectFirst<SignInRow>(`SELECT ${columns} FROM sign_ins WHERE id = ? AND expires > ?`, id, time), (row) => row && read(row)),
      ),

    use(id, time, begun) {
      const sealed = begun && cipher.encrypt(JSON.stringify(begun), { id, field: 'begun' });
      const sql = `UPDATE sign_ins SET is_used = 1, state = ?, state_expires = ?, begun = ?, characters = characters + ?
        WHERE id = ? AND is_used = 0 AND expires > ?`;
      const values = [begun?.state ?? null, begun?.expires ?? null, sealed ?? null, sealed?.length ?? 0, id, time] as const;
      return database.write('sign_ins', () => hasChanged(sql, ...values));
    },

    findBegun: (state, time) =>
      database.read(() =>
        mapped(selectFirst<SignInRow>(`SELECT ${columns} FROM sign_ins WHERE state = ? AND state_expires > ?`, state, time), (row) => {
          const signIn = row && read(row);
          const begun = row?.begun == null ? undefined : cipher.decrypt(row.begun, { id: row.id, field: 'begun' });
          return signIn && begun !== undefined ? { ...signIn, begun: JSON.parse(begun) as BegunSignIn } : undefined;
        }),
      ),

    finish(state, time) {
      const sql = `UPDATE sign_ins SET state = NULL, state_expires = NULL, begun = NULL, characters = length(value)
        WHERE state = ? AND state_expires > ?`;
      return database.write('sign_ins', () => hasChanged(sql, state, time));
    },

    async deleteAllOf(callerId) {
      const { condition, values } = ownedBy(callerId);
      await deleteInParts(database, { ...signIns, condition, values });
    },

    async deleteOfServers(servers) {
      const condition = 'server_id = ?';
      for (const server of servers) await deleteInParts(database, { ...signIns, condition, values: [server] });
    },
  };
}

function* add(
  { id, callerId, server, expires, value }: { id: string; callerId: string; server: string; expires: number; value: string },
  bounds: SignInBounds,
): Script<void> {
  yield* execute('DELETE FROM sign_ins WHERE expires <= ?', bounds.time);
  const sql = 'INSERT INTO sign_ins (id, caller_id, server_id, expires, is_used, characters, value) VALUES (?, ?, ?, ?, 0, ?, ?)';
  yield* execute(sql, id, callerId, server, expires, value.length, value);
  yield* enforceBounds(callerId, bounds);
}

function* enforceBounds(callerId: string, { maxOfCaller, max, maxCharacters }: SignInBounds): Script<void> {
  const newest = 'SELECT position FROM sign_ins WHERE caller_id = ? ORDER BY position DESC LIMIT 1 OFFSET ?';
  yield* execute(`DELETE FROM sign_ins WHERE caller_id = ? AND position <= (${newest})`, callerId, callerId, maxOfCaller);
  const shared = { table: 'sign_ins', id: 'position', where: 'true', order: 'position' } as const;
  for (const { id } of yield* lossesIn(shared, { entries: max, characters: maxCharacters }))
    yield* execute('DELETE FROM sign_ins WHERE position = ?', id);
}

/** Bound to both, so that a row cannot be made another caller's. */
function fieldOf(callerId: string, server: string): string {
  return JSON.stringify([callerId, server]);
}
