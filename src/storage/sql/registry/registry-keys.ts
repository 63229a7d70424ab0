import type { KeyRecord, Registry } from '../../../core/stores/registry.ts';
import { copyJson } from '../../../shared/json/json.ts';
import type { SecretCipher } from '../../secrets/encrypt-secrets.ts';
import { execute, hasChanged, mapped, selectFirst, type Script } from '../database.ts';
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
      await records.write('keys', record.id, () => insertKey(record, writeKey(record, cipher)));
    },
    changeKey: async (given) => {
      const record = copyJson(given);
      await records.write('keys', record.id, () => updateKey(record, writeKey(record, cipher)));
    },
    deleteKey: (id) =>
      records.delete('keys', id, () =>
        mapped(hasChanged('DELETE FROM keys WHERE id = ?', id), (isDeleted) => {
          if (!isDeleted) throw missing('key', id);
        }),
      ),
  };
}

function* insertKey(record: KeyRecord, text: string): Script<void> {
  yield* requireFreeKey(record, '');
  const sql = 'INSERT INTO keys (id, position, hash, record) SELECT ?, coalesce(max(position), 0) + 1, ?, ? FROM keys';
  yield* execute(sql, record.id, record.hash, text);
}

function* updateKey(record: KeyRecord, text: string): Script<void> {
  yield* requireFreeKey(record, record.id);
  const isThere = yield* hasChanged('UPDATE keys SET hash = ?, record = ? WHERE id = ?', record.hash, text, record.id);
  if (!isThere) throw missing('key', record.id);
}

/** `changedId`: the key that is being changed, which may keep its id and hash; empty for a new key. */
function* requireFreeKey({ id, hash }: KeyRecord, changedId: string): Script<void> {
  const sql = 'SELECT id FROM keys WHERE (id = ? OR hash = ?) AND id <> ?';
  const other = yield* selectFirst<{ id: string }>(sql, id, hash, changedId);
  if (other !== undefined) throw taken('key', other.id);
}
