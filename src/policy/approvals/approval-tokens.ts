import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { JsonObject } from '../../shared/json.ts';

/** Separates this key from every other one that is made of the same secret (RFC 5869, section 3.2). */
const keyLabel = 'toolwharf approval tokens v1';
const version = 'v1';
const form = /^v1\.(\d{1,15})\.([A-Za-z0-9_-]{43})$/;

/** What a token is good for, and for nothing else. */
export interface TokenPlace {
  runId: string;
  /** Of this wait of the run: an id or arguments that come again later need another token. */
  waitId: string;
  callId: string;
  args: JsonObject;
}

/** Signed with HMAC-SHA-256. That a token is used once is the store's business, which notes one decision for each call. */
export interface ApprovalTokens {
  /** `expires` in milliseconds since 1970. */
  sign(place: TokenPlace, expires: number): string;
  check(token: string, place: TokenPlace): 'valid' | 'expired' | 'invalid';
}

export function createApprovalTokens(secret: string, now: () => number): ApprovalTokens {
  const key = Buffer.from(hkdfSync('sha256', secret, '', keyLabel, 32));
  const signatureOf = ({ runId, waitId, callId, args }: TokenPlace, expires: string): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([version, expires, runId, waitId, callId, args]))
      .digest();

  return {
    sign(place, expires) {
      const end = String(Math.floor(expires));
      return `${version}.${end}.${signatureOf(place, end).toString('base64url')}`;
    },
    check(token, place) {
      const [, expires, signature] = form.exec(token) ?? [];
      if (expires === undefined || signature === undefined) return 'invalid';
      // Both have 32 bytes: `timingSafeEqual` throws otherwise.
      if (!timingSafeEqual(Buffer.from(signature, 'base64url'), signatureOf(place, expires))) return 'invalid';
      return now() >= Number(expires) ? 'expired' : 'valid';
    },
  };
}
