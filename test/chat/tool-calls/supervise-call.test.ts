import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Supervision } from '../../../src/chat/tool-calls/supervise-call.ts';
import type { Ending } from '../../../src/chat/tool-calls/supervise-call.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

function watched(limits: { idleMs: number; totalMs: number }) {
  const call = new Supervision();
  call.startLimits(limits);
  const endings: Ending[] = [];
  void call.ended.then((ending) => endings.push(ending));
  return { call, endings };
}

it('no limit runs while a call is paused, and signs of life wake none', async () => {
  const { call, endings } = watched({ idleMs: 100, totalMs: 150 });
  await vi.advanceTimersByTimeAsync(90);
  const goOn = call.pause();
  await vi.advanceTimersByTimeAsync(10_000);
  call.touch();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(endings).toEqual([]);
  goOn();
  await vi.advanceTimersByTimeAsync(59);
  expect(endings).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(endings).toMatchObject([{ type: 'timeout' }]);
});

it('the idle limit begins anew, and the total one goes on', async () => {
  const { call, endings } = watched({ idleMs: 100, totalMs: 1_000 });
  await vi.advanceTimersByTimeAsync(90);
  call.pause()();
  await vi.advanceTimersByTimeAsync(99);
  expect(endings).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(endings).toEqual([{ type: 'timeout', limitMs: 100 }]);
});

it('of several pauses the last one that ends counts, each once', async () => {
  const { call, endings } = watched({ idleMs: 100, totalMs: 100 });
  const [first, second] = [call.pause(), call.pause()];
  first();
  first();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(endings).toEqual([]);
  second();
  await vi.advanceTimersByTimeAsync(100);
  expect(endings).toHaveLength(1);
});

it('a paused call can be ended, and one that is over begins no limit again', async () => {
  const { call, endings } = watched({ idleMs: 100, totalMs: 100 });
  const goOn = call.pause();
  call.end({ type: 'cancelled' });
  goOn();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(endings).toEqual([{ type: 'cancelled' }]);
  const other = watched({ idleMs: 100, totalMs: 100 });
  const later = other.call.pause();
  other.call[Symbol.dispose]();
  later();
  expect(vi.getTimerCount()).toBe(0);
});
