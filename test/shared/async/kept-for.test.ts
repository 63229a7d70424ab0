import { expect, it } from 'vitest';
import { keptFor } from '../../../src/shared/async/kept-for.ts';

it('a value is loaded once for all who wait, and again when it is too old', async () => {
  let time = 0;
  let loads = 0;
  const find = keptFor(
    10,
    () => time,
    async () => (loads += 1),
  );
  expect(await Promise.all([find(), find()])).toEqual([1, 1]);
  time = 9;
  expect(await find()).toBe(1);
  time = 10;
  expect(await find()).toBe(2);
});

it('a failure is not kept, and one that comes late does not remove a newer value', async () => {
  let time = 0;
  const loading: PromiseWithResolvers<string>[] = [];
  const find = keptFor(
    10,
    () => time,
    () => {
      const next = Promise.withResolvers<string>();
      loading.push(next);
      return next.promise;
    },
  );
  const first = find();
  time = 10;
  const second = find();
  loading[0]?.reject(new Error('down'));
  loading[1]?.resolve('good');
  await expect(first).rejects.toThrow('down');
  await expect(second).resolves.toBe('good');
  expect(find()).toBe(second);
  time = 20;
  const third = find();
  loading[2]?.reject(new Error('down again'));
  await expect(third).rejects.toThrow('down again');
  expect(find()).not.toBe(third);
});
