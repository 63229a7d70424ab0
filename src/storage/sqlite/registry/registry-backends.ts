import type { Registry } from '../../../core/stores/registry.ts';
import { whenThere } from '../../../shared/async/maybe-promise.ts';
import type { SecretCipher } from '../../secrets/encrypt-secrets.ts';
import { execute } from '../connection/select.ts';
import { findBackendRow, toBackendRow } from './backend-row.ts';
import { missing, taken } from './registry-errors.ts';
import type { RegistryRecords } from './registry-records.ts';

type Backends = Pick<Registry, 'listBackends' | 'createBackend' | 'changeBackend' | 'deleteBackend'>;

export function backendsIn(records: RegistryRecords, cipher: SecretCipher): Backends {
  return {
    listBackends: () => whenThere(records.read(), ({ backends }) => backends.list()),
    createBackend: (backend) =>
      records.write('backends', backend.name, (database) => {
        if (findBackendRow(database, backend.name) !== undefined) throw taken('backend', backend.name);
        const { id, record, secrets } = toBackendRow(backend, undefined, cipher);
        const sql = 'INSERT INTO backends (id, position, record, secrets) SELECT ?, coalesce(max(position), 0) + 1, ?, ? FROM backends';
        execute(database, sql, id, record, secrets);
      }),
    changeBackend: (backend) =>
      records.write('backends', backend.name, (database) => {
        const before = findBackendRow(database, backend.name);
        if (before === undefined) throw missing('backend', backend.name);
        const { id, record, secrets } = toBackendRow(backend, before, cipher);
        execute(database, 'UPDATE backends SET record = ?, secrets = ? WHERE id = ?', record, secrets, id);
      }),
    deleteBackend: (id) =>
      records.write('backends', id, (database) => {
        if (execute(database, 'DELETE FROM backends WHERE id = ?', id) === 0) throw missing('backend', id);
      }),
  };
}
