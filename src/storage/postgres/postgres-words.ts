import { LRUCache } from 'lru-cache';
import type { SqlValue } from '../sql/database.ts';

/** A statement in PostgreSQL's spelling. */
interface PostgresText {
  text: string;
  /** Under which a connection keeps it prepared. */
  name: string;
}

/** Some hundred texts of SQL stand in `sql/`; those with filters of a request may be any number. */
const maxTexts = 500;
const texts = new LRUCache<string, PostgresText>({ max: maxTexts });
let count = 0;

/** `?` becomes `$1`, `$2`, …; `?2` becomes `$2`. No text or comment in the SQL of `sql/` has a question mark. */
export function toPostgres(sql: string): PostgresText {
  const known = texts.get(sql);
  if (known !== undefined) return known;
  let position = 0;
  const text = sql.replaceAll(/\?(\d*)/g, (_mark, number: string) => `$${number === '' ? (position += 1) : number}`);
  const made = { text, name: `toolwharf_${(count += 1)}` };
  texts.set(sql, made);
  return made;
}

/** What PostgreSQL cannot store in a text becomes U+FFFD: the character U+0000, and half of a surrogate pair. */
export function toStorable(value: SqlValue): SqlValue {
  if (typeof value !== 'string') return value;
  const wellFormed = value.isWellFormed() ? value : value.toWellFormed();
  return wellFormed.includes('\0') ? wellFormed.replaceAll('\0', '\uFFFD') : wellFormed;
}
