import { describe, expect, it } from 'vitest';
import { openBundledTimeServer } from '../../src/app/bundled-time-server.ts';
import type { BundledTime } from '../../src/app/bundled-time-server.ts';
import { GatewayError } from '../../src/core/errors.ts';
import type { Registry, ToolServerRecord } from '../../src/core/stores/registry.ts';
import { memoryRegistry } from '../_support/memory-stores.ts';
import { toolServerRecord } from '../storage/registry-contract.ts';

const own = toolServerRecord({ id: 'maps', origin: 'database', url: 'http://maps.test' });

/** Each start gets another port. */
interface Starts {
  open: (store: Registry, fixed?: ToolServerRecord[], demo?: boolean) => Promise<BundledTime>;
  running: () => number;
}

function starts(): Starts {
  let port = 4_000;
  let running = 0;
  const start = async () => {
    port += 1;
    running += 1;
    return { url: `http://127.0.0.1:${port}`, close: async () => void (running -= 1) };
  };
  return { open: (store, fixed = [], demo) => openBundledTimeServer({ store, fixed, demo, start }), running: () => running };
}

const listed = async ({ store }: BundledTime): Promise<string[]> =>
  (await store.listToolServers()).map(({ id, origin, url }) => `${id} ${origin} ${url}`);

describe('the bundled time server', () => {
  it('is registered at the first start, and has another address after the next', async () => {
    const store = memoryRegistry();
    const { open, running } = starts();
    const first = await open(store);
    expect(await listed(first)).toEqual(['time bundled http://127.0.0.1:4001']);
    await first.close();
    expect(running()).toBe(0);
    const second = await open(store);
    expect(await listed(second)).toEqual(['time bundled http://127.0.0.1:4002']);
    expect((await second.store.findToolServer('time'))?.url).toBe('http://127.0.0.1:4002');
    expect((await second.store.listToolServers())[0]).toBe((await second.store.listToolServers())[0]);
  });

  it.each<[string, (store: Registry) => Promise<void>]>([
    ['deleted', (store) => store.deleteToolServer('time')],
    ['replaced with all others', (store) => store.replaceToolServers([own])],
  ])('once %s, stays away and does not run', async (_case, remove) => {
    const store = memoryRegistry();
    const { open, running } = starts();
    const first = await open(store);
    await remove(first.store);
    await first.close();
    const second = await open(store);
    expect((await listed(second)).join()).not.toContain('bundled');
    expect(running()).toBe(0);
  });

  it('can be changed like any other, and keeps its changes', async () => {
    const store = memoryRegistry();
    const { open } = starts();
    const first = await open(store);
    const [record] = await first.store.listToolServers();
    // What the administration makes of a change has the origin of what it stores.
    await first.store.changeToolServer({ ...(record as ToolServerRecord), origin: 'database', isEnabled: false });
    const second = await open(store);
    expect(await second.store.listToolServers()).toMatchObject([
      { id: 'time', origin: 'bundled', isEnabled: false, url: 'http://127.0.0.1:4002' },
    ]);
    await second.store.changeToolServer({ ...(record as ToolServerRecord), url: 'http://time.example' });
    expect(await listed(await open(store))).toEqual(['time database http://time.example']);
  });

  it.each<[string, ToolServerRecord[], ToolServerRecord[]]>([
    ['the configuration names a tool server', [own], []],
    ['the store has a tool server', [], [own]],
  ])('is not registered when %s', async (_case, fixed, stored) => {
    const store = memoryRegistry(stored);
    const { open, running } = starts();
    const time = await open(store, fixed);
    expect((await listed(time)).join()).not.toContain('bundled');
    expect(running()).toBe(0);
  });

  it('is hidden with TOOLWHARF_DEMO=false, and does not hold its id', async () => {
    const store = memoryRegistry();
    const { open, running } = starts();
    await (await open(store)).close();
    const hidden = await open(store, [], false);
    expect([await listed(hidden), running()]).toEqual([[], 0]);
    await hidden.store.createToolServer(toolServerRecord({ origin: 'database', url: 'http://time.example' }));
    expect(await listed(await open(store))).toEqual(['time database http://time.example']);
  });

  it('is there with TOOLWHARF_DEMO=true, beside others and although it was deleted', async () => {
    const store = memoryRegistry([own]);
    const { open } = starts();
    const first = await open(store, [], true);
    expect(await listed(first)).toHaveLength(2);
    await first.store.deleteToolServer('time');
    expect(await listed(await open(store, [], true))).toHaveLength(2);
    expect(await listed(await open(memoryRegistry(), [toolServerRecord()], true))).toEqual([]);
  });

  it('does not keep the gateway from starting when the store is down', async () => {
    const down = async (): Promise<never> => {
      throw new GatewayError('storage_unavailable', 'locked');
    };
    const store = memoryRegistry();
    const { open, running } = starts();
    await open({ ...store, listToolServers: down });
    await open({ ...store, createToolServer: down });
    expect(running()).toBe(2);
    const broken = { ...store, createToolServer: async () => Promise.reject(new Error('a mistake')) };
    await expect(open(broken)).rejects.toThrow('a mistake');
    expect(running()).toBe(2);
  });
});
