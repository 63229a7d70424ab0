import { createOpenAI } from '@ai-sdk/openai';
import { Agent, hostedMcpTool, OpenAIProvider, Runner, tool as agentTool } from '@openai/agents';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { AuthenticationError, BadRequestError, NotFoundError, OpenAI } from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { GatewayError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { backendOf, listen, testApp } from '../../_support/build-app.ts';
import { mcpHttpServer } from '../../_support/mcp-http-server.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { documentOf, gatewayOf, serverOf } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';
import { toolOf } from '../../tools/mcp/scripted-peer.ts';
import { waitFor } from '../../_support/wait-for.ts';

const item = { type: 'object', properties: { item: { type: 'string' } }, required: ['item'] };
const shop = [
  serverOf('shop', documentOf({ price: item })),
  serverOf('till', documentOf({ buy: item }), { extra: { config: { needs_approval: true } } }),
];
const answers = { 'http://shop.test/price': { euros: 7 }, 'http://till.test/buy': { bought: true } };
const usage: ScriptStep = { type: 'usage', usage: { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 } };
const weather = {
  type: 'function' as const,
  name: 'get_weather',
  strict: true,
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
};
const none = { tool_ids: [] };

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

interface Begun {
  gateway: Gateway;
  client: OpenAI;
  baseURL: string;
}

async function begin(turns: ScriptStep[][], options: GatewayOptions = {}): Promise<Begun> {
  const gateway = await gatewayOf({ turns, servers: shop, answers, ...options });
  closers.push(() => gateway[Symbol.asyncDispose]());
  const baseURL = `${await listen(gateway.app)}/v1`;
  return { gateway, baseURL, client: new OpenAI({ baseURL, apiKey: 'any', maxRetries: 0 }) };
}

/** One response, by the stream helper of the SDK or not. */
function ask(client: OpenAI, isStream: boolean, body: JsonObject): Promise<OpenAI.Responses.Response> {
  const params = { model: 'model', ...body };
  if (isStream) return client.responses.stream(params).finalResponse();
  return client.responses.create(params as OpenAI.Responses.ResponseCreateParamsNonStreaming);
}

describe.each([false, true])('the SDK of OpenAI, stream: %s', (isStream) => {
  it('gets a response', async () => {
    const { client, gateway } = await begin([[...says('Seven euros.').slice(0, 1), usage, { type: 'finish', reason: 'stop' }]]);
    const response = await ask(client, isStream, { ...none, instructions: 'Be short.', input: 'How much is it?', max_output_tokens: 20 });
    expect(response.output_text).toBe('Seven euros.');
    expect(response.usage).toMatchObject({ input_tokens: 12, output_tokens: 5, total_tokens: 17 });
    expect(gateway.model.requests[0]).toMatchObject({
      messages: [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: 'How much is it?' },
      ],
      parameters: { max_completion_tokens: 20 },
    });
  });

  it('sees what the gateway has called', async () => {
    const { client } = await begin([calls(['price', { item: 'tea' }]), says('Seven euros.')]);
    const response = await ask(client, isStream, { input: 'How much is the tea?' });
    expect(response.output).toMatchObject([
      { type: 'mcp_call', server_label: 'shop', name: 'price', output: '{\n  "euros": 7\n}' },
      { type: 'message' },
    ]);
    expect((response as unknown as { sources: unknown[] }).sources).toHaveLength(1);
  });

  it('goes on without stored state, the whole input and its reasoning sent again', async () => {
    const thinking: ScriptStep = { type: 'reasoning', text: 'Rome it is.', field: 'reasoning_content' };
    const round = [thinking, ...calls(['price', { item: 'tea' }], ['get_weather', { city: 'Rome' }])];
    const { client, gateway } = await begin([round, says('Tea in the sun.')]);
    const input: ResponseInputItem[] = [{ role: 'user', content: 'Tea in Rome?' }];
    const more = { tools: [weather], store: false, include: ['reasoning.encrypted_content'] };
    const first = await ask(client, isStream, { ...more, input: input as unknown as JsonObject[] });
    expect(first).toMatchObject({ store: false });
    expect(first.output.map(({ type }) => type)).toEqual(['reasoning', 'mcp_call', 'function_call']);
    const call = first.output.find(({ type }) => type === 'function_call') as OpenAI.Responses.ResponseFunctionToolCall;
    input.push(...(first.output as ResponseInputItem[]), { type: 'function_call_output', call_id: call.call_id, output: 'Sunny' });
    const second = await ask(client, isStream, { ...more, input: input as unknown as JsonObject[] });
    expect(second.output_text).toBe('Tea in the sun.');
    const asked = gateway.model.requests[1]?.messages ?? [];
    expect(asked.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool']);
    expect(asked[1]).toMatchObject({
      toolCalls: [{ name: 'price' }, { name: 'get_weather' }],
      extra: { reasoning_content: 'Rome it is.' },
    });
    expect(gateway.sent.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  it('sends calls of the gateway back without their empty fields, as LangChain does', async () => {
    const { client, gateway } = await begin([calls(['price', { item: 'tea' }]), says('Seven euros.'), says('You are welcome.')]);
    const first = await ask(client, isStream, { input: 'How much is the tea?' });
    const output = first.output.map((entry) => Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null)));
    const input = [{ role: 'user', content: 'How much is the tea?' }, ...(output as JsonObject[]), { role: 'user', content: 'Thanks.' }];
    expect((await ask(client, isStream, { input })).output_text).toBe('You are welcome.');
    expect(gateway.model.requests[2]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
  });

  it('decides on a call that waits, in the next request', async () => {
    const { client, gateway } = await begin([calls(['buy', { item: 'tea' }]), says('Bought.')]);
    const input = [{ role: 'user', content: 'Buy tea' }];
    const first = await ask(client, isStream, { input });
    const request = first.output[0] as OpenAI.Responses.ResponseOutputItem.McpApprovalRequest;
    expect(first.output).toMatchObject([
      { type: 'mcp_approval_request', server_label: 'till', name: 'buy', arguments: '{"item":"tea"}' },
      { type: 'message' },
    ]);
    expect(first.output_text).toMatch(/^Waiting for your approval: buy\(.*\/approvals\/\S+$/s);
    const decision = { type: 'mcp_approval_response', approval_request_id: request.id, approve: true };
    const second = await ask(client, isStream, { input: [...input, request as unknown as JsonObject, decision] });
    expect(second.output).toMatchObject([
      {
        type: 'mcp_call',
        approval_request_id: request.id,
        server_label: 'till',
        name: 'buy',
        arguments: '{"item":"tea"}',
        status: 'completed',
      },
      { type: 'message', content: [{ text: 'Bought.' }] },
    ]);
    expect(second.id).not.toBe(first.id);
    expect(gateway.sent.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  it('reads errors as its own classes', async () => {
    const refused = new GatewayError('upstream_rejected', 'No.', { status: 400, param: 'temperature' });
    const { client } = await begin([[refused]]);
    await expect(ask(client, isStream, { ...none, input: 'Hi!' })).rejects.toThrow(BadRequestError);
    await expect(ask(client, isStream, { ...none, model: 'unknown', input: 'Hi!' })).rejects.toThrow(NotFoundError);
    await expect(ask(client, isStream, { ...none, input: 'Hi!', temperature: 'hot' })).rejects.toMatchObject({
      status: 400,
      param: 'temperature',
    });
    await expect(ask(client, isStream, { ...none, input: 'Hi!', previous_response_id: 'resp_1' })).rejects.toMatchObject({
      status: 400,
      code: 'previous_response_not_found',
      param: 'previous_response_id',
    });
  });
});

it('the SDK parses an answer by its schema', async () => {
  const { client, gateway } = await begin([says('{"degrees":21}')]);
  const format = zodTextFormat(z.object({ degrees: z.number() }), 'weather');
  const response = await client.responses.parse({ model: 'model', input: 'Weather?', text: { format }, ...none });
  expect(response.output_parsed).toEqual({ degrees: 21 });
  expect(gateway.model.requests[0]?.parameters['response_format']).toMatchObject({
    type: 'json_schema',
    json_schema: { name: 'weather', strict: true },
  });
});

it('a key is asked for in OpenAI’s error', async () => {
  const { client } = await begin([], { environment: { TOOLWHARF_ADMIN_KEY: 'sk-tw-fixed-administrator' } });
  await expect(ask(client, false, { input: 'Hi!' })).rejects.toThrow(AuthenticationError);
});

it('the SDK reads a fault amid the stream as a failed response', async () => {
  const fault = new GatewayError('upstream_incomplete', 'The backend went away.');
  const { client } = await begin([[{ type: 'text', text: 'So' }, fault]]);
  const types: string[] = [];
  const stream = await client.responses.create({ model: 'model', input: 'Hi!', stream: true, ...none });
  for await (const event of stream) types.push(event.type);
  expect(types.at(-1)).toBe('response.failed');
});

it('a client that leaves ends the request to the model', async () => {
  const { client, gateway } = await begin([[{ type: 'text', text: 'So' }, new Promise(() => undefined)]]);
  const stream = await client.responses.create({ model: 'model', input: 'Hi!', stream: true, ...none });
  for await (const event of stream) if (event.type === 'response.output_text.delta') break;
  await waitFor(() => expect(gateway.model.requests[0]?.signal.aborted).toBe(true));
});

describe('the AI SDK', () => {
  const tools = {
    get_weather: tool({
      description: 'Weather of a city',
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => `Sunny in ${city}`,
    }),
  };
  const providerOptions = { openai: { store: false } };

  it('streams reasoning, its own function and a call of the gateway', async () => {
    const round: ScriptStep[] = [
      { type: 'reasoning', text: 'Rome.' },
      { type: 'text', text: 'One moment.' },
      ...calls(['price', { item: 'tea' }], ['get_weather', { city: 'Rome' }]),
    ];
    const { baseURL, gateway } = await begin([round, says('Tea in the sun.')]);
    const openai = createOpenAI({ baseURL, apiKey: 'any' });
    const result = streamText({ model: openai('model'), prompt: 'Tea in Rome?', tools, stopWhen: stepCountIs(3), providerOptions });
    expect(await result.text).toBe('Tea in the sun.');
    const steps = await result.steps;
    expect(steps[0]?.reasoningText).toBe('Rome.');
    expect(steps[0]?.toolCalls.map(({ toolName }) => toolName)).toEqual(['mcp.price', 'get_weather']);
    const asked = gateway.model.requests[1]?.messages ?? [];
    expect(asked.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool']);
    expect(asked.at(-1)?.content).toBe('Sunny in Rome');
  });

  it('goes on with its own function in its default, where it refers to what was said before', async () => {
    const { baseURL } = await begin([[{ type: 'text', text: 'One moment.' }, ...calls(['get_weather', { city: 'Rome' }])], says('Sunny.')]);
    const openai = createOpenAI({ baseURL, apiKey: 'any' });
    const { text } = await generateText({ model: openai('model'), prompt: 'Weather?', tools, stopWhen: stepCountIs(3) });
    expect(text).toBe('Sunny.');
  });
});

describe('the Agents SDK', () => {
  const own = agentTool({
    name: 'get_weather',
    description: 'Weather of a city',
    parameters: z.object({ city: z.string() }),
    execute: async ({ city }: { city: string }) => `Sunny in ${city}`,
  });

  function runnerAt(baseURL: string): Runner {
    return new Runner({ modelProvider: new OpenAIProvider({ baseURL, apiKey: 'any', useResponses: true }), tracingDisabled: true });
  }

  async function outputOf(runner: Runner, agent: Agent, stream: boolean): Promise<unknown> {
    if (!stream) return (await runner.run(agent, 'Tea in Rome?')).finalOutput;
    const result = await runner.run(agent, 'Tea in Rome?', { stream: true });
    await result.completed;
    return result.finalOutput;
  }

  it.each([false, true])('runs an agent with a function of its own and one of the gateway (stream: %s)', async (stream) => {
    const { baseURL, gateway } = await begin([
      calls(['price', { item: 'tea' }], ['get_weather', { city: 'Rome' }]),
      says('Tea in the sun.'),
    ]);
    const agent = new Agent({ name: 'Guide', instructions: 'Help.', model: 'model', tools: [own] });
    expect(await outputOf(runnerAt(baseURL), agent, stream)).toBe('Tea in the sun.');
    expect(gateway.model.requests[1]?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'tool']);
    expect(gateway.sent.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  it.each([true, false])('lets a human approve the call of an MCP server of its own (approved: %s)', async (isApproved) => {
    const server = await mcpHttpServer([toolOf('buy')]);
    const model = new ScriptedModel(calls(['buy', {}]), says('Done.'));
    await using app = await testApp({ TOOLWHARF_DEMO: 'false' }, { backends: [backendOf(model)] });
    const hosted = hostedMcpTool({ serverLabel: 'desk', serverUrl: server.url, requireApproval: 'always' });
    const agent = new Agent({ name: 'Buyer', instructions: 'Buy.', model: 'model', tools: [hosted] });
    const runner = runnerAt(`${await listen(app)}/v1`);
    const first = await runner.run(agent, 'Buy');
    const [interruption] = first.interruptions;
    if (interruption === undefined) throw new Error('There is nothing to approve');
    expect(server.calls).toEqual([]);
    if (isApproved) first.state.approve(interruption);
    else first.state.reject(interruption);
    const second = await runner.run(agent, first.state);
    expect(second.finalOutput).toBe('Done.');
    expect(server.calls).toEqual(isApproved ? ['buy'] : []);
  });
});

it('a response lists the tools of an MCP server of its request, once', async () => {
  const server = await mcpHttpServer([toolOf('weather')]);
  const model = new ScriptedModel(calls(['weather', {}]), says('Sunny.'), says('Still.'));
  await using app = await testApp({ TOOLWHARF_DEMO: 'false' }, { backends: [backendOf(model)] });
  const client = new OpenAI({ baseURL: `${await listen(app)}/v1`, apiKey: 'any', maxRetries: 0 });
  const entry = {
    type: 'mcp',
    server_label: 'desk',
    server_url: `${server.url}?key=secret`,
    require_approval: 'never',
    authorization: 'token-secret',
  };
  const first = await ask(client, true, { input: 'Weather?', tools: [entry] });
  expect(first.output).toMatchObject([
    { type: 'mcp_list_tools', server_label: 'desk', tools: [{ name: 'weather' }] },
    { type: 'mcp_call', server_label: 'desk', name: 'weather', output: 'weather done' },
    { type: 'message' },
  ]);
  expect(JSON.stringify(first)).not.toContain('secret');
  const input = [{ role: 'user', content: 'Weather?' }, ...(first.output as unknown as JsonObject[]), { role: 'user', content: 'Still?' }];
  const second = await ask(client, true, { input, tools: [entry] });
  expect(second.output.map(({ type }) => type)).toEqual(['message']);
  expect(model.requests[2]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
});
