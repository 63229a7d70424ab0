import { GatewayError } from '../core/errors.ts';
import { chatIndexOf } from './sql/chat-index.ts';
import { execute, hasChanged, mapped, selectAll, selectFirst, type Database, type Script, type SqlValue } from './sql/database.ts';

interface CopiedTable {
  name: string;
  /** The columns of its primary key. */
  key: readonly string[];
  /** The column that the database counts itself. */
  numbered?: 'position' | 'number';
}

/** In an order in which what a row refers to comes first. Not among them: `replicas` and `changes`, which concern running gateways, and indexes of words. */
export const copiedTables: readonly CopiedTable[] = [
  { name: 'tool_servers', key: ['id'] },
  { name: 'backends', key: ['id'] },
  { name: 'keys', key: ['id'] },
  { name: 'presets', key: ['id'] },
  { name: 'facts', key: ['name'] },
  { name: 'runs', key: ['id'] },
  { name: 'waiting_runs', key: ['id'] },
  { name: 'waiting_run_parts', key: ['parts_id', 'position'] },
  { name: 'waiting_answers', key: ['run_id', 'call_id'] },
  { name: 'chats', key: ['position'], numbered: 'position' },
  { name: 'chat_memory', key: ['position'], numbered: 'position' },
  { name: 'responses', key: ['position'], numbered: 'position' },
  { name: 'response_values', key: ['position'] },
  { name: 'response_items', key: ['item_id', 'position'] },
  { name: 'usage', key: ['day', 'key_id', 'person_id', 'model', 'tool'] },
  { name: 'people', key: ['key_id', 'id'] },
  { name: 'credentials', key: ['caller_id', 'server_id'] },
  { name: 'sign_ins', key: ['position'], numbered: 'position' },
  { name: 'oauth_clients', key: ['issuer', 'redirect_uri'] },
  { name: 'grant_records', key: ['position'], numbered: 'position' },
  { name: 'audit', key: ['number'], numbered: 'number' },
  { name: 'ended_owners', key: ['owner_id'] },
];

/** Read at once; a row may have a megabyte. */
const rowsAtOnce = 50;
/** In the target, while a copy is not complete. */
const unfinishedFact = 'copy_unfinished';
/** What a database has of its own: a new one is empty but for these. */
const ownFacts = ['secret', unfinishedFact];

/**
 * Copies all rows, secrets as they are stored, so that the target needs the same `TOOLWHARF_SECRET`. Neither database may be in use. A copy that was
 * interrupted begins anew. `report`: called after each table with its rows.
 * @throws GatewayError `conflict` for a target with data of its own
 */
export async function copyDatabase(source: Database, target: Database, report: (table: string, rows: number) => void): Promise<void> {
  await requireComplete(source);
  await requireFree(target);
  await target.write('facts', () =>
    execute(`INSERT INTO facts (name, value) VALUES (?, 'yes') ON CONFLICT (name) DO NOTHING`, unfinishedFact),
  );
  for (const { name } of copiedTables.toReversed()) await target.write('facts', () => clear(name));
  await target.write('chats', () => execute('DELETE FROM chat_words'));
  for (const table of copiedTables) report(table.name, await copyTable(source, target, table));
  await target.write('facts', () => hasChanged('DELETE FROM facts WHERE name = ?', unfinishedFact));
}

/** @throws GatewayError `storage_unavailable` for the target of a copy that was interrupted, which lacks a part */
export async function requireComplete(database: Database): Promise<void> {
  const read = database.read(() => selectFirst('SELECT 1 AS found FROM facts WHERE name = ?', unfinishedFact));
  // One that cannot be read at the moment is no obstacle to a start.
  const unfinished = await read.catch(() => undefined);
  if (unfinished === undefined) return;
  throw new GatewayError(
    'storage_unavailable',
    'The database is the target of a copy that was interrupted, and lacks a part. Run copy-database again, or use the database that was copied.',
  );
}

async function requireFree(target: Database): Promise<void> {
  const isUnfinished = await target.read(() => selectFirst('SELECT 1 AS found FROM facts WHERE name = ?', unfinishedFact));
  if (isUnfinished !== undefined) return;
  for (const { name } of copiedTables) {
    const condition = name === 'facts' ? ` WHERE name NOT IN (${ownFacts.map((fact) => `'${fact}'`).join(', ')})` : '';
    const row = await target.read(() => selectFirst(`SELECT 1 AS found FROM ${name}${condition} LIMIT 1`));
    if (row === undefined) continue;
    throw new GatewayError('conflict', `The target has data already (in ${name}), and nothing of it is replaced. Name an empty database.`);
  }
}

function* clear(table: string): Script<void> {
  const condition = table === 'facts' ? ` WHERE name NOT IN (${ownFacts.map((fact) => `'${fact}'`).join(', ')})` : '';
  yield* execute(`DELETE FROM ${table}${condition}`);
}

type Row = Record<string, SqlValue>;

async function copyTable(source: Database, target: Database, table: CopiedTable): Promise<number> {
  let copied = 0;
  for (let last: Row | undefined; ;) {
    const after = last;
    const rows = await source.read(() => selectNext(table, after));
    if (rows.length > 0) await target.write('facts', () => insertAll(target, table, rows));
    copied += rows.length;
    last = rows.at(-1);
    if (rows.length < rowsAtOnce) break;
  }
  const { name, numbered } = table;
  if (numbered !== undefined && target.dialect === 'postgres') {
    const sql = `SELECT setval(pg_get_serial_sequence('${name}', '${numbered}'), coalesce(max(${numbered}), 0) + 1, false) AS next FROM ${name}`;
    await target.write('facts', () => mapped(selectAll(sql), () => undefined));
  }
  return copied;
}

function selectNext({ name, key }: CopiedTable, after: Row | undefined): Script<Row[]> {
  const columns = key.join(', ');
  const condition = after === undefined ? '' : `WHERE (${columns}) > (${key.map(() => '?').join(', ')})`;
  const sql = `SELECT * FROM ${name} ${condition} ORDER BY ${columns} LIMIT ${rowsAtOnce}`;
  return selectAll<Row>(sql, ...(after === undefined ? [] : key.map((column) => after[column] ?? null)));
}

function* insertAll(target: Database, { name, numbered }: CopiedTable, rows: readonly Row[]): Script<void> {
  const overriding = numbered !== undefined && target.dialect === 'postgres' ? 'OVERRIDING SYSTEM VALUE' : '';
  for (const row of rows) {
    const columns = Object.keys(row);
    const sql = `INSERT INTO ${name} (${columns.join(', ')}) ${overriding} VALUES (${columns.map(() => '?').join(', ')}) ON CONFLICT DO NOTHING`;
    yield* execute(sql, ...Object.values(row));
    if (name !== 'chats') continue;
    const { position, question, answer } = row;
    yield* chatIndexOf(target.dialect).add(Number(position), { question: String(question), answer: String(answer) });
  }
}
