import { expect, it } from 'vitest';
import type { RunSuspension } from '../../../src/core/runs/suspended-run.ts';
import type { ChatEvent } from '../../../src/core/chat/chat.ts';
import { GatewayError } from '../../../src/core/errors.ts';
import { keepFailedRun } from '../../../src/chat/suspend/keep-failed-run.ts';
import type { Emit } from '../../../src/shared/async/emit.ts';
import { runContext } from '../../_support/tools.ts';

const hello: ChatEvent = { type: 'text', text: 'Hello' };
const end: ChatEvent = { type: 'run-event', event: { type: 'run.end', data: { run_id: 'r', status: 'completed' } } };
const gone = new DOMException('The client disconnected', 'AbortError');
const cancelled = new GatewayError('run_cancelled', 'The run was cancelled.');
const fault = new GatewayError('upstream_unreachable', 'The backend is gone.', { retryAfter: '5' });

type Step = ChatEvent | Error;

interface Seen {
  isKept: boolean;
  events: ChatEvent[];
  error?: unknown;
}

interface Reading {
  /** Why the run's signal is aborted at the first event. */
  reason?: Error;
  /** After so many events the reader stops. */
  count?: number;
  hasPlace?: boolean;
  isSuspended?: boolean;
}

const stopped = new Error('nobody reads on');

async function read(steps: Step[], { reason, count = 10, hasPlace = true, isSuspended = false }: Reading = {}): Promise<Seen> {
  const seen: Seen = { isKept: false, events: [] };
  const leave = new AbortController();
  const suspension: RunSuspension = {
    answers: () => undefined,
    settle: async () => undefined,
    suspend: () => Promise.reject(new Error('not here')),
    suspendToConnect: () => Promise.reject(new Error('not here')),
    keepForRetry: async () => (seen.isKept = hasPlace),
    abandon: async () => undefined,
    isSuspended,
  };
  const emit: Emit<ChatEvent> = (events) => {
    if (seen.events.length >= count) throw stopped;
    seen.events.push(...events);
    if (reason !== undefined) leave.abort(reason);
    return undefined;
  };
  const answer = async (emitInner: Emit<ChatEvent>): Promise<void> => {
    for (const step of steps) {
      if (step instanceof Error) throw step;
      await emitInner([step]);
    }
  };
  await keepFailedRun(answer, runContext({ suspension, signal: leave.signal }), emit).catch((error: unknown) => (seen.error = error));
  return seen;
}

it('stores a run that fails, says how to continue, and throws the same error', async () => {
  const { isKept, events, error } = await read([hello, fault]);
  expect([isKept, events.map(({ type }) => type)]).toEqual([true, ['text', 'run-event']]);
  expect(error).toMatchObject({
    code: 'upstream_unreachable',
    status: 502,
    retryAfter: '5',
    message: expect.stringMatching(/^The backend is gone\. .*same decision/),
  });
});

it.each<[string, Parameters<typeof read>, boolean, unknown]>([
  ['a fault of our own', [[new TypeError('oops')]], true, expect.objectContaining({ message: 'oops' })],
  ['a client that has left', [[hello, gone], { reason: gone }], true, gone],
  ['a reader that stops', [[hello, hello], { count: 1 }], true, stopped],
  ['a cancellation', [[hello, cancelled], { reason: cancelled }], false, cancelled],
  ['a cancellation that nobody reads', [[hello, hello], { count: 1, reason: cancelled }], false, stopped],
  ['a fault amid calls', [[hello, fault], { hasPlace: false }], false, fault],
  ['a fault of a run that waits already', [[hello, fault], { isSuspended: true }], false, fault],
  ['an answer that was read to its end', [[hello, end]], false, undefined],
  ['a reader that stops behind the end', [[hello, end], { count: 2 }], false, undefined],
])('%s', async (_name, given, isKept, error) => {
  const seen = await read(...given);
  expect([seen.isKept, seen.error]).toEqual([isKept, error]);
});
