import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { says } from '../../_support/scripted-model.ts';
import { gatewayOf } from '../gateway.ts';

const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Osaka"}' } };
const result = { role: 'tool', tool_call_id: 'call_1', content: 'sunny' };
const called = { id: 'call_1', name: 'weather', arguments: '{"city":"Osaka"}' };
const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }];

it.each<[string, JsonObject, string | null]>([
  ['without words', { role: 'assistant', content: null, tool_calls: [call] }, null],
  ['with words', { role: 'assistant', content: 'Let me see.', tool_calls: [call] }, 'Let me see.'],
  ['as an item of type message', { type: 'message', role: 'assistant', content: '', tool_calls: [call] }, null],
  [
    'with arguments as an object',
    { role: 'assistant', tool_calls: [{ ...call, function: { name: 'weather', arguments: { city: 'Osaka' } } }] },
    null,
  ],
])("reads an assistant's message of chat completions %s, and the result of its call", async (_, message, content) => {
  await using gateway = await gatewayOf({ turns: [says('Sunny.')] });
  const input = [{ role: 'user', content: 'How is the weather?' }, message, result];
  const payload = { model: 'model', input, tools };
  const answer = await gateway.app.server.inject({ method: 'POST', url: '/v1/responses', payload });
  expect(answer.statusCode).toBe(200);
  expect(gateway.model.requests[0]?.messages).toMatchObject([
    { role: 'user' },
    { role: 'assistant', content, toolCalls: [called] },
    { role: 'tool', toolCallId: 'call_1', content: 'sunny' },
  ]);
});

it('still names a message whose role is unknown', async () => {
  await using gateway = await gatewayOf({});
  const payload = { model: 'model', input: [{ role: 'tool', content: 'sunny' }] };
  const answer = await gateway.app.server.inject({ method: 'POST', url: '/v1/responses', payload });
  expect(answer.json()).toMatchObject({ error: { param: 'input.0.role' } });
});
