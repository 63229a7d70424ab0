import { setImmediate as nextTick } from 'node:timers/promises';
import {
  sumOf,
  type KnownPerson,
  type PeoplePage,
  type UsageDimension,
  type UsageQuery,
  type UsageRow,
  type UsageStore,
} from '../../core/stores/usage-store.ts';
import { keyIdOf, personIdOf } from '../../core/callers/people.ts';
import { deleteInParts } from './delete-in-parts.ts';
import { execute, mapped, selectAll, selectFirst, type Database, type Script, type SqlValue } from './database.ts';

const sums = `sum(requests) AS requests, sum(tokens_in) AS "tokensIn", sum(tokens_out) AS "tokensOut", sum(tool_calls) AS "toolCalls", sum(failures) AS failures`;
const columns = 'day, key_id, person_id, model, tool, requests, tokens_in, tokens_out, tool_calls, failures';
const addToRow = `ON CONFLICT (day, key_id, person_id, model, tool) DO UPDATE SET
  requests = usage.requests + excluded.requests, tokens_in = usage.tokens_in + excluded.tokens_in,
  tokens_out = usage.tokens_out + excluded.tokens_out, tool_calls = usage.tool_calls + excluded.tool_calls,
  failures = usage.failures + excluded.failures`;
const addCounts = `INSERT INTO usage (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ${addToRow}`;
const notePerson = `INSERT INTO people (key_id, id, name, email, last) VALUES (?, ?, ?, ?, ?) ON CONFLICT (key_id, id) DO UPDATE SET
  name = coalesce(excluded.name, people.name), email = coalesce(excluded.email, people.email),
  last = CASE WHEN excluded.last > people.last THEN excluded.last ELSE people.last END`;

/** Read in one tick, which takes some milliseconds. */
const rowsPerTick = 1_000;
const personColumns = 'key_id AS "keyId", id, name, email, last';

/** The columns that a report groups by; the ids of people are unique only within a key. */
const columnsOf: Record<UsageDimension, readonly string[]> = {
  key: ['key_id'],
  user: ['key_id', 'person_id'],
  model: ['model'],
  tool: ['tool'],
};

/** Usage by day, and the people behind keys. */
export function createUsageStore(database: Database): UsageStore {
  return {
    add: (counts, people) => database.write('usage', () => add(counts, people)),

    async report(query) {
      const { from, to, limit } = query;
      const rows: UsageRow[] = [];
      for (
        let day = await findLastDay(database, to, '<=');
        day !== null && day >= from && rows.length < limit;
        day = await findLastDay(database, day, '<')
      )
        rows.push(...(await sumDay(database, day, { ...query, limit: limit - rows.length })));
      return rows;
    },

    readTokens: (day, read) => readTokens(database, day, read),

    listPeople: async (page) => (await findPeople(database, page)).map(toPerson),

    deleteAllOf: (ownerId) => deleteAllOf(database, ownerId),

    async prune(day, time) {
      const usage = { store: 'usage', table: 'usage', key: ['day', 'key_id', 'person_id', 'model', 'tool'] } as const;
      await deleteInParts(database, { ...usage, condition: 'day < ?', values: [day] });
      await deleteInParts(database, { store: 'usage', table: 'people', key: ['key_id', 'id'], condition: 'last < ?', values: [time] });
    },
  };
}

function* add(counts: Parameters<UsageStore['add']>[0], people: Parameters<UsageStore['add']>[1]): Script<void> {
  for (const { day, keyId, personId, model, tool, requests, tokensIn, tokensOut, toolCalls, failures } of counts)
    yield* execute(addCounts, day, keyId, personId, model, tool, requests, tokensIn, tokensOut, toolCalls, failures);
  for (const { keyId, id, name = null, email = null, last } of people) yield* execute(notePerson, keyId, id, name, email, last);
}

async function readTokens(database: Database, day: string, read: Parameters<UsageStore['readTokens']>[1]): Promise<void> {
  interface TokensRow {
    keyId: string;
    personId: string;
    model: string;
    tokens: number;
  }
  const sql = `SELECT key_id AS "keyId", person_id AS "personId", model, tokens_in + tokens_out AS tokens FROM usage
    WHERE day = ? AND tool = '' AND (key_id, person_id, model) > (?, ?, ?) ORDER BY key_id, person_id, model LIMIT ${rowsPerTick}`;
  let last = { keyId: '', personId: '', model: '' };
  for (let rows: TokensRow[] | undefined; rows === undefined || rows.length === rowsPerTick; await nextTick()) {
    const { keyId, personId, model } = last;
    rows = await database.read(() => selectAll<TokensRow>(sql, day, keyId, personId, model));
    rows.forEach(read);
    last = rows.at(-1) ?? last;
  }
}

/** The last day with stored usage before (or up to) this one. */
function findLastDay(database: Database, day: string, compared: '<' | '<='): Promise<string | null> {
  const sql = `SELECT max(day) AS day FROM usage WHERE day ${compared} ?`;
  return database.read(() => mapped(selectFirst<{ day: string | null }>(sql, day), (row) => row?.day ?? null));
}

/** The last active first, some in each tick. They are filtered here, because SQLite folds case only in ASCII. */
async function findPeople(database: Database, { limit, offset, search: text = '' }: PeoplePage): Promise<PersonRow[]> {
  const search = text.toLowerCase();
  const sql = `SELECT ${personColumns} FROM people WHERE (last, key_id, id) < (?, ?, ?) ORDER BY last DESC, key_id DESC, id DESC LIMIT ${rowsPerTick}`;
  const found: PersonRow[] = [];
  let left = offset;
  let rows: PersonRow[] = [];
  do {
    const { last, keyId, id } = rows.at(-1) ?? { last: Number.MAX_SAFE_INTEGER, keyId: '', id: '' };
    rows = await database.read(() => selectAll<PersonRow>(sql, last, keyId, id));
    const fitting =
      search === '' ? rows : rows.filter((row) => `${row.id}\n${row.name ?? ''}\n${row.email ?? ''}`.toLowerCase().includes(search));
    found.push(...fitting.slice(left, left + limit - found.length));
    left = Math.max(left - fitting.length, 0);
    await nextTick();
  } while (rows.length === rowsPerTick && found.length < limit);
  return found;
}

/** The sums of a day, some rows in each tick of the event loop, because the people of a few keys may have a hundred thousand. */
async function sumDay(database: Database, day: string, { by, owner, limit }: UsageQuery): Promise<UsageRow[]> {
  const groups = columnsOf[by];
  const shown = (column: string): string => (groups.includes(column) ? column : `''`);
  const values: SqlValue[] = owner === undefined ? [day] : [day, owner.keyId, owner.personId];
  const condition = `day = ?${owner === undefined ? '' : ' AND key_id = ? AND person_id = ?'} AND ${by === 'tool' ? `tool <> ''` : `tool = ''`}`;
  const range = `FROM usage WHERE ${condition} AND (${rowOrder}) > (?, ?, ?, ?)`;
  const lastOfPart = `SELECT ${rowOrder} ${range} ORDER BY ${rowOrder} LIMIT 1 OFFSET ${rowsPerTick - 1}`;
  const sumsOf = (part: string): string => `SELECT day, ${shown('key_id')} AS "keyId", ${shown('person_id')} AS "personId",
    ${shown('model')} AS model, ${shown('tool')} AS tool, ${sums} ${part} GROUP BY day, ${groups.join(', ')} ORDER BY ${groups.join(', ')}`;
  const rows = new Map<string, UsageRow>();
  let after: SqlValue[] | undefined = ['', '', '', ''];
  // Keys and people come in the order of the rows, so later ones add nothing to the first.
  const enough = groups.includes('key_id') ? limit : Infinity;
  while (after !== undefined && rows.size <= enough) {
    const before: SqlValue[] = after;
    const [end, rowsOfPart] = await database.read(() => sumPart({ lastOfPart, range, sumsOf, values: [...values, ...before] }));
    for (const row of rowsOfPart) addTo(rows, row);
    after = end;
    await nextTick();
  }
  const found = [...rows.entries()];
  if (!groups.includes('key_id')) found.sort(([one], [other]) => (one < other ? -1 : 1));
  return found.slice(0, limit).map(([, row]) => row);
}

/** The sums of the next rows, and the order of the last of them where there may be further ones. */
function* sumPart({ lastOfPart, range, sumsOf, values }: DayPart): Script<[SqlValue[] | undefined, UsageRow[]]> {
  const last = yield* selectFirst<Record<string, SqlValue>>(lastOfPart, ...values);
  if (last === undefined) return [undefined, yield* selectAll<UsageRow>(sumsOf(range), ...values)];
  const end = Object.values(last);
  return [end, yield* selectAll<UsageRow>(sumsOf(`${range} AND (${rowOrder}) <= (?, ?, ?, ?)`), ...values, ...end)];
}

interface DayPart {
  lastOfPart: string;
  range: string;
  sumsOf: (part: string) => string;
  values: readonly SqlValue[];
}

/** A person's counts become counts of their key. */
async function deleteAllOf(database: Database, ownerId: string): Promise<boolean> {
  const [keyId, id] = [keyIdOf(ownerId), personIdOf(ownerId)];
  const [whose, values] = id === undefined ? [`person_id <> ''`, [keyId]] : ['person_id = ?', [keyId, id]];
  let deleted = 0;
  // By day, with which the index begins.
  for (let day = await findLastDay(database, '9999-12-31', '<='); day !== null; day = await findLastDay(database, day, '<')) {
    const rows = await deleteInParts<CountsRow>(database, {
      store: 'usage',
      table: 'usage',
      key: ['day', 'key_id', 'person_id', 'model', 'tool'],
      columns: ['requests', 'tokens_in', 'tokens_out', 'tool_calls', 'failures'],
      condition: `day = ? AND key_id = ? AND ${whose}`,
      values: [day, ...values],
      before: countForKey,
    });
    deleted += rows.length;
  }
  const person = id === undefined ? 'key_id = ?' : 'key_id = ? AND id = ?';
  const people = await deleteInParts(database, { store: 'usage', table: 'people', key: ['key_id', 'id'], condition: person, values });
  return people.length + deleted > 0;
}

/** The columns by which the rows of a day are ordered. */
const rowOrder = 'key_id, person_id, model, tool';

function addTo(sumsOfGroups: Map<string, UsageRow>, row: UsageRow): void {
  const name = [row.keyId, row.personId, row.model, row.tool].join('\0');
  const sum = sumsOfGroups.get(name);
  sumsOfGroups.set(name, sum === undefined ? row : sumOf(sum, row));
}

interface CountsRow {
  day: string;
  key_id: string;
  model: string;
  tool: string;
  requests: number;
  tokens_in: number;
  tokens_out: number;
  tool_calls: number;
  failures: number;
}

/** Adds the counts of a deleted person to those of their key. */
function countForKey({ day, key_id: keyId, model, tool, ...counts }: CountsRow): Script<number> {
  const { requests, tokens_in: read, tokens_out: written, tool_calls: calls, failures } = counts;
  return execute(addCounts, day, keyId, '', model, tool, requests, read, written, calls, failures);
}

interface PersonRow {
  keyId: string;
  id: string;
  name: string | null;
  email: string | null;
  last: number;
}

function toPerson({ name, email, ...person }: PersonRow): KnownPerson {
  return { ...person, ...(name !== null && { name }), ...(email !== null && { email }) };
}
