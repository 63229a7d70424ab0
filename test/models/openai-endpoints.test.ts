import { afterEach, describe, expect, it } from 'vitest';
import { createOpenAiBackend, listOpenAiModels } from '../../src/models/openai/openai-compatible.ts';
import type { OpenAiConnection } from '../../src/models/openai/openai-compatible.ts';
import { passOn } from '../../src/models/openai/pass-on.ts';
import { directSend } from '../_support/direct-send.ts';
import { askModel } from '../_support/model-answers.ts';
import { events, respond, startUpstream, stream } from '../_support/upstream-server.ts';
import type { Script, UpstreamServer } from '../_support/upstream-server.ts';
import { answerOf } from '../_support/scripted-model.ts';

let server: UpstreamServer;
afterEach(() => server.close());

async function upstream(script: Script): Promise<OpenAiConnection> {
  server = await startUpstream(script);
  return { baseUrl: `${server.origin}/v1`, key: 'k-1234', firstByteTimeoutMs: 1_000, idleTimeoutMs: 1_000 };
}

const never = new AbortController().signal;
const first = events({ choices: [{ index: 0, delta: { content: 'Hi' } }] });

describe('leaving', () => {
  it('closes the connection when the reader stops', async () => {
    const connection = await upstream(stream(first, { end: 'stall' }));
    for await (const event of answerOf(createOpenAiBackend(connection, directSend), askModel())) {
      expect(event).toEqual({ type: 'text', text: 'Hi' });
      break;
    }
    await server.requests[0]?.closed;
  });

  it.each(['before the headers', 'amid the answer'])(
    'closes the connection and throws the reason when the signal aborts %s',
    async (moment) => {
      const connection = await upstream(moment === 'amid the answer' ? stream(first, { end: 'stall' }) : [{ act: 'stall' }]);
      const leave = new AbortController();
      const answer = answerOf(createOpenAiBackend(connection, directSend), askModel({ signal: leave.signal }));
      if (moment === 'amid the answer') await answer.next();
      const next = answer.next();
      const request = await server.request(0);
      const reason = new Error('the caller left');
      leave.abort(reason);
      await expect(next).rejects.toBe(reason);
      await request.closed;
    },
  );

  it('asks nothing when the signal was aborted before', async () => {
    const connection = await upstream(respond(200, {}));
    const reason = new Error('gone');
    const answer = answerOf(createOpenAiBackend(connection, directSend), askModel({ signal: AbortSignal.abort(reason) }));
    await expect(answer.next()).rejects.toBe(reason);
    expect(server.connections).toBe(0);
  });
});

describe('listOpenAiModels', () => {
  it('gives records, with capabilities only where they are stated', async () => {
    const data = [
      { id: 'gpt-4o', object: 'model', created: 1715367049, owned_by: 'system' },
      { id: 'qwen/qwen3', name: 'Qwen', created: 'x', supported_parameters: ['tools', 'top_p'], context_length: 4096 },
      { id: 'r1', supported_parameters: ['top_p'] },
      { id: 'mistral', capabilities: { completion_chat: true, function_calling: true, vision: false } },
      { id: 'local', capabilities: ['completion', 'tool-calling', 3] },
      { id: '' },
      { object: 'model' },
      null,
    ];
    const connection = await upstream(respond(200, { object: 'list', data }));
    const records = await listOpenAiModels(connection, directSend, never);
    expect(server.requests[0]).toMatchObject({ method: 'GET', url: '/v1/models' });
    expect(records[0]).toEqual({
      id: 'gpt-4o',
      owner: 'system',
      isLocal: false,
      created: 1715367049,
      capabilities: undefined,
      details: {},
    });
    expect(records[1]).toMatchObject({ owner: 'openai', created: 0, details: { name: 'Qwen', context_length: 4096 } });
    expect(records.map(({ id, capabilities }) => [id, capabilities])).toEqual([
      ['gpt-4o', undefined],
      ['qwen/qwen3', ['completion', 'tools']],
      ['r1', ['completion']],
      ['mistral', ['completion', 'tools']],
      ['local', ['completion', 'tools']],
    ]);
  });

  it('reads the capabilities that llama.cpp names beside its list, which does not mention functions', async () => {
    const beside = (name: string, ...capabilities: string[]): object => ({
      name,
      model: name,
      type: 'model',
      capabilities,
      details: { format: 'gguf' },
    });
    const body = {
      models: [beside('seeing.gguf', 'completion', 'multimodal'), beside('plain.gguf', 'completion')],
      object: 'list',
      data: ['seeing.gguf', 'plain.gguf', 'other.gguf'].map((id) => ({
        id,
        object: 'model',
        owned_by: 'llamacpp',
        created: 1,
        meta: { n_ctx_train: 4096 },
      })),
    };
    const records = await listOpenAiModels(await upstream(respond(200, body)), directSend, never);
    expect(records.map(({ id, capabilities, details }) => [id, capabilities, details['meta']])).toEqual([
      ['seeing.gguf', ['completion', 'multimodal', 'tools'], { n_ctx_train: 4096 }],
      ['plain.gguf', ['completion', 'tools'], { n_ctx_train: 4096 }],
      ['other.gguf', undefined, { n_ctx_train: 4096 }],
    ]);
  });

  it('treats a model as unable to call functions only if the other list names them for another model', async () => {
    const models = [
      { name: 'a', capabilities: ['completion', 'tools'] },
      { name: 'b', capabilities: ['completion'] },
    ];
    const records = await listOpenAiModels(await upstream(respond(200, { models, data: [{ id: 'a' }, { id: 'b' }] })), directSend, never);
    expect(records.map(({ capabilities }) => capabilities)).toEqual([['completion', 'tools'], ['completion']]);
  });

  it.each([[[{ id: 'a' }]], [{ models: [{ name: 'a' }] }]])('understands %j', async (body) => {
    const connection = await upstream(respond(200, body));
    expect((await listOpenAiModels(connection, directSend, never)).map(({ id }) => id)).toEqual(['a']);
  });

  it.each([
    ['no list', respond(200, { ok: true }), 'upstream_invalid_response'],
    ['HTML', respond(200, '<p>', { 'content-type': 'text/html' }), 'upstream_invalid_response'],
    ['a wrong key', respond(401, { error: { message: 'no' } }), 'upstream_auth_failed'],
    ['silence', [{ act: 'stall' as const }], 'upstream_timeout'],
  ])('fails with %s', async (_, script, code) => {
    const connection = await upstream(script);
    await expect(listOpenAiModels(connection, directSend, never)).rejects.toMatchObject({ code });
  });
});

/** A JSON answer, which is read as a whole. */
async function embed(connection: OpenAiConnection, body: object, signal = never): Promise<{ status: number; text: string }> {
  const sent = { path: '/embeddings', contentType: 'application/json', bytes: JSON.stringify(body), signal } as const;
  const answer = await passOn(connection, directSend, sent);
  if (!(answer.body instanceof Uint8Array)) throw new Error('The answer is no JSON.');
  return { status: answer.status, text: Buffer.from(answer.body).toString() };
}

describe('a request that is passed on', () => {
  it('passes the request and the answer through', async () => {
    const answer = { object: 'list', data: [{ embedding: [0.1], index: 0 }], usage: { prompt_tokens: 1 } };
    const connection = await upstream(respond(200, answer));
    const body = { model: 'e', input: ['a'], dimensions: 1 };
    const { status, text } = await embed(connection, body);
    expect([status, text]).toEqual([200, JSON.stringify(answer)]);
    expect(server.requests[0]).toMatchObject({ method: 'POST', url: '/v1/embeddings', headers: { authorization: 'Bearer k-1234' } });
    expect(server.requests[0]?.json()).toEqual(body);
  });

  it('masks the key in an answer, wherever it stands', async () => {
    const filler = '0.125,'.repeat(174_700);
    const connection = await upstream(respond(200, { filler, echo: 'k-1234-k-1234', more: filler, last: 'k-12345' }));
    const { text } = await embed({ ...connection, key: 'k-1234' }, { model: 'e' });
    expect(text).not.toContain('k-1234');
    expect(JSON.parse(text)).toMatchObject({ echo: '******-******', last: '******5' });
  });

  it('keeps the status and the words of a refusal', async () => {
    const connection = await upstream(respond(404, { error: { message: 'no such model, k-1234' } }));
    await expect(embed(connection, {})).rejects.toMatchObject({
      status: 404,
      message: 'no such model, [secret]. If its backend has no /embeddings, choose a model of one that has.',
    });
  });

  it('throws the reason of a caller who leaves', async () => {
    const connection = await upstream([{ act: 'stall' }]);
    const leave = new AbortController();
    const asked = embed(connection, {}, leave.signal);
    const request = await server.request(0);
    const reason = new Error('left');
    leave.abort(reason);
    await expect(asked).rejects.toBe(reason);
    await request.closed;
  });
});

describe('what a backend repeats of its key', () => {
  it('is masked in a list of models, in an answer and in the parameter of an error', async () => {
    const echo = { object: 'list', data: [{ id: 'm', owned_by: 'k-123456789', note: { sent: 'Bearer k-123456789' } }] };
    const listing = await upstream(respond(200, echo));
    const key = 'k-123456789';
    const records = await listOpenAiModels({ ...listing, key }, directSend, never);
    expect(records).toMatchObject([{ id: 'm', owner: '[secret]', details: { note: { sent: 'Bearer [secret]' } } }]);
    const embedding = await upstream(respond(200, { ...echo, model: 'azF1LTEyMzQ1Njc4OQ' }));
    const { text } = await embed({ ...embedding, key }, {});
    expect(text).not.toContain(key);
    const failing = await upstream(respond(400, { error: { message: 'bad', param: 'k-123456789' } }));
    await expect(embed({ ...failing, key }, {})).rejects.toMatchObject({ param: '[secret]' });
  });

  it('is left in where the key is a word that people write for none', async () => {
    const connection = await upstream(respond(200, { data: [{ id: 'ollama/llama3' }] }));
    expect(await listOpenAiModels({ ...connection, key: 'ollama' }, directSend, never)).toMatchObject([{ id: 'ollama/llama3' }]);
  });
});
