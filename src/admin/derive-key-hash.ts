import { createHmac, hkdfSync, randomBytes } from 'node:crypto';

/** Separates what is derived here from everything else that the gateway's secret signs or encrypts. */
const domain = 'toolwharf api keys v1';

/**
 * The pepper of all key hashes, from `TOOLWHARF_SECRET` (HKDF, RFC 5869). A database alone is then no help in guessing keys.
 * With another secret every stored key stops working.
 */
export function derivePepper(secret: string): string {
  return Buffer.from(hkdfSync('sha256', secret, '', domain, 32)).toString('hex');
}

/** Distinguishes peppers without revealing anything about them: it is stored beside what was made with one. */
export function markOf(pepper: string): string {
  return createHmac('sha256', pepper).update('mark of this pepper').digest('hex').slice(0, 16);
}

/** A new key: 256 random bits as base64url after `sk-tw-`. */
export function createKeyText(): string {
  return `sk-tw-${randomBytes(32).toString('base64url')}`;
}

/** What is stored of a key, as hex. Fast on purpose: 256 random bits need no slow hash, and every request pays for it. */
export function hashKey(key: string, pepper: string): string {
  return createHmac('sha256', pepper).update(key).digest('hex');
}
