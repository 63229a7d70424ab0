import type { DatabaseSync } from 'node:sqlite';
import { GatewayError } from '../../../core/errors.ts';
import type { Registry, ToolServerRecord } from '../../../core/stores/registry.ts';
import { copyJson } from '../../../shared/json/json.ts';
import { keepLast } from '../../../shared/keep-last.ts';
import { whenThere } from '../../../shared/async/maybe-promise.ts';
import type { SecretCipher } from '../../secrets/encrypt-secrets.ts';
import { preparedPerTick, type RegistryRecords } from './registry-records.ts';
import { missing, taken } from './registry-errors.ts';
import { execute } from '../connection/select.ts';
import { isSameRow, type RowContent } from './stored-row.ts';
import { findToolServerRow, selectToolServers, toToolServerRow, type ReadToolServer } from './tool-server-row.ts';

type ToolServers = Pick<
  Registry,
  'listToolServers' | 'findToolServer' | 'createToolServer' | 'changeToolServer' | 'deleteToolServer' | 'replaceToolServers'
>;

export function toolServersIn(records: RegistryRecords, cipher: SecretCipher): ToolServers {
  const recordsOf = keepLast((read: readonly ReadToolServer[]): readonly ToolServerRecord[] =>
    Object.freeze(read.map(({ record }) => record)),
  );

  return {
    listToolServers: () => whenThere(records.read(), ({ toolServers }) => recordsOf(toolServers.list())),
    findToolServer: async (id) => {
      const { toolServers } = await records.read();
      const found = toolServers.get(id);
      if (found !== undefined && found.unreadable.length > 0) throw unreadable(id, found.unreadable);
      return found?.record;
    },
    createToolServer: async (given) => {
      const record = copyJson(given);
      await records.write('toolServers', record.id, (database) => {
        insertToolServer(database, toToolServerRow(record, undefined, cipher));
      });
    },
    changeToolServer: async (given) => {
      const record = copyJson(given);
      await records.write('toolServers', record.id, (database) => {
        const before = findToolServerRow(database, record.id);
        if (before === undefined) throw missing('tool server', record.id);
        const row = toToolServerRow(record, before, cipher);
        execute(database, 'UPDATE tool_servers SET record = ?, secrets = ? WHERE id = ?', row.record, row.secrets, record.id);
      });
    },
    deleteToolServer: (id) =>
      records.write('toolServers', id, (database) => {
        if (execute(database, 'DELETE FROM tool_servers WHERE id = ?', id) === 0) throw missing('tool server', id);
      }),
    replaceToolServers: async (given) => {
      const wanted: ToolServerRecord[] = copyJson([...given]);
      const prepared = wanted.length > preparedPerTick ? await records.prepareRows(wanted) : undefined;
      await records.write('toolServers', undefined, (database) => {
        const current = new Map(selectToolServers(database).map((row) => [row.id, row]));
        const rows = wanted.map((record) => {
          const before = current.get(record.id);
          const known = prepared?.get(record.id);
          return known !== undefined && isSameRow(known.before, before) ? known.row : toToolServerRow(record, before, cipher);
        });
        const ids = new Set<string>();
        database.exec('DELETE FROM tool_servers');
        const insert = 'INSERT INTO tool_servers (id, position, record, secrets) VALUES (?, ?, ?, ?)';
        for (const { id, record, secrets } of rows) {
          if (ids.has(id)) throw taken('tool server', id);
          ids.add(id);
          execute(database, insert, id, ids.size, record, secrets);
        }
      });
    },
  };
}

function insertToolServer(database: DatabaseSync, { id, record, secrets }: RowContent): void {
  if (findToolServerRow(database, id) !== undefined) throw taken('tool server', id);
  const sql = 'INSERT INTO tool_servers (id, position, record, secrets) SELECT ?, coalesce(max(position), 0) + 1, ?, ? FROM tool_servers';
  execute(database, sql, id, record, secrets);
}

function unreadable(id: string, fields: readonly string[]): GatewayError {
  return new GatewayError(
    'storage_unavailable',
    `The stored ${fields.join(', ')} of tool server "${id}" cannot be read with this TOOLWHARF_SECRET. Set the secret they were stored with, or give new values.`,
  );
}
