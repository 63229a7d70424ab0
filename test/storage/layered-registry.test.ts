import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../src/core/errors.ts';
import type { Registry } from '../../src/core/stores/registry.ts';
import { createLayeredRegistry } from '../../src/storage/layered-registry.ts';
import { memoryRegistry } from '../_support/memory-stores.ts';
import { describeRegistry, keyRecord, toolServerRecord } from './registry-contract.ts';

describeRegistry('a layered registry without fixed entries', (records) =>
  createLayeredRegistry({ fixed: [], store: memoryRegistry(records) }),
);

describe('fixed tool servers over stored ones', () => {
  const fromFile = toolServerRecord({ id: 'file', origin: 'file', url: 'http://file' });
  const fromEnvironment = toolServerRecord({ id: 'env', origin: 'environment', url: 'http://env' });
  const stored = toolServerRecord({ id: 'stored', origin: 'database' });
  const shadowed = toolServerRecord({ id: 'file', origin: 'database', url: 'http://old' });
  const other = toolServerRecord({ id: 'other', origin: 'database' });

  function layers(): { registry: Registry; store: Registry } {
    const store = memoryRegistry([shadowed, stored]);
    return { registry: createLayeredRegistry({ fixed: [fromEnvironment, fromFile], store }), store };
  }

  it('come first and hide stored ones of the same id', async () => {
    const { registry } = layers();
    expect(await registry.listToolServers()).toEqual([fromEnvironment, fromFile, stored]);
    expect(await registry.findToolServer('file')).toEqual(fromFile);
    expect(await registry.findToolServer('stored')).toEqual(stored);
    const [first] = await registry.listToolServers();
    expect(await registry.findToolServer('env')).toBe(first);
    expect(Object.isFrozen(first)).toBe(true);
  });

  it('hold their id against new ones', async () => {
    const { registry } = layers();
    await expect(registry.createToolServer({ ...other, id: 'env' })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('TOOL_SERVER_CONNECTIONS'),
    });
  });

  it.each([
    ['env', 'environment (TOOL_SERVER_CONNECTIONS)'],
    ['file', 'configuration file (tool_servers)'],
  ])('(%s) are not changed or deleted, and the error says where to', async (id, place) => {
    const { registry, store } = layers();
    const refusal = { code: 'read_only', message: expect.stringContaining(place) };
    await expect(registry.changeToolServer({ ...other, id })).rejects.toMatchObject(refusal);
    await expect(registry.deleteToolServer(id)).rejects.toMatchObject(refusal);
    expect(await store.listToolServers()).toEqual([shadowed, stored]);
  });

  it('are left out of a replacement that repeats them, and what they hide stays stored', async () => {
    const { registry, store } = layers();
    await registry.replaceToolServers([fromFile, other]);
    expect(await registry.listToolServers()).toEqual([fromEnvironment, fromFile, other]);
    expect(await store.listToolServers()).toEqual([other, shadowed]);
  });

  it('refuse a replacement that would change them, and then nothing is replaced', async () => {
    const { registry, store } = layers();
    await expect(registry.replaceToolServers([other, { ...fromFile, url: 'http://new' }])).rejects.toMatchObject({ code: 'read_only' });
    expect(await store.listToolServers()).toEqual([shadowed, stored]);
  });

  it('are listed alone while the store fails, and the fault is told once a minute and again after it was gone', async () => {
    let isDown = true;
    let time = 0;
    const faults: unknown[] = [];
    const store = memoryRegistry([stored]);
    const failure = new GatewayError('storage_unavailable', 'locked');
    const unsteady: Registry = {
      ...store,
      listToolServers: () => (isDown ? Promise.reject(failure) : store.listToolServers()),
      findToolServer: (id) => (isDown ? Promise.reject(failure) : store.findToolServer(id)),
    };
    const registry = createLayeredRegistry({ fixed: [fromFile], store: unsteady, onFault: (error) => faults.push(error), now: () => time });
    expect(await registry.listToolServers()).toEqual([fromFile]);
    expect(await registry.listToolServers()).toEqual([fromFile]);
    expect(faults).toEqual([failure]);
    time = 61_000;
    await registry.listToolServers();
    expect(faults).toHaveLength(2);
    expect(await registry.findToolServer('file')).toEqual(fromFile);
    await expect(registry.findToolServer('stored')).rejects.toBe(failure);
    await expect(registry.replaceToolServers([])).rejects.toBe(failure);
    isDown = false;
    expect(await registry.listToolServers()).toEqual([fromFile, stored]);
    isDown = true;
    await registry.listToolServers();
    expect(faults).toHaveLength(3);
  });

  it('do not hide a defect of the store', async () => {
    const store: Registry = { ...memoryRegistry(), listToolServers: () => Promise.reject(new TypeError('defect')) };
    await expect(createLayeredRegistry({ fixed: [fromFile], store }).listToolServers()).rejects.toThrow('defect');
  });

  it('leave keys and facts to the store', async () => {
    const { registry, store } = layers();
    await registry.createKey(keyRecord());
    await registry.writeFact('seen', 'yes');
    expect(await store.findKeyByHash('hash-a')).toEqual(keyRecord());
    expect(await store.readFact('seen')).toBe('yes');
  });
});
