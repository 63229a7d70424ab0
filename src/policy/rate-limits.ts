import type { Caller, CallerLimits } from '../core/callers/caller.ts';
import { GatewayError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { keyIdOf, personCallerId } from '../core/callers/people.ts';
import type { RateLimiter, Release } from '../core/callers/rate-limit.ts';

/**
 * Lists of functions that one caller may read within sixty seconds (`GET /api/tools`, `GET /api/tools/openapi.json`, `tools/list`). Agents read one for
 * each conversation. A read of 500 functions takes a millisecond or two, or thirty when the list has changed.
 */
export const readsPerMinute = 600;

const windowMs = 60_000;
const dayMs = 24 * 60 * 60 * 1_000;
/** Keys that are counted, and people of one key. Beyond that, the least recently active ones are evicted. */
const maxEach = 10_000;
/** The end of an active run is unknown, so this is a guess for `Retry-After`. */
const retryBusySeconds = 5;

interface Count {
  /** Times of the last minute, oldest first, in milliseconds of `elapsed`. */
  requests: number[];
  messages: number[];
  reads: number[];
  running: number;
}

/** The limits of a caller, or of all people of a key. */
interface Rule extends CallerLimits {
  id: string;
  /** The id under which tokens are counted. */
  countedFor: string;
  /** For messages. */
  who: string;
}

interface RateLimiterOptions {
  /** Milliseconds since 1970: the day of `tokensPerDay` is one of the calendar. */
  now: () => number;
  /** Milliseconds of a monotonic clock, for limits per minute: setting the system clock back must not lock callers out. */
  elapsed: () => number;
  /** Tokens that a caller has used since midnight UTC; by the id of a key, those of all its people. */
  tokensToday?: (callerId: string) => number;
}

/** Limits of callers, counted in this process. */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  return new CountingLimiter(options);
}

class CountingLimiter implements RateLimiter {
  readonly #options: RateLimiterOptions;
  /** By key, so that the people of one key cannot evict the counts of another key. */
  readonly #countsOfKeys = new Map<string, Map<string, Count>>();

  constructor(options: RateLimiterOptions) {
    this.#options = options;
  }

  admit({ id, person, limits: own, totalLimits }: Caller): Release {
    if (own === undefined && totalLimits === undefined) return releaseNothing;
    const who = person === undefined ? 'This key' : 'You';
    const rules = [
      { id, countedFor: id, who, allowed: own },
      // Counted as one more person, with an id that nobody can have.
      { id: personCallerId(keyIdOf(id), ''), countedFor: keyIdOf(id), who: 'All users of this key together', allowed: totalLimits },
    ].flatMap(({ allowed, ...rule }) => (allowed === undefined ? [] : [{ ...rule, ...allowed }]));
    for (const rule of rules) this.#requireRoom(rule);
    for (const rule of rules) this.#requireRequest(rule);
    const time = this.#options.elapsed();
    const admitted = rules.map(({ id: counted, requestsPerMinute }) => {
      const count = this.#countOf(counted);
      if (requestsPerMinute !== undefined) count.requests.push(time);
      count.running += 1;
      return count;
    });
    let isReleased = false;
    return () => {
      if (!isReleased) for (const count of admitted) count.running -= 1;
      isReleased = true;
    };
  }

  admitMessage(caller: Caller): void {
    const allowed = limits.socketMessagesPerMinute;
    const { messages } = this.#countOf(caller.id);
    this.#requireTime(
      messages,
      allowed,
      (seconds) => `A caller may send ${allowed} messages a minute over sockets. Try again in ${seconds} s.`,
    );
    messages.push(this.#options.elapsed());
  }

  admitRead(caller: Caller): void {
    const allowed = readsPerMinute;
    const { reads } = this.#countOf(caller.id);
    this.#requireTime(
      reads,
      allowed,
      (seconds) => `A caller may read ${allowed} lists of functions a minute. Read the list once and keep it. Try again in ${seconds} s.`,
    );
    reads.push(this.#options.elapsed());
  }

  /** The caller's count, moved to the end of its map, which is thus ordered by activity, least recent first. */
  #countOf(id: string): Count {
    const keyId = keyIdOf(id);
    const counts = this.#countsOfKeys.get(keyId) ?? new Map<string, Count>();
    this.#countsOfKeys.delete(keyId);
    this.#countsOfKeys.set(keyId, counts);
    if (this.#countsOfKeys.size > maxEach) this.#forgetQuietestKey();
    const count = counts.get(id) ?? { requests: [], messages: [], reads: [], running: 0 };
    counts.delete(id);
    counts.set(id, count);
    if (counts.size > maxEach) forgetQuietest(counts);
    return count;
  }

  #forgetQuietestKey(): void {
    for (const [keyId, counts] of this.#countsOfKeys) {
      if ([...counts.values()].some(({ running }) => running > 0)) continue;
      this.#countsOfKeys.delete(keyId);
      return;
    }
  }

  /** Does not count it. @throws GatewayError `rate_limit_exceeded` */
  #requireTime(times: number[], allowed: number, toMessage: (seconds: number) => string): void {
    const time = this.#options.elapsed();
    const current = times.findIndex((begun) => time - begun < windowMs);
    times.splice(0, current === -1 ? times.length : current);
    const [oldest] = times;
    if (times.length < allowed || oldest === undefined) return;
    const seconds = Math.max(1, Math.ceil((oldest + windowMs - time) / 1_000));
    throw exceeded(toMessage(seconds), seconds);
  }

  /** @throws GatewayError `rate_limit_exceeded` */
  #requireRoom({ id, countedFor, who, concurrentRuns, tokensPerDay }: Rule): void {
    if (tokensPerDay !== undefined && (this.#options.tokensToday?.(countedFor) ?? 0) >= tokensPerDay) {
      const seconds = Math.ceil((dayMs - (this.#options.now() % dayMs)) / 1_000);
      throw exceeded(`${who} may use ${tokensPerDay} tokens a day, and has used them. The next day begins at midnight UTC.`, seconds);
    }
    if (concurrentRuns === undefined || this.#countOf(id).running < concurrentRuns) return;
    const what = concurrentRuns === 1 ? 'one request' : `${concurrentRuns} requests`;
    throw exceeded(`${who} may have ${what} active at a time. Wait for one to end, or cancel it.`, retryBusySeconds);
  }

  /** @throws GatewayError `rate_limit_exceeded` */
  #requireRequest({ id, who, requestsPerMinute }: Rule): void {
    if (requestsPerMinute === undefined) return;
    const what = requestsPerMinute === 1 ? 'one request' : `${requestsPerMinute} requests`;
    this.#requireTime(
      this.#countOf(id).requests,
      requestsPerMinute,
      (seconds) => `${who} may make ${what} a minute. Try again in ${seconds} s.`,
    );
  }
}

function forgetQuietest(counts: Map<string, Count>): void {
  for (const [id, { running }] of counts) {
    if (running > 0) continue;
    counts.delete(id);
    return;
  }
}

function releaseNothing(): void {
  // Nothing was counted.
}

function exceeded(message: string, seconds: number): GatewayError {
  return new GatewayError('rate_limit_exceeded', message, { retryAfter: String(seconds) });
}
