import { expect, it, onTestFinished } from 'vitest';
import { GatewayError } from '../../../../src/core/errors.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { calls, says } from '../../../_support/scripted-model.ts';
import type { ScriptStep } from '../../../_support/scripted-model.ts';
import { gatewayOf } from '../../../gateway/gateway.ts';
import type { Gateway } from '../../../gateway/gateway.ts';
import { dataOf } from '../parity/chat.ts';
import { servers, toolAnswers } from '../parity/scenarios.ts';
import { faultsIn } from './check-events.ts';

async function gatewayWith(...turns: ScriptStep[][]): Promise<Gateway> {
  const gateway = await gatewayOf({ turns, servers, answers: toolAnswers });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  return gateway;
}

async function streamOf({ app }: Gateway, body: JsonObject): Promise<{ events: JsonObject[]; response: JsonObject; types: unknown[] }> {
  const payload = { model: 'model', input: 'Hi!', stream: true, tool_ids: [], ...body };
  const headers = { host: '127.0.0.1:8080' };
  const answer = await app.server.inject({ method: 'POST', url: '/v1/responses', headers, payload });
  expect(answer.headers['content-type']).toBe('text/event-stream; charset=utf-8');
  expect(faultsIn(answer.body)).toEqual([]);
  const events = dataOf(answer.body);
  return { events, types: events.map(({ type }) => type), response: events.at(-1)?.['response'] as JsonObject };
}

const wordTool = { type: 'function', name: 'look_up', parameters: { type: 'object', properties: { word: { type: 'string' } } } };

it('a text comes in OpenAI’s events', async () => {
  const gateway = await gatewayWith([{ type: 'text', text: 'Hel' }, ...says('lo.')]);
  const { types, response, events } = await streamOf(gateway, { instructions: 'Be brief.', metadata: { a: 'b' }, temperature: 0.5 });
  expect(types).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ]);
  expect(response).toMatchObject({
    object: 'response',
    status: 'completed',
    model: 'model',
    store: false,
    instructions: 'Be brief.',
    metadata: { a: 'b' },
    temperature: 0.5,
    tool_choice: 'auto',
    tools: [],
    error: null,
    output: [
      { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Hello.', annotations: [] }] },
    ],
  });
  expect(events[0]).toMatchObject({ response: { id: response['id'], status: 'in_progress', output: [] } });
});

it('reasoning is a summary before the text', async () => {
  const gateway = await gatewayWith([{ type: 'reasoning', text: 'Two and ' }, { type: 'reasoning', text: 'two.' }, ...says('Four.')]);
  const { types, response } = await streamOf(gateway, {});
  expect(types.slice(2, 8)).toEqual([
    'response.output_item.added',
    'response.reasoning_summary_part.added',
    'response.reasoning_summary_text.delta',
    'response.reasoning_summary_text.delta',
    'response.reasoning_summary_text.done',
    'response.reasoning_summary_part.done',
  ]);
  expect(response['output']).toMatchObject([
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Two and two.' }] },
    { type: 'message' },
  ]);
});

it('calls of the gateway are mcp_call items that are open together', async () => {
  const turn: ScriptStep[] = [
    { type: 'text', text: 'Let me look.' },
    ...calls(['weather', { city: 'Rome' }], ['broken', { city: 'Rome' }]),
  ];
  const gateway = await gatewayWith(turn, says('Sunny.'));
  const { types, response } = await streamOf(gateway, { tool_ids: ['server:town'] });
  const output = response['output'] as JsonObject[];
  expect(output.map(({ type }) => type)).toEqual(['message', 'mcp_call', 'mcp_call', 'message']);
  expect(output.slice(1, 3)).toMatchObject([
    {
      status: 'completed',
      server_label: 'town',
      name: 'weather',
      arguments: '{"city":"Rome"}',
      output: '{\n  "degrees": 21\n}',
      error: null,
      approval_request_id: null,
    },
    { status: 'failed', name: 'broken', output: null, error: { type: 'mcp_tool_execution_error', content: [{ type: 'text' }] } },
  ]);
  expect(types.lastIndexOf('response.mcp_call.in_progress')).toBeLessThan(types.indexOf('response.mcp_call.completed'));
  expect(types.filter((type) => type === 'response.mcp_call.failed')).toHaveLength(1);
  expect(response['sources']).toMatchObject([{ source: { name: 'TOOL:town/weather' } }]);
});

it('calls of the caller come with their names, namespaces and free texts', async () => {
  const gateway = await gatewayWith(
    calls(['look_up', { word: 'toll' }], ['desk__ring', { times: 2 }], ['patch', { input: '*** Begin' }], ['desk__note', 'no JSON']),
  );
  const desk = {
    type: 'namespace',
    name: 'desk',
    description: 'A desk',
    tools: [
      { type: 'function', name: 'ring' },
      { type: 'custom', name: 'note' },
    ],
  };
  const format = { type: 'grammar', syntax: 'lark', definition: 'start: "***"' };
  const tools = [wordTool, desk, { type: 'custom', name: 'patch', description: 'Patches', format }];
  const { response } = await streamOf(gateway, { tools });
  expect(response['output']).toMatchObject([
    { type: 'function_call', name: 'look_up', arguments: '{"word":"toll"}', status: 'completed' },
    { type: 'function_call', name: 'ring', namespace: 'desk', arguments: '{"times":2}' },
    { type: 'custom_tool_call', name: 'patch', input: '*** Begin' },
    { type: 'custom_tool_call', name: 'note', namespace: 'desk', input: 'no JSON' },
  ]);
  expect(response['tools']).toEqual([{ ...wordTool, description: null, strict: null }, ...tools.slice(1)]);
  const offered = gateway.model.requests[0]?.callerTools.map((tool) => tool['function'] as JsonObject);
  expect(offered?.map(({ name }) => name)).toEqual(['look_up', 'desk__ring', 'desk__note', 'patch']);
  expect(offered?.[3]?.['description']).toContain('start: "***"');
});

it('a search for tools that the client executes is a call of its own', async () => {
  const gateway = await gatewayWith(calls(['tool_search', { query: 'bells' }], ['tool_search', 'no JSON']));
  const parameters = { type: 'object', properties: { query: { type: 'string' } } };
  const tools = [{ type: 'tool_search', execution: 'client', description: 'Finds tools', parameters }];
  const { response } = await streamOf(gateway, { tools });
  expect(response['output']).toMatchObject([
    { type: 'tool_search_call', execution: 'client', status: 'completed', arguments: { query: 'bells' } },
    { type: 'tool_search_call', execution: 'client', status: 'completed', arguments: { query: 'no JSON' } },
  ]);
  expect(gateway.model.requests[0]?.callerTools).toMatchObject([
    { function: { name: 'tool_search', description: 'Finds tools', parameters } },
  ]);
});

it('a refusal is a part of its own', async () => {
  const refusal: ScriptStep = { type: 'extra', level: 'delta', fields: { refusal: 'I will not.' } };
  const { response } = await streamOf(await gatewayWith([refusal, { type: 'finish', reason: 'stop' }]), {});
  expect(response['output']).toMatchObject([{ type: 'message', content: [{ type: 'refusal', refusal: 'I will not.' }] }]);
});

it('an answer that is cut is incomplete', async () => {
  const gateway = await gatewayWith([
    { type: 'text', text: 'Once' },
    { type: 'finish', reason: 'length' },
  ]);
  const { types, response } = await streamOf(gateway, { max_output_tokens: 1 });
  expect(types.at(-1)).toBe('response.incomplete');
  expect(response).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    output: [{ status: 'incomplete' }],
  });
});

it('a conversation that has grown too long for the model fails the response with the code on which agents shorten it', async () => {
  const fault = new GatewayError('context_length_exceeded', 'Too long.');
  const gateway = await gatewayWith(calls(['weather', { city: 'Rome' }]), [fault]);
  const { response } = await streamOf(gateway, { tool_ids: ['server:town'] });
  expect(response).toMatchObject({ status: 'failed', error: { code: 'context_length_exceeded', message: 'Too long.' } });
});

it('a fault amid the answer fails the response', async () => {
  const fault = new GatewayError('upstream_incomplete', 'The backend went away.');
  const gateway = await gatewayWith(calls(['weather', { city: 'Rome' }]), [{ type: 'text', text: 'Sun' }, fault]);
  const { types, response } = await streamOf(gateway, { tool_ids: ['server:town'] });
  expect(types.at(-1)).toBe('response.failed');
  expect(response).toMatchObject({
    status: 'failed',
    error: { code: 'server_error', message: 'The backend went away.' },
    output: [
      { type: 'mcp_call', status: 'completed' },
      { type: 'message', status: 'incomplete', content: [{ text: 'Sun' }] },
    ],
    calls: [{ tool: 'weather' }],
  });
});

it('a waiting call is a request for approval, and a message with the link', async () => {
  const gateway = await gatewayWith([{ type: 'text', text: 'I will pay.' }, ...calls(['pay', { amount: 5 }])]);
  const { response } = await streamOf(gateway, { tool_ids: ['server:bank'] });
  expect(response).toMatchObject({
    status: 'completed',
    output: [
      { type: 'message', content: [{ text: 'I will pay.' }] },
      { type: 'mcp_approval_request', name: 'pay', server_label: 'bank', arguments: '{"amount":5}' },
      { type: 'message', content: [{ text: expect.stringMatching(/Waiting for your approval: pay\(.*\/approvals\/\S+$/s) }] },
    ],
    approval: { calls: [{ tool: 'pay' }] },
  });
});

it('max_tool_calls counts the calls of the gateway, and then the model answers without tools', async () => {
  const gateway = await gatewayWith(calls(['weather', { city: 'Rome' }], ['time', { city: 'Rome' }]), says('Sunny.'));
  const { response } = await streamOf(gateway, { tool_ids: ['server:town'], max_tool_calls: 1 });
  expect(response['output']).toMatchObject([{ status: 'completed' }, { status: 'failed' }, { type: 'message' }]);
  expect(gateway.model.requests.map(({ tools }) => tools.length)).toEqual([4, 0]);
});

/** What the specification of Open Responses requires, if the request says nothing of it. */
const unasked = {
  completed_at: expect.any(Number),
  frequency_penalty: 0,
  presence_penalty: 0,
  temperature: 1,
  top_p: 1,
  top_logprobs: 0,
  safety_identifier: null,
  prompt_cache_key: null,
  previous_response_id: null,
  instructions: null,
  incomplete_details: null,
  max_output_tokens: null,
  max_tool_calls: null,
  reasoning: { effort: null, summary: null },
  text: { format: { type: 'text' } },
  truncation: 'disabled',
  user: null,
};

it('a response has every field that the specification requires, whatever the request', async () => {
  const gateway = await gatewayWith(says('Hello.'), says('{}'));
  const { response, events } = await streamOf(gateway, {});
  expect(response).toMatchObject(unasked);
  expect(events[0]?.['response']).toMatchObject({ ...unasked, completed_at: null });
  const asked = {
    frequency_penalty: 0.1,
    presence_penalty: 0.2,
    top_p: 0.3,
    safety_identifier: 's',
    prompt_cache_key: 'c',
    text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' } } },
  };
  const second = await streamOf(gateway, { ...asked, params: { temperature: 0.4 } });
  expect(second.response).toMatchObject({
    ...asked,
    temperature: 0.4,
    text: { format: { ...asked.text.format, description: null, strict: false } },
  });
  const { text: _text, ...sent } = asked;
  expect(gateway.model.requests[1]?.parameters).toMatchObject({ ...sent, temperature: 0.4 });
});

it('an incomplete response has no completion time', async () => {
  const gateway = await gatewayWith([
    { type: 'text', text: 'Hel' },
    { type: 'finish', reason: 'length' },
  ]);
  const { response } = await streamOf(gateway, {});
  expect(response).toMatchObject({ status: 'incomplete', completed_at: null });
});

it('the check of the events finds what is wrong', () => {
  const added = { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: { type: 'message', text: '' } };
  const frames = [{ type: 'response.made', sequence_number: 0 }, added].map(
    (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
  );
  expect(faultsIn(frames.join(''))).toEqual([
    "0: type response.made is not OpenAI's",
    'begins with response.made, response.output_item.added',
    '1 item: content is missing',
    '1 item: role is missing',
    "1 item: text is not OpenAI's",
    'ends with response.output_item.added',
  ]);
});
