import { expect, it } from 'vitest';
import { createApiKeys } from '../../src/admin/api-keys.ts';
import { memoryRegistry } from '../_support/memory-stores.ts';

it('creates, changes and deletes a key without reading all keys', async () => {
  const registry = memoryRegistry();
  let lists = 0;
  const listKeys = (): ReturnType<typeof registry.listKeys> => {
    lists += 1;
    return registry.listKeys();
  };
  let ids = 0;
  const keys = createApiKeys({
    registry: { ...registry, listKeys },
    pepper: 'pepper',
    hasFixedKey: false,
    newId: () => String((ids += 1)),
    now: () => 0,
    forget: () => undefined,
    closeSessionsOf: async () => undefined,
    cancelRunsOf: () => undefined,
    deleteAllOf: async () => undefined,
  });
  const { record: administrator } = await keys.create({ name: 'first', role: 'admin' });
  const { record: user } = await keys.create({ name: 'user', role: 'user' });
  await keys.change(user.id, (record) => ({ ...record, name: 'renamed' }));
  await keys.change(administrator.id, (record) => ({ ...record, name: 'renamed' }));
  await keys.delete(user.id);
  expect(lists).toBe(0);
  // Whether another administrator is left can only be seen from all of them.
  const { record: second } = await keys.create({ name: 'second', role: 'user' });
  await expect(keys.delete(administrator.id)).rejects.toMatchObject({ code: 'conflict' });
  expect(lists).toBe(1);
  await keys.delete(second.id);
  await keys.delete(administrator.id);
  expect(await registry.countKeys()).toBe(0);
});
