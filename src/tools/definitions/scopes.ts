/** Far more than one consent can name. */
const maxScopes = 100;
/** Scopes that are addresses have less than a hundred. */
const maxCharacters = 300;
/** RFC 6749, section 3.3. */
const scopePattern = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** The valid scopes among these, as many as can be requested. */
export function scopesIn(entries: Iterable<unknown>): string[] {
  const scopes = new Set<string>();
  for (const entry of entries) {
    if (scopes.size === maxScopes) break;
    if (typeof entry === 'string' && entry.length <= maxCharacters && scopePattern.test(entry)) scopes.add(entry);
  }
  return [...scopes];
}

/** Scopes of several lists, each once. */
export function unionOf(...lists: readonly (readonly string[] | undefined)[]): string[] {
  return scopesIn(lists.flatMap((list = []) => list));
}

const offlineAccess = 'offline_access';

/**
 * Adds `offline_access` if the server offers it, for tokens that outlive the sign-in. Never as the only scope, which would replace the scopes that the
 * server grants by default.
 */
export function withOfflineAccess(scopes: readonly string[] = [], offered: readonly string[] = []): readonly string[] {
  return scopes.length === 0 || !offered.includes(offlineAccess) ? scopes : [...new Set([...scopes, offlineAccess])];
}
