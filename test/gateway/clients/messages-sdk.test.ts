import { createAnthropic } from '@ai-sdk/anthropic';
import Anthropic, { AuthenticationError, BadRequestError, NotFoundError, RateLimitError } from '@anthropic-ai/sdk';
import type { APIError } from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { generateText, stepCountIs, streamText, tool } from 'ai';
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
import { textResult, toolOf } from '../../tools/mcp/scripted-peer.ts';

const weather = {
  name: 'get_weather',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
};
const shop = { servers: [serverOf('shop', documentOf({ price: { type: 'object', properties: { item: { type: 'string' } } } }))] };
const answers = { 'http://shop.test/price': { euros: 7 } };
const question = { model: 'model', max_tokens: 100, messages: [{ role: 'user' as const, content: 'How much is the tea?' }] };
const mcp = { betas: ['context-1m-2025-08-07', 'mcp-client-2025-11-20'] };
const usage: ScriptStep = { type: 'usage', usage: { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 } };

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function begin(
  turns: ScriptStep[][],
  options: GatewayOptions = { servers: [] },
): Promise<{ gateway: Gateway; client: Anthropic; url: string }> {
  const gateway = await gatewayOf({ turns, answers, ...options });
  closers.push(() => gateway[Symbol.asyncDispose]());
  const url = await listen(gateway.app);
  return { gateway, url, client: new Anthropic({ baseURL: url, apiKey: 'any', maxRetries: 0 }) };
}

/** One message, streamed by the helper of the SDK or not. */
function ask(client: Anthropic, isStream: boolean, fields: JsonObject = {}): Promise<Anthropic.Message> {
  const body = { ...question, ...fields } as Anthropic.MessageCreateParamsNonStreaming;
  return isStream ? client.messages.stream(body).finalMessage() : client.messages.create(body);
}

async function askBeta(client: Anthropic, isStream: boolean, fields: JsonObject = {}): Promise<Anthropic.Beta.BetaMessage> {
  const body = { ...question, ...mcp, ...fields } as Anthropic.Beta.MessageCreateParamsNonStreaming;
  return isStream ? client.beta.messages.stream(body).finalMessage() : client.beta.messages.create(body);
}

describe.each([false, true])('stream: %s', (isStream) => {
  it('the SDK gets a message', async () => {
    const { client, gateway } = await begin([
      [{ type: 'text', text: 'Seven ' }, { type: 'text', text: 'euros.' }, usage, { type: 'finish', reason: 'stop' }],
    ]);
    const message = await ask(client, isStream, { system: 'Be short.', temperature: 0.5, stop_sequences: ['END'] });
    expect(message).toMatchObject({ type: 'message', role: 'assistant', model: 'model', stop_reason: 'end_turn', stop_sequence: null });
    expect(message.content).toEqual([{ type: 'text', text: 'Seven euros.', citations: null }]);
    expect(message.usage).toMatchObject({ input_tokens: 12, output_tokens: 5 });
    expect(message.id).toMatch(/^msg_/);
    const [asked] = gateway.model.requests;
    expect(asked?.messages).toEqual([
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'How much is the tea?' },
    ]);
    expect(asked?.parameters).toMatchObject({ max_tokens: 100, temperature: 0.5, stop: ['END'] });
  });

  it('what the gateway executes is not shown, but its sources are', async () => {
    const { client, gateway } = await begin([calls(['price', { item: 'tea' }]), says('Seven euros.')], shop);
    const message = await ask(client, isStream);
    expect(message.content).toMatchObject([{ type: 'text', text: 'Seven euros.' }]);
    expect(gateway.sent).toHaveLength(1);
    // The stream has them in `message_delta`, which the SDK shows in its events only.
    expect(isStream ? [] : (message as unknown as JsonObject)['sources']).toMatchObject(
      isStream ? [] : [{ source: { name: 'TOOL:shop/price' } }],
    );
  });

  it('a client of the MCP beta sees what the gateway executes, and may send it back', async () => {
    const { client, gateway } = await begin([calls(['price', { item: 'tea' }]), says('Seven euros.'), says('It is.')], shop);
    const message = await askBeta(client, isStream);
    expect(message.content).toMatchObject([
      { type: 'mcp_tool_use', name: 'price', server_name: 'shop', input: { item: 'tea' } },
      { type: 'mcp_tool_result', is_error: false, content: [{ type: 'text', text: JSON.stringify({ euros: 7 }, null, 2) }] },
      { type: 'text', text: 'Seven euros.' },
    ]);
    const messages = [...question.messages, { role: 'assistant', content: message.content }, { role: 'user', content: 'Sure?' }];
    await askBeta(client, isStream, { messages: messages as unknown as JsonObject[] });
    expect(gateway.model.requests[2]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
  });

  it.each([{}, mcp])('a call of the client comes back, with what the gateway did in the same round, each once (%j)', async (betas) => {
    const both = calls(['price', { item: 'tea' }], ['get_weather', { city: 'Oslo' }]);
    const { client, gateway } = await begin([both, says('Done.')], shop);
    const first = await askBeta(client, isStream, { ...betas, ...(Object.keys(betas).length === 0 && { betas: [] }), tools: [weather] });
    expect(first.stop_reason).toBe('tool_use');
    const use = first.content.find(({ type }) => type === 'tool_use') as Anthropic.Beta.BetaToolUseBlock;
    expect(use).toMatchObject({ name: 'get_weather', input: { city: 'Oslo' } });
    const result = { type: 'tool_result', tool_use_id: use.id, content: [{ type: 'text', text: 'Rain' }] };
    const messages = [...question.messages, { role: 'assistant', content: first.content }, { role: 'user', content: [result] }];
    const second = await askBeta(client, isStream, { ...betas, tools: [weather], messages: messages as unknown as JsonObject[] });
    expect(second.content).toMatchObject([{ type: 'text', text: 'Done.' }]);
    const history = gateway.model.requests[1]?.messages ?? [];
    expect(history.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool']);
    expect(history[1]).toMatchObject({ toolCalls: [{ name: 'price' }, { name: 'get_weather' }] });
    expect(history.slice(2).map(({ content }) => content)).toEqual([JSON.stringify({ euros: 7 }, null, 2), 'Rain']);
    expect(gateway.sent).toHaveLength(1);
  });

  it('thinking is shown where it is asked for, and goes back to the backend with calls', async () => {
    const thinking: ScriptStep = { type: 'reasoning', text: 'I need the weather.', field: 'reasoning_content' };
    const turns = [[thinking, ...calls(['get_weather', { city: 'Oslo' }])], says('Rain.'), [thinking, ...says('Hm.')]];
    const { client, gateway } = await begin(turns);
    const fields = { tools: [weather], thinking: { type: 'enabled', budget_tokens: 2_000 } };
    const first = await ask(client, isStream, fields);
    expect(first.content).toMatchObject([
      { type: 'thinking', thinking: 'I need the weather.', signature: expect.stringMatching(/.{20}/) },
      { type: 'tool_use' },
    ]);
    expect(gateway.model.requests[0]?.parameters['reasoning_effort']).toBe('low');
    const use = first.content[1] as Anthropic.ToolUseBlock;
    const foreign = { type: 'thinking', thinking: 'Elsewhere.', signature: 'EqQBCgYIARgCIkA' };
    const result = { type: 'tool_result', tool_use_id: use.id, content: 'Rain', is_error: false };
    const history = [
      ...question.messages,
      { role: 'assistant', content: [foreign, ...first.content] },
      { role: 'user', content: [result] },
    ];
    await ask(client, isStream, { ...fields, messages: history as unknown as JsonObject[] });
    expect(gateway.model.requests[1]?.messages[1]).toMatchObject({ extra: { reasoning_content: 'I need the weather.' } });
    expect((await ask(client, isStream, { tools: [weather] })).content).toMatchObject([{ type: 'text', text: 'Hm.' }]);
  });

  it('an approval stands beside the message, and its decision is answered by a message', async () => {
    const config = { extra: { config: { needs_approval: true } } };
    const { client, gateway, url } = await begin([calls(['price', { item: 'tea' }]), says('Seven euros.')], {
      servers: shop.servers.map((server) => ({ ...server, ...config })),
    });
    const last: JsonObject[] = [];
    if (isStream) {
      for await (const event of await client.messages.create({ ...question, stream: true }))
        if (event.type === 'message_delta') last.push(event as unknown as JsonObject);
    } else last.push((await client.messages.create(question)) as unknown as JsonObject);
    const { approval } = last[0] as unknown as { approval: { run_id: string; calls: { id: string; token: string }[] } };
    const [waiting] = approval.calls;
    const decided = await fetch(`${url}/api/runs/${approval.run_id}/approvals/${waiting?.id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ decision: 'approve', token: waiting?.token }),
    });
    const text = await decided.text();
    expect(text).toMatch(isStream ? /event: message_start[^]+Seven euros[^]+event: message_stop/ : /^.{2}id":"msg_[^]+Seven euros/);
    expect(gateway.sent).toHaveLength(1);
  });

  it('errors before the first byte are errors of the SDK', async () => {
    const busy = new GatewayError('overloaded', 'Too much to do.');
    const limited = new GatewayError('upstream_rate_limited', 'Slower, please.', { retryAfter: '7' });
    const { client } = await begin([[busy], [limited], [new GatewayError('upstream_error', 'It broke.')]]);
    const failed = async (fields: JsonObject = {}): Promise<InstanceType<typeof APIError>> => {
      try {
        await ask(client, isStream, fields);
      } catch (error) {
        return error as InstanceType<typeof APIError>;
      }
      return expect.unreachable();
    };
    expect(await failed()).toMatchObject({ status: 529, type: 'overloaded_error', errorCode: 'overloaded' });
    expect(await failed()).toBeInstanceOf(RateLimitError);
    expect(await failed()).toMatchObject({ status: 502, type: 'api_error' });
    const unknown = await failed({ model: 'gone' });
    expect(unknown).toBeInstanceOf(NotFoundError);
    expect(unknown).toMatchObject({ type: 'not_found_error', requestID: expect.stringMatching(/./) });
    expect(unknown.error).toMatchObject({ type: 'error', request_id: unknown.requestID });
    const bad = await failed({ messages: [{ role: 'user', content: [{ type: 'text', text: 7 }] }] });
    expect(bad).toBeInstanceOf(BadRequestError);
    expect(bad.message).toContain('messages.0.content.0.text: must be text');
  });
});

it('a fault in a stream is its error event', async () => {
  const { client } = await begin([[{ type: 'text', text: 'Seven' }, new GatewayError('upstream_incomplete', 'The stream was cut.')]]);
  const seen: string[] = [];
  const stream = await client.messages.create({ ...question, stream: true });
  const reading = (async () => {
    for await (const event of stream) seen.push(event.type);
  })();
  await expect(reading).rejects.toMatchObject({ type: 'api_error', message: expect.stringContaining('The stream was cut.') });
  expect(seen).toEqual(['message_start', 'content_block_start', 'content_block_delta']);
});

it('a client that leaves aborts the backend', async () => {
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  const { client, gateway } = await begin([[{ type: 'text', text: 'Seven' }, new Promise(() => undefined)]]);
  const stream = client.messages.stream(question);
  stream.on('text', () => leave());
  stream.on('abort', () => undefined);
  await left;
  stream.abort();
  const { signal } = gateway.model.requests[0] ?? {};
  if (signal?.aborted === false) await new Promise((resolve) => signal.addEventListener('abort', resolve));
  expect(signal?.aborted).toBe(true);
});

it('a wrong key is refused in the words of Anthropic', async () => {
  const { url } = await begin([], { servers: [], environment: { TOOLWHARF_ADMIN_KEY: 'sk-tw-right' } });
  const stranger = new Anthropic({ baseURL: url, apiKey: 'sk-tw-wrong', maxRetries: 0 });
  const refused = stranger.messages.create(question);
  await expect(refused).rejects.toBeInstanceOf(AuthenticationError);
  await expect(refused).rejects.toMatchObject({ type: 'authentication_error', requestID: expect.stringMatching(/./) });
});

it('the tool runner of the SDK runs the tools of the client', async () => {
  const { client, gateway } = await begin([calls(['get_weather', { city: 'Oslo' }]), says('Rain in Oslo.')], shop);
  const asked: string[] = [];
  const own = betaZodTool({
    name: 'get_weather',
    description: 'Weather',
    inputSchema: z.object({ city: z.string() }),
    run: ({ city }) => {
      asked.push(city);
      return 'Rain';
    },
  });
  const final = await client.beta.messages.toolRunner({ ...question, tools: [own] });
  expect(final.content).toMatchObject([{ type: 'text', text: 'Rain in Oslo.' }]);
  expect(asked).toEqual(['Oslo']);
  expect(gateway.model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'Rain' });
  expect(gateway.model.requests).toHaveLength(2);
});

it.each([false, true])(
  'what ran around an approval stands once in the history of a client that was shown it (both answers: %s)',
  async (both) => {
    const item = { type: 'object', properties: { item: { type: 'string' } } };
    const document = documentOf({ price: item, pay: item });
    const shown = serverOf('shop', document, { extra: { config: { needs_approval: ['pay'] } } });
    const turns = [calls(['price', { item: 'tea' }]), calls(['pay', { item: 'tea' }]), says('Paid.'), says('Yes.')];
    const { client, gateway, url } = await begin(turns, {
      servers: [shown],
      answers: { ...answers, 'http://shop.test/pay': { paid: true } },
    });
    const first = await askBeta(client, false);
    expect(first.content).toMatchObject([
      { type: 'mcp_tool_use' },
      { type: 'mcp_tool_result' },
      { type: 'mcp_tool_use' },
      { type: 'text' },
    ]);
    const { approval } = first as unknown as { approval: { run_id: string; calls: { id: string; token: string }[] } };
    const [waiting] = approval.calls;
    const decided = await fetch(`${url}/api/runs/${approval.run_id}/approvals/${waiting?.id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ decision: 'approve', token: waiting?.token }),
    });
    const { content: rest } = (await decided.json()) as Anthropic.Beta.BetaMessage;
    expect(rest).toMatchObject([{ type: 'mcp_tool_use', name: 'pay' }, { type: 'mcp_tool_result' }, { type: 'text', text: 'Paid.' }]);
    const answered = [first.content, ...(both ? [rest] : [])].map((content) => ({ role: 'assistant', content }));
    const messages = [...question.messages, ...answered, { role: 'user', content: 'Paid?' }];
    await askBeta(client, false, { messages: messages as unknown as JsonObject[] });
    const history = gateway.model.requests[3]?.messages ?? [];
    expect(history.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant', 'user']);
    expect(gateway.sent).toHaveLength(2);
  },
);

it('tokens are counted without asking the backend', async () => {
  const { client } = await begin([]);
  const { max_tokens: _most, ...counted } = question;
  const { input_tokens: few } = await client.messages.countTokens(counted);
  const more = await client.messages.countTokens({ ...counted, system: [{ type: 'text', text: 'word '.repeat(700) }], tools: [weather] });
  expect(few).toBeGreaterThan(5);
  expect(more.input_tokens - few).toBeGreaterThan(900);
  await expect(client.messages.countTokens({ ...counted, model: 'gone' })).rejects.toBeInstanceOf(NotFoundError);
});

it('models are listed and found in the shape of whoever asks', async () => {
  const { client, url } = await begin([]);
  const { data } = await client.models.list();
  expect(data).toMatchObject([{ type: 'model', id: 'model', display_name: 'model', created_at: '1970-01-01T00:00:00.000Z' }]);
  expect(await client.models.retrieve('model')).toMatchObject({ type: 'model', id: 'model' });
  const gone = client.models.retrieve('gone');
  await expect(gone).rejects.toBeInstanceOf(NotFoundError);
  await expect(gone).rejects.toMatchObject({ type: 'not_found_error' });
  expect(await (await fetch(`${url}/v1/models`)).json()).toMatchObject({ object: 'list', data: [{ object: 'model' }] });
});

it('an MCP server of the request answers, narrowed by its toolset, and its token is nowhere else', async () => {
  const server = await mcpHttpServer([toolOf('weather'), toolOf('other')], { onCall: () => textResult('Sunny.') });
  const model = new ScriptedModel(calls(['weather', {}]), says('It is sunny.'));
  await using app = await testApp({ TOOLWHARF_DEMO: 'false' }, { backends: [backendOf(model)] });
  const client = new Anthropic({ baseURL: await listen(app), apiKey: 'any', maxRetries: 0 });
  const desk = { type: 'url', name: 'desk', url: server.url, authorization_token: 'token-secret' };
  const tools = [{ type: 'mcp_toolset', mcp_server_name: 'desk', configs: { other: { enabled: false } } }];
  const message = await askBeta(client, true, { mcp_servers: [desk], tools });
  expect(message.content).toMatchObject([
    { type: 'mcp_tool_use', name: 'weather', server_name: 'desk' },
    { type: 'mcp_tool_result', content: [{ type: 'text', text: 'Sunny.' }] },
    { type: 'text', text: 'It is sunny.' },
  ]);
  expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['weather']);
  expect(server.requests.find(({ rpc }) => rpc === 'tools/call')).toMatchObject({ headers: { authorization: 'Bearer token-secret' } });
  expect(JSON.stringify([message, app.logLines])).not.toContain('token-secret');
});

describe('the AI SDK', () => {
  const tools = { get_weather: tool({ inputSchema: z.object({ city: z.string() }), execute: async () => 'Rain' }) };
  const turns = () =>
    [
      calls(['price', { item: 'tea' }], ['get_weather', { city: 'Oslo' }]),
      [{ type: 'text', text: 'Done.' }, usage, { type: 'finish', reason: 'stop' }],
    ] as ScriptStep[][];

  it('generates text with a tool', async () => {
    const { url, gateway } = await begin(turns(), shop);
    const model = createAnthropic({ baseURL: `${url}/v1`, apiKey: 'any' })('model');
    const { text, usage: used } = await generateText({
      model,
      prompt: 'Tea?',
      tools,
      stopWhen: stepCountIs(3),
      maxRetries: 0,
      maxOutputTokens: 100,
    });
    expect(text).toBe('Done.');
    expect(used.inputTokens).toBe(12);
    expect(gateway.model.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool']);
  });

  it('streams text with a tool', async () => {
    const { url } = await begin(turns(), shop);
    const model = createAnthropic({ baseURL: `${url}/v1`, apiKey: 'any' })('model');
    const stream = streamText({ model, prompt: 'Tea?', tools, stopWhen: stepCountIs(3), maxRetries: 0, maxOutputTokens: 100 });
    let text = '';
    for await (const piece of stream.textStream) text += piece;
    expect(text).toBe('Done.');
    expect((await stream.usage).inputTokens).toBe(12);
  });
});

it('the SDK does not wait for a limit that ends in hours', async () => {
  const limited = () => [new GatewayError('rate_limit_exceeded', 'Too many tokens.', { retryAfter: '36000' })];
  const { gateway, url } = await begin([limited(), limited()]);
  const retrying = new Anthropic({ baseURL: url, apiKey: 'any', maxRetries: 1 });
  await expect(ask(retrying, false)).rejects.toBeInstanceOf(RateLimitError);
  expect(gateway.model.requests).toHaveLength(1);
});
