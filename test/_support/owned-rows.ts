import type { Stores } from '../../src/storage/open-stores.ts';
import { selectAll } from '../../src/storage/sqlite/connection/select.ts';

export interface OwnedTable {
  name: string;
  columns: { name: string; type: string; notnull: number }[];
}

/** The tables of the database whose rows belong to a caller, to a key, or to one of the people of a key. */
export function ownedTables({ connection }: Pick<Stores, 'connection'>): Promise<OwnedTable[]> {
  return connection.read((database) => {
    const sql = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'chat_words%'`;
    const tables = selectAll<{ name: string }>(database, sql).map(({ name }) => ({
      name,
      columns: selectAll<OwnedTable['columns'][number]>(database, `SELECT name, type, "notnull" FROM pragma_table_info(?)`, name),
    }));
    return tables.filter(({ columns }) => columns.some(isOwner));
  });
}

const isOwner = ({ name }: { name: string }): boolean => name === 'caller_id' || name === 'key_id' || name === 'person_id';

/** A row of any content, which belongs to this person. */
export async function addRow(
  { connection }: Pick<Stores, 'connection'>,
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
  await connection.write((database) => database.prepare(sql).run(...values));
}

/** The tables that hold something of this person. */
export async function tablesOf(opened: Pick<Stores, 'connection'>, [keyId, personId]: readonly [string, string]): Promise<string[]> {
  const found: string[] = [];
  for (const { name, columns } of await ownedTables(opened)) {
    const isByCaller = columns.some((column) => column.name === 'caller_id');
    const person = name === 'people' ? 'id' : 'person_id';
    const [condition, values] = isByCaller
      ? ['caller_id = ?', [`${keyId}/${personId}`]]
      : [`key_id = ? AND ${person} = ?`, [keyId, personId]];
    const rows = await opened.connection.read((database) => selectAll(database, `SELECT 1 FROM ${name} WHERE ${condition}`, ...values));
    if (rows.length > 0) found.push(name);
  }
  return found.toSorted();
}
