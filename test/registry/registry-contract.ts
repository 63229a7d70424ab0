import { describe, expect, it } from 'vitest';
import type { Registry, ToolServerRecord } from '../../src/core/registry.ts';

export function toolServerRecord(record: Partial<ToolServerRecord> = {}): ToolServerRecord {
  return {
    id: 'time',
    origin: 'file',
    url: 'http://127.0.0.1:9001',
    path: 'openapi.json',
    type: 'openapi',
    authType: 'none',
    headers: {},
    isEnabled: true,
    isDefault: true,
    functionFilter: [],
    tags: [],
    extra: {},
    ...record,
  };
}

/** What every registry does, wherever it keeps its records. */
export function describeRegistry(name: string, createRegistry: (records: ToolServerRecord[]) => Promise<Registry> | Registry): void {
  describe(`${name} as a registry`, () => {
    const time = toolServerRecord({
      id: 'time',
      key: 'k',
      headers: { 'x-a': '1' },
      spec: { paths: {} },
      extra: { config: { read_only: true } },
    });
    const maps = toolServerRecord({ id: 'maps', isEnabled: false, functionFilter: ['!drop'], tags: ['geo'], timeoutMs: 5 });

    it('lists every record, disabled ones too, in their order and with all their fields', async () => {
      const registry = await createRegistry([time, maps]);
      expect(await registry.listToolServers()).toEqual([time, maps]);
    });

    it('finds one by its id, and nothing by a name every object has', async () => {
      const registry = await createRegistry([time, maps]);
      expect(await registry.findToolServer('maps')).toEqual(maps);
      expect(await registry.findToolServer('nope')).toBeUndefined();
      expect(await registry.findToolServer('constructor')).toBeUndefined();
    });

    it('is empty without records', async () => {
      const registry = await createRegistry([]);
      expect(await registry.listToolServers()).toEqual([]);
    });

    it('does not change when a list it gave, or what it was made of, changes', async () => {
      const own = structuredClone(time);
      const registry = await createRegistry([own]);
      own.url = 'http://elsewhere';
      own.headers['x-a'] = '2';
      (await registry.listToolServers()).pop();
      expect(await registry.listToolServers()).toEqual([time]);
    });
  });
}
