import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { runSteps } from '../../../src/shared/async/emit.ts';

describe('steps that seldom have to wait', () => {
  it('are all done at once where none has to', () => {
    const done: number[] = [];
    function* steps(): Generator<undefined, void> {
      for (const step of [1, 2, 3]) {
        done.push(step);
        yield undefined;
      }
    }
    expect(runSteps(steps())).toBeUndefined();
    expect(done).toEqual([1, 2, 3]);
  });

  it('go on when one that had to wait is done', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const done: number[] = [];
    function* steps(): Generator<Promise<void> | undefined, void> {
      done.push(1);
      yield promise;
      done.push(2);
      yield undefined;
      done.push(3);
    }
    const rest = runSteps(steps());
    await nextTurn();
    expect(done).toEqual([1]);
    resolve();
    await rest;
    expect(done).toEqual([1, 2, 3]);
  });

  it('end with the first failure', async () => {
    const done: number[] = [];
    function* steps(): Generator<Promise<void>, void> {
      yield Promise.resolve();
      yield Promise.reject(new Error('broken'));
      done.push(1);
    }
    await expect(runSteps(steps())).rejects.toThrow('broken');
    expect(done).toEqual([]);
  });
});
