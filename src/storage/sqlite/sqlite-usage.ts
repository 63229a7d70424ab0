import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KnownPerson, PeoplePage, UsageDimension, UsageRow, UsageStore } from '../../core/stores/usage-store.ts';
import { keyIdOf, personIdOf } from '../../core/callers/people.ts';
import type { DatabaseConnection } from './database-connection.ts';
import { selectAll, selectFirst } from './select.ts';

const sums = `sum(requests) AS requests, sum(tokens_in) AS tokensIn, sum(tokens_out) AS tokensOut, sum(tool_calls) AS toolCalls, sum(failures) AS failures`;
const columns = 'day, key_id, person_id, model, tool, requests, tokens_in, tokens_out, tool_calls, failures';
const addToRow = `ON CONFLICT (day, key_id, person_id, model, tool) DO UPDATE SET
  requests = requests + excluded.requests, tokens_in = tokens_in + excluded.tokens_in, tokens_out = tokens_out + excluded.tokens_out,
  tool_calls = tool_calls + excluded.tool_calls, failures = failures + excluded.failures`;
const addCounts = `INSERT INTO usage (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ${addToRow}`;
/** Adds what some people have used in a day to what their key has. `whose`: a condition, which must not come from a request. */
const countForKey = (whose: string): string => `INSERT INTO usage (${columns})
  SELECT day, key_id, '', model, tool, sum(requests), sum(tokens_in), sum(tokens_out), sum(tool_calls), sum(failures)
  FROM usage WHERE day = ? AND key_id = ? AND ${whose} GROUP BY model, tool ${addToRow}`;
const notePerson = `INSERT INTO people (key_id, id, name, email, last) VALUES (?, ?, ?, ?, ?) ON CONFLICT (key_id, id) DO UPDATE SET
  name = coalesce(excluded.name, name), email = coalesce(excluded.email, email), last = max(last, excluded.last)`;

const rowsPerDeletion = 1_000;
const rowsPerSearch = 2_000;
const personColumns = 'key_id AS keyId, id, name, email, last';

/** What distinguishes the rows of a report; the ids of people are unique within a key alone. */
const columnsOf: Record<UsageDimension, readonly string[]> = {
  key: ['key_id'],
  user: ['key_id', 'person_id'],
  model: ['model'],
  tool: ['tool'],
};

/** Usage by day, and the people behind keys, on the registry's connection (see `createSqliteRuns`). */
export function createSqliteUsage(connection: DatabaseConnection): UsageStore {
  /** The last one up to a day of which anything is stored. */
  const lastDay = (day: string, compared: '<' | '<='): Promise<string | null> =>
    connection.read((database) => {
      const row = selectFirst<{ day: string | null }>(database, `SELECT max(day) AS day FROM usage WHERE day ${compared} ?`, day);
      return row?.day ?? null;
    });

  /** Deletes rows that meet a condition, some in each turn of the event loop. */
  async function deleteInParts(table: 'usage' | 'people', condition: string, value: SQLInputValue): Promise<void> {
    const names = table === 'usage' ? ['day', 'key_id', 'person_id', 'model', 'tool'] : ['key_id', 'id'];
    const find = `SELECT ${names.join(', ')} FROM ${table} WHERE ${condition} LIMIT ${rowsPerDeletion}`;
    const remove = `DELETE FROM ${table} WHERE ${names.map((name) => `${name} = ?`).join(' AND ')}`;
    const removeSome = (database: DatabaseSync): number => {
      const found = selectAll<Record<string, string>>(database, find, value);
      const removing = database.prepare(remove);
      for (const row of found) removing.run(...names.map((name) => row[name] ?? ''));
      return found.length;
    };
    while ((await connection.write(removeSome)) === rowsPerDeletion) await nextTurn();
  }

  /** SQLite knows upper case in ASCII alone. So all are read, some in each turn of the event loop, and no more are kept than are asked for. */
  async function findPeople({ limit, offset }: PeoplePage, search: string): Promise<PersonRow[]> {
    const sql = `SELECT ${personColumns} FROM people WHERE (key_id, id) > (?, ?) ORDER BY key_id, id LIMIT ${rowsPerSearch}`;
    let found: PersonRow[] = [];
    let rows: PersonRow[] = [];
    do {
      const { keyId, id } = rows.at(-1) ?? { keyId: '', id: '' };
      rows = await connection.read((database) => selectAll<PersonRow>(database, sql, keyId, id));
      const fitting = rows.filter((row) => `${row.id}\n${row.name ?? ''}\n${row.email ?? ''}`.toLowerCase().includes(search));
      found = [...found, ...fitting].toSorted((one, other) => other.last - one.last).slice(0, offset + limit);
      await nextTurn();
    } while (rows.length === rowsPerSearch);
    return found.slice(offset);
  }

  return {
    add: (counts, people) =>
      connection.write((database) => {
        const add = database.prepare(addCounts);
        for (const { day, keyId, personId, model, tool, requests, tokensIn, tokensOut, toolCalls, failures } of counts)
          add.run(day, keyId, personId, model, tool, requests, tokensIn, tokensOut, toolCalls, failures);
        const note = database.prepare(notePerson);
        for (const { keyId, id, name = null, email = null, last } of people) note.run(keyId, id, name, email, last);
      }),

    async report({ by, from, to, owner, limit }) {
      const shown = (column: string): string => (columnsOf[by].includes(column) ? column : `''`);
      const conditions = ['day = ?', by === 'tool' ? `tool <> ''` : `tool = ''`];
      const values: SQLInputValue[] = owner === undefined ? [] : [owner.keyId, owner.personId];
      if (owner !== undefined) conditions.push('key_id = ?', 'person_id = ?');
      const groups = columnsOf[by].join(', ');
      const sql = `SELECT day, ${shown('key_id')} AS keyId, ${shown('person_id')} AS personId, ${shown('model')} AS model, ${shown('tool')} AS tool, ${sums}
        FROM usage WHERE ${conditions.join(' AND ')} GROUP BY day, ${groups} ORDER BY ${groups} LIMIT ?`;
      const rows: UsageRow[] = [];
      // A day in each turn of the event loop: all of them may have millions of rows.
      for (let day = await lastDay(to, '<='); day !== null && day >= from && rows.length < limit; day = await lastDay(day, '<')) {
        const ofDay = day;
        rows.push(...(await connection.read((database) => selectAll<UsageRow>(database, sql, ofDay, ...values, limit - rows.length))));
        await nextTurn();
      }
      return rows;
    },

    tokensOf: (day) =>
      connection.read((database) =>
        selectAll(
          database,
          `SELECT key_id AS keyId, person_id AS personId, sum(tokens_in + tokens_out) AS tokens FROM usage
            WHERE day = ? AND tool = '' GROUP BY key_id, person_id`,
          day,
        ),
      ),

    async listPeople({ limit, offset, search = '' }) {
      if (search !== '') return (await findPeople({ limit, offset }, search.toLowerCase())).map(toPerson);
      const sql = `SELECT ${personColumns} FROM people ORDER BY last DESC, key_id, id LIMIT ? OFFSET ?`;
      return (await connection.read((database) => selectAll<PersonRow>(database, sql, limit, offset))).map(toPerson);
    },

    async deleteAllOf(ownerId) {
      const [keyId, id] = [keyIdOf(ownerId), personIdOf(ownerId)];
      const [whose, values] = id === undefined ? [`person_id <> ''`, [keyId]] : ['person_id = ?', [keyId, id]];
      let deleted = 0;
      // Day by day, because a day of a key with many people takes some milliseconds.
      for (let day = await lastDay('9999-12-31', '<='); day !== null; day = await lastDay(day, '<')) {
        const of = day;
        deleted += await connection.write((database) => {
          database.prepare(countForKey(whose)).run(of, ...values);
          return Number(database.prepare(`DELETE FROM usage WHERE day = ? AND key_id = ? AND ${whose}`).run(of, ...values).changes);
        });
        await nextTurn();
      }
      const person = id === undefined ? 'key_id = ?' : 'key_id = ? AND id = ?';
      const isListed = await connection.write(
        (database) => database.prepare(`DELETE FROM people WHERE ${person}`).run(...values).changes > 0,
      );
      return isListed || deleted > 0;
    },

    async prune(day, time) {
      const find = 'SELECT 1 FROM usage WHERE day < ? UNION ALL SELECT 1 FROM people WHERE last < ? LIMIT 1';
      // Read first: usually there is nothing to remove, and a write would have to wait for locks.
      if ((await connection.read((database) => database.prepare(find).get(day, time))) === undefined) return;
      await deleteInParts('usage', 'day < ?', day);
      await deleteInParts('people', 'last < ?', time);
    },
  };
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
