import { OpenAI } from 'openai';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../../src/shared/json/json.ts';
import { fromLegacyFunctions } from '../../../../src/http/dialects/chat-completions/legacy-functions.ts';
import { listen } from '../../../_support/build-app.ts';
import { calls, says } from '../../../_support/scripted-model.ts';
import { documentOf, gatewayOf, serverOf } from '../../../gateway/gateway.ts';
import { askPlainly, bankGateway, decide } from '../../../gateway/approvals/approval-fixture.ts';

const none = { type: 'object', properties: {} };
const clocks = serverOf('clock', documentOf({ get_time: none }));
const answers = { 'http://clock.test/get_time': { time: '12:00' } };
const openPage = { name: 'open_page', description: 'Opens', parameters: none };
const question = { role: 'user' as const, content: 'What time is it?' };

const called = (id: string, name: string, args = '{}'): JsonObject => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name, arguments: args } }],
});
const result = (id: string, name: string, content: JsonValue): JsonObject => ({ role: 'tool', tool_call_id: id, name, content });
const lost = JSON.stringify({ error: 'The result of this call is not in the conversation.' });
const oldCall = (name: string, more: JsonObject = {}): JsonObject => ({
  role: 'assistant',
  content: null,
  function_call: { name, arguments: '{}', ...more },
});
const oldResult = (name: string, content: JsonValue): JsonObject => ({ role: 'function', name, content });

it.each<[string, JsonObject[], JsonObject[]]>([
  [
    'a call with its result',
    [question, oldCall('a'), oldResult('a', '1')],
    [question, called('call_function_1', 'a'), result('call_function_1', 'a', '1')],
  ],
  ['a call with our id', [oldCall('a', { id: 'x' }), oldResult('a', '1')], [called('x', 'a'), result('x', 'a', '1')]],
  ['a result alone', [question, oldResult('a', '1')], [question, called('call_function_1', 'a'), result('call_function_1', 'a', '1')]],
  ['a call alone', [oldCall('a'), question], [called('call_function_0', 'a'), result('call_function_0', 'a', lost), question]],
  ['the last call alone', [question, oldCall('a')], [question, called('call_function_1', 'a'), result('call_function_1', 'a', lost)]],
  [
    'the result of another function',
    [oldCall('a'), oldResult('b', null)],
    [
      called('call_function_0', 'a'),
      result('call_function_0', 'a', lost),
      called('call_function_1', 'b'),
      result('call_function_1', 'b', ''),
    ],
  ],
  [
    'messages of both forms',
    [called('y', 'a'), result('y', 'a', '1'), oldCall('a')],
    [called('y', 'a'), result('y', 'a', '1'), called('call_function_2', 'a'), result('call_function_2', 'a', lost)],
  ],
])('%s becomes calls with results', (_name, messages, modern) => {
  expect(fromLegacyFunctions({ messages })).toEqual({ body: { messages: modern }, isLegacy: false });
});

it('a body in the present form is left as it is', () => {
  const body = { messages: [{ ...question, function_call: null }], functions: null, function_call: null, tools: [] };
  expect(fromLegacyFunctions(body).body).toBe(body);
});

describe('through the door', () => {
  it.each<[string, JsonObject, string]>([
    ['functions beside tools', { functions: [openPage], tools: [{ type: 'function', function: openPage }] }, 'functions'],
    ['a function without a name', { functions: [{}] }, 'functions.0'],
    ['functions that are no list', { functions: {} }, 'functions'],
    ['both choices', { function_call: 'auto', tool_choice: 'auto' }, 'function_call'],
    ['a choice in no known form', { function_call: 'required' }, 'function_call'],
    ['a result of nobody', { messages: [{ role: 'function', content: '1' }] }, 'messages.0.name'],
    ['a function that nobody offers', { functions: [openPage], function_call: { name: 'x' } }, 'tool_choice'],
  ])('%s is refused', async (_name, body, param) => {
    await using gateway = await gatewayOf({ servers: [clocks] });
    const seen = await gateway.ask(body);
    expect([seen.status, (JSON.parse(seen.raw) as { error: JsonObject }).error['param']]).toEqual([400, param]);
  });

  it.each([true, false])('the SDK works with functions of its own beside the gateway’s, streaming: %s', async (stream) => {
    const turns = [calls(['get_time', {}]), calls(['open_page', {}]), says('It is noon, and the page is open.')];
    await using gateway = await gatewayOf({ turns, servers: [clocks], answers });
    const client = new OpenAI({ baseURL: `${await listen(gateway.app)}/v1`, apiKey: 'any', maxRetries: 0 });
    const ask = async (messages: OpenAI.ChatCompletionMessageParam[]) => {
      const body = { model: 'model', messages, functions: [openPage] };
      if (!stream) return client.chat.completions.create(body);
      return client.chat.completions.stream(body).finalChatCompletion();
    };
    const { message, finish_reason: reason } = (await ask([question])).choices[0] ?? {};
    expect(reason).toBe('function_call');
    expect(message).toMatchObject({ content: stream ? '' : null, function_call: { name: 'open_page', arguments: '{}' } });
    expect(message?.tool_calls).toBeUndefined();
    const history = [
      question,
      { ...message, role: 'assistant' as const, refusal: null },
      { role: 'function' as const, name: 'open_page', content: 'open' },
    ];
    const last = await ask(history);
    expect(last.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'It is noon, and the page is open.' } });
    expect(gateway.model.requests[0]?.callerTools).toEqual([{ type: 'function', function: openPage }]);
    expect(gateway.model.requests[0]?.parameters).not.toHaveProperty('functions');
    // Whoever puts a stream together himself drops our id, and with it what the gateway has done.
    const roles = stream ? ['user', 'assistant', 'tool'] : ['user', 'assistant', 'tool', 'assistant', 'tool'];
    expect(gateway.model.requests[2]?.messages.map(({ role }) => role)).toEqual(roles);
    expect(gateway.sent).toHaveLength(1);
  });

  it('a function may be demanded, and of several calls the first is handed over', async () => {
    await using gateway = await gatewayOf({ turns: [calls(['open_page', { a: 1 }], ['open_page', { a: 2 }])], servers: [clocks] });
    const seen = await gateway.ask({ functions: [openPage], function_call: { name: 'open_page' } });
    expect(gateway.model.requests[0]?.toolChoice).toEqual({ type: 'function', function: { name: 'open_page' } });
    expect([seen.finish, seen.calls]).toEqual([['function_call'], []]);
    expect(seen.raw.match(/"function_call":\{/g)).toHaveLength(1);
    expect(seen.raw).toContain(String.raw`"arguments":"{\"a\":1}"`);
  });

  it('what the gateway has done stands beside the one call that is handed over, and is put back when it is answered', async () => {
    const turns = [calls(['get_time', {}], ['open_page', { a: 1 }], ['open_page', { a: 2 }]), says('Open.')];
    await using gateway = await gatewayOf({ turns, servers: [clocks], answers });
    const seen = await gateway.ask({ functions: [openPage] });
    expect(seen.eventsOf('tool.result').map(({ tool }) => tool)).toEqual(['open_page', 'get_time']);
    const [, handedOver] = /"function_call":(\{.*?\})\}/.exec(seen.raw) ?? [];
    const message = { role: 'assistant', content: null, function_call: JSON.parse(handedOver ?? '') as JsonObject };
    await gateway.ask({ functions: [openPage], messages: [question, message, oldResult('open_page', 'open')] });
    const [, called, ...results] = gateway.model.requests[1]?.messages ?? [];
    expect(called).toMatchObject({ toolCalls: [{ name: 'get_time' }, { name: 'open_page', arguments: '{"a":1}' }] });
    expect(results.map((result) => result.role === 'tool' && result.name)).toEqual(['get_time', 'open_page']);
  });

  it('a history in that form without its parameters is answered in the present one', async () => {
    const messages = [question, oldCall('open_page'), oldResult('open_page', 'open'), question];
    await using gateway = await gatewayOf({ turns: [calls(['open_page', {}])], servers: [] });
    const seen = await gateway.ask({ messages, tools: [{ type: 'function', function: openPage }] });
    expect([seen.status, seen.finish, seen.calls.length]).toEqual([200, ['tool_calls'], 1]);
  });

  it('the form stays when a run goes on after an approval', async () => {
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }]), calls(['open_page', {}])] });
    const asked = await askPlainly(gateway, { functions: [openPage] });
    const answer = (await decide(gateway, asked)).json<{ choices: JsonObject[] }>();
    expect(answer.choices[0]).toMatchObject({ finish_reason: 'function_call', message: { function_call: { name: 'open_page' } } });
  });
});
