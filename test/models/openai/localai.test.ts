import { afterEach, describe, expect, it } from 'vitest';
import type { ModelEvent } from '../../../src/core/chat/chat.ts';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import { adaptBackend } from '../../../src/models/adapt-backend.ts';
import { createOpenAiBackend, listOpenAiModels, type OpenAiConnection } from '../../../src/models/openai/openai-compatible.ts';
import { directSend } from '../../_support/direct-send.ts';
import { askModel, fold } from '../../_support/model-answers.ts';
import { answerOf } from '../../_support/scripted-model.ts';
import { events, head, respond, startUpstream, stream } from '../../_support/upstream-server.ts';
import type { Script, UpstreamServer } from '../../_support/upstream-server.ts';

// Written after the source of LocalAI (mudler/LocalAI, v4.9.0-22-g82c191af): core/http/endpoints/openai and core/http/app.go.

const open: UpstreamServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function localAi(script: Script): Promise<OpenAiConnection> {
  const server = await startUpstream(script);
  open.push(server);
  return { baseUrl: `${server.origin}/v1`, key: undefined, firstByteTimeoutMs: 2_000, idleTimeoutMs: 2_000, name: 'localai' };
}

const parameters = { type: 'object', properties: { city: { type: 'string' } } };
const tools = ['get_weather', 'get_time'].map((name) => ({ name, description: '', parameters }));

async function ask(script: Script, request: Partial<ModelRequest> = {}): Promise<ModelEvent[]> {
  const backend = adaptBackend(createOpenAiBackend(await localAi(script), directSend), { profile: 'plain' });
  const seen: ModelEvent[] = [];
  for await (const event of answerOf(backend, askModel({ tools, ...request }))) seen.push(event);
  return seen;
}

const id = '8f2c1f0e-7a57-4a0e-9b39-6d8b8a1a2f11';
const envelope = { created: 1_787_000_000, object: 'chat.completion.chunk', id, model: 'hermes-3' };
const delta = (fields: object, reason: string | null = null): object => ({
  ...envelope,
  choices: [{ index: 0, finish_reason: reason, delta: { content: null, ...fields } }],
});
const call = (index: number, callId: string, called: object): object =>
  delta({ role: 'assistant', tool_calls: [{ index, id: callId, type: 'function', function: { arguments: '', ...called } }] });
const usage = { ...envelope, choices: [], usage: { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 } };
const streamed = (...chunks: object[]): Script => stream(events(...chunks, delta({}, 'tool_calls'), usage, '[DONE]'));

function callsIn(seen: ModelEvent[]): string[] {
  return seen.flatMap((event) => (event.type === 'tool-call' ? [`${event.call.name} ${event.call.arguments}`] : []));
}

function idsIn(seen: ModelEvent[]): string[] {
  return seen.flatMap((event) => (event.type === 'tool-call' ? [event.call.id] : []));
}

describe('a streamed answer of LocalAI', () => {
  it('has its calls under the id of the answer, each at once', async () => {
    const seen = await ask(
      streamed(
        call(0, id, { name: 'get_weather', arguments: '{"city":"Oslo"}' }),
        call(1, id, { name: 'get_weather', arguments: '{"city":"Rome"}' }),
        call(2, id, { name: 'get_time', arguments: '{"city":"Rome"}' }),
      ),
    );
    expect(callsIn(seen)).toEqual(['get_weather {"city":"Oslo"}', 'get_weather {"city":"Rome"}', 'get_time {"city":"Rome"}']);
    expect(new Set(idsIn(seen)).size).toBe(3);
    expect(seen.at(-1)).toEqual({ type: 'finish', reason: 'tool_calls' });
  });

  it('has the name and the arguments of a call in two chunks, at its end', async () => {
    const seen = await ask(
      streamed(
        delta({ role: 'assistant' }),
        delta({ content: 'I look.' }),
        delta({ reasoning: 'Two places.' }),
        call(0, `${id}-0`, { name: 'get_weather' }),
        call(0, `${id}-0`, { arguments: '{"city":"Oslo"}' }),
        call(1, `${id}-1`, { name: 'get_weather' }),
        call(1, `${id}-1`, { arguments: '{"city":"Rome"}' }),
      ),
    );
    expect(fold(seen)).toMatchObject({ text: 'I look.', reasoning: 'Two places.' });
    expect(callsIn(seen)).toEqual(['get_weather {"city":"Oslo"}', 'get_weather {"city":"Rome"}']);
    expect(seen).toContainEqual({ type: 'usage', usage: { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 } });
  });

  it('may contain an error although it ends with [DONE]', async () => {
    const error = {
      error: { message: 'rpc error: code = Unavailable desc = error reading from server: EOF', type: 'server_error', code: 'server_error' },
    };
    const failed = ask(stream(events(delta({ role: 'assistant' }), delta({ content: 'I' }), error, '[DONE]')));
    await expect(failed).rejects.toMatchObject({
      code: 'upstream_error',
      message: expect.stringContaining('error reading from server') as string,
    });
  });
});

describe('a whole answer of LocalAI', () => {
  it('has its calls under one id and one index', async () => {
    const made = ['Oslo', 'Rome'].map((city) => ({
      index: 0,
      id,
      type: 'function',
      function: { name: 'get_weather', arguments: JSON.stringify({ city }) },
    }));
    const message = { role: 'assistant', content: '', tool_calls: made };
    const body = { ...envelope, object: 'chat.completion', choices: [{ index: 0, finish_reason: 'tool_calls', message }] };
    const seen = await ask(respond(200, body), { stream: false });
    expect(callsIn(seen)).toEqual(['get_weather {"city":"Oslo"}', 'get_weather {"city":"Rome"}']);
    expect(new Set(idsIn(seen)).size).toBe(2);
  });

  it('may have one choice for each call of the older form', async () => {
    const message = { role: 'assistant', content: '', function_call: { name: 'get_time', arguments: '{"city":"Oslo"}' } };
    const body = { ...envelope, object: 'chat.completion', choices: [{ index: 0, finish_reason: 'function_call', message }] };
    expect(callsIn(await ask(respond(200, body), { stream: false }))).toEqual(['get_time {"city":"Oslo"}']);
  });
});

describe('a refusal of LocalAI', () => {
  it.each([
    [
      'that a model fails to load',
      500,
      { error: { code: 500, message: 'could not load model: rpc error: code = Canceled desc = ', type: '' } },
      'upstream_error',
    ],
    [
      'that a model is loading',
      503,
      { error: { code: 'model_loading', message: 'model is loading', type: 'model_loading' }, loading: { progress: 0.4 } },
      'upstream_error',
    ],
    ['that a path is unknown', 404, { error: { code: 404, message: 'Resource not found', type: '' } }, 'upstream_rejected'],
  ])('says %s', async (_what, status, body, code) => {
    await expect(ask(respond(status, body, { 'retry-after': '3' }))).rejects.toMatchObject({
      code,
      message: expect.stringContaining(body.error.message.slice(0, 16)) as string,
    });
  });

  it('may have no body, where errors are opaque', async () => {
    await expect(ask([head(500, { 'content-length': '0' })])).rejects.toMatchObject({ status: 502 });
  });
});

it('lists models of LocalAI without an owner, a time or capabilities', async () => {
  const body = {
    object: 'list',
    data: [
      { id: 'hermes-3', object: 'model' },
      { id: 'whisper-1', object: 'model' },
    ],
  };
  const models = await listOpenAiModels(await localAi(respond(200, body)), directSend, AbortSignal.timeout(2_000));
  expect(models.map((model) => [model.id, model.capabilities])).toEqual([
    ['hermes-3', undefined],
    ['whisper-1', undefined],
  ]);
});
