import { createHmac, hkdfSync, randomBytes } from 'node:crypto';

/** Separates the pepper from other keys that are derived from the gateway's secret. */
const domain = 'toolwharf api keys v1';

/**
 * The pepper of all key hashes, derived from `TOOLWHARF_SECRET` (HKDF, RFC 5869), so that a stolen database alone does not allow guessing keys.
 * With another secret every stored key stops working.
 */
export function derivePepper(secret: string): string {
  return Buffer.from(hkdfSync('sha256', secret, '', domain, 32)).toString('hex');
}

/** Identifies a pepper without revealing it; stored with each hash. */
export function markOf(pepper: string): string {
  return createHmac('sha256', pepper).update('mark of this pepper').digest('hex').slice(0, 16);
}

/** Those that nobody can use, because they were made with another secret. `secret`: undefined if there is none. */
export function keysOfAnotherSecret<Key extends { secretMark?: string | undefined }>(
  keys: readonly Key[],
  secret: string | undefined,
): Key[] {
  const mark = secret === undefined ? undefined : markOf(derivePepper(secret));
  return keys.filter(({ secretMark }) => secretMark !== undefined && secretMark !== mark);
}

/** A new key: 256 random bits as base64url after `sk-tw-`. */
export function createKeyText(): string {
  return `sk-tw-${randomBytes(32).toString('base64url')}`;
}

/** Four of its 43 characters: enough to tell keys apart, and of no help in guessing one. */
export function beginningOf(key: string): string {
  return key.replace(/^sk-tw-/, '').slice(0, 4);
}

/** The stored hash of a key, as hex. Fast on purpose: a key has 256 random bits, so it needs no slow hash, which would delay every request. */
export function hashKey(key: string, pepper: string): string {
  return createHmac('sha256', pepper).update(key).digest('hex');
}
