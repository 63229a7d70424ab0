import { describe, expect, it } from 'vitest';
import { createMemoryRegistry } from '../../src/storage/memory-registry.ts';
import { describeRegistry, toolServerRecord } from './registry-contract.ts';

describeRegistry('the memory registry', createMemoryRegistry);

describe('the memory registry', () => {
  it('gives the same frozen record every time', async () => {
    const registry = createMemoryRegistry([toolServerRecord({ extra: { config: { a: [] } } })]);
    const [first] = await registry.listToolServers();
    expect(await registry.findToolServer('time')).toBe(first);
    expect(Object.isFrozen(first?.headers)).toBe(true);
    expect(Object.isFrozen(first?.extra['config'])).toBe(true);
  });

  it('refuses two records with one id', () => {
    expect(() => createMemoryRegistry([toolServerRecord(), toolServerRecord()])).toThrow('There is a tool server "time" already');
  });
});
