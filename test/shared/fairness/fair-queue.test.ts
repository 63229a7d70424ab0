import { expect, it } from 'vitest';
import { FairQueue } from '../../../src/shared/fairness/fair-queue.ts';

/** A queue with entries such as `key/person:1`, pushed in this order. */
function queueOf(...entries: string[]): FairQueue<string> {
  const queue = new FairQueue<string>();
  for (const entry of entries) queue.push(ownerOf(entry), entry);
  return queue;
}

const ownerOf = (entry: string): string => entry.split(':', 1)[0] ?? '';

function served(queue: FairQueue<string>): (string | undefined)[] {
  return Array.from({ length: queue.size }, () => queue.shift());
}

it('lists its entries in the order in which it serves them', () => {
  const entries = ['a/x:1', 'a/x:2', 'a/y:1', 'b/z:1', 'a/x:3', 'b/z:2', 'c/w:1', 'a/y:2'];
  const queue = queueOf(...entries);
  queue.shift();
  expect([...queue.inOrder()]).toEqual(served(queueOf(...entries)).slice(1));
  expect(served(queue)).toEqual(['b/z:1', 'c/w:1', 'a/y:1', 'b/z:2', 'a/x:2', 'a/y:2', 'a/x:3']);
});

it('passes over entries that cannot be served, which keep their place', () => {
  const queue = queueOf('a/x:1', 'a/x:2', 'b/z:1');
  expect(queue.shiftWhere((entry) => entry !== 'a/x:1')).toBe('a/x:2');
  expect(queue.shiftWhere(() => false)).toBeUndefined();
  expect(served(queue)).toEqual(['b/z:1', 'a/x:1']);
});

it('gives up the latest entry of the person with the most, in the group with the most', () => {
  expect(queueOf('a/x:1', 'a/x:2', 'a/y:1', 'b/z:1', 'b/z:2').last()).toBe('a/x:2');
  expect(queueOf('a/x:1', 'b/z:1').last()).toBe('b/z:1');
  expect(queueOf('b/z:1', 'a/x:1').last()).toBe('a/x:1');
  expect(queueOf().last()).toBeUndefined();
});
