import { expect, test } from 'vitest';
import type { RunWait } from '../../../src/core/suspended-run.ts';
import type { ChatEvent } from '../../../src/core/chat.ts';
import { GatewayError } from '../../../src/core/errors.ts';
import { keepFailedRun } from '../../../src/chat/suspend/keep-failed-run.ts';
import { runContext } from '../../_support/tools.ts';

const hello: ChatEvent = { type: 'text', text: 'Hello' };
const end: ChatEvent = { type: 'run-event', event: { type: 'run.end', data: { status: 'completed' } } };
const gone = new DOMException('The client left', 'AbortError');
const cancelled = new GatewayError('run_cancelled', 'The run was cancelled.');
const fault = new GatewayError('upstream_unreachable', 'The backend is gone.', { retryAfter: '5' });

async function* eventsOf(...steps: (ChatEvent | Error)[]): AsyncGenerator<ChatEvent> {
  for (const step of steps) {
    if (step instanceof Error) throw step;
    yield step;
  }
}

interface Seen {
  isKept: boolean;
  events: ChatEvent[];
  error?: unknown;
}

/** Reads at most `count` events. */
async function read(
  events: AsyncGenerator<ChatEvent>,
  {
    reason,
    count = 10,
    hasPlace = true,
    isSuspended = false,
  }: { reason?: Error; count?: number; hasPlace?: boolean; isSuspended?: boolean } = {},
): Promise<Seen> {
  const seen: Seen = { isKept: false, events: [] };
  const leave = new AbortController();
  const wait: RunWait = {
    answers: () => undefined,
    suspend: () => Promise.reject(new Error('not here')),
    keepForRetry: async () => (seen.isKept = hasPlace),
    abandon: async () => undefined,
    isSuspended,
  };
  const kept = keepFailedRun(events, runContext({ wait, signal: leave.signal }));
  try {
    while (seen.events.length < count) {
      const next = await kept.next();
      if (next.done === true) return seen;
      seen.events.push(next.value);
      if (reason !== undefined) leave.abort(reason);
    }
    await kept.return(undefined);
  } catch (error) {
    seen.error = error;
  }
  return seen;
}

test('a fault keeps the run, is told with the cure, and stays the fault that it was', async () => {
  const { isKept, events, error } = await read(eventsOf(hello, fault));
  expect([isKept, events.map(({ type }) => type)]).toEqual([true, ['text', 'run-event']]);
  expect(error).toMatchObject({
    code: 'upstream_unreachable',
    status: 502,
    retryAfter: '5',
    message: expect.stringMatching(/^The backend is gone\. .*same decision/),
  });
});

test.each<[string, Parameters<typeof read>, boolean, unknown]>([
  ['a fault of our own', [eventsOf(new TypeError('oops'))], true, expect.objectContaining({ message: 'oops' })],
  ['a client that has left', [eventsOf(hello, gone), { reason: gone }], true, gone],
  ['a reader that stops', [eventsOf(hello, hello), { count: 1 }], true, undefined],
  ['a cancellation', [eventsOf(hello, cancelled), { reason: cancelled }], false, cancelled],
  ['a cancellation that nobody reads', [eventsOf(hello, hello), { count: 1, reason: cancelled }], false, undefined],
  ['a fault amid calls', [eventsOf(hello, fault), { hasPlace: false }], false, fault],
  ['a fault of a run that waits already', [eventsOf(hello, fault), { isSuspended: true }], false, fault],
  ['an answer that was read to its end', [eventsOf(hello, end)], false, undefined],
  ['a reader that stops behind the end', [eventsOf(hello, end), { count: 2 }], false, undefined],
])('%s', async (_name, given, isKept, error) => {
  const seen = await read(...given);
  expect([seen.isKept, seen.error]).toEqual([isKept, error]);
});
