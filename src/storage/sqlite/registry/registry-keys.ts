import type { DatabaseSync } from 'node:sqlite';
import type { KeyRecord, Registry } from '../../../core/stores/registry.ts';
import { copyJson } from '../../../shared/json/json.ts';
import type { SecretCipher } from '../../secrets/encrypt-secrets.ts';
import { execute, selectFirst } from '../connection/select.ts';
import { writeKey } from './key-row.ts';
import { missing, taken } from './registry-errors.ts';
import type { RegistryRecords } from './registry-records.ts';

type Keys = Pick<Registry, 'listKeys' | 'countKeys' | 'findKey' | 'findKeyByHash' | 'createKey' | 'changeKey' | 'deleteKey'>;

export function keysIn(records: RegistryRecords, cipher: SecretCipher): Keys {
  return {
    listKeys: async () => (await records.read()).keys.list(),
    countKeys: async () => (await records.read()).keys.size,
    findKey: async (id) => (await records.read()).keys.get(id),
    findKeyByHash: async (hash) => (await records.read()).keys.findByText(hash),
    createKey: async (given) => {
      const record = copyJson(given);
      await records.write('keys', record.id, (database) => {
        requireFreeKey(database, record, '');
        const sql = 'INSERT INTO keys (id, position, hash, record) SELECT ?, coalesce(max(position), 0) + 1, ?, ? FROM keys';
        execute(database, sql, record.id, record.hash, writeKey(record, cipher));
      });
    },
    changeKey: async (given) => {
      const record = copyJson(given);
      await records.write('keys', record.id, (database) => {
        requireFreeKey(database, record, record.id);
        const sql = 'UPDATE keys SET hash = ?, record = ? WHERE id = ?';
        if (execute(database, sql, record.hash, writeKey(record, cipher), record.id) === 0) throw missing('key', record.id);
      });
    },
    deleteKey: (id) =>
      records.write('keys', id, (database) => {
        if (execute(database, 'DELETE FROM keys WHERE id = ?', id) === 0) throw missing('key', id);
      }),
  };
}

/** `changedId`: the key that is being changed, which may keep its id and hash; empty for a new key. */
function requireFreeKey(database: DatabaseSync, { id, hash }: KeyRecord, changedId: string): void {
  const sql = 'SELECT id FROM keys WHERE (id = ? OR hash = ?) AND id <> ?';
  const other = selectFirst<{ id: string }>(database, sql, id, hash, changedId);
  if (other !== undefined) throw taken('key', other.id);
}
