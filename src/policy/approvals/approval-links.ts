import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** Distinguishes this key from others that are derived from the same secret (RFC 5869, section 3.2). */
const keyLabel = 'toolwharf approval links v1';
const form = /^([\w-]{1,64})\.([\w-]{43})$/;

/** One suspension of a run, and so its calls: what a link is valid for. */
interface LinkScope {
  runId: string;
  waitId: string;
  callerId: string;
  /** Milliseconds since 1970. */
  expires: number;
}

/** The secret part of links to the page of an approval: the run's id, which finds it, and an HMAC-SHA-256. */
export interface ApprovalLinks {
  sign(scope: LinkScope): string;
  check(link: string, scope: LinkScope): boolean;
  /** For whoever decided by this link: it leads them on to further calls of the run, for which the link itself is not good. */
  receiptOf(link: string): string;
  checkReceipt(receipt: string, link: string): boolean;
  /** Undefined for what cannot be a link. */
  runIdOf(link: string): string | undefined;
}

export function createApprovalLinks(secret: string): ApprovalLinks {
  const key = Buffer.from(hkdfSync('sha256', secret, '', keyLabel, 32));
  const signatureOf = ({ runId, waitId, callerId, expires }: LinkScope): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([runId, waitId, callerId, expires]))
      .digest();

  const receiptOf = (link: string): string => createHmac('sha256', key).update(`receipt ${link}`).digest('base64url');

  return {
    receiptOf,
    checkReceipt(receipt, link) {
      const [given, expected] = [Buffer.from(receipt), Buffer.from(receiptOf(link))];
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
    sign: (scope) => `${scope.runId}.${signatureOf(scope).toString('base64url')}`,
    check(link, scope) {
      const [, runId, signature] = form.exec(link) ?? [];
      if (runId !== scope.runId || signature === undefined) return false;
      // As texts, because the last character has bits that decoding ignores; both have 43, and `timingSafeEqual` throws otherwise.
      return timingSafeEqual(Buffer.from(signature), Buffer.from(signatureOf(scope).toString('base64url')));
    },
    runIdOf: (link) => form.exec(link)?.[1],
  };
}
