import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { startOllamaServer } from '../../_support/ollama-server.ts';
import { respond } from '../../_support/upstream-server.ts';
import { deadUrl, gatewayWith, modelServer, upstream } from './backend-fixture.ts';

/** What `verify` says about a new backend. */
async function verified(entry: JsonObject): Promise<JsonObject> {
  const { call } = await gatewayWith();
  await call('POST', '/api/backends', { id: 'lab', ...entry });
  const answer = await call('POST', '/api/backends/lab/verify');
  expect(answer.status).toBe(200);
  return answer.body;
}

async function cureOf(entry: JsonObject): Promise<string> {
  const report = await verified(entry);
  expect(report).toMatchObject({ ok: false, models: [], servers: [{ fault: expect.any(String), cure: expect.any(String) }] });
  return String((report['servers'] as JsonObject[])[0]?.['cure']);
}

it('lists the models of each server, and what one lacks', async () => {
  const [one, two] = [await modelServer(['a', 'b']), await modelServer(['a'])];
  const urls = [`${one.origin}/v1`, `${two.origin}/v1`];
  expect(await verified({ type: 'openai', urls })).toEqual({
    ok: true,
    models: ['a', 'b'],
    model_details: [{ id: 'a' }, { id: 'b' }],
    servers: [
      { url: urls[0], models: 2 },
      { url: urls[1], models: 1 },
    ],
    warnings: [`${urls[1]} does not list b.`],
  });
});

it('tells an address at which nothing listens', async () => {
  const dead = await deadUrl();
  expect(await cureOf({ type: 'openai', url: `${dead}/v1` })).toBe('Start the server, or correct the address.');
  expect(await cureOf({ type: 'ollama', url: dead })).toBe('Start Ollama there, or correct the address.');
});

it('tells a refused key from a missing one', async () => {
  const { origin } = await upstream(respond(401, { error: { message: 'who are you' } }));
  expect(await cureOf({ type: 'openai', url: `${origin}/v1`, key: 'wrong' })).toBe('The address is right: check its key.');
  expect(await cureOf({ type: 'openai', url: `${origin}/v1` })).toBe('The address is right: set its key.');
});

it.each(['', '/v1/chat/completions', '/v1/models'])('finds the address of an API that was entered with the ending "%s"', async (ending) => {
  const { origin } = await modelServer(['a']);
  expect(await cureOf({ type: 'openai', url: `${origin}${ending}` })).toBe(`Set the address to ${origin}/v1.`);
});

it.each([
  [500, 'see its log'],
  [503, 'see its log'],
  [429, 'Wait and try again'],
  [301, 'Set the address to the one that it points to'],
])('does not blame the address when the server answers %i', async (status, cure) => {
  const { origin } = await upstream(respond(status, { error: { message: 'no' } }, { location: 'https://elsewhere.test/v1' }));
  expect(await cureOf({ type: 'openai', url: `${origin}/v1` })).toContain(cure);
});

it('finds the address where the key is refused as well', async () => {
  const { origin } = await upstream(({ url }) => (url === '/v1/models' ? respond(401, {}) : respond(404, {})));
  expect(await cureOf({ type: 'openai', url: origin })).toBe(`Set the address to ${origin}/v1; set its key.`);
});

it('recognises an Ollama behind the type openai, and the reverse', async () => {
  const ollama = await startOllamaServer([{ name: 'llama3.2:latest' }]);
  try {
    const expected = `This server is an Ollama: set \`type: ollama\` and \`url: ${ollama.url}\`.`;
    expect(await cureOf({ type: 'openai', url: ollama.url })).toBe(expected);
    expect(await cureOf({ type: 'ollama', url: `${ollama.url}/api` })).toBe(`Set the address to ${ollama.url}.`);
  } finally {
    await ollama.close();
  }
  const { origin } = await modelServer(['a']);
  expect(await cureOf({ type: 'ollama', url: origin })).toBe(
    `This server speaks the OpenAI API: set \`type: openai\` and \`url: ${origin}/v1\`.`,
  );
});

it('advises against the OpenAI API of an Ollama, which works but cuts prompts', async () => {
  const { origin } = await upstream(({ url }) =>
    url === '/v1/models' ? respond(200, { data: [{ id: 'llama3.2', owned_by: 'library' }] }) : respond(404, {}),
  );
  expect(await verified({ type: 'openai', url: `${origin}/v1` })).toMatchObject({
    ok: true,
    warnings: [expect.stringContaining(`\`url: ${origin}\``)],
  });
});

it('takes the models of the entry where there is no list, and says that they are unchecked', async () => {
  const { origin } = await upstream(({ url }) => (url === '/v1/models' ? respond(404, 'Not found') : respond(405, {})));
  const url = `${origin}/v1`;
  expect(await cureOf({ type: 'openai', url })).toContain('name its models in `models`');
  expect(await verified({ type: 'openai', url, models: ['chat'] })).toEqual({
    ok: true,
    models: ['chat'],
    model_details: [{ id: 'chat' }],
    servers: [{ url, models: 0 }],
    warnings: [expect.stringContaining('has no list of models')],
  });
});

it('names models of the entry that the list lacks', async () => {
  const { origin } = await modelServer(['a', 'b']);
  expect(await verified({ type: 'openai', url: `${origin}/v1`, models: ['b', 'gone'] })).toMatchObject({
    ok: true,
    models: ['b'],
    warnings: [`${origin}/v1 does not list gone.`],
  });
});

it('says so when a page answers instead of an API', async () => {
  const { origin } = await upstream(respond(200, '<html>Sign in</html>', { 'content-type': 'text/html' }));
  expect(await cureOf({ type: 'openai', url: origin })).toContain('end the address with /v1');
});

it('says of each model what its server does, under the id that clients use', async () => {
  const ollama = await startOllamaServer([
    { name: 'qwen3:4b', contextLength: 40_960, capabilities: ['completion', 'tools', 'vision'] },
    { name: 'old:latest' },
  ]);
  try {
    const { call } = await gatewayWith();
    await call('POST', '/api/backends', { id: 'lab', type: 'ollama', url: ollama.url, prefix: 'home' });
    const details = [
      { id: 'home/qwen3:4b', context: 40_960, bytes: 2_019_393_189, parameters: '3.2B', tools: true, vision: true },
      { id: 'home/old:latest', bytes: 2_019_393_189, parameters: '3.2B' },
    ];
    expect((await call('POST', '/api/backends/lab/verify')).body['model_details']).toEqual(details);
    expect((await call('GET', '/api/backends/lab')).body['model_details']).toEqual(details);
  } finally {
    await ollama.close();
  }
});

it('asks the servers of an entry that is not stored, and stores nothing', async () => {
  const { call } = await gatewayWith();
  const { origin } = await modelServer(['a']);
  const answer = await call('POST', '/api/backends/verify', { type: 'openai', url: `${origin}/v1`, key: 'k' });
  expect(answer.body).toMatchObject({ ok: true, models: ['a'], servers: [{ models: 1 }] });
  expect((await call('GET', '/api/backends')).body['data']).toEqual([]);
  const refused = await call('POST', '/api/backends/verify', { type: 'openai', url: 'lab:8000' });
  expect([refused.status, refused.body['error']]).toEqual([400, expect.objectContaining({ param: 'url' })]);
});
