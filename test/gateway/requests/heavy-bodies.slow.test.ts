import { describe, expect, it, onTestFinished } from 'vitest';
import { limits } from '../../../src/core/limits.ts';
import { parseChatBody } from '../../../src/http/dialects/chat-completions/parse-chat-body.ts';
import { backendOf, testApp } from '../../_support/build-app.ts';
import { says, ScriptedModel } from '../../_support/scripted-model.ts';
import { watchJobNames } from '../../_support/watch-job-names.ts';
import { chatFields } from '../../../src/http/dialects/requests/parse-fields.ts';
import { variablesLimit } from '../../../src/http/dialects/requests/gateway-fields.ts';

const times = (count: number, make: (index: number) => string): string => Array.from({ length: count }, (_, index) => make(index)).join();
const chatWith = (rest: string): string => `{"model":"m","messages":[{"role":"user","content":"Hello"}],${rest}}`;
const chat = '/v1/chat/completions';

async function gateway() {
  const app = await testApp({}, { backends: [backendOf(new ScriptedModel(says('Hello.')), ['m'])] });
  onTestFinished(() => app.close());
  return (payload: string, url = chat) =>
    app.server.inject({ method: 'POST', url, headers: { host: '127.0.0.1', 'content-type': 'application/json' }, payload });
}

describe('a body that holds more than the event loop can take at once is parsed in a worker and refused', () => {
  it.each<[string, string, string, string]>([
    ['fields', chat, chatWith(times(100_000, (index) => `"k${index}":1`)), 'values'],
    [
      'different fields in many places',
      chat,
      chatWith(
        `"metadata":[${times(3_000, (index) => `{"a${index}":1,"b${index}":1,"c${index}":1}`)},"${'x'.repeat(limits.inPlaceCharacters)}"]`,
      ),
      'different field names',
    ],
    ['lists', chat, chatWith(`"metadata":{"lists":[${times(100_000, () => '[]')}]}`), 'values'],
    [
      'parts',
      chat,
      `{"model":"m","messages":[${times(6, () => `{"role":"user","content":[${times(9_999, () => '{"type":"text"}')}]}`)}]}`,
      'values',
    ],
    ['numbers', '/v1/embeddings', `{"model":"m","input":[${times(600_000, () => '1')}]}`, 'numbers'],
    ['fields of a preset', '/api/presets', `{"id":"p",${times(60_000, (index) => `"k${index}":1`)}}`, 'values'],
    [
      'lists of a message to MCP',
      '/mcp',
      `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"lists":[${times(60_000, () => '[]')}]}}`,
      'values',
    ],
    ['fields of arguments', '/api/tools/nothing/invoke', `{"arguments":{${times(60_000, (index) => `"k${index}":1`)}}}`, 'values'],
  ])('%s', async (_what, url, payload, counted) => {
    const post = await gateway();
    const workerJobs = watchJobNames();
    const answer = await post(payload, url);
    expect(workerJobs).toEqual(['parseJsonJob']);
    expect(answer.statusCode).toBe(413);
    expect(answer.json()).toMatchObject({ error: { code: 'payload_too_large', message: expect.stringContaining(counted) } });
  });
});

describe('a large body of a chat is answered', () => {
  const plain = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };
  const longChat = Array.from({ length: 2_500 }, (_, index) => [
    { role: 'user', content: `question ${index}` },
    { role: 'assistant', content: `answer ${index}` },
  ]).flat();

  it.each<[string, object, boolean]>([
    ['with a text of half a megabyte, in place', { ...plain, user: 'x'.repeat(limits.inPlaceCharacters - 1_000) }, false],
    [
      'with a picture of eight megabytes',
      {
        ...plain,
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(8_000_000)}` } }] },
        ],
      },
      true,
    ],
    ['with five thousand messages', { ...plain, messages: longChat }, true],
  ])('%s', async (_what, body, goesToWorker) => {
    const post = await gateway();
    const workerJobs = watchJobNames();
    const answer = await post(JSON.stringify(body));
    expect(answer.json()).toMatchObject({ choices: [{ message: { content: 'Hello.' } }] });
    expect(workerJobs).toEqual(goesToWorker ? ['parseJsonJob'] : []);
  });

  it('with an inline document of three megabytes, whose values do not count', async () => {
    const post = await gateway();
    const schema = {
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 50 }, (_, key) => [`p${key}`, { type: 'string' }])),
    };
    const openapi = {
      openapi: '3.1.0',
      info: { title: 'Large', version: '1' },
      paths: { '/use': { post: { operationId: 'use_it', responses: { 200: { description: 'ok' } } } } },
      components: { schemas: Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`S${index}`, schema])) },
    };
    const workerJobs = watchJobNames();
    const answer = await post(
      JSON.stringify({
        ...plain,
        tool_servers: [{ url: 'http://127.0.0.1:9', openapi }],
        stream: true,
        stream_options: { include_events: true },
      }),
    );
    expect(answer.body).toContain('"use_it"');
    expect(workerJobs[0]).toBe('parseJsonJob');
  });
});

it.each([
  ['fields', Object.fromEntries(Array.from({ length: chatFields }, (_, index) => [`k${index}`, 1])), /^The body has more than 256 fields/],
  [
    'variables',
    { variables: Object.fromEntries(Array.from({ length: variablesLimit + 1 }, (_, index) => [`k${index}`, 1])) },
    /^variables: must have at most 1000 fields/,
  ],
])('a chat has a limit of %s, however small they are', (_what, more, message) => {
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };
  expect(() => parseChatBody({ ...body, ...more })).toThrow(
    expect.objectContaining({ code: 'invalid_request', message: expect.stringMatching(message) as string }),
  );
  expect(parseChatBody({ ...body, variables: { a: 'b' }, top_k: 1 }).request.variables).toEqual({ a: 'b' });
});

it.each<[string, (document: object) => unknown]>([
  ['an object', (document) => document],
  ['text', (document) => JSON.stringify(document)],
])('an inline document may be %s', async (_what, toForm) => {
  const post = await gateway();
  const document = {
    openapi: '3.1.0',
    info: { title: 'Small', version: '1' },
    paths: { '/use': { post: { operationId: 'use_it', responses: { 200: { description: 'ok' } } } } },
  };
  const answer = await post(
    JSON.stringify({
      model: 'm',
      messages: [{ role: 'user', content: 'Hello' }],
      tool_servers: [{ url: 'http://127.0.0.1:9', openapi: toForm(document) }],
      stream: true,
      stream_options: { include_events: true },
    }),
  );
  expect(answer.body).toContain('"use_it"');
});
