import type { Stores } from '../../src/storage/open-stores.ts';
import { execute, selectAll } from '../../src/storage/sql/database.ts';

export interface OwnedTable {
  name: string;
  columns: { name: string; type: string; notnull: number }[];
}

/** The tables of the database whose rows belong to a caller, to a key, or to one of the people of a key. */
export function ownedTables({ database }: Pick<Stores, 'database'>): Promise<OwnedTable[]> {
  return database.read(function* () {
    const sql = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'chat_words%'`;
    const tables: OwnedTable[] = [];
    for (const { name } of yield* selectAll<{ name: string }>(sql)) {
      const columns = yield* selectAll<OwnedTable['columns'][number]>(`SELECT name, type, "notnull" FROM pragma_table_info(?)`, name);
      tables.push({ name, columns });
    }
    return tables.filter(({ columns }) => columns.some(isOwner));
  });
}

const isOwner = ({ name }: { name: string }): boolean => name === 'caller_id' || name === 'key_id' || name === 'person_id';

/** A row of any content, which belongs to this person. */
export async function addRow(
  { database }: Pick<Stores, 'database'>,
  { name, columns }: OwnedTable,
  [keyId, personId]: readonly [string, string],
): Promise<void> {
  const owner: Record<string, string> = { caller_id: `${keyId}/${personId}`, key_id: keyId, person_id: personId };
  if (name === 'people') owner['id'] = personId;
  if (name === 'chat_memory') owner['kind'] = 'conversation';
  const filled = columns.filter((column) => column.notnull === 1 || isOwner(column) || column.name === 'id');
  const values = filled.map(
    (column) => owner[column.name] ?? (column.type === 'TEXT' ? JSON.stringify(`${keyId} ${personId}`) : personId.length),
  );
  const sql = `INSERT INTO ${name} (${filled.map((column) => `"${column.name}"`).join(', ')}) VALUES (${filled.map(() => '?').join(', ')})`;
  await database.write('chats', () => execute(sql, ...values));
}

/** The tables that hold something of this person. */
export async function tablesOf(opened: Pick<Stores, 'database'>, [keyId, personId]: readonly [string, string]): Promise<string[]> {
  const found: string[] = [];
  for (const { name, columns } of await ownedTables(opened)) {
    const isByCaller = columns.some((column) => column.name === 'caller_id');
    const person = name === 'people' ? 'id' : 'person_id';
    const [condition, values] = isByCaller
      ? ['caller_id = ?', [`${keyId}/${personId}`]]
      : [`key_id = ? AND ${person} = ?`, [keyId, personId]];
    const rows = await opened.database.read(() => selectAll(`SELECT 1 AS found FROM ${name} WHERE ${condition}`, ...values));
    if (rows.length > 0) found.push(name);
  }
  return found.toSorted();
}
