import { expect, it, onTestFinished } from 'vitest';
import { GatewayError } from '../../src/core/errors.ts';
import { createRegistry } from '../../src/storage/sql/registry/registry.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite-database.ts';
import { keyRecord } from './records.ts';

const staleMs = 10_000;

function openFailing() {
  const database = openSqlite({ file: ':memory:', now: Date.now });
  onTestFinished(() => database.close());
  const state = { isDown: false, reads: 0, time: 0 };
  const registry = createRegistry(
    {
      ...database,
      read(script) {
        state.reads += 1;
        return state.isDown ? Promise.reject(new GatewayError('storage_unavailable', 'gone')) : database.read(script);
      },
    },
    { secret: 'a secret of tests', now: () => state.time, cacheMs: Infinity, staleMs },
  );
  return { registry, state };
}

it('known keys go on while the database cannot be read, for a while, and nobody waits for it anew', async () => {
  const { registry, state } = openFailing();
  await registry.createKey(keyRecord({ id: 'ada', hash: 'hash-ada' }));
  await registry.listKeys();
  state.isDown = true;
  await registry.refresh();
  state.reads = 0;
  state.time += 5_000;
  expect((await registry.findKeyByHash('hash-ada'))?.id).toBe('ada');
  expect(state.reads).toBe(0);
  state.time += staleMs + 1;
  await expect(registry.findKeyByHash('hash-ada')).rejects.toMatchObject({ code: 'storage_unavailable' });
});

it('a key that was deleted is gone although nothing can be read after that', async () => {
  const { registry, state } = openFailing();
  await registry.createKey(keyRecord({ id: 'ada', hash: 'hash-ada' }));
  await registry.listKeys();
  state.isDown = true;
  await registry.deleteKey('ada');
  expect(await registry.findKeyByHash('hash-ada')).toBeUndefined();
  state.isDown = false;
  await registry.refresh();
  expect(await registry.listKeys()).toEqual([]);
});
