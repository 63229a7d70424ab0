import { describe, expect, it } from 'vitest';
import { emitFrom, StopReading } from '../../src/shared/emit.ts';
import { pullFrom } from '../_support/pull-from.ts';
import type { Emit } from '../../src/shared/emit.ts';

async function* counting(): AsyncGenerator<number, string> {
  yield 1;
  yield 2;
  return 'end';
}

describe('events that are emitted', () => {
  it('come from a generator, in order, with its result', async () => {
    const seen: number[] = [];
    const result = await emitFrom(counting(), (events) => void seen.push(...events));
    expect({ seen, result }).toEqual({ seen: [1, 2], result: 'end' });
  });

  it('end the generator where the reader throws', async () => {
    let isEnded = false;
    async function* endless(): AsyncGenerator<number, void> {
      try {
        for (;;) yield 1;
      } finally {
        isEnded = true;
      }
    }
    const failing: Emit<number> = () => {
      throw new Error('full');
    };
    await expect(emitFrom(endless(), failing)).rejects.toThrow('full');
    expect(isEnded).toBe(true);
  });

  it('wait for a slow reader', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const seen: number[] = [];
    const done = emitFrom(counting(), (events) => {
      seen.push(...events);
      return promise;
    });
    await new Promise((next) => setImmediate(next));
    expect(seen).toEqual([1]);
    resolve();
    await done;
    expect(seen).toEqual([1, 2]);
  });

  it('can be pulled, with the result, and with the failure behind what came before it', async () => {
    const events = pullFrom<number, string>(async (emit) => {
      await emit([1, 2]);
      await emit([3]);
      return 'end';
    });
    const seen: number[] = [];
    let next = await events.next();
    for (; next.done !== true; next = await events.next()) seen.push(next.value);
    expect({ seen, result: next.value }).toEqual({ seen: [1, 2, 3], result: 'end' });

    const failing = pullFrom<number, void>(async (emit) => {
      await emit([1]);
      throw new Error('broken');
    });
    expect(await failing.next()).toEqual({ done: false, value: 1 });
    await expect(failing.next()).rejects.toThrow('broken');
  });

  it('make the next emit throw once nobody pulls any more', async () => {
    let failure: unknown;
    const events = pullFrom<number, void>(async (emit) => {
      await emit([1]);
      try {
        await emit([2]);
      } catch (error) {
        failure = error;
      }
    });
    await events.next();
    await events.return(undefined);
    await new Promise((next) => setImmediate(next));
    expect(failure).toBeInstanceOf(StopReading);
  });
});
