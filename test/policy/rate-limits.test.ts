import { describe, expect, it } from 'vitest';
import type { Caller } from '../../src/core/callers/caller.ts';
import { GatewayError } from '../../src/core/errors.ts';
import { limits } from '../../src/core/limits.ts';
import type { CallerLimits } from '../../src/core/callers/caller.ts';
import { createRateLimiter, readsPerMinute } from '../../src/policy/rate-limits.ts';

function callerOf(held?: CallerLimits, id = 'ada'): Caller {
  return { id, role: 'user', isOpen: false, ...(held !== undefined && { limits: held }) };
}

function counter() {
  const clock = { time: 1_000_000 };
  return { clock, limiter: createRateLimiter({ now: () => clock.time, elapsed: () => clock.time }) };
}

const refusal = (retryAfter: string) => expect.objectContaining({ code: 'rate_limit_exceeded', status: 429, retryAfter });

describe('requests a minute', () => {
  it('are counted over any sixty seconds, and the refusal says when the next one may come', () => {
    const { clock, limiter } = counter();
    const caller = callerOf({ requestsPerMinute: 2 });
    limiter.admit(caller);
    clock.time += 20_000;
    limiter.admit(caller);
    clock.time += 9_500;
    expect(() => limiter.admit(caller)).toThrow(refusal('31'));
    clock.time += 30_500;
    limiter.admit(caller)();
    expect(() => limiter.admit(caller), 'the second of them is still in the window').toThrow(refusal('20'));
  });

  it('that were refused do not count', () => {
    const { clock, limiter } = counter();
    const caller = callerOf({ requestsPerMinute: 1 });
    limiter.admit(caller);
    for (let seconds = 0; seconds < 59; seconds += 1) {
      clock.time += 1_000;
      expect(() => limiter.admit(caller)).toThrow(GatewayError);
    }
    clock.time += 1_000;
    limiter.admit(caller);
  });

  it('that all people of a key together made too many of do not count for the one who was refused', () => {
    const { clock, limiter } = counter();
    const of = (person: string): Caller => ({
      ...callerOf({ requestsPerMinute: 1 }, `key/${person}`),
      person: { id: person },
      totalLimits: { requestsPerMinute: 1 },
    });
    limiter.admit(of('ada'));
    clock.time += 59_000;
    expect(() => limiter.admit(of('bob'))).toThrow(refusal('1'));
    clock.time += 1_000;
    limiter.admit(of('bob'));
  });

  it('are remembered however many people other keys speak for', () => {
    const { limiter } = counter();
    const ada = callerOf({ requestsPerMinute: 1 });
    limiter.admit(ada)();
    for (let index = 0; index < 11_000; index += 1) limiter.admit(callerOf({ requestsPerMinute: 1 }, `key/${index}`))();
    expect(() => limiter.admit(ada)).toThrow(refusal('60'));
  });

  it('of one caller are not those of another', () => {
    const { limiter } = counter();
    limiter.admit(callerOf({ requestsPerMinute: 1 }));
    limiter.admit(callerOf({ requestsPerMinute: 1 }, 'bob'));
  });
});

describe('requests under way', () => {
  it('end once, however often they are released', () => {
    const { limiter } = counter();
    const caller = callerOf({ concurrentRuns: 2 });
    const [first] = [limiter.admit(caller), limiter.admit(caller)];
    expect(() => limiter.admit(caller)).toThrow(refusal('5'));
    first();
    first();
    limiter.admit(caller);
    expect(() => limiter.admit(caller)).toThrow('2 requests active');
  });

  it('that are refused use up no request of the minute', () => {
    const { limiter } = counter();
    const caller = callerOf({ concurrentRuns: 1, requestsPerMinute: 2 });
    const release = limiter.admit(caller);
    expect(() => limiter.admit(caller)).toThrow('active');
    release();
    limiter.admit(caller);
  });
});

it('a caller without limits is not counted', () => {
  const { limiter } = counter();
  for (let index = 0; index < 1_000; index += 1) limiter.admit(callerOf());
});

it('a clock that is set back locks nobody out, and one that is set ahead lets nobody in', () => {
  const clock = { time: Date.parse('2030-05-01T10:00:00Z'), elapsed: 0 };
  const limiter = createRateLimiter({ now: () => clock.time, elapsed: () => clock.elapsed });
  const caller = callerOf({ requestsPerMinute: 1 });
  const requests = [() => limiter.admit(caller), () => limiter.admitRead(caller), () => limiter.admitMessage(caller)];
  const allowed = [1, readsPerMinute, limits.socketMessagesPerMinute];
  for (const [index, request] of requests.entries()) for (let count = 0; count < (allowed[index] ?? 0); count += 1) request();
  clock.time += 5 * 60 * 60 * 1_000;
  for (const request of requests) expect(request).toThrow(refusal('60'));
  clock.time -= 8 * 60 * 60 * 1_000;
  clock.elapsed += 60_000;
  for (const request of requests) request();
});

it('reads of lists have a limit of their own, which says how to stay below it', () => {
  const { clock, limiter } = counter();
  for (let index = 0; index < readsPerMinute; index += 1) limiter.admitRead(callerOf());
  expect(() => limiter.admitRead(callerOf())).toThrow(refusal('60'));
  expect(() => limiter.admitRead(callerOf())).toThrow(/read the list once and keep it/i);
  limiter.admitRead(callerOf(undefined, 'bob'));
  limiter.admit(callerOf());
  limiter.admitMessage(callerOf());
  clock.time += 60_000;
  limiter.admitRead(callerOf());
});

it('messages over sockets have a limit of their own, whatever the key allows', () => {
  const { clock, limiter } = counter();
  for (let index = 0; index < limits.socketMessagesPerMinute; index += 1) limiter.admitMessage(callerOf());
  expect(() => limiter.admitMessage(callerOf())).toThrow(refusal('60'));
  clock.time += 60_000;
  limiter.admitMessage(callerOf());
});
