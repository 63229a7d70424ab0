import type { GatewayError } from '../../core/errors.ts';

/** The first pause: a server needs some seconds to restart. */
const shortestMs = 5_000;
/** Each further failure doubles it, up to this: a server that is back is used again within a minute. */
const longestMs = 60_000;
/** The longest `Retry-After` that is obeyed: providers name hours when a quota is used up, which may be raised meanwhile. */
export const longestAskedMs = 10 * 60 * 1000;
/** At most this part of a pause is added to it, by chance, so that several gateways do not all come back at the same moment. */
const jitter = 0.25;

interface CoolDownOptions {
  /** Failures in a row, this one included. */
  failures: number;
  /** Milliseconds since 1970: `Retry-After` may be a date. */
  now: number;
  /** From 0 up to 1. */
  chance: number;
}

/** How long an address is left alone after it could not answer, in milliseconds: as long as it asks for, or longer with each failure in a row. */
export function coolDownMs({ retryAfter }: Pick<GatewayError, 'retryAfter'>, { failures, now, chance }: CoolDownOptions): number {
  const asked = retryAfter === undefined ? undefined : delayOf(retryAfter, now);
  const doubled = Math.min(shortestMs * 2 ** Math.min(failures - 1, 16), longestMs);
  const pause = asked === undefined ? doubled : Math.min(asked, longestAskedMs);
  return pause * (1 + jitter * chance);
}

/** Seconds or an HTTP date (RFC 9110, section 10.2.3). Undefined if it is neither. */
function delayOf(retryAfter: string, now: number): number | undefined {
  const seconds = /^\s*\d{1,9}\s*$/.test(retryAfter) ? Number(retryAfter) : undefined;
  const delay = seconds === undefined ? Date.parse(retryAfter) - now : seconds * 1_000;
  return Number.isNaN(delay) ? undefined : Math.max(delay, 0);
}
