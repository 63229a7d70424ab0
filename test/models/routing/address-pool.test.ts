import { describe, expect, it, vi } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import { AddressPool } from '../../../src/models/routing/address-pool.ts';
import type { PooledRequest } from '../../../src/models/routing/address-pool.ts';

const signal = new AbortController().signal;
const down = new GatewayError('upstream_unreachable', 'It cannot be reached.');
const failed = new GatewayError('upstream_error', 'CUDA error', { status: 500, upstreamStatus: 500 });
const missing = new GatewayError('upstream_rejected', 'No such model', { status: 404 });

/** A pool with a clock that the test sets, and the addresses that were asked, in order. */
function poolOf(addresses: number, limits: { maxConcurrent?: number; queue?: number } = {}) {
  const clock = { time: 1_000 };
  const asked: number[] = [];
  const pool = new AddressPool({ name: 'pool', addresses, ...limits, elapsed: () => ++clock.time, now: () => 0, random: () => 0 });
  /** `answers`: what each address answers, or throws. */
  const run = (answers: Record<number, Error> = {}, request: Partial<PooledRequest> = {}): Promise<number> =>
    pool.run({ model: 'm', owner: 'a', signal, ...request }, async (index) => {
      asked.push(index);
      const fault = answers[index];
      if (fault !== undefined) throw fault;
      return index;
    });
  return { pool, clock, asked, run };
}

/** Requests that hold their slot until the test ends them. */
function heldIn(pool: AddressPool) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const places: Record<string, number[]> = {};
  const hold = (name: string, given: AbortSignal = signal): Promise<void> => {
    const told = (places[name] = []) as number[];
    const onPlace = async (place: number): Promise<void> => void told.push(place);
    return pool.run({ model: 'm', owner: name.slice(0, -1), signal: given, onPlace }, async (index) => {
      begun.push(`${name}@${index}`);
      await new Promise<void>((resolve) => ends.set(name, resolve));
    });
  };
  // Places are told one turn of the event loop after what has changed them.
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await settle();
  };
  return { hold, end, settle, begun, places };
}

describe('the choice of an address', () => {
  it('is the least busy one, and the first one among equals', async () => {
    const { hold, begun, end, settle } = heldIn(poolOf(3).pool);
    for (const name of ['a1', 'a2', 'a3', 'a4']) void hold(name);
    await settle();
    await end('a2');
    void hold('a5');
    await settle();
    expect(begun).toEqual(['a1@0', 'a2@1', 'a3@2', 'a4@0', 'a5@1']);
  });

  it('leaves out those that cool down, until their time is over', async () => {
    const { run, asked, clock } = poolOf(2);
    expect(await run({ 0: down })).toBe(1);
    expect(await run()).toBe(1);
    clock.time += 5_000;
    expect(await run()).toBe(0);
    expect(asked).toEqual([0, 1, 1, 0]);
  });

  it('is the one that is free first when all cool down', async () => {
    const { run, asked } = poolOf(2);
    const later = new GatewayError('upstream_rate_limited', 'Slow down.', { retryAfter: '30' });
    await expect(run({ 0: later, 1: down })).rejects.toBe(down);
    expect(await run()).toBe(1);
    expect(asked).toEqual([0, 1, 1]);
  });

  it('obeys Retry-After', async () => {
    const { run, clock } = poolOf(2);
    await run({ 0: new GatewayError('upstream_rate_limited', 'Slow down.', { retryAfter: '30' }) });
    clock.time += 20_000;
    expect(await run()).toBe(1);
    clock.time += 10_000;
    expect(await run()).toBe(0);
  });

  it('prefers an address that has listed the model', async () => {
    const { pool, run } = poolOf(2);
    pool.noteModels(0, ['other']);
    pool.noteModels(1, ['m']);
    expect(await run()).toBe(1);
    pool.noteModels(1, []);
    expect(await run()).toBe(0);
  });
});

describe('a request that fails', () => {
  it.each([
    ['a refused connection', down],
    ['a timeout', new GatewayError('upstream_timeout', 'Late.')],
    ['429', new GatewayError('upstream_rate_limited', 'Slow down.', { status: 429, upstreamStatus: 429 })],
    ['503 without JSON', new GatewayError('upstream_error', 'It failed.', { upstreamStatus: 503 })],
    ['504 with JSON', new GatewayError('upstream_error', 'Late', { status: 504, upstreamStatus: 504 })],
  ])('is made elsewhere after %s, and that address cools down', async (_name, fault) => {
    const { run, asked } = poolOf(2);
    expect(await run({ 0: fault })).toBe(1);
    expect(await run()).toBe(1);
    expect(asked).toEqual([0, 1, 1]);
  });

  it('is made elsewhere once after a 500, and cools nothing down', async () => {
    const { run, asked } = poolOf(3);
    await expect(run({ 0: failed, 1: failed })).rejects.toBe(failed);
    expect(asked).toEqual([0, 1]);
    expect(await run()).toBe(0);
  });

  it('is made three times at most', async () => {
    const { run, asked } = poolOf(5);
    await expect(run({ 0: down, 1: down, 2: down })).rejects.toBe(down);
    expect(asked).toEqual([0, 1, 2]);
  });

  it('is made elsewhere after a 404, which cools nothing down and hides no other failure', async () => {
    const { run, asked } = poolOf(2);
    expect(await run({ 0: missing })).toBe(1);
    await expect(run({ 0: down, 1: missing })).rejects.toBe(down);
    expect(asked).toEqual([0, 1, 0, 1]);
    expect(await run({ 1: missing }).catch((error: unknown) => error)).toBe(missing);
  });

  it.each([
    ['a 400', new GatewayError('upstream_rejected', 'Wrong.', { status: 400, upstreamStatus: 400 })],
    ['a key that is refused', new GatewayError('upstream_auth_failed', 'Wrong key.')],
    ['an error of another kind', new Error('A bug.')],
  ])('is not made again after %s', async (_name, fault) => {
    const { run, asked } = poolOf(2);
    await expect(run({ 0: fault })).rejects.toBe(fault);
    expect(asked).toEqual([0]);
  });

  it('is not made again once it may not move', async () => {
    const { run, asked } = poolOf(2);
    await expect(run({ 0: down }, { mayMove: () => false })).rejects.toBe(down);
    expect(asked).toEqual([0]);
    expect(await run()).toBe(1);
  });

  it('counts once for the cool-down with all that failed at the same time', async () => {
    const { pool, run, clock } = poolOf(2);
    const open = Promise.withResolvers<void>();
    const together = Array.from({ length: 6 }, () =>
      pool.run({ model: 'm', owner: 'a', signal }, async (index) => {
        await open.promise;
        if (index === 0) throw down;
      }),
    );
    open.resolve();
    await Promise.all(together);
    clock.time += 5_100;
    expect(await run()).toBe(0);
  });

  it('cools down for longer with each failure in a row, until one succeeds', async () => {
    const { run, clock } = poolOf(2);
    await run({ 0: down });
    clock.time += 5_100;
    await run({ 0: down });
    clock.time += 5_100;
    expect(await run()).toBe(1);
    clock.time += 5_000;
    expect(await run()).toBe(0);
    await run({ 0: down });
    clock.time += 5_100;
    expect(await run()).toBe(0);
  });

  it('that began before an address failed does not end its cool-down', async () => {
    const { pool, run } = poolOf(2);
    const { hold, end, settle } = heldIn(pool);
    void hold('a1');
    void hold('a2');
    await settle();
    await run({ 0: down });
    await end('a1');
    await end('a2');
    expect(await run()).toBe(1);
  });
});

describe('the queue', () => {
  it('begins no more requests at an address than it takes, and tells each its place', async () => {
    const { hold, end, settle, begun, places } = heldIn(poolOf(2, { maxConcurrent: 1 }).pool);
    for (const name of ['a1', 'a2', 'a3', 'a4']) void hold(name);
    await settle();
    expect(begun).toEqual(['a1@0', 'a2@1']);
    await end('a2');
    expect(begun.slice(2)).toEqual(['a3@1']);
    await end('a1');
    expect(begun.slice(3)).toEqual(['a4@0']);
    expect(places).toEqual({ a1: [], a2: [], a3: [1, 0], a4: [2, 1, 0] });
  });

  it('tells places once when many leave together', async () => {
    const { hold, settle, places } = heldIn(poolOf(1, { maxConcurrent: 1 }).pool);
    const leaving = Array.from({ length: 50 }, () => new AbortController());
    void hold('a1');
    const left = leaving.map((controller, index) => hold(`a${index + 2}`, controller.signal).catch(() => undefined));
    void hold('a52');
    await settle();
    for (const controller of leaving) controller.abort(new Error('gone'));
    await Promise.all(left);
    await settle();
    expect(places['a52']).toEqual([expect.any(Number), 1]);
  });

  it('is fair among people of one key', async () => {
    const { hold, end, settle, begun, places } = heldIn(poolOf(1, { maxConcurrent: 1 }).pool);
    for (const name of ['key/a1', 'key/a2', 'key/a3', 'key/b1']) void hold(name);
    await settle();
    expect(places['key/b1']).toEqual([2]);
    for (const name of ['key/a1', 'key/a2', 'key/b1', 'key/a3']) await end(name);
    expect(begun).toEqual(['key/a1@0', 'key/a2@0', 'key/b1@0', 'key/a3@0']);
  });

  it('refuses those beyond its length, with the time after which to try again', async () => {
    const { hold, settle } = heldIn(poolOf(1, { maxConcurrent: 1, queue: 1 }).pool);
    void hold('a1');
    void hold('a2');
    await expect(hold('a3')).rejects.toMatchObject({ code: 'overloaded', status: 503, retryAfter: '5' });
    await settle();
  });

  it('that is full refuses the latest of whoever waits with the most, not the one who comes', async () => {
    const { hold, end, settle, begun } = heldIn(poolOf(1, { maxConcurrent: 1, queue: 2 }).pool);
    void hold('a1');
    void hold('a2');
    const displaced = hold('a3').catch((error: unknown) => error);
    void hold('b1');
    expect(await displaced).toMatchObject({ code: 'overloaded' });
    await settle();
    await end('a1');
    await end('a2');
    expect(begun).toEqual(['a1@0', 'a2@0', 'b1@0']);
  });

  it('takes nobody in when its length is 0', async () => {
    const { hold } = heldIn(poolOf(1, { maxConcurrent: 1, queue: 0 }).pool);
    void hold('a1');
    await expect(hold('a2')).rejects.toMatchObject({ code: 'overloaded' });
  });

  it('is left by a request whose signal aborts, and the others move up', async () => {
    const { hold, end, settle, begun, places } = heldIn(poolOf(1, { maxConcurrent: 1 }).pool);
    const leaving = new AbortController();
    void hold('a1');
    const left = hold('a2', leaving.signal).catch((error: unknown) => error);
    void hold('a3');
    await settle();
    leaving.abort(new Error('gone'));
    expect(await left).toEqual(new Error('gone'));
    await settle();
    expect(places['a3']).toEqual([2, 1]);
    await end('a1');
    expect(begun).toEqual(['a1@0', 'a3@0']);
  });

  it('gives the slot on when a request aborts just as its turn comes', async () => {
    const { hold, end, settle, begun } = heldIn(poolOf(1, { maxConcurrent: 1 }).pool);
    const leaving = new AbortController();
    void hold('a1');
    const left = hold('a2', leaving.signal).catch((error: unknown) => error);
    void hold('a3');
    await settle();
    const ended = end('a1');
    leaving.abort(new Error('gone'));
    await ended;
    await left;
    await settle();
    expect(begun).toEqual(['a1@0', 'a3@0']);
  });

  it('ends with the slot free when whoever is told the place has left', async () => {
    const { pool } = poolOf(1, { maxConcurrent: 1 });
    const { hold, end, settle, begun } = heldIn(pool);
    void hold('a1');
    await settle();
    const gone = pool.run({ model: 'm', owner: 'b', signal, onPlace: () => Promise.reject(new Error('closed')) }, async () => undefined);
    await expect(gone).rejects.toThrow('closed');
    expect(pool.waiting).toBe(0);
    void hold('c1');
    await end('a1');
    expect(begun).toEqual(['a1@0', 'c1@0']);
  });

  it('frees the slot of a request that throws', async () => {
    const { run, pool } = poolOf(1, { maxConcurrent: 1 });
    await expect(run({ 0: failed })).rejects.toBe(failed);
    expect(await run()).toBe(0);
    expect(pool.waiting).toBe(0);
  });

  it('ends when an address has cooled down while the other one is busy', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      const pool = new AddressPool({ name: 'pool', addresses: 2, maxConcurrent: 1, elapsed: () => performance.now(), random: () => 0 });
      const { hold, settle, begun } = heldIn(pool);
      vi.advanceTimersByTime(1);
      await pool.run({ model: 'm', owner: 'a', signal }, async (index) => {
        if (index === 0) throw down;
      });
      void hold('a1');
      void hold('a2');
      await settle();
      expect(begun).toEqual(['a1@1']);
      vi.advanceTimersByTime(5_000);
      await settle();
      expect(begun).toEqual(['a1@1', 'a2@0']);
    } finally {
      vi.useRealTimers();
    }
  });
});
