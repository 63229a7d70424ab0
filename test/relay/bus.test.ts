import { describe, expect, it } from 'vitest';
import { createInProcessBus } from '../../src/relay/bus.ts';

describe('the in-process bus', () => {
  it('tells how many listened, and delivers copies in order', async () => {
    const bus = createInProcessBus();
    const first: unknown[] = [];
    const second: unknown[] = [];
    await bus.subscribe('a', (message) => first.push(message));
    await bus.subscribe('a', (message) => second.push(message));
    const message = { n: 1, list: [1] };
    expect(await bus.publish('a', message)).toBe(2);
    message.list.push(2);
    expect(await bus.publish('a', { n: 2 })).toBe(2);
    expect(await bus.publish('b', { n: 3 })).toBe(0);
    await Promise.resolve();
    expect(first).toEqual([{ n: 1, list: [1] }, { n: 2 }]);
    expect(second).toEqual(first);
  });

  it('delivers nothing after the subscription ended or the bus closed, and counts the same handler twice', async () => {
    const bus = createInProcessBus();
    const seen: unknown[] = [];
    const handler = (message: unknown): void => void seen.push(message);
    const unsubscribe = await bus.subscribe('a', handler);
    await bus.subscribe('a', handler);
    expect(await bus.publish('a', {})).toBe(2);
    await unsubscribe();
    await unsubscribe();
    expect(await bus.publish('a', {})).toBe(1);
    await bus.close();
    expect(await bus.publish('a', {})).toBe(0);
    expect(seen, 'two and one; nothing after the end').toHaveLength(3);
  });
});
