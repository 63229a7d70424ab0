import { GatewayError } from '../../core/errors.ts';

/**
 * Records read from rows, by id. A row whose text is the same as before gives the same object as before, so that callers may keep
 * what they derived from one.
 */
export type RecordCache<Row, Value> = ReadonlyMap<string, { row: Row; value: Value }>;

export interface CacheRules<Row, Value> {
  /** `tool server`, for messages. */
  kind: string;
  isSameRow: (left: Row, right: Row) => boolean;
  toValue: (row: Row) => Value;
}

/** @throws GatewayError `storage_unavailable` for a row that cannot be understood, naming it. */
export function renewCache<Row extends { id: string }, Value>(
  rows: readonly Row[],
  before: RecordCache<Row, Value>,
  { kind, isSameRow, toValue }: CacheRules<Row, Value>,
): RecordCache<Row, Value> {
  return new Map(
    rows.map((row) => {
      const known = before.get(row.id);
      return [row.id, known !== undefined && isSameRow(known.row, row) ? known : { row, value: toValueOf(row) }];
    }),
  );

  function toValueOf(row: Row): Value {
    try {
      return toValue(row);
    } catch (cause) {
      throw new GatewayError('storage_unavailable', `The stored ${kind} "${row.id}" is damaged. Restore the database from a backup.`, {
        cause,
      });
    }
  }
}
