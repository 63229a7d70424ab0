import { GatewayError } from '../../../core/errors.ts';
import { selectAll, selectFirst, type Database, type RecordTableName, type Script } from '../database.ts';
import { isSameRow, type StoredRow } from './stored-row.ts';

interface RecordTableOptions<Value> {
  /** Its columns are those of `StoredRow`. */
  table: RecordTableName;
  /** How messages call one entry. */
  kind: string;
  /** Columns that are read. `keys` and `presets` have no `secrets`. */
  columns: string;
  toValue: (row: StoredRow) => Value;
  /** A text that is unique among the entries. Default: none is looked up. */
  uniqueText?: (value: Value) => string;
}

interface Read<Value> {
  row: StoredRow;
  value: Value;
}

/**
 * The entries of one table, parsed and in the order of their creation. What this process writes is read by row, so that a change costs the same however
 * many entries there are. An unchanged entry stays the same object, and `list` the same array until something has changed.
 */
export class RecordTable<Value> {
  readonly #options: RecordTableOptions<Value>;
  readonly #read = new Map<string, Read<Value>>();
  readonly #byText = new Map<string, Value>();
  #list: readonly Value[] | undefined;
  /** Ids of rows that may have changed since they were read. */
  #changed: Set<string> | 'all' = 'all';
  #isReading = false;
  /** Parsed before they are written: reading a thousand new rows in one tick of the event loop would take long. */
  #expected: ReadonlyMap<string, Read<Value>> = new Map();

  constructor(options: RecordTableOptions<Value>) {
    this.#options = options;
  }

  get size(): number {
    return this.#read.size;
  }

  get(id: string): Value | undefined {
    return this.#read.get(id)?.value;
  }

  findByText(text: string): Value | undefined {
    return this.#byText.get(text);
  }

  list(): readonly Value[] {
    return (this.#list ??= Object.freeze(Array.from(this.#read.values(), ({ value }) => value)));
  }

  /** `id`: the row that may have changed. Default: any row. */
  noteChange(id?: string): void {
    if (id !== undefined) {
      if (this.#changed !== 'all') this.#changed.add(id);
      return;
    }
    this.#changed = 'all';
    this.#isReading = false;
  }

  /** An entry that has been deleted is gone at once, also where the table cannot be read again for a while. */
  drop(id: string): void {
    const known = this.#read.get(id);
    if (known === undefined) return;
    this.#read.delete(id);
    if (this.#options.uniqueText !== undefined) this.#byText.delete(this.#options.uniqueText(known.value));
    this.#list = undefined;
  }

  /** Rows that are about to be written, so that they are not parsed again. */
  expect(rows: ReadonlyMap<string, Read<Value>>): void {
    this.#expected = rows;
  }

  get isCurrent(): boolean {
    return this.#changed !== 'all' && this.#changed.size === 0 && !this.#isReading;
  }

  /**
   * Reads what has changed.
   * @throws GatewayError `storage_unavailable` for a row that cannot be parsed, naming it. After any error, whoever refreshes notes a change.
   */
  *refresh(database: Database): Script<void> {
    const changed = this.#changed;
    if (this.isCurrent) return;
    // What changes while this is read is read the next time; until then nothing here is current.
    this.#changed = new Set();
    this.#isReading = true;
    if (changed === 'all') yield* this.#refreshAll(database);
    else yield* this.#refreshRows(changed);
    this.#isReading = false;
    this.#expected = new Map();
  }

  *#refreshAll(database: Database): Script<void> {
    const { table, columns } = this.#options;
    const exists = yield* database.hasTable(table);
    const rows = exists ? yield* selectAll<StoredRow>(`SELECT ${columns} FROM ${table} ORDER BY position`) : [];
    const read = rows.map((row) => this.#parse(row));
    const isUnchanged = read.length === this.#read.size && read.every((one) => this.#read.get(one.row.id) === one);
    const isSameOrder = isUnchanged && [...this.#read.values()].every((one, index) => one === read[index]);
    if (isSameOrder) return;
    this.#list = undefined;
    this.#read.clear();
    this.#byText.clear();
    for (const one of read) this.#set(one);
  }

  *#refreshRows(ids: ReadonlySet<string>): Script<void> {
    const { table, columns, uniqueText } = this.#options;
    const read: { id: string; found: Read<Value> | undefined }[] = [];
    for (const id of ids) {
      const row = yield* selectFirst<StoredRow>(`SELECT ${columns} FROM ${table} WHERE id = ?`, id);
      read.push({ id, found: row && this.#parse(row) });
    }
    // A new row has the highest position, and so has one that was deleted and created again.
    for (const { id, found } of read.toSorted((one, other) => (one.found?.row.position ?? 0) - (other.found?.row.position ?? 0))) {
      const known = this.#read.get(id);
      if (found === known) continue;
      this.#list = undefined;
      if (known !== undefined && uniqueText !== undefined) this.#byText.delete(uniqueText(known.value));
      if (found?.row.position !== known?.row.position) this.#read.delete(id);
      if (found !== undefined) this.#set(found);
    }
  }

  #set(read: Read<Value>): void {
    this.#read.set(read.row.id, read);
    const text = this.#options.uniqueText?.(read.value);
    if (text !== undefined) this.#byText.set(text, read.value);
  }

  #parse(row: StoredRow): Read<Value> {
    const known = this.#read.get(row.id);
    if (known !== undefined && isSameRow(known.row, row)) {
      return known.row.position === row.position ? known : { row, value: known.value };
    }
    const expected = this.#expected.get(row.id);
    if (expected !== undefined && isSameRow(expected.row, row)) return { row, value: expected.value };
    try {
      return { row, value: this.#options.toValue(row) };
    } catch (cause) {
      const message = `The stored ${this.#options.kind} "${row.id}" is damaged. Restore the database from a backup.`;
      throw new GatewayError('storage_unavailable', message, { cause });
    }
  }
}
