import type { Registry } from '../../../core/stores/registry.ts';
import { whenThere } from '../../../shared/async/maybe-promise.ts';
import type { SecretCipher } from '../../secrets/encrypt-secrets.ts';
import { execute, hasChanged, mapped, type Script } from '../database.ts';
import type { RowContent } from './stored-row.ts';
import type { BackendConfig } from '../../../core/models/backend-config.ts';
import { findBackendRow, toBackendRow } from './backend-row.ts';
import { missing, taken } from './registry-errors.ts';
import type { RegistryRecords } from './registry-records.ts';

type Backends = Pick<Registry, 'listBackends' | 'createBackend' | 'changeBackend' | 'deleteBackend'>;

export function backendsIn(records: RegistryRecords, cipher: SecretCipher): Backends {
  return {
    listBackends: () => whenThere(records.read(), ({ backends }) => backends.list()),
    createBackend: (backend) => records.write('backends', backend.name, () => insertBackend(toBackendRow(backend, undefined, cipher))),
    changeBackend: (backend) => records.write('backends', backend.name, () => updateBackend(backend, cipher)),
    deleteBackend: (id) =>
      records.delete('backends', id, () =>
        mapped(hasChanged('DELETE FROM backends WHERE id = ?', id), (isDeleted) => {
          if (!isDeleted) throw missing('backend', id);
        }),
      ),
  };
}

function* insertBackend({ id, record, secrets }: RowContent): Script<void> {
  if ((yield* findBackendRow(id)) !== undefined) throw taken('backend', id);
  const sql = 'INSERT INTO backends (id, position, record, secrets) SELECT ?, coalesce(max(position), 0) + 1, ?, ? FROM backends';
  yield* execute(sql, id, record, secrets);
}

function* updateBackend(backend: BackendConfig, cipher: SecretCipher): Script<void> {
  const before = yield* findBackendRow(backend.name);
  if (before === undefined) throw missing('backend', backend.name);
  const { id, record, secrets } = toBackendRow(backend, before, cipher);
  yield* execute('UPDATE backends SET record = ?, secrets = ? WHERE id = ?', record, secrets, id);
}
