import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createAnswerWatch, requestIdIn } from '../../../src/tools/mcp/incoming-messages.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const answerTo = (id: number) => ({ jsonrpc: '2.0' as const, id, result: {} });

describe('a stream that should hold an answer', () => {
  it.each([
    ['held it', 1, false, false],
    ['held the answer to something else', 2, false, true],
    ['held nothing', undefined, false, true],
    ['held nothing, and can be asked for again', undefined, true, false],
  ])('that %s is known as such', (_name, answered, isResumable, isLost) => {
    const watch = createAnswerWatch();
    const onLost = vi.fn<() => void>();
    const end = watch.begin(1, onLost);
    watch.observe({ jsonrpc: '2.0', method: 'notifications/progress', params: {} });
    if (answered !== undefined) watch.observe(answerTo(answered));
    end({ isResumable });
    vi.runAllTimers();
    expect(onLost).toHaveBeenCalledTimes(isLost ? 1 : 0);
  });

  it('may end a moment before its answer is read', () => {
    const watch = createAnswerWatch();
    const onLost = vi.fn<() => void>();
    watch.begin(1, onLost)({ isResumable: false });
    watch.observe(answerTo(1));
    vi.runAllTimers();
    expect(onLost).not.toHaveBeenCalled();
  });
});

it('the id of a request is found, and a notification has none', () => {
  expect(requestIdIn('{"jsonrpc":"2.0","id":0,"method":"ping"}')).toBe(0);
  expect(requestIdIn('{"jsonrpc":"2.0","method":"notifications/initialized"}')).toBeUndefined();
  expect(requestIdIn('[]')).toBeUndefined();
});
