import { afterEach, describe, expect, it } from 'vitest';
import type { Registry, ToolServerRecord } from '../../src/core/stores/registry.ts';
import { backendConfig, keyRecord, toolServerRecord } from './records.ts';

export { backendConfig, keyRecord, toolServerRecord };

/** What every registry does, wherever it keeps its records. */
export function describeRegistry(name: string, createRegistry: (records: ToolServerRecord[]) => Promise<Registry> | Registry): void {
  const open: Registry[] = [];
  const create = async (records: ToolServerRecord[] = []): Promise<Registry> => {
    const registry = await createRegistry(records);
    open.push(registry);
    return registry;
  };
  afterEach(async () => {
    await Promise.all(open.splice(0).map((registry) => registry.close()));
  });

  const time = toolServerRecord({
    id: 'time',
    key: 'k',
    headers: { 'x-a': '1', 'x-b': '{{USER_ID}}' },
    spec: { paths: {} },
    basePath: '/base',
    authType: 'header',
    authName: 'x-key',
    extra: { config: { read_only: true }, list: [1, 'ü', null] },
  });
  const maps = toolServerRecord({
    id: 'maps',
    isEnabled: false,
    functionFilter: ['!drop'],
    tags: ['geo'],
    timeoutMs: 5,
    spec: 'openapi: 3',
  });
  const news = toolServerRecord({ id: 'news', isDefault: false, name: 'News', description: 'd', maxResultBytes: 9 });
  const idsOf = async (registry: Registry): Promise<string[]> => (await registry.listToolServers()).map((record) => record.id);

  describe(`tool servers in ${name}`, () => {
    it('are listed, disabled ones too, in their order and with all their fields', async () => {
      const registry = await create([time, maps]);
      expect(await registry.listToolServers()).toEqual([time, maps]);
    });

    it('are found by their id, and not by a name every object has', async () => {
      const registry = await create([time, maps]);
      expect(await registry.findToolServer('maps')).toEqual(maps);
      expect(await registry.findToolServer('nope')).toBeUndefined();
      expect(await registry.findToolServer('constructor')).toBeUndefined();
      expect(await registry.findToolServer('__proto__')).toBeUndefined();
    });

    it('are none at first', async () => {
      expect(await (await create()).listToolServers()).toEqual([]);
    });

    it('do not change when a list that was given, or what they were made of, changes', async () => {
      const own = structuredClone(time);
      const registry = await create([own]);
      own.url = 'http://elsewhere';
      own.headers['x-a'] = '2';
      const listed = await registry.listToolServers();
      if (!Object.isFrozen(listed)) (listed as ToolServerRecord[]).pop();
      expect(await registry.listToolServers()).toEqual([time]);
    });

    it('come back frozen, and as the same object until they change', async () => {
      const registry = await create([time, maps]);
      const [first, second] = await registry.listToolServers();
      expect(Object.isFrozen(first)).toBe(true);
      expect(Object.isFrozen(first?.headers)).toBe(true);
      expect(Object.isFrozen(first?.extra['config'])).toBe(true);
      await registry.changeToolServer({ ...maps, tags: ['new'] });
      await registry.createToolServer(news);
      expect((await registry.listToolServers())[0]).toBe(first);
      expect(await registry.findToolServer('time')).toBe(first);
      expect(await registry.findToolServer('maps')).not.toBe(second);
    });

    it('are created at the end', async () => {
      const registry = await create([time]);
      await registry.createToolServer(maps);
      await registry.createToolServer(news);
      expect(await registry.listToolServers()).toEqual([time, maps, news]);
    });

    it('are refused with an id that is taken, and the one that is there stays', async () => {
      const registry = await create([time]);
      await expect(registry.createToolServer({ ...maps, id: 'time' })).rejects.toMatchObject({ code: 'conflict' });
      expect(await registry.listToolServers()).toEqual([time]);
    });

    it('are changed in their place, as a whole', async () => {
      const registry = await create([time, maps]);
      const { key: _key, basePath: _basePath, ...rest } = time;
      const changed = { ...rest, url: 'http://127.0.0.1:9002', headers: { 'x-b': '2' } };
      await registry.changeToolServer(changed);
      expect(await registry.listToolServers()).toEqual([changed, maps]);
      expect(await registry.findToolServer('time')).not.toHaveProperty('key');
    });

    it('are deleted, and may be created again, then at the end', async () => {
      const registry = await create([time, maps]);
      await registry.deleteToolServer('time');
      expect(await registry.findToolServer('time')).toBeUndefined();
      await registry.createToolServer(time);
      expect(await idsOf(registry)).toEqual(['maps', 'time']);
    });

    it('cannot be changed or deleted when they are not there', async () => {
      const registry = await create([time]);
      await expect(registry.changeToolServer(maps)).rejects.toMatchObject({ code: 'not_found' });
      await expect(registry.deleteToolServer('maps')).rejects.toMatchObject({ code: 'not_found' });
      await expect(registry.deleteToolServer('constructor')).rejects.toMatchObject({ code: 'not_found' });
      expect(await registry.listToolServers()).toEqual([time]);
    });

    it('are replaced all at once, in the new order', async () => {
      const registry = await create([time, maps]);
      await registry.replaceToolServers([news, { ...time, isEnabled: false }]);
      expect(await registry.listToolServers()).toEqual([news, { ...time, isEnabled: false }]);
      await registry.replaceToolServers([]);
      expect(await registry.listToolServers()).toEqual([]);
    });

    it('are not replaced at all when one id stands twice in the new ones', async () => {
      const registry = await create([time, maps]);
      await expect(registry.replaceToolServers([news, news])).rejects.toMatchObject({ code: 'conflict' });
      expect(await registry.listToolServers()).toEqual([time, maps]);
    });

    it('take changes that are made at the same time one after the other', async () => {
      const registry = await create();
      const ids = Array.from({ length: 20 }, (_, index) => `server-${index}`);
      await Promise.all(ids.map((id) => registry.createToolServer(toolServerRecord({ id }))));
      expect(await idsOf(registry)).toEqual(ids);
      const results = await Promise.allSettled([registry.createToolServer(time), registry.createToolServer(time)]);
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    });
  });

  describe(`keys in ${name}`, () => {
    const first = keyRecord({ id: 'key_a', hash: 'hash-a', role: 'admin' });
    const second = keyRecord({ id: 'key_b', hash: 'hash-b', expiresAt: 5, models: ['m'], tools: [], limits: { perMinute: 3 } });
    const withKeys = async (): Promise<Registry> => {
      const registry = await create();
      await registry.createKey(first);
      await registry.createKey(second);
      return registry;
    };

    it('are listed in the order of their creation, with all their fields', async () => {
      expect(await (await withKeys()).listKeys()).toEqual([first, second]);
      expect(await (await create()).listKeys()).toEqual([]);
      expect(await (await create()).countKeys()).toBe(0);
    });

    it('are counted, and found by their id', async () => {
      const registry = await withKeys();
      expect(await registry.countKeys()).toBe(2);
      expect(await registry.findKey('key_b')).toEqual(second);
      expect(await registry.findKey('key_c')).toBeUndefined();
      await registry.deleteKey('key_b');
      expect(await registry.countKeys()).toBe(1);
      expect(await registry.findKey('key_b')).toBeUndefined();
    });

    it('are found by their hash, as the same frozen object', async () => {
      const registry = await withKeys();
      const found = await registry.findKeyByHash('hash-b');
      expect(found).toEqual(second);
      expect(Object.isFrozen(found?.models)).toBe(true);
      await registry.changeKey({ ...first, name: 'other' });
      expect(await registry.findKeyByHash('hash-b')).toBe(found);
      expect(await registry.findKeyByHash('hash-c')).toBeUndefined();
      expect(await registry.findKeyByHash('')).toBeUndefined();
    });

    it.each([
      ['id', keyRecord({ id: 'key_a', hash: 'hash-c' })],
      ['hash', keyRecord({ id: 'key_c', hash: 'hash-a' })],
    ])('are refused when their %s is taken', async (_field, record) => {
      const registry = await withKeys();
      await expect(registry.createKey(record)).rejects.toMatchObject({ code: 'conflict' });
      expect(await registry.listKeys()).toEqual([first, second]);
    });

    it('are changed, their hash too', async () => {
      const registry = await withKeys();
      await registry.changeKey({ ...first, hash: 'hash-new', name: 'renamed' });
      expect(await registry.findKeyByHash('hash-a')).toBeUndefined();
      expect(await registry.findKeyByHash('hash-new')).toMatchObject({ id: 'key_a', name: 'renamed' });
      expect((await registry.listKeys()).map(({ id }) => id)).toEqual(['key_a', 'key_b']);
    });

    it('cannot take another key’s hash in a change', async () => {
      const registry = await withKeys();
      await expect(registry.changeKey({ ...first, hash: 'hash-b' })).rejects.toMatchObject({ code: 'conflict' });
      expect(await registry.listKeys()).toEqual([first, second]);
    });

    it('no longer open anything once they are deleted', async () => {
      const registry = await withKeys();
      await registry.findKeyByHash('hash-a');
      await registry.deleteKey('key_a');
      expect(await registry.findKeyByHash('hash-a')).toBeUndefined();
      expect(await registry.listKeys()).toEqual([second]);
    });

    it('cannot be changed or deleted when they are not there', async () => {
      const registry = await withKeys();
      await expect(registry.changeKey(keyRecord({ id: 'key_c', hash: 'hash-c' }))).rejects.toMatchObject({ code: 'not_found' });
      await expect(registry.deleteKey('key_c')).rejects.toMatchObject({ code: 'not_found' });
    });
  });

  describe(`backends in ${name}`, () => {
    const lab = backendConfig({ key: 'k', headers: { 'x-a': '1', 'x-b': '{}' }, models: ['a'], queue: 0, fallbacks: [] });
    const cloud = backendConfig({ name: 'cloud', kind: 'anthropic', prefix: 'c' });
    const withBackends = async (): Promise<Registry> => {
      const registry = await create();
      await registry.createBackend(lab);
      await registry.createBackend(cloud);
      return registry;
    };

    it('are listed in the order of their creation, with all their fields', async () => {
      expect(await (await withBackends()).listBackends()).toEqual([lab, cloud]);
      expect(await (await create()).listBackends()).toEqual([]);
    });

    it('come back frozen, and as the same object until they change', async () => {
      const registry = await withBackends();
      const [first, second] = await registry.listBackends();
      expect(Object.isFrozen(first?.headers)).toBe(true);
      await registry.changeBackend({ ...cloud, prefix: 'd' });
      await registry.createToolServer(time);
      const [same, changed] = await registry.listBackends();
      expect(same).toBe(first);
      expect(changed).not.toBe(second);
      expect(changed).toEqual({ ...cloud, prefix: 'd' });
    });

    it('keep their place when they are changed, and are gone when they are deleted', async () => {
      const registry = await withBackends();
      await registry.changeBackend({ ...lab, headers: { 'x-b': '2' } });
      expect(await registry.listBackends()).toEqual([{ ...lab, headers: { 'x-b': '2' } }, cloud]);
      await registry.deleteBackend('lab');
      expect(await registry.listBackends()).toEqual([cloud]);
    });

    it('are refused when their name is taken, or is not there', async () => {
      const registry = await withBackends();
      await expect(registry.createBackend(cloud)).rejects.toMatchObject({ code: 'conflict' });
      await expect(registry.changeBackend(backendConfig({ name: 'none' }))).rejects.toMatchObject({ code: 'not_found' });
      await expect(registry.deleteBackend('none')).rejects.toMatchObject({ code: 'not_found' });
      expect(await registry.listBackends()).toEqual([lab, cloud]);
    });
  });

  describe(`facts in ${name}`, () => {
    it('are read as they were written last, and are unknown before', async () => {
      const registry = await create();
      expect(await registry.readFact('seen')).toBeUndefined();
      expect(await registry.readFact('constructor')).toBeUndefined();
      await registry.writeFact('seen', 'once');
      await registry.writeFact('seen', '');
      await registry.writeFact('other', "it's");
      expect(await registry.readFact('seen')).toBe('');
      expect(await registry.readFact('other')).toBe("it's");
    });
  });
}
