import { OpenAI } from 'openai';
import { expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen, readChunks } from '../../_support/build-app.ts';
import { calls } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { documentOf, gatewayOf, serverOf } from '../gateway.ts';

const none = { type: 'object', properties: {} };
const servers = [serverOf('bank', documentOf({ look: none, pay: none }))];
const answers = { 'http://bank.test/look': { balance: 7 } };
const busy = new GatewayError('upstream_rate_limited', 'The model is busy.', { retryAfter: '1' });
const turns = (...called: string[]): ScriptStep[][] => [
  calls(...called.map((name): [string, unknown] => [name, {}])),
  [busy],
  [busy],
  [busy],
];

async function ask(script: ScriptStep[][], stream: boolean) {
  await using gateway = await gatewayOf({ turns: script, servers, answers });
  const payload = { model: 'model', messages: [{ role: 'user', content: 'Pay.' }], stream };
  const headers = { host: '127.0.0.1:8080' };
  return await gateway.app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload });
}

it('a model that fails after its tools have run costs neither their results nor the knowledge that they ran', async () => {
  const answer = await ask(turns('look', 'pay'), false);
  expect([answer.statusCode, answer.headers['retry-after'], answer.headers['x-should-retry']]).toEqual([429, '1', 'false']);
  expect(answer.json()).toEqual({
    error: { message: 'The model is busy.', type: 'rate_limit_error', param: null, code: 'upstream_rate_limited' },
    run_id: answer.headers['x-toolwharf-run-id'],
    calls: [
      { id: expect.any(String), tool: 'look' },
      { id: expect.any(String), tool: 'pay', error: { code: 'tool_error', message: expect.stringContaining('404') } },
    ],
    sources: [expect.objectContaining({ source: { name: 'TOOL:bank/look' }, document: ['{\n  "balance": 7\n}'] })],
  });
});

it('a stream has had its sources, and ends with the calls', async () => {
  const answer = await ask(turns('look', 'pay'), true);
  const chunks = readChunks(answer.body) as JsonObject[];
  expect(chunks.filter((chunk) => chunk['sources'] !== undefined)).toHaveLength(1);
  expect(chunks.at(-1)).toEqual({
    error: expect.objectContaining({ code: 'upstream_rate_limited' }),
    run_id: answer.headers['x-toolwharf-run-id'],
    calls: [expect.objectContaining({ tool: 'look' }), expect.objectContaining({ tool: 'pay' })],
  });
});

it('a stream that fails before its first byte keeps its status and says the same', async () => {
  const answer = await ask(turns('pay'), true);
  expect([answer.statusCode, answer.headers['x-should-retry']]).toEqual([429, 'false']);
  expect(answer.json()).toMatchObject({
    error: { code: 'upstream_rate_limited' },
    calls: [{ tool: 'pay', error: { code: 'tool_error' } }],
  });
});

it('where no tool was called, an error is the error alone', async () => {
  expect(Object.keys((await ask([[busy]], false)).json())).toEqual(['error']);
});

it.each([true, false])('the SDK, left to its own retries, does not run a tool twice, streaming: %s', async (stream) => {
  await using gateway = await gatewayOf({ turns: [...turns('look'), ...turns('look')], servers, answers });
  const client = new OpenAI({ baseURL: `${await listen(gateway.app)}/v1`, apiKey: 'any', maxRetries: 2 });
  const read = async () => {
    const answer = await client.chat.completions.create({ model: 'model', messages: [{ role: 'user', content: 'Look.' }], stream });
    if (Symbol.asyncIterator in answer) for await (const _chunk of answer);
  };
  await expect(read()).rejects.toThrow('The model is busy.');
  expect(gateway.sent).toHaveLength(1);
});
