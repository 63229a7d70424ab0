import type { ResponseOutputItem } from 'openai/resources/responses/responses';
import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen, testApp } from '../../_support/build-app.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { callItem, eventsOfResponse, messageItem, reasoningItem, responseOf, toPieces } from '../../_support/responses-events.ts';
import { respond, startUpstream, stream } from '../../_support/upstream-server.ts';
import type { ScriptStep, UpstreamServer } from '../../_support/upstream-server.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { documentOf, gatewayOf, readSeen, serverOf } from '../gateway.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

interface Wire {
  post: (path: string, body: JsonObject) => Promise<Response>;
  /** The requests for answers. */
  bodies: JsonObject[];
  backend: UpstreamServer;
  tools: UpstreamServer;
}

type Turn = ResponseOutputItem[] | ((isStream: boolean) => ScriptStep[]);

/**
 * A gateway before a backend of the type `openai-responses`, whose answers have these items, a turn each, and with one function, `look`. `server`: instead of
 * that backend.
 */
async function wireTo(turns: Turn[], result: ScriptStep[] = respond(200, { balance: 7 }), server?: string): Promise<Wire> {
  const bodies: JsonObject[] = [];
  const backend = await startUpstream((request) => {
    if (request.method === 'GET') return respond(200, { data: [{ id: 'gpt-5.6-sol' }] });
    if (request.url === '/v1/embeddings') return respond(200, { data: [{ index: 0, embedding: [0.5] }], usage: { prompt_tokens: 1 } });
    const turn = turns[bodies.push(request.json() as JsonObject) - 1] ?? [messageItem('Done.')];
    const isStream = bodies.at(-1)?.['stream'] === true;
    if (typeof turn === 'function') return turn(isStream);
    return isStream ? stream(toPieces(eventsOfResponse(turn))) : respond(200, responseOf(turn));
  });
  const tools = await startUpstream(result);
  closers.push(
    () => backend.close(),
    () => tools.close(),
  );
  const entry = {
    kind: 'openai-responses',
    url: `${server ?? backend.origin}/v1`,
    name: 'cloud',
    headers: {},
    maxContext: 1,
    isExplicit: true,
    urls: [`${server ?? backend.origin}/v1`],
    origin: 'file',
  } as const;
  const registry = memoryRegistry([serverOf('bank', documentOf({ look: { type: 'object', properties: {} } }), { url: tools.origin })]);
  const app = await testApp({}, { registry, config: { backends: [entry] } });
  closers.push(() => app.close());
  const url = await listen(app);
  const post = (path: string, body: JsonObject) =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-5.6-sol', ...body }),
    });
  return { post, bodies, backend, tools };
}

async function textOf(answer: Response): Promise<string> {
  const raw = await answer.text();
  if (raw.startsWith('data:')) return readSeen(raw).text;
  const { choices } = JSON.parse(raw) as { choices: { message: { content: string } }[] };
  return choices[0]?.message.content ?? '';
}

const chat = {
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'How much?' },
  ],
};
/** What was sent, as types and ids. */
function placesIn(body: JsonObject | undefined): string[] {
  const { input = [] } = body ?? {};
  return (input as JsonObject[]).map(({ type, role, id, call_id: callId }) => [type, role ?? callId ?? id].map(String).join(' '));
}

const thinking = reasoningItem('1', 'I have to look.');
const look = callItem('a', 'look', '{}');

describe.each([true, false])('a backend with the Responses API, streaming: %s', (isStream) => {
  it('gets its reasoning back before the call that it led to', async () => {
    const { post, bodies, tools } = await wireTo([[thinking, look], [messageItem('Seven.')]]);
    const answer = await post('/v1/chat/completions', { ...chat, stream: isStream, reasoning_effort: 'high', max_tokens: 500 });
    expect(await textOf(answer)).toBe('Seven.');
    expect(tools.requests).toHaveLength(1);
    expect(bodies[0]).toMatchObject({
      store: false,
      instructions: 'Be brief.',
      max_output_tokens: 500,
      reasoning: { effort: 'high', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      tools: [{ type: 'function', name: 'look', strict: true }],
    });
    expect(bodies[1]?.['input']).toEqual([
      { type: 'message', role: 'user', content: 'How much?' },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'I have to look.' }], encrypted_content: 'gAAA1' },
      { type: 'function_call', call_id: 'call_a', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_a', output: expect.stringContaining('7') },
    ]);
  });

  it('gets each reasoning item back before the item that it led to, also for parallel calls', async () => {
    const second = reasoningItem('2', 'And again.');
    const third = reasoningItem('3', 'I say so.');
    const turn = [thinking, look, third, messageItem('I look.'), second, callItem('b', 'look', '{}')];
    const { post, bodies, tools } = await wireTo([turn, [messageItem('Seven.')]]);
    await textOf(await post('/v1/chat/completions', { ...chat, stream: isStream }));
    expect(tools.requests).toHaveLength(2);
    expect(placesIn(bodies[1])).toEqual([
      'message user',
      'reasoning rs_1',
      'function_call call_a',
      'reasoning rs_3',
      'message assistant',
      'reasoning rs_2',
      'function_call call_b',
      'function_call_output call_a',
      'function_call_output call_b',
    ]);
  });

  it('runs calls side by side, and adds up their usage', async () => {
    const { post, tools } = await wireTo([[look, callItem('b', 'look', '{}')], [messageItem('Seven.')]]);
    const body = { ...chat, stream: isStream, stream_options: { include_usage: true } };
    const answer = await (await post('/v1/chat/completions', body)).text();
    expect(tools.requests).toHaveLength(2);
    expect(answer).toMatch(/"total_tokens":232/);
    expect(answer).toMatch(/"cached_tokens":128/);
  });
});

it('returns calls of the client with its reasoning, and reads both again', async () => {
  const { post, bodies } = await wireTo([[thinking, callItem('own', 'own', '{"x":1}')], [messageItem('Thanks.')]]);
  const own = [{ type: 'function', name: 'own', parameters: { type: 'object', properties: {} }, strict: false }];
  const asked = { tools: own, tool_ids: [], include: ['reasoning.encrypted_content'], input: [{ role: 'user', content: 'Hi' }] };
  const response = (await (await post('/v1/responses', asked)).json()) as { output: JsonObject[] };
  const call = response.output.find(({ type }) => type === 'function_call');
  const output = { type: 'function_call_output', call_id: call?.['call_id'], output: 'ok' };
  await post('/v1/responses', { ...asked, input: [...asked.input, ...response.output, output] });
  const { input = [] } = bodies[1] ?? {};
  expect((input as JsonObject[]).map(({ type, encrypted_content: encrypted }) => [type, encrypted])).toEqual([
    ['message', undefined],
    ['reasoning', 'gAAA1'],
    ['function_call', undefined],
    ['function_call_output', undefined],
  ]);
});

it('returns calls of the client with the reasoning before each, and reads all again in this order', async () => {
  const turn = [thinking, callItem('1', 'own', '{"x":1}'), reasoningItem('2', 'And.'), callItem('2', 'own', '{"x":2}')];
  const { post, bodies } = await wireTo([turn, [messageItem('Thanks.')]]);
  const own = [{ type: 'function', name: 'own', parameters: { type: 'object', properties: {} }, strict: false }];
  const asked = { tools: own, tool_ids: [], include: ['reasoning.encrypted_content'], input: [{ role: 'user', content: 'Hi' }] };
  const { output: items } = (await (await post('/v1/responses', asked)).json()) as { output: JsonObject[] };
  const outputs = items.flatMap((item) =>
    item['type'] === 'function_call' ? [{ type: 'function_call_output', call_id: item['call_id'] ?? null, output: 'ok' }] : [],
  );
  await post('/v1/responses', { ...asked, input: [...asked.input, ...items, ...outputs] });
  const { input = [] } = bodies[1] ?? {};
  expect((input as JsonObject[]).map(({ type, encrypted_content: encrypted }) => [type, encrypted])).toEqual([
    ['message', undefined],
    ['reasoning', 'gAAA1'],
    ['function_call', undefined],
    ['reasoning', 'gAAA2'],
    ['function_call', undefined],
    ['function_call_output', undefined],
    ['function_call_output', undefined],
  ]);
});

it('calls nothing of a stream that breaks off', async () => {
  const { post, tools } = await wireTo([() => stream(toPieces(eventsOfResponse([thinking, look])).slice(0, -1))]);
  const answer = await post('/v1/chat/completions', { ...chat, stream: true });
  expect(await answer.text()).toContain('upstream_incomplete');
  expect(tools.requests).toHaveLength(0);
});

it.each([true, false])('may be another gateway, streaming: %s', async (isStream) => {
  const turns = [[{ type: 'reasoning' as const, text: 'I have to look.' }, ...calls(['look', {}])], says('Seven.')];
  const other = await gatewayOf({ turns });
  closers.push(() => other[Symbol.asyncDispose]());
  const { post, tools } = await wireTo([], respond(200, { balance: 7 }), await listen(other.app));
  const answer = await post('/v1/chat/completions', { ...chat, model: 'model', stream: isStream, tool_choice: 'auto', max_tokens: 500 });
  expect(await textOf(answer)).toBe('Seven.');
  expect(tools.requests).toHaveLength(1);
  expect(other.model.requests.at(-1)).toMatchObject({
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'How much?' },
      { role: 'assistant', toolCalls: [{ name: 'look', arguments: '{}' }] },
      { role: 'tool', content: expect.stringContaining('7') },
    ],
    parameters: { max_completion_tokens: 500 },
  });
});

it('has the embeddings and models of its server', async () => {
  const { post, backend } = await wireTo([]);
  const answer = (await (await post('/v1/embeddings', { model: 'gpt-5.6-sol', input: 'x' })).json()) as JsonObject;
  expect(answer['data']).toEqual([{ index: 0, embedding: [0.5] }]);
  expect(backend.requests.map(({ url }) => url)).toEqual(['/v1/models', '/v1/embeddings']);
});
