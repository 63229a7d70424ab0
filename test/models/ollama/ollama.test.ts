import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { ModelEvent } from '../../../src/core/chat/chat.ts';
import { GatewayError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import { createOllama } from '../../../src/models/ollama/ollama.ts';
import type { OllamaConnection } from '../../../src/models/ollama/ollama.ts';
import { createOutbound } from '../../../src/policy/outbound/outbound-request.ts';
import { ollamaEnd, ollamaLine, startOllamaServer } from '../../_support/ollama-server.ts';
import type { AnswerStep, OllamaServer } from '../../_support/ollama-server.ts';
import { answerOf } from '../../_support/scripted-model.ts';

let server: OllamaServer;
let door: ReturnType<typeof createOutbound>;

beforeEach(async () => {
  server = await startOllamaServer([{ name: 'llama3.2:latest', capabilities: ['completion', 'tools'], contextLength: 131_072 }]);
  door = createOutbound({ egress: { mode: 'public', allow: [] } });
});
afterEach(async () => {
  await door.close();
  await server.close();
});

function connectionTo(url: string): OllamaConnection {
  return { baseUrl: url, firstByteTimeoutMs: 2_000, idleTimeoutMs: 60_000, maxContext: 32_768 };
}

function question(change: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: 'llama3.2:latest',
    messages: [{ role: 'user', content: 'Hello' }],
    tools: [],
    callerTools: [],
    toolChoice: undefined,
    parallelToolCalls: undefined,
    parameters: {},
    stream: true,
    signal: AbortSignal.timeout(10_000),
    ...change,
  };
}

async function ask(change: Partial<ModelRequest> = {}, connection = connectionTo(server.url)): Promise<ModelEvent[]> {
  return Array.fromAsync(answerOf(createOllama(connection, door.send).backend, question(change)));
}

async function faultOf(steps: AnswerStep[], change: Partial<ModelRequest> = {}): Promise<{ error: GatewayError; events: ModelEvent[] }> {
  server.answers.push(steps);
  const events: ModelEvent[] = [];
  try {
    for await (const event of answerOf(createOllama(connectionTo(server.url), door.send).backend, question(change))) events.push(event);
  } catch (error) {
    if (error instanceof GatewayError) return { error, events };
    throw error;
  }
  throw new Error('There was no error');
}

const addTool = { name: 'add', description: 'Adds', parameters: { type: 'object', properties: { a: { type: 'number' } } } };

describe('a streamed answer', () => {
  it('becomes text, usage and one finish', async () => {
    expect(await ask()).toEqual([
      { type: 'text', text: 'Hello' },
      { type: 'text', text: ' there' },
      { type: 'usage', usage: { prompt_tokens: 26, completion_tokens: 8, total_tokens: 34 } },
      { type: 'finish', reason: 'stop' },
    ]);
    expect(server.chats()).toEqual([{ model: 'llama3.2:latest', messages: [{ role: 'user', content: 'Hello' }], stream: true }]);
  });

  it('is the same for every cut of its bytes', async () => {
    const lines = [ollamaLine({ thinking: '考' }), ollamaLine({ content: '東京は' }), ollamaLine({ content: '🕐' }), ollamaEnd('length')];
    const bytes = new TextEncoder().encode(lines.map(({ line }) => `${JSON.stringify(line)}\r\n`).join('\n'));
    server.answers.push([...bytes].map((byte) => ({ bytes: Uint8Array.of(byte) })));
    const cutEverywhere = await ask();
    server.answers.push([{ bytes: bytes }]);
    expect(await ask()).toEqual(cutEverywhere);
    expect(cutEverywhere).toMatchObject([
      { type: 'reasoning', text: '考' },
      { type: 'text', text: '東京は' },
      { type: 'text', text: '🕐' },
      { type: 'usage' },
      { type: 'finish', reason: 'length' },
    ]);
  });

  it('gives each call an id of its own, however the calls are spread over lines', async () => {
    const call = (name: string, more = {}) => ({ function: { index: 0, name, arguments: { a: 1 } }, ...more });
    server.answers.push([
      ollamaLine({ tool_calls: [call('add'), call('add', { id: 'call_9' })] }),
      ollamaLine({
        content: '',
        tool_calls: [{ id: 'call_9', function: { name: 'add', arguments: { a: 2 } } }, { function: { name: 'raw', arguments: '{"b":2}' } }],
      }),
      ollamaEnd(),
    ]);
    const events = await ask({ tools: [addTool] });
    const calls = events.flatMap((event) => (event.type === 'tool-call' ? [event.call] : []));
    expect(calls.map((entry) => [entry.name, entry.arguments])).toEqual([
      ['add', '{"a":1}'],
      ['add', '{"a":1}'],
      ['add', '{"a":2}'],
      ['raw', '{"b":2}'],
    ]);
    expect(calls[1]?.id).toBe('call_9');
    expect(new Set(calls.map((entry) => entry.id)).size).toBe(4);
    expect(events.at(-1)).toEqual({ type: 'finish', reason: 'tool_calls' });
  });

  it('keeps calls without arguments apart', async () => {
    const calls = ['add', 'add', 'raw'].map((name) => ({ function: { index: 0, name } }));
    server.answers.push([ollamaLine({ tool_calls: calls }), ollamaEnd()]);
    const made = (await ask({ tools: [addTool] })).flatMap((event) => (event.type === 'tool-call' ? [event.call.name] : []));
    expect(made).toEqual(['add', 'add', 'raw']);
  });

  it('makes no call of an answer that was broken off', async () => {
    server.answers.push([
      ollamaLine({ tool_calls: [{ function: { name: 'add', arguments: {} } }] }),
      ollamaLine({ content: '' }, { done: true, done_reason: 'abort' }),
    ]);
    await expect(ask({ tools: [addTool] })).rejects.toMatchObject({ code: 'upstream_incomplete' });
  });

  it.each([
    `error parsing tool call: raw='{"a":1}]', err=invalid character ']' after top-level value`,
    'XML syntax error on line 3: element <parameter> closed by </function>',
  ])('says that the model wrote a call that cannot be read: %s', async (error) => {
    server.answers.push([ollamaLine({ thinking: 'Add.' }), { line: { error } }]);
    await expect(ask({ tools: [addTool] })).rejects.toMatchObject({ code: 'model_call_unreadable' });
  });

  it('says so too where the failure is reported in a field of its own', async () => {
    server.answers.push([{ line: { 'error parsing tool call': "invalid character 'c' looking for beginning of value" } }]);
    await expect(ask({ tools: [addTool] })).rejects.toMatchObject({ code: 'model_call_unreadable' });
  });

  it('finds a call in the last line, and leaves "length" as it is', async () => {
    server.answers.push([
      ollamaLine({ tool_calls: [{ function: { name: 'add', arguments: {} } }] }, { done: true, done_reason: 'length' }),
    ]);
    expect(await ask({ tools: [addTool] })).toMatchObject([
      { type: 'tool-call', call: { name: 'add', arguments: '{}' } },
      { type: 'finish', reason: 'length' },
    ]);
  });

  it('parts <think> tags from the text', async () => {
    server.answers.push([
      ollamaLine({ content: '<thi' }),
      ollamaLine({ content: 'nk>hm</think>' }),
      ollamaLine({ content: 'Yes' }),
      ollamaEnd(),
    ]);
    const events = await ask();
    expect(events.filter((event) => event.type === 'reasoning')).toEqual([{ type: 'reasoning', text: 'hm' }]);
    expect(events.filter((event) => event.type === 'text')).toEqual([{ type: 'text', text: 'Yes' }]);
  });

  it('is streamed from Ollama for a caller who does not stream, so that its length is no time limit', async () => {
    expect((await ask({ stream: false })).at(-1)).toEqual({ type: 'finish', reason: 'stop' });
    expect(server.chats()[0]).toMatchObject({ stream: true });
  });

  it('leaves its connection for the next request', async () => {
    for (let count = 0; count < 6; count++) {
      server.answers.push([ollamaLine({ content: 'Hi' }), ollamaEnd(), { wait: new Promise((resolve) => setTimeout(resolve, 15)) }]);
      await ask();
    }
    // A busy machine may read the end of some answers too late to keep their connections.
    expect(new Set(server.requests.map((request) => request.connection)).size).toBeLessThan(6);
  });

  it('does not wait for a body that stays open after its last line', async () => {
    server.answers.push([ollamaLine({ content: 'Hi' }), ollamaEnd(), { hang: true }]);
    expect((await ask()).at(-1)).toEqual({ type: 'finish', reason: 'stop' });
    expect(await server.requests[0]?.isLeft).toBe(true);
  });

  it('counts a prompt that came from the cache as nothing', async () => {
    server.answers.push([ollamaEnd('stop', { prompt_eval_count: undefined })]);
    expect(await ask()).toContainEqual({ type: 'usage', usage: { prompt_tokens: 0, completion_tokens: 8, total_tokens: 8 } });
  });
});

describe('a request', () => {
  it('carries tools, options and fields, and goes to the address with its path', async () => {
    const format = { type: 'object', properties: {} };
    const parameters = { temperature: 0, max_tokens: 5, keep_alive: '10m', think: true, logit_bias: { 1: 2 } };
    await ask({
      tools: [addTool],
      parameters: { ...parameters, response_format: { type: 'json_schema', json_schema: { schema: format } } },
    });
    expect(server.chats()[0]).toMatchObject({
      tools: [{ type: 'function', function: addTool }],
      options: { temperature: 0, num_predict: 5 },
      keep_alive: '10m',
      think: true,
      format,
    });
    expect(server.chats()[0]).not.toHaveProperty('logit_bias');
  });

  it('holds as much of a schema as Ollama has room for, and says so', async () => {
    const fields = (count: number, child: JsonObject): JsonObject => ({
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`field_with_a_long_name_${index}`, child])),
    });
    const asked = (schema: JsonObject) => ask({ parameters: { response_format: { type: 'json_schema', json_schema: { schema } } } });
    const warning = { type: 'run-event', event: { type: 'warning', data: expect.objectContaining({ code: 'schema_too_large' }) } };
    expect(await asked(fields(12, fields(20, { type: 'string' })))).toContainEqual(warning);
    expect(await asked(fields(12, { type: 'object' }))).not.toContainEqual(warning);
    expect(server.chats().map(({ format }) => format)).toEqual([fields(12, { type: 'object' }), fields(12, { type: 'object' })]);
    await expect(asked(fields(1_000, { type: 'string' }))).rejects.toMatchObject({ code: 'invalid_request', param: 'response_format' });
    expect(server.chats()).toHaveLength(2);
  });

  it.each([
    ['a model with levels', { family: 'gptoss', capabilities: ['completion', 'thinking'] }, 'low'],
    ['a model with a switch', { family: 'qwen3', capabilities: ['completion', 'thinking'] }, true],
    ['a model that does not think', { capabilities: ['completion', 'tools'] }, undefined],
    ['a server that says nothing of it', {}, true],
  ])('asks for thought as the model understands it, also before the first list: %s', async (_name, model, think) => {
    server.models = [{ name: 'llama3.2:latest', ...model }];
    await ask({ parameters: { reasoning_effort: 'low' } });
    expect(server.chats()[0]?.['think']).toBe(think);
    expect(server.requests.map((request) => request.path)).toEqual(['/api/show', '/api/chat']);
  });

  it('sends user and password of the address as a header, and nothing about this machine', async () => {
    await ask({}, connectionTo(server.url.replace('http://', 'http://me:p%20w@')));
    expect(server.requests[0]?.headers.authorization).toBe(`Basic ${btoa('me:p w')}`);
    expect(server.requests[0]?.headers['user-agent'] ?? '').not.toContain('Node.js');
  });

  it('sends a configured key and headers', async () => {
    await ask({}, { ...connectionTo(server.url), key: 'secret', headers: { 'X-Team': 'blue' } });
    expect(server.requests[0]?.headers).toMatchObject({ authorization: 'Bearer secret', 'x-team': 'blue' });
  });
});

describe('the context', () => {
  const long = { messages: [{ role: 'user' as const, content: 'word '.repeat(4_000) }] };
  const contexts = () => server.chats().map((body) => (body['options'] as { num_ctx?: number } | undefined)?.num_ctx);

  it('is raised for a request that would be cut, kept while the model is loaded, and left to Ollama after that', async () => {
    let time = 0;
    const backend = createOllama(connectionTo(server.url), door.send, () => time).backend;
    for (const [messages, at] of [
      [long.messages, 0],
      [question().messages, 60_000],
      [question().messages, 600_000],
    ] as const) {
      time = at;
      const events = await Array.fromAsync(answerOf(backend, question({ messages })));
      expect(events.filter((event) => event.type === 'run-event')).toEqual([]);
    }
    expect(contexts()).toEqual([8_192, 8_192, undefined]);
    expect(server.requests.filter((request) => request.path === '/api/show')).toHaveLength(1);
  });

  it('is what the model is loaded with already, where that is enough: another value would load it again', async () => {
    server.models = [{ name: 'llama3.2:latest', contextLength: 131_072, loadedContext: 16_384 }];
    await ask(long);
    server.models = [{ name: 'llama3.2:latest', contextLength: 131_072, loadedContext: 6_000 }];
    await ask(long);
    expect(contexts()).toEqual([16_384, 8_192]);
  });

  it('is kept for as long as the server keeps the model, and asked about no more than once in five minutes', async () => {
    let time = 0;
    const backend = createOllama(connectionTo(server.url), door.send, () => time).backend;
    const chat = async (messages: ModelRequest['messages']) => Array.fromAsync(answerOf(backend, question({ messages })));
    await chat(long.messages);
    server.models = [{ name: 'llama3.2:latest', loadedContext: 8_192 }];
    for (time of [600_000, 600_001]) await chat(question().messages);
    server.models = [{ name: 'llama3.2:latest', loadedContext: 4_096 }];
    for (time of [1_200_000, 1_200_001]) await chat(question().messages);
    expect(contexts()).toEqual([8_192, 8_192, 8_192, undefined, undefined]);
    expect(server.requests.filter((request) => request.path === '/api/ps')).toHaveLength(3);
  });

  it('stays within what the model was trained for, with a warning', async () => {
    server.models = [{ name: 'llama3.2:latest', contextLength: 5_000 }];
    const [first] = await ask(long);
    expect(first).toMatchObject({ type: 'run-event', event: { type: 'warning', data: { code: 'context_too_small', num_ctx: 5_000 } } });
    expect(contexts()).toEqual([5_000]);
  });

  it('is never changed where the caller set it', async () => {
    const [first] = await ask({ ...long, parameters: { num_ctx: 2_048 } });
    expect(first).toMatchObject({ type: 'run-event', event: { data: { num_ctx: 2_048 } } });
    expect(contexts()).toEqual([2_048]);
  });

  it('knows the default of the model itself', async () => {
    server.models = [
      { name: 'llama3.2:latest', contextLength: 131_072, parameters: 'stop   "<|eot|>"\nnum_ctx                        16384' },
    ];
    expect((await ask(long)).map((event) => event.type)).not.toContain('run-event');
    expect(contexts()).toEqual([undefined]);
  });

  it('is told of afterwards where the prompt filled it, which is what a cut one does', async () => {
    const full = (count: number) => [ollamaLine({ content: 'Hi' }), ollamaEnd('stop', { prompt_eval_count: count })];
    const told = { type: 'run-event', event: { type: 'warning', data: { code: 'context_too_small', num_ctx: 8_192 } } };
    server.answers.push(full(8_192), full(8_191), full(4_096), full(2_048));
    expect((await ask(long)).slice(-3)).toMatchObject([{ type: 'usage' }, told, { type: 'finish' }]);
    expect((await ask(long)).map((event) => event.type)).toEqual(['text', 'usage', 'finish']);
    expect(await ask()).toContainEqual(expect.objectContaining({ type: 'run-event' }));
    const warned = await ask({ ...long, parameters: { num_ctx: 2_048 } });
    expect(warned.map((event) => event.type)).toEqual(['run-event', 'text', 'usage', 'finish']);
  });

  it('is minded even when the server says nothing about the model', async () => {
    server.models = [];
    await ask(long);
    expect(contexts()).toEqual([8_192]);
  });
});

describe('a fault', () => {
  const error = (message: string, status = 400): AnswerStep[] => [{ status, body: JSON.stringify({ error: message }) }];

  it.each<[string, AnswerStep[], { code: string; status: number; message?: RegExp }]>([
    ['no tools', error('registry.ollama.ai/library/gemma:2b does not support tools'), { code: 'tools_unsupported', status: 400 }],
    [
      'no such model',
      error("model 'x' not found", 404),
      { code: 'model_not_found', status: 404, message: /ollama pull llama3\.2:latest/u },
    ],
    ['a wrong option', error('option "top_k" must be of type integer', 500), { code: 'upstream_rejected', status: 400, message: /top_k/u }],
    ['a schema that is none', error('invalid JSON schema in format', 500), { code: 'upstream_rejected', status: 400, message: /schema/u }],
    [
      'a format that is none',
      error('invalid format: "xml"; expected "json" or a valid JSON Schema object', 500),
      { code: 'upstream_rejected', status: 400, message: /xml/u },
    ],
    ['a failing runner', error('llama runner process has terminated', 500), { code: 'upstream_error', status: 500, message: /runner/u }],
    ['an error page', [{ status: 502, body: '<html>', type: 'text/html' }], { code: 'upstream_error', status: 502 }],
    ['a key that is missing', error('unauthorized', 401), { code: 'upstream_auth_failed', status: 502 }],
    ['a reset', [{ reset: true }], { code: 'upstream_unreachable', status: 502 }],
    ['an empty answer', [{ bytes: '' }], { code: 'upstream_incomplete', status: 502 }],
    [
      'a whole answer in error',
      [{ status: 200, body: '{"error":"out of memory"}' }],
      { code: 'upstream_error', status: 502, message: /out of memory/u },
    ],
  ])('before the answer: %s', async (_name, steps, expected) => {
    const { error, events } = await faultOf(steps);
    expect(events).toEqual([]);
    expect(error).toMatchObject({ code: expected.code, status: expected.status });
    expect(error.message).toMatch(expected.message ?? /./u);
  });

  it.each<[string, AnswerStep[], string]>([
    ['an error line', [{ line: { error: 'an error was encountered while running the model' } }], 'upstream_error'],
    ['an end without "done"', [], 'upstream_incomplete'],
    ['a cut connection', [{ wait: new Promise((resolve) => setTimeout(resolve, 20)) }, { reset: true }], 'upstream_incomplete'],
    ['a line that is not JSON', [{ bytes: '{"message":{"content":"x"\n' }], 'upstream_invalid_response'],
    ['a line that is no object', [{ bytes: '7\n' }], 'upstream_invalid_response'],
    ['an endless line', [{ bytes: `{"message":"${'x'.repeat(1_100_000)}` }, { hang: true }], 'upstream_line_too_long'],
    ['a half line at the end', [{ bytes: '{"message":{"content":"x"}' }], 'upstream_invalid_response'],
  ])('amid the answer: %s comes after what was said', async (_name, steps, code) => {
    const { error, events } = await faultOf([ollamaLine({ content: 'Hello' }), ...steps]);
    expect(events).toEqual([{ type: 'text', text: 'Hello' }]);
    expect(error.code).toBe(code);
  });

  it('names a silent server and one that is not there', async () => {
    server.answers.push([{ hang: true }]);
    const hurried = { ...connectionTo(server.url), firstByteTimeoutMs: 60 };
    await expect(ask({}, hurried)).rejects.toMatchObject({ code: 'upstream_timeout', status: 504 });
    server.answers.push([ollamaLine({ content: 'Hi' }), { hang: true }]);
    await expect(ask({}, { ...hurried, firstByteTimeoutMs: 2_000, idleTimeoutMs: 60 })).rejects.toMatchObject({ code: 'upstream_timeout' });
    await expect(ask({}, connectionTo('http://127.0.0.1:9'))).rejects.toMatchObject({ code: 'upstream_unreachable' });
  });

  it('is what an image would be to a model that cannot see: Ollama would drop it without a word', async () => {
    const image = { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,AAAA' } };
    const shown = { role: 'user' as const, content: [{ type: 'text' as const, text: 'What is it?' }, image] };
    const refusal = { code: 'invalid_request', param: 'messages.0.content', message: /llama3\.2:latest.*vision/u };
    await expect(ask({ messages: [shown] })).rejects.toMatchObject(refusal);
    expect(server.chats()).toEqual([]);
    await ask({ messages: [shown, { role: 'assistant', content: 'A cat', toolCalls: [] }, { role: 'user', content: 'Thanks' }] });
    server.models = [{ name: 'llama3.2:latest', capabilities: ['completion', 'vision'] }];
    await ask({ messages: [shown] });
    server.models = [{ name: 'llama3.2:latest' }];
    await ask({ messages: [shown] });
    expect(server.chats().map((body) => (body['messages'] as { images?: string[] }[])[0]?.images)).toEqual([['AAAA'], ['AAAA'], ['AAAA']]);
  });

  it('refuses n above 1 without asking', async () => {
    await expect(ask({ parameters: { n: 2 } })).rejects.toMatchObject({ code: 'invalid_request', param: 'n', message: /Ollama/u });
    expect(server.requests).toEqual([]);
  });
});

describe('leaving', () => {
  it('by the signal throws its reason and closes the connection', async () => {
    const leave = new AbortController();
    server.answers.push([ollamaLine({ content: 'Hi' }), { hang: true }]);
    const events: ModelEvent[] = [];
    const reason = new Error('gone');
    const reading = (async () => {
      for await (const event of answerOf(createOllama(connectionTo(server.url), door.send).backend, question({ signal: leave.signal }))) {
        events.push(event);
        leave.abort(reason);
      }
    })();
    await expect(reading).rejects.toBe(reason);
    expect(events).toEqual([{ type: 'text', text: 'Hi' }]);
    expect(await server.requests[0]?.isLeft).toBe(true);
  });

  it('by the signal before the first byte throws its reason and closes the connection', async () => {
    const leave = new AbortController();
    server.answers.push([{ hang: true }]);
    const asked = ask({ signal: leave.signal });
    await expect.poll(() => server.requests.length).toBe(1);
    leave.abort(new Error('gone'));
    await expect(asked).rejects.toThrow('gone');
    expect(await server.requests[0]?.isLeft).toBe(true);
  });

  it('by an error of the reader closes the connection, and rejects with it', async () => {
    server.answers.push([ollamaLine({ content: 'Hi' }), { hang: true }]);
    const seen: ModelEvent[] = [];
    const answered = createOllama(connectionTo(server.url), door.send).backend.answer(question(), (events) => {
      seen.push(...events);
      throw new Error('enough');
    });
    await expect(answered).rejects.toThrow('enough');
    expect(seen).toEqual([{ type: 'text', text: 'Hi' }]);
    expect(await server.requests[0]?.isLeft).toBe(true);
  });
});

it('refuses an answer without a message', async () => {
  for (const line of [{ done: true }, { message: null, done: true }, { response: 'Hello', done: true }]) {
    const { error, events } = await faultOf([{ line }]);
    expect([error.code, events]).toEqual(['upstream_invalid_response', []]);
  }
});
