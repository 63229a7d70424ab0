import { expect, test } from 'vitest';
import { createLiveEvents } from '../../../src/chat/loop/live-events.ts';
import type { RunEvent } from '../../../src/core/run-event.ts';

const eventOf = (id: string): RunEvent => ({ type: 'tool.call', data: { id } });

test('whoever delivers an event waits until it was read, in the order in which all was told', async () => {
  const live = createLiveEvents();
  const { promise, resolve } = Promise.withResolvers<string>();
  const delivered: string[] = [];
  live.tell(eventOf('told'));
  void live.deliver(eventOf('first')).then(() => delivered.push('first'));
  void live.deliver(eventOf('second')).then(() => delivered.push('second'));
  const events = live.until(promise);
  const ids: unknown[] = [];
  for (let count = 0; count < 2; count += 1) {
    const next = await events.next();
    if (next.done !== true && next.value.type === 'run-event') ids.push(next.value.event.data['id']);
  }
  // The second is read, and not yet left behind.
  expect([ids, delivered]).toEqual([['told', 'first'], []]);
  await events.next();
  expect(delivered).toEqual(['first']);
  resolve('over');
  expect(await events.next()).toEqual({ done: true, value: 'over' });
  expect(delivered).toEqual(['first', 'second']);
});

test('nobody waits for a reader that has gone, neither who waits already nor who comes later', async () => {
  const live = createLiveEvents();
  const waiting = live.deliver(eventOf('early'));
  live.close();
  expect(await Promise.all([waiting, live.deliver(eventOf('late'))])).toEqual([undefined, undefined]);
});
