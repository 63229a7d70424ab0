import { once } from 'node:events';
import { Ollama } from 'ollama';
import type { Message, Tool } from 'ollama';
import { describe, expect, it } from 'vitest';
import type { ModelEvent } from '../../../src/core/chat/chat.ts';
import { GatewayError } from '../../../src/core/errors.ts';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { backendOf, listen, testApp } from '../../_support/build-app.ts';
import { calls, generatedBy, says, ScriptedModel } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { answerOf, documentOf, gatewayOf, serverOf } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';

/** A gateway and Ollama's own client before it. */
async function withClient(options: GatewayOptions): Promise<{ gateway: Gateway; client: Ollama; host: string } & AsyncDisposable> {
  const gateway = await gatewayOf(options);
  const host = await listen(gateway.app);
  return { gateway, host, client: new Ollama({ host }), [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() };
}

const question: Message[] = [{ role: 'user', content: 'How are you?' }];
const usage: ModelEvent = { type: 'usage', usage: { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 } };
const clock = {
  servers: [serverOf('clock', documentOf({ read_clock: { type: 'object', properties: { zone: { type: 'string' } } } }))],
  answers: { 'http://clock.test/read_clock': answerOf('"noon"') },
};
const addTool: Tool = {
  type: 'function',
  function: { name: 'add', description: 'Adds', parameters: { type: 'object', properties: { a: { type: 'number' } } } },
};

function linesOf(body: string): JsonObject[] {
  return body
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as JsonObject);
}

async function post(host: string, path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${host}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

describe("Ollama's client", () => {
  it('chats, not streamed', async () => {
    await using it = await withClient({ turns: [[{ type: 'reasoning', text: 'Hm.' }, usage, ...says('Fine.')]] });
    const answer = await it.client.chat({
      model: 'model',
      messages: question,
      options: { temperature: 0.5, num_predict: 9, num_ctx: 2048 },
    });
    expect(answer.message).toEqual({ role: 'assistant', content: 'Fine.', thinking: 'Hm.' });
    expect(answer).toMatchObject({ model: 'model', done: true, done_reason: 'stop', prompt_eval_count: 11, eval_count: 5 });
    for (const duration of [answer.total_duration, answer.prompt_eval_duration, answer.eval_duration]) expect(duration).toBeGreaterThan(0);
    expect(Number.isInteger(answer.total_duration)).toBe(true);
    expect(new Date(answer.created_at).getTime()).toBeGreaterThan(0);
    expect(it.gateway.model.requests[0]?.parameters).toMatchObject({ temperature: 0.5, max_tokens: 9 });
  });

  it('chats, streamed', async () => {
    const steps: ScriptStep[] = [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'Fi' },
      { type: 'text', text: 'ne.' },
      usage,
      { type: 'finish', reason: 'length' },
    ];
    await using it = await withClient({ turns: [steps] });
    const parts: JsonObject[] = [];
    for await (const part of await it.client.chat({ model: 'model', messages: question, stream: true }))
      parts.push(part as unknown as JsonObject);
    expect(parts.map(({ message }) => message)).toEqual([
      { role: 'assistant', content: '', thinking: 'Hm.' },
      { role: 'assistant', content: 'Fi' },
      { role: 'assistant', content: 'ne.' },
      { role: 'assistant', content: '' },
    ]);
    expect(parts.map(({ done }) => done)).toEqual([false, false, false, true]);
    expect(parts.at(-1)).toMatchObject({ done_reason: 'length', prompt_eval_count: 11, eval_count: 5 });
  });

  it('does not see the reasoning if it wants none', async () => {
    await using it = await withClient({ turns: [[{ type: 'reasoning', text: 'Hm.' }, ...says('Fine.')]] });
    const answer = await it.client.chat({ model: 'model', messages: question, think: false });
    expect(answer.message).toEqual({ role: 'assistant', content: 'Fine.' });
  });

  it('generates text, without tools of the gateway', async () => {
    await using it = await withClient({ turns: [says('Blue.'), says('Red.')], ...clock });
    const answer = await it.client.generate({ model: 'model', prompt: 'Why?', system: 'Be short.', images: ['iVBORw0KGgo='] });
    expect(answer).toMatchObject({ response: 'Blue.', done: true, done_reason: 'stop' });
    let text = '';
    for await (const part of await it.client.generate({ model: 'model', prompt: 'Why?', stream: true })) text += part.response;
    expect(text).toBe('Red.');
    const [asked] = it.gateway.model.requests;
    expect(asked?.tools).toEqual([]);
    expect(asked?.messages).toMatchObject([
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: [{ text: 'Why?' }, { image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }] },
    ]);
  });

  it('aborts: the model stops', async () => {
    const isAborted = Promise.withResolvers<void>();
    const backend = generatedBy(async function* (request: ModelRequest) {
      request.signal.addEventListener('abort', () => isAborted.resolve());
      yield { type: 'text', text: 'Well' };
      await once(request.signal, 'abort');
      request.signal.throwIfAborted();
    });
    await using it = await withClient({ backends: [backendOf(backend)] });
    const stream = await it.client.chat({ model: 'model', messages: question, stream: true });
    const reading = (async () => {
      for await (const _part of stream) it.client.abort();
    })();
    await expect(reading).rejects.toThrow(/abort/i);
    await isAborted.promise;
  });

  it('gets calls of its own functions, and none of what the gateway ran; results go back by id, by name, or by order', async () => {
    await using it = await withClient({
      ...clock,
      turns: [calls(['read_clock', { zone: 'UTC' }]), calls(['add', { a: 1 }], ['add', { a: 2 }]), says('Three at noon.')],
    });
    const messages: Message[] = [...question];
    const { message, ...end } = await it.client.chat({ model: 'model', messages, tools: [addTool] });
    expect(message.tool_calls?.map((call) => call.function)).toEqual([
      { index: 0, name: 'add', arguments: { a: 1 } },
      { index: 1, name: 'add', arguments: { a: 2 } },
    ]);
    expect(end).toMatchObject({ done_reason: 'stop', sources: [{ source: { name: 'TOOL:clock/read_clock' } }] });
    messages.push(message, { role: 'tool', content: '1', tool_name: 'add' }, { role: 'tool', content: '2', tool_name: 'add' });
    const answer = await it.client.chat({ model: 'model', messages, tools: [addTool] });
    expect(answer.message.content).toBe('Three at noon.');
    const asked = it.gateway.model.requests[2]?.messages ?? [];
    expect(asked.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual(['noon', '1', '2']);
  });

  it('streams calls whole, a line each', async () => {
    await using it = await withClient({ turns: [calls(['add', { a: 1 }], ['add', { a: 2 }])] });
    const lines: unknown[] = [];
    for await (const part of await it.client.chat({ model: 'model', messages: question, tools: [addTool], stream: true }))
      for (const call of part.message.tool_calls ?? []) lines.push(call.function.arguments);
    expect(lines).toEqual([{ a: 1 }, { a: 2 }]);
  });

  it('throws what an error says', async () => {
    await using it = await withClient({ turns: [[{ type: 'text', text: 'We' }, new GatewayError('upstream_incomplete', 'It broke.')]] });
    await expect(it.client.chat({ model: 'nothing', messages: question })).rejects.toMatchObject({
      status_code: 404,
      error: expect.stringContaining('nothing') as string,
    });
    const reading = (async () => {
      for await (const _part of await it.client.chat({ model: 'model', messages: question, stream: true }));
    })();
    await expect(reading).rejects.toThrow('It broke.');
  });
});

describe('the lines of an answer', () => {
  it('are NDJSON; a failed stream ends with an error and without done', async () => {
    await using it = await withClient({ turns: [[{ type: 'text', text: 'We' }, new GatewayError('upstream_incomplete', 'It broke.')]] });
    const response = await post(it.host, '/api/chat', { model: 'model', messages: question });
    expect(response.headers.get('content-type')).toBe('application/x-ndjson');
    expect(linesOf(await response.text())).toEqual([
      { model: 'model', created_at: expect.any(String) as string, message: { role: 'assistant', content: 'We' }, done: false },
      { error: 'It broke.' },
    ]);
  });

  it('a fault before the first line has a status', async () => {
    await using it = await withClient({ turns: [[new GatewayError('upstream_unreachable', 'It is gone.')]] });
    const response = await post(it.host, '/api/chat', { model: 'model', messages: question });
    expect(response.status).toBe(502);
    expect(await response.json()).toEqual({ error: 'It is gone.' });
  });

  it('a call that waits for approval stands in the line with done', async () => {
    const [server] = clock.servers;
    const servers = server === undefined ? [] : [{ ...server, extra: { config: { needs_approval: true } } }];
    await using it = await withClient({ ...clock, servers, turns: [calls(['read_clock', { zone: 'UTC' }])] });
    const lines = linesOf(await (await post(it.host, '/api/chat', { model: 'model', messages: question })).text());
    expect(lines.at(-1)).toMatchObject({ done: true, approval: { calls: [{ tool: 'read_clock' }] } });
  });
});

describe('a request that asks nothing', () => {
  it.each([
    ['/api/generate', {}, { response: '', done_reason: 'load' }],
    ['/api/generate', { prompt: '', keep_alive: 0 }, { response: '', done_reason: 'unload' }],
    ['/api/chat', { messages: [] }, { message: { role: 'assistant', content: '' }, done_reason: 'load' }],
    ['/api/chat', { messages: [], keep_alive: '0s' }, { message: { role: 'assistant', content: '' }, done_reason: 'unload' }],
  ])('%s %j is answered without a backend', async (path, body, expected) => {
    await using it = await withClient({});
    const response = await post(it.host, path, { model: 'model', ...body });
    expect(await response.json()).toEqual({ model: 'model', created_at: expect.any(String) as string, done: true, ...expected });
    expect(it.gateway.model.requests).toEqual([]);
  });

  it('but not for a model that does not exist', async () => {
    await using it = await withClient({});
    const response = await post(it.host, '/api/generate', { model: 'other' });
    expect(response.status).toBe(404);
  });
});

describe('a body without the content type of JSON', () => {
  const bodies = {
    '/api/chat': { messages: question, stream: false },
    '/api/generate': { prompt: 'How are you?', stream: false },
    '/api/show': {},
  };
  const types = [undefined, 'application/x-www-form-urlencoded', 'text/plain'];
  const statusOf = async ({ app }: Gateway, url: string, headers: Record<string, string | undefined>): Promise<number> => {
    const payload = JSON.stringify({ model: 'model', ...bodies[url as keyof typeof bodies] });
    return (await app.server.inject({ method: 'POST', url, payload, headers: { host: '127.0.0.1:8080', ...headers } })).statusCode;
  };

  it.each(Object.keys(bodies))('is read at %s as Ollama does, which curl and LiteLLM need', async (url) => {
    await using gateway = await gatewayOf({ turns: types.map(() => says('Fine.')) });
    for (const type of types) expect(await statusOf(gateway, url, { 'content-type': type })).toBe(200);
  });

  it('is not read from pages, which may send it without being allowed to', async () => {
    await using gateway = await gatewayOf({ turns: [] });
    const origin = 'http://127.0.0.1:8080';
    for (const page of [{ origin }, { 'sec-fetch-site': 'cross-site' }])
      expect(await statusOf(gateway, '/api/chat', { 'content-type': 'text/plain', ...page })).toBe(415);
  });
});

describe('keys', () => {
  it('errors of authentication, models and limits have the form of Ollama', async () => {
    const model = new ScriptedModel(says('One.'));
    await using app = await testApp(
      { TOOLWHARF_ADMIN_KEY: 'sk-tw-admin-0123456789' },
      { backends: [backendOf(model, ['model', 'other'])] },
    );
    const host = await listen(app);
    const admin = { authorization: 'Bearer sk-tw-admin-0123456789' };
    const created = await post(
      host,
      '/api/keys',
      { name: 'ada', role: 'user', models: ['model'], limits: { requests_per_minute: 2 } },
      admin,
    );
    const { key } = (await created.json()) as { key: string };
    const ada = { authorization: `Bearer ${key}` };
    const ask = async (headers: Record<string, string>, name: string): Promise<[number, unknown]> => {
      const response = await post(host, '/api/chat', { model: name, messages: question, stream: false }, headers);
      return [response.status, await response.json()];
    };
    const told = { error: expect.any(String) as string };
    expect(await ask({}, 'model')).toEqual([401, told]);
    expect(await ask(ada, 'other')).toEqual([403, told]);
    expect((await ask(ada, 'model:latest'))[0]).toBe(200);
    expect(await ask(ada, 'model')).toEqual([429, told]);
  });
});
