import { expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import { endCauseOf, errorThatEnded } from '../../../src/core/runs/end-cause.ts';
import { StopReading } from '../../../src/shared/async/emit.ts';

const running = new AbortController().signal;
const cancelled = new GatewayError('run_cancelled', 'The run was cancelled.');
const gone = new DOMException('The client disconnected', 'AbortError');
const fault = new TypeError('x is undefined');

it.each([
  ['an error with a code', cancelled, running, { type: 'error', error: cancelled }],
  ['a reader that has enough', new StopReading(), running, { type: 'unread' }],
  ['a bug', fault, running, { type: 'bug' }],
  ['a foreign abort without one of ours', gone, running, { type: 'bug' }],
  ['the reason of the signal before the error', fault, AbortSignal.abort(cancelled), { type: 'error', error: cancelled }],
  ['a client that has left', fault, AbortSignal.abort(gone), { type: 'aborted', message: 'The client disconnected' }],
])('recognizes %s', (_name, error, signal, cause) => {
  expect(endCauseOf(error, signal)).toEqual(cause);
});

it('gives the error that ended the work', () => {
  expect(errorThatEnded(fault, running)).toBe(fault);
  expect(errorThatEnded(fault, AbortSignal.abort(gone))).toBe(gone);
});
