import { expect, it } from 'vitest';
import type { Answer } from '../../src/console/pages/chat/state/chat.ts';
import { addFrame, addMissed } from '../../src/console/pages/chat/state/read-frames.ts';

const emptyAnswer = (): Answer => ({
  id: 'a',
  parent: 'q',
  role: 'assistant',
  model: 'demo',
  runId: 'r',
  state: 'running',
  parts: [],
  sources: [],
  warnings: [],
  started: 0,
});

/** The log of a run that called `pay`, whose arguments a person changed, and calls `look`. */
const log = [
  { type: 'run.start', data: { run_id: 'r' } },
  { type: 'model.request', data: { question: 1 } },
  { type: 'tool.call', data: { id: 'c1', tool: 'pay', args: { amount: 5 }, server: 'bank' } },
  { type: 'approval.request', data: { id: 'c1', tool: 'pay', args: { amount: 5 } } },
  { type: 'approval.response', data: { id: 'c1', tool: 'pay', decision: 'approve', edited: true, args: { amount: 3 } } },
  { type: 'tool.result', data: { id: 'c1', tool: 'pay', response: { paid: 3 }, duration_ms: 7 } },
  { type: 'warning', data: { code: 'call_rescued', message: 'The model wrote a call into its text.' } },
  { type: 'tool.call', data: { id: 'c2', tool: 'look', args: {}, server: 'bank' } },
];

const whole = [
  {
    kind: 'call',
    id: 'c1',
    tool: 'pay',
    server: 'bank',
    args: { amount: 3 },
    modelArgs: { amount: 5 },
    decision: 'changed',
    state: 'done',
    response: { paid: 3 },
    durationMs: 7,
  },
  { kind: 'call', id: 'c2', tool: 'look', server: 'bank', args: {}, state: 'running' },
];

it.each(log.map((_, index) => index))('calls are complete when all frames from the %ith on were lost', (seen) => {
  const answer = emptyAnswer();
  for (const event of log.slice(0, seen)) addFrame(answer, { type: 'event', data: event }, 1);
  addMissed(answer, log, 2);
  expect(answer.parts).toEqual(whole);
  // The connection may drop again.
  addMissed(answer, log, 3);
  expect(answer.parts).toEqual(whole);
});

it('a result that is there is not replaced by the shorter one of the log', () => {
  const answer = emptyAnswer();
  const long = 'x'.repeat(9_000);
  addFrame(answer, { type: 'event', data: { type: 'tool.call', data: { id: 'c', tool: 'read', args: {} } } }, 1);
  addFrame(answer, { type: 'event', data: { type: 'tool.result', data: { id: 'c', tool: 'read', response: long } } }, 1);
  addMissed(answer, [{ type: 'tool.result', data: { id: 'c', tool: 'read', response: 'xx… [8998 more characters]' } }], 2);
  expect(answer.parts[0]).toMatchObject({ response: long });
});
