/** Why the work of a key, or of one of its people, ends. A deleted person may sign in again, and starts without data. */
export type EndOfAccess = 'deleted' | 'changed' | 'expired' | 'user deleted';

/** The end of a sentence. `key`: how it names the key. */
export function describeEndOfAccess(cause: EndOfAccess, key: string): string {
  if (cause === 'user deleted') return 'its user was deleted';
  return `${key} ${cause === 'expired' ? 'has' : 'was'} ${cause}`;
}
