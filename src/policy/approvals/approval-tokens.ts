import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { JsonObject } from '../../shared/json/json.ts';

/** Distinguishes this key from others that are derived from the same secret (RFC 5869, section 3.2). */
const keyLabel = 'toolwharf approval tokens v1';
const version = 'v1';
const form = /^v1\.(\d{1,15})\.([A-Za-z0-9_-]{43})$/;

/** What a token is valid for. */
interface TokenScope {
  runId: string;
  /** Identifies one suspension of the run: the same call id and arguments in a later one need another token. */
  waitId: string;
  callId: string;
  args: JsonObject;
}

/** Tokens signed with HMAC-SHA-256. The store ensures single use: it accepts one decision for each call. */
export interface ApprovalTokens {
  /** `expires` in milliseconds since 1970. */
  sign(scope: TokenScope, expires: number): string;
  check(token: string, scope: TokenScope): 'valid' | 'expired' | 'invalid';
}

export function createApprovalTokens(secret: string, now: () => number): ApprovalTokens {
  const key = Buffer.from(hkdfSync('sha256', secret, '', keyLabel, 32));
  const signatureOf = ({ runId, waitId, callId, args }: TokenScope, expires: string): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([version, expires, runId, waitId, callId, args]))
      .digest();

  return {
    sign(scope, expires) {
      const end = String(Math.floor(expires));
      return `${version}.${end}.${signatureOf(scope, end).toString('base64url')}`;
    },
    check(token, scope) {
      const [, expires, signature] = form.exec(token) ?? [];
      if (expires === undefined || signature === undefined) return 'invalid';
      // As texts, because the last character has bits that decoding ignores; both have 43, and `timingSafeEqual` throws otherwise.
      if (!timingSafeEqual(Buffer.from(signature), Buffer.from(signatureOf(scope, expires).toString('base64url')))) return 'invalid';
      return now() >= Number(expires) ? 'expired' : 'valid';
    },
  };
}
