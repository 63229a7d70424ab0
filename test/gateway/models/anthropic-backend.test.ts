import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen, testApp } from '../../_support/build-app.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { readRecording } from '../../_support/model-answers.ts';
import { respond, startUpstream, stream, type ScriptStep } from '../../_support/upstream-server.ts';
import { documentOf, serverOf } from '../gateway.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

interface Fixture {
  post: (path: string, body: JsonObject) => Promise<JsonObject>;
  get: (path: string) => Promise<JsonObject>;
  /** What the backend was asked, in order. */
  bodies: JsonObject[];
}

const yes = { supported: true };
const listed = {
  type: 'model',
  id: 'claude',
  display_name: 'Claude',
  created_at: '2026-07-01T00:00:00Z',
  max_input_tokens: 200_000,
  max_tokens: 64_000,
  capabilities: { image_input: yes, structured_outputs: yes, effort: yes, thinking: { ...yes, types: { adaptive: yes } } },
};
const functions = documentOf({ get_time: { type: 'object', properties: {} }, get_weather: { type: 'object', properties: {} } });

/** A gateway before a backend of the type `anthropic`, with two functions of its own. */
async function gateway(answer: (body: JsonObject, count: number) => ScriptStep[]): Promise<Fixture> {
  const bodies: JsonObject[] = [];
  const backend = await startUpstream((request) => {
    if (request.method === 'GET') return respond(200, { data: [listed], has_more: false });
    bodies.push(request.json() as JsonObject);
    return answer(bodies.at(-1) ?? {}, bodies.length - 1);
  });
  closers.push(() => backend.close());
  const tools = await startUpstream(respond(200, { at: '14:05' }));
  closers.push(() => tools.close());
  const entry = {
    kind: 'anthropic',
    url: `${backend.origin}/v1`,
    name: 'anthropic',
    headers: {},
    maxContext: 1,
    isExplicit: true,
    urls: [`${backend.origin}/v1`],
    origin: 'file',
  } as const;
  const registry = memoryRegistry([serverOf('s', functions, { url: tools.origin })]);
  const app = await testApp({}, { registry, config: { backends: [{ ...entry, key: 'sk-ant-1' }] } });
  closers.push(() => app.close());
  const url = await listen(app);
  const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
  const read = async (response: Response): Promise<JsonObject> => (await response.json()) as JsonObject;
  return {
    bodies,
    post: async (path, body) =>
      read(await fetch(url + path, { method: 'POST', headers, body: JSON.stringify({ model: 'claude', max_tokens: 99, ...body }) })),
    get: async (path) => read(await fetch(url + path)),
  };
}

const listIn = (body: JsonObject | undefined, name: string): JsonObject[] => (body?.[name] ?? []) as JsonObject[];
const recorded = (name: string): ScriptStep[] => stream([readRecording(name)]);
/** Two calls, then an answer. */
const inTwoTurns = (_body: JsonObject, count: number): ScriptStep[] =>
  recorded(count === 0 ? 'anthropic-thinking-tools' : 'anthropic-text');
const question = { messages: [{ role: 'user', content: 'What time is it in Zürich, and how is the weather?' }] };
const thinking = [
  { type: 'thinking', thinking: 'Two questions, two calls. 🧭', signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds==' },
  { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIwxtE3rAFBa8cr3qpP' },
];

describe('a chat with a backend of the type anthropic', () => {
  it('runs calls, and gives their results back after the thinking before them', async () => {
    const { post, bodies } = await gateway(inTwoTurns);
    const answer = await post('/v1/chat/completions', question);
    expect(answer).toMatchObject({
      choices: [{ message: { content: 'Let me look.\n\nIt is 14:05 in Zürich 🕑.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3_569, completion_tokens: 104, prompt_tokens_details: { cached_tokens: 2_048 } },
    });
    expect(bodies).toHaveLength(2);
    expect(listIn(bodies[0], 'tools').map(({ name }) => name)).toEqual(['get_time', 'get_weather']);
    expect(bodies[1]?.['messages']).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: [
          ...thinking,
          { type: 'text', text: 'Let me look.' },
          { type: 'tool_use', id: 'toolu_01T1x1fJ34qAmk2tNTrN7Up6', name: 'get_time' },
          { type: 'tool_use', id: 'toolu_01A09q90qw90lq917835lq9', name: 'get_weather' },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_01T1x1fJ34qAmk2tNTrN7Up6' },
          { type: 'tool_result', tool_use_id: 'toolu_01A09q90qw90lq917835lq9' },
        ],
      },
    ]);
  });

  it.each([
    [
      '/v1/messages',
      question,
      { stop_reason: 'end_turn', usage: { input_tokens: 497, cache_read_input_tokens: 2_048, cache_creation_input_tokens: 1_024 } },
    ],
    ['/v1/responses', { input: 'What time is it?', max_tokens: undefined }, { status: 'completed', usage: { input_tokens: 3_569 } }],
    ['/api/chat', { ...question, stream: false }, { done: true, prompt_eval_count: 3_569 }],
  ])('works over %s', async (path, body, expected) => {
    const { post, bodies } = await gateway(inTwoTurns);
    const answer = await post(path, body);
    expect(answer).toMatchObject(expected);
    expect(JSON.stringify(answer)).toContain('It is 14:05 in Zürich 🕑.');
    expect(bodies).toHaveLength(2);
  });

  it('lists models with what they can do', async () => {
    const { get } = await gateway(inTwoTurns);
    expect(await get('/v1/models')).toMatchObject({
      data: [{ id: 'claude', owned_by: 'anthropic', capabilities: ['completion', 'tools', 'vision', 'thinking'] }],
    });
  });

  it('offers a function in a simpler form whose schema is refused', async () => {
    const { post, bodies } = await gateway((_body, count) => {
      const message = 'tools.1.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12';
      return count === 0 ? respond(400, { type: 'error', error: { type: 'invalid_request_error', message } }) : recorded('anthropic-text');
    });
    expect(await post('/v1/chat/completions', question)).toMatchObject({
      choices: [{ message: { content: 'It is 14:05 in Zürich 🕑.' } }],
      warnings: [{ code: 'function_schema_refused', message: expect.stringContaining('"get_weather"') }],
    });
    expect(bodies).toHaveLength(2);
  });

  it('chooses calls by a prompt in a form that is enforced, where the mode says so', async () => {
    const { post, bodies } = await gateway(() => recorded('anthropic-text'));
    await post('/v1/chat/completions', { ...question, params: { function_calling: 'default' } });
    expect(bodies[0]?.['output_config']).toMatchObject({
      format: { type: 'json_schema', schema: { type: 'object', additionalProperties: false } },
    });
    expect(bodies[0]).not.toHaveProperty('tools');
  });

  it('asks for the same without a form where the form is refused, or cannot be enforced', async () => {
    const { post, bodies } = await gateway((body) => {
      const message = 'output_config.format: structured outputs are not supported on this model';
      return body['output_config'] === undefined
        ? recorded('anthropic-text')
        : respond(400, { type: 'error', error: { type: 'invalid_request_error', message } });
    });
    const open = { type: 'function', function: { name: 'own', parameters: { type: 'object', additionalProperties: true } } };
    const params = { function_calling: 'default' };
    const answers = [
      await post('/v1/chat/completions', { ...question, params }),
      await post('/v1/chat/completions', { ...question, params, tools: [open] }),
    ];
    for (const answer of answers) {
      expect(answer).toMatchObject({ choices: [{ message: { content: 'It is 14:05 in Zürich 🕑.' } }] });
      expect(answer).not.toHaveProperty('warnings');
    }
    expect(bodies.filter((body) => body['output_config'] !== undefined).length).toBeGreaterThan(0);
  });

  it('passes on the marks of a caller that caches', async () => {
    const { post, bodies } = await gateway(() => recorded('anthropic-text'));
    const mark = { cache_control: { type: 'ephemeral' } };
    const own = { type: 'function', function: { name: 'own', parameters: { type: 'object' } }, ...mark };
    const messages = [
      { role: 'system', content: [{ type: 'text', text: 'Be brief.', ...mark }] },
      { role: 'user', content: [{ type: 'text', text: 'hi', ...mark }] },
    ];
    await post('/v1/chat/completions', { messages, tools: [own] });
    expect(bodies[0]).toMatchObject({
      system: [{ text: 'Be brief.', ...mark }],
      messages: [{ content: [{ text: 'hi', ...mark }] }],
    });
    expect(listIn(bodies[0], 'tools').at(-1)).toMatchObject({ name: 'own', ...mark });
  });

  it('caches for a client of Messages that marks its blocks, and not for others', async () => {
    const { post, bodies } = await gateway(inTwoTurns);
    const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } };
    const said = { role: 'user', content: [{ type: 'text', text: 'What time is it?' }] };
    await post('/v1/messages', { system: [{ type: 'text', text: 'Be brief.', ...mark }], messages: [said] });
    for (const body of bodies) {
      expect(body['system']).toEqual([{ type: 'text', text: 'Be brief.', ...mark }]);
      const content = listIn(body, 'messages').at(-1)?.['content'] as JsonObject[];
      expect(content.map((block) => block['cache_control'])).toEqual([...content.slice(1).map(() => undefined), mark.cache_control]);
    }
    expect(bodies).toHaveLength(2);
    await post('/v1/messages', { messages: [said] });
    expect(JSON.stringify(bodies[2])).not.toContain('cache_control');
  });
});
