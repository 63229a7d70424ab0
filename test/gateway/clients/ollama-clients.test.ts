import { generateText, isStepCount, streamText, tool } from 'ai';
import { createOllama } from 'ai-sdk-ollama';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen } from '../../_support/build-app.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { answerOf, documentOf, gatewayOf, serverOf } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';

const clock = {
  servers: [serverOf('clock', documentOf({ read_clock: { type: 'object', properties: { zone: { type: 'string' } } } }))],
  answers: { 'http://clock.test/read_clock': answerOf('"noon"') },
};
const reading = ['read_clock', { zone: 'UTC' }] as [string, unknown];

describe('the AI SDK with its provider for Ollama', () => {
  const add = tool({
    description: 'Adds',
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => ({ sum: a + b }),
  });

  it('generates text with a tool of its own beside one of the gateway', async () => {
    await using gateway = await gatewayOf({ ...clock, turns: [calls(reading, ['add', { a: 1, b: 2 }]), says('Three at noon.')] });
    const ollama = createOllama({ baseURL: await listen(gateway.app) });
    const { text, steps } = await generateText({ model: ollama('model'), prompt: 'Add!', tools: { add }, stopWhen: isStepCount(3) });
    expect(text).toBe('Three at noon.');
    expect(steps[0]?.toolCalls.map(({ toolName, input }) => [toolName, input])).toEqual([['add', { a: 1, b: 2 }]]);
    const results = gateway.model.requests[1]?.messages.filter(({ role }) => role === 'tool') ?? [];
    expect(results.map(({ content }) => content)).toEqual(['noon', '{"sum":3}']);
  });

  it('streams text', async () => {
    await using gateway = await gatewayOf({ turns: [says('Hello there.')] });
    const ollama = createOllama({ baseURL: await listen(gateway.app) });
    const { textStream } = streamText({ model: ollama('model'), prompt: 'Hi' });
    expect((await Array.fromAsync(textStream)).join('')).toBe('Hello there.');
  });
});

async function post({ app }: Gateway, url: string, payload: JsonObject, headers: Record<string, string> = {}) {
  return app.server.inject({ method: 'POST', url, payload, headers });
}

function linesOf(body: string): JsonObject[] {
  return body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as JsonObject);
}

/** Requests as these programs send them, made by hand from their sources. */
describe('what programs send', () => {
  it('Home Assistant: streamed, with tools, and results without ids after another system prompt', async () => {
    await using gateway = await gatewayOf({ ...clock, turns: [calls(reading, ['HassTurnOn', { name: 'Lamp' }]), says('On, at noon.')] });
    const tools = [
      {
        type: 'function',
        function: { name: 'HassTurnOn', description: '', parameters: { type: 'object', properties: { name: { type: 'string' } } } },
      },
    ];
    const chat = { model: 'model', stream: true, keep_alive: '-1s', think: false, options: { num_ctx: 8192 }, tools };
    const asked = { role: 'user', content: 'Turn on the lamp' };
    const first = await post(gateway, '/api/chat', { ...chat, messages: [{ role: 'system', content: 'It is 12:00' }, asked] });
    const called = linesOf(first.body).flatMap(({ message }) => (message as { tool_calls?: { function: JsonObject }[] }).tool_calls ?? []);
    expect(called.map(({ function: { name, arguments: args } }) => [name, args])).toEqual([['HassTurnOn', { name: 'Lamp' }]]);
    const echoed = {
      role: 'assistant',
      tool_calls: called.map(({ function: { name, arguments: args } }) => ({ function: { name, arguments: args } })),
    };
    const second = await post(gateway, '/api/chat', {
      ...chat,
      messages: [{ role: 'system', content: 'It is 12:01' }, asked, echoed, { role: 'tool', content: '{"success":true}' }],
    });
    expect(
      linesOf(second.body)
        .map(({ message }) => (message as { content: string }).content)
        .join(''),
    ).toBe('On, at noon.');
    const results = gateway.model.requests[1]?.messages.filter(({ role }) => role === 'tool') ?? [];
    expect(results.map(({ content }) => content)).toEqual(['noon', '{"success":true}']);
  });

  it('Home Assistant: structured output by a schema', async () => {
    await using gateway = await gatewayOf({ turns: [says('{"rooms":2}')] });
    const schema = { type: 'object', properties: { rooms: { type: 'integer' } }, required: ['rooms'] };
    const payload = { model: 'model', messages: [{ role: 'user', content: 'How many?' }], stream: true, format: schema, tool_ids: [] };
    const answer = await post(gateway, '/api/chat', payload);
    expect(linesOf(answer.body).at(0)).toMatchObject({ message: { content: '{"rooms":2}' } });
    expect(gateway.model.requests[0]?.parameters).toMatchObject({ response_format: { json_schema: { schema } } });
  });

  it('Zed: the list, one model, and a chat whose results name their function', async () => {
    await using gateway = await gatewayOf({ turns: [says('It is done.')] });
    const list = await gateway.get('/api/tags');
    const [model] = list.json<{ models: JsonObject[] }>().models;
    // Its types have these fields without a default.
    expect(model).toMatchObject({
      name: expect.any(String) as string,
      modified_at: expect.any(String) as string,
      size: expect.any(Number) as number,
      digest: expect.any(String) as string,
      details: { parent_model: '', format: 'gguf', family: expect.any(String) as string, parameter_size: '', quantization_level: '' },
    });
    const shown = await post(gateway, '/api/show', { model: 'model' });
    const { capabilities, model_info: info } = shown.json<{ capabilities: string[]; model_info: JsonObject }>();
    expect(capabilities).toContain('tools');
    expect(info[`${String(info['general.architecture'])}.context_length`]).toBeGreaterThan(0);
    const messages = [
      { role: 'user', content: 'Do it', images: null },
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: '1', function: { name: 'do_it', arguments: {} } }],
        images: null,
        thinking: null,
      },
      { role: 'tool', tool_name: 'do_it', content: 'done' },
    ];
    const tools = [
      { type: 'function', function: { name: 'do_it', description: 'Does it', parameters: { type: 'object', properties: {} } } },
    ];
    const options = { num_ctx: 4096, stop: [], temperature: 1 };
    const answer = await post(gateway, '/api/chat', {
      model: 'model',
      messages,
      stream: true,
      keep_alive: -1,
      options,
      think: null,
      tools,
    });
    expect(linesOf(answer.body)[0]).toMatchObject({ message: { content: 'It is done.' }, done: false });
  });

  it('VS Code: a version that is new enough, the capabilities, and a name to show', async () => {
    await using gateway = await gatewayOf({});
    const { version } = (await gateway.get('/api/version')).json<{ version: string }>();
    const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
    expect(major * 1e6 + minor * 1e3 + patch).toBeGreaterThanOrEqual(6_004);
    const shown = await post(gateway, '/api/show', { model: 'model' });
    expect(shown.json()).toMatchObject({ capabilities: ['completion', 'tools'], model_info: { 'general.basename': 'model' } });
  });

  it('Continue: the model in `name`, lines of parameters, a raw prompt, and the unknown fields of older versions', async () => {
    await using gateway = await gatewayOf({ turns: [says('b'), says('Hi')] });
    const shown = await post(gateway, '/api/show', { name: 'model' });
    expect(shown.json<{ parameters: string }>().parameters.split('\n')).toEqual(['']);
    const generate = {
      model: 'model',
      prompt: 'a',
      raw: true,
      suffix: 'c',
      options: { num_predict: 4096, stop: ['\n'] },
      keep_alive: 1800,
    };
    const completed = linesOf((await post(gateway, '/api/generate', generate)).body);
    expect([completed.map(({ response }) => response).join(''), completed.at(-1)?.['done']]).toEqual(['b', true]);
    const chat = { name: 'model', messages: [{ role: 'user', content: 'Hello' }], stream: false, completionOptions: {}, title: 'x' };
    expect((await post(gateway, '/api/chat', chat)).json()).toMatchObject({ message: { content: 'Hi' } });
  });
});
