import { expect, it } from 'vitest';
import { queueEvents } from '../../../src/chat/tool-calls/queue-events.ts';
import type { ChatEvent } from '../../../src/core/chat/chat.ts';
import type { EventType, RunEvent } from '../../../src/core/chat/run-event.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';

const eventOf = (id: string, type: EventType = 'tool.call', data: JsonObject = {}): ChatEvent => ({
  type: 'run-event',
  event: { type, data: { id, ...data } } as unknown as RunEvent,
});
const quiet = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A reader that takes each batch only when it is told to. */
function slowReader() {
  const batches: (readonly ChatEvent[])[] = [];
  let taken = Promise.withResolvers<void>();
  return {
    batches,
    emit: (events: readonly ChatEvent[]) => {
      batches.push(events);
      return taken.promise;
    },
    async take() {
      taken.resolve();
      taken = Promise.withResolvers();
      await quiet();
    },
  };
}

it('events are delivered in their order, and whoever emits one waits until it was taken', async () => {
  const reader = slowReader();
  const queue = queueEvents(reader.emit);
  const delivered: string[] = [];
  void queue.emit([eventOf('first')]).then(() => delivered.push('first'));
  await quiet();
  void queue.emit([eventOf('second')]).then(() => delivered.push('second'));
  void queue.emit([eventOf('third')]).then(() => delivered.push('third'));
  await quiet();
  expect([reader.batches, delivered]).toEqual([[[eventOf('first')]], []]);
  await reader.take();
  expect(delivered).toEqual(['first']);
  await reader.take();
  expect([reader.batches[1], delivered]).toEqual([
    [eventOf('second'), eventOf('third')],
    ['first', 'second', 'third'],
  ]);
});

it('while the reader is slow, the progress of each call becomes one event', async () => {
  const reader = slowReader();
  const queue = queueEvents(reader.emit);
  void queue.emit([eventOf('a')]);
  await quiet();
  for (let progress = 0; progress < 100; progress += 1)
    for (const id of ['a', 'b']) void queue.emit([eventOf(id, 'tool.progress', { progress })]);
  void queue.emit([eventOf('a', 'tool.progress', { status: 'Nearly' })]);
  await reader.take();
  expect(reader.batches[1]).toEqual([
    eventOf('a', 'tool.progress', { progress: 99, status: 'Nearly' }),
    eventOf('b', 'tool.progress', { progress: 99 }),
  ]);
});

it('what is emitted after the end is dropped, and the end waits for what is on its way', async () => {
  const reader = slowReader();
  const queue = queueEvents(reader.emit);
  void queue.emit([eventOf('first')]);
  await quiet();
  void queue.emit([eventOf('second')]);
  let isClosed = false;
  void queue.close().then(() => (isClosed = true));
  await quiet();
  expect(isClosed).toBe(false);
  await reader.take();
  await queue.emit([eventOf('late')]);
  expect([reader.batches, isClosed]).toEqual([[[eventOf('first')]], true]);
});

it('where the reader fails, nobody waits for it any more, and the round learns why', async () => {
  const gone = new Error('gone');
  let attempts = 0;
  const queue = queueEvents(() => {
    attempts += 1;
    throw gone;
  });
  await Promise.all([queue.emit([eventOf('early')]), queue.emit([eventOf('beside')])]);
  await queue.emit([eventOf('late')]);
  await expect(queue.failed).rejects.toBe(gone);
  expect(attempts).toBe(1);
});
