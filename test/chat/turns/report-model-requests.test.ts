import { expect, it } from 'vitest';
import type { AnswerLog } from '../../../src/core/models/model-request-log.ts';
import { GatewayError } from '../../../src/core/errors.ts';
import { reportModelRequests } from '../../../src/chat/turns/report-model-requests.ts';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import { ScriptedModel, answerOf, generatedBy } from '../../_support/scripted-model.ts';

const leave = new DOMException('CANARY', 'AbortError');
const cancelled = new GatewayError('run_cancelled', 'The run was cancelled.');

it.each([
  ['a fault of the backend', new GatewayError('upstream_timeout', 'Silent.'), undefined, { code: 'upstream_timeout', message: 'Silent.' }],
  ['a defect', new Error('CANARY'), undefined, { code: 'internal_error', message: 'Internal error.' }],
  ['a caller who has left', new Error('CANARY'), leave, { code: 'run_cancelled', message: 'The answer is no longer needed.' }],
  ['a run that was cancelled', new Error('CANARY'), cancelled, { code: 'run_cancelled', message: 'The run was cancelled.' }],
])('logs an answer that ends by %s with an error of the gateway, and throws the original', async (_, error, reason, fault) => {
  const ends: unknown[] = [];
  const answer: AnswerLog = { note: () => undefined, end: (how) => void ends.push(how) };
  const log = { begin: () => answer };
  const controller = new AbortController();
  const backend = reportModelRequests(log, { mode: 'native' })(
    generatedBy(async function* (request) {
      if (reason !== undefined) controller.abort(reason);
      // The script would throw the reason by itself: what is thrown is up to a backend.
      yield* answerOf(new ScriptedModel([error]), { ...request, signal: new AbortController().signal });
    }),
  );
  const request: ModelRequest = {
    model: 'model',
    messages: [],
    tools: [],
    callerTools: [],
    toolChoice: undefined,
    parallelToolCalls: undefined,
    parameters: {},
    stream: true,
    signal: controller.signal,
  };
  await expect(answerOf(backend, request).next()).rejects.toBe(error);
  expect(ends).toEqual([fault]);
});
