import type { SqlValue } from './database.ts';
import { personIdOf } from '../../core/callers/people.ts';

/** The condition for rows of a caller and, if it is a key, of its people, with the values of its placeholders. */
export function ownedBy(ownerId: string): { condition: string; values: SqlValue[] } {
  // The id of one person may begin with that of another.
  if (personIdOf(ownerId) !== undefined) return { condition: 'caller_id = ?', values: [ownerId] };
  // Ids of people begin with that of their key and a slash, which `0` follows: a range, so that an index is used.
  return { condition: '(caller_id = ? OR (caller_id > ? AND caller_id < ?))', values: [ownerId, `${ownerId}/`, `${ownerId}0`] };
}
