import { expect, it, onTestFinished, vi } from 'vitest';
import { limits } from '../../../../src/core/limits.ts';
import { createSocketSlots } from '../../../../src/http/dialects/socket/socket-slots.ts';

it('a caller who comes and goes gets no more sockets than others', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const slots = createSocketSlots();
  slots.take('ada');
  slots.release('ada');
  vi.advanceTimersByTime(1_000);
  slots.take('ada');
  slots.release('ada');
  // The first of two delayed removals has come, the second follows.
  vi.advanceTimersByTime(1_100);
  for (let count = 0; count < limits.socketsPerCaller; count += 1) expect(slots.take('ada')).toBeDefined();
  vi.advanceTimersByTime(60_000);
  expect(slots.take('ada')).toBeUndefined();
});

it('a key gets no more sockets by having more people', () => {
  const slots = createSocketSlots();
  for (let count = 0; count < limits.socketsPerKey; count += 1) expect(slots.take(`key_1/${count}`)).toBeDefined();
  expect(slots.take('key_1/another')).toBeUndefined();
  expect(slots.take('key_1')).toBeUndefined();
  expect(slots.take('key_10/another')).toBeDefined();
  slots.release('key_1/0');
  expect(slots.take('key_1/another')).toBeDefined();
});
