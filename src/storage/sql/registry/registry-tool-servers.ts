import { GatewayError } from '../../../core/errors.ts';
import type { Registry, ToolServerRecord } from '../../../core/stores/registry.ts';
import { copyJson } from '../../../shared/json/json.ts';
import { keepLast } from '../../../shared/keep-last.ts';
import { whenThere } from '../../../shared/async/maybe-promise.ts';
import type { SecretCipher } from '../../secrets/encrypt-secrets.ts';
import { preparedPerTick, type PreparedRow, type RegistryRecords } from './registry-records.ts';
import { missing, taken } from './registry-errors.ts';
import { execute, hasChanged, mapped, type Script } from '../database.ts';
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
    listToolServers: () => whenThere(records.read(), ({ tool_servers: toolServers }) => recordsOf(toolServers.list())),
    findToolServer: async (id) => {
      const { tool_servers: toolServers } = await records.read();
      const found = toolServers.get(id);
      if (found !== undefined && found.unreadable.length > 0) throw unreadable(id, found.unreadable);
      return found?.record;
    },
    createToolServer: async (given) => {
      const record = copyJson(given);
      await records.write('tool_servers', record.id, () => insertToolServer(toToolServerRow(record, undefined, cipher)));
    },
    changeToolServer: async (given) => {
      const record = copyJson(given);
      await records.write('tool_servers', record.id, () => updateToolServer(record, cipher));
    },
    deleteToolServer: (id) =>
      records.delete('tool_servers', id, () =>
        mapped(hasChanged('DELETE FROM tool_servers WHERE id = ?', id), (isDeleted) => {
          if (!isDeleted) throw missing('tool server', id);
        }),
      ),
    replaceToolServers: async (given) => {
      const wanted: ToolServerRecord[] = copyJson([...given]);
      const prepared = wanted.length > preparedPerTick ? await records.prepareRows(wanted) : undefined;
      await records.write('tool_servers', undefined, () => replaceAll(wanted, { prepared, cipher }));
    },
  };
}

function* updateToolServer(record: ToolServerRecord, cipher: SecretCipher): Script<void> {
  const before = yield* findToolServerRow(record.id);
  if (before === undefined) throw missing('tool server', record.id);
  const row = toToolServerRow(record, before, cipher);
  yield* execute('UPDATE tool_servers SET record = ?, secrets = ? WHERE id = ?', row.record, row.secrets, record.id);
}

function* replaceAll(
  wanted: readonly ToolServerRecord[],
  { prepared, cipher }: { prepared: ReadonlyMap<string, PreparedRow> | undefined; cipher: SecretCipher },
): Script<void> {
  const current = new Map((yield* selectToolServers()).map((row) => [row.id, row]));
  yield* execute('DELETE FROM tool_servers');
  const insert = 'INSERT INTO tool_servers (id, position, record, secrets) VALUES (?, ?, ?, ?)';
  const ids = new Set<string>();
  for (const record of wanted) {
    const { id } = record;
    if (ids.has(id)) throw taken('tool server', id);
    ids.add(id);
    const before = current.get(id);
    const known = prepared?.get(id);
    const row = known !== undefined && isSameRow(known.before, before) ? known.row : toToolServerRow(record, before, cipher);
    yield* execute(insert, id, ids.size, row.record, row.secrets);
  }
}

function* insertToolServer({ id, record, secrets }: RowContent): Script<void> {
  if ((yield* findToolServerRow(id)) !== undefined) throw taken('tool server', id);
  const sql = 'INSERT INTO tool_servers (id, position, record, secrets) SELECT ?, coalesce(max(position), 0) + 1, ?, ? FROM tool_servers';
  yield* execute(sql, id, record, secrets);
}

function unreadable(id: string, fields: readonly string[]): GatewayError {
  return new GatewayError(
    'storage_unavailable',
    `The stored ${fields.join(', ')} of tool server "${id}" cannot be read with this TOOLWHARF_SECRET. Set the secret they were stored with, or give new values.`,
  );
}
