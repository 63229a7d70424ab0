/** An entry as the database stores it: `record` is JSON without secrets, `secrets` is JSON of encrypted ones. */
export interface RowContent {
  id: string;
  record: string;
  secrets: string;
}

export interface StoredRow extends RowContent {
  /** Entries are listed in this order; a new one has the highest. */
  position: number;
}

export function isSameRow(one: RowContent | undefined, other: RowContent | undefined): boolean {
  return one?.record === other?.record && one?.secrets === other?.secrets;
}
