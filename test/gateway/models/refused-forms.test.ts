import { afterEach, describe, expect, it } from 'vitest';
import { isJsonObject, type JsonObject } from '../../../src/shared/json/json.ts';
import type { OutboundResponse } from '../../../src/core/outbound.ts';
import { testApp, type TestApp } from '../../_support/build-app.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { outboundBody } from '../../_support/outbound-body.ts';
import { jsonResponse, scriptedSend, type ScriptedAnswer } from '../../tools/scripted-send.ts';
import { documentOf, serverOf } from '../gateway.ts';

const apps: TestApp[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
});

const objects = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
const messagesOf = (body: JsonObject): JsonObject[] => objects(body['messages']);
const callsOf = (body: JsonObject): JsonObject[] => messagesOf(body).flatMap((message) => objects(message['tool_calls']));
const hasResults = (body: JsonObject): boolean => messagesOf(body).some(({ role }) => role === 'tool');
const isSystem = ({ role }: JsonObject): boolean => role === 'system' || role === 'developer';

/** How a server refuses a request; undefined: it calls `search` once, then answers "Fine." */
type Refuse = (body: JsonObject) => { status: number; message: string } | undefined;

async function readBody(request: { body?: unknown }): Promise<JsonObject> {
  return JSON.parse(String(request.body)) as JsonObject;
}

function streamOf(lines: readonly string[], contentType: string): OutboundResponse {
  const bytes = Buffer.from(lines.join(''));
  const pieces = (async function* () {
    await Promise.resolve();
    yield bytes;
  })();
  return { status: 200, headers: { 'content-type': contentType }, body: outboundBody(pieces) };
}

function openAiAnswer(body: JsonObject): OutboundResponse {
  const call = { id: 'call_of_a_model_with_long_ids_01', type: 'function', function: { name: 'search', arguments: '{"q":"x"}' } };
  const isCalling = Array.isArray(body['tools']) && !hasResults(body);
  const message = isCalling
    ? { role: 'assistant', content: null, tool_calls: [{ index: 0, ...call }] }
    : { role: 'assistant', content: 'Fine.' };
  const finish = isCalling ? 'tool_calls' : 'stop';
  if (body['stream'] !== true) return jsonResponse({ choices: [{ index: 0, message, finish_reason: finish }] });
  const chunks = [
    { choices: [{ index: 0, delta: message, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: finish }] },
  ];
  return streamOf([...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n'], 'text/event-stream');
}

/** A gateway before one server, with one registered function and one administrator. */
async function start(kind: 'openai' | 'ollama', refuse: Refuse) {
  const bodies: JsonObject[] = [];
  const searches: unknown[] = [];
  const asked = (answer: (body: JsonObject) => OutboundResponse) => async (request: { body?: unknown }) => {
    const body = await readBody(request);
    bodies.push(body);
    const refusal = refuse(body);
    if (refusal === undefined) return answer(body);
    return jsonResponse({ error: kind === 'ollama' ? refusal.message : { message: refusal.message } }, refusal.status);
  };
  const ollamaCall = { function: { name: 'search', arguments: { q: 'x' } } };
  const ollamaAnswer = (body: JsonObject): OutboundResponse => {
    const isCalling = Array.isArray(body['tools']) && !hasResults(body);
    const message = isCalling ? { role: 'assistant', content: '', tool_calls: [ollamaCall] } : { role: 'assistant', content: 'Fine.' };
    return streamOf([`${JSON.stringify({ model: 'm', message, done: true, done_reason: 'stop' })}\n`], 'application/x-ndjson');
  };
  const answers: Record<string, ScriptedAnswer> = {
    'http://llm.test/v1/models': { object: 'list', data: [{ id: 'm', object: 'model' }] },
    'http://llm.test/v1/chat/completions': asked(openAiAnswer),
    'http://llm.test/api/tags': { models: [{ name: 'm', model: 'm', digest: 'd' }] },
    'http://llm.test/api/show': { capabilities: ['completion', 'tools'], model_info: {} },
    'http://llm.test/api/ps': { models: [] },
    'http://llm.test/api/chat': asked(ollamaAnswer),
    'http://box.test/search': async (request) => {
      searches.push(await readBody(request));
      return jsonResponse({ found: true });
    },
  };
  const environment = kind === 'openai' ? { OPENAI_API_BASE_URLS: 'http://llm.test/v1' } : { OLLAMA_BASE_URLS: 'http://llm.test' };
  const document = documentOf({ search: { type: 'object', properties: { q: { type: 'string' } } } });
  const app = await testApp(
    { ...environment, TOOLWHARF_ADMIN_KEY: 'sk-administrator-of-these-tests', TOOLWHARF_DEMO: 'false' },
    { registry: memoryRegistry([serverOf('box', document)]), send: scriptedSend(answers).send },
  );
  apps.push(app);
  return {
    bodies,
    searches,
    async ask(path: string, payload: JsonObject): Promise<{ status: number; body: string }> {
      const headers = { authorization: 'Bearer sk-administrator-of-these-tests' };
      const { statusCode, body } = await app.server.inject({ method: 'POST', url: path, headers, payload: { model: 'm', ...payload } });
      return { status: statusCode, body };
    },
  };
}

const user = (content: string): JsonObject => ({ role: 'user', content });
const system = (content: string): JsonObject => ({ role: 'system', content });

/** One conversation with a late instruction, as each dialect writes it. */
const lateInstructions: [dialect: string, path: string, payload: JsonObject][] = [
  ['chat completions', '/v1/chat/completions', { messages: [system('rule one'), user('q'), { role: 'developer', content: 'rule two' }] }],
  ['Ollama', '/api/chat', { messages: [system('rule one'), user('q'), system('rule two')], stream: false }],
  ['Messages', '/v1/messages', { max_tokens: 50, system: 'rule one', messages: [user('q'), system('rule two')] }],
  [
    'Responses',
    '/v1/responses',
    {
      instructions: 'rule one',
      input: [
        { role: 'user', content: 'q' },
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'rule two' }] },
      ],
    },
  ],
];

describe.each(['openai', 'ollama'] as const)('a late instruction for a template without any, at a server of the type %s', (kind) => {
  const refuse: Refuse = (body) =>
    messagesOf(body).some((message, index) => index > 0 && isSystem(message))
      ? { status: 500, message: 'Jinja Exception: System message must be at the beginning.' }
      : undefined;

  it.each(lateInstructions)('is read by the model in %s, streamed and not, before and after calls', async (_dialect, path, payload) => {
    const gateway = await start(kind, refuse);
    for (const stream of [false, true]) {
      const { status, body } = await gateway.ask(path, { ...payload, stream });
      expect({ status, isAnswered: body.includes('Fine.') }).toEqual({ status: 200, isAnswered: true });
    }
    // A refusal and its repeat, then the answer from the result; then two requests.
    expect(gateway.bodies).toHaveLength(5);
    for (const body of gateway.bodies.slice(1))
      expect(messagesOf(body).filter(isSystem)).toEqual([{ role: 'system', content: 'rule one\n\nrule two' }]);
    expect(gateway.searches).toHaveLength(2);
  });
});

describe('a refusal once functions have run', () => {
  it.each([false, true])('of the id of their call does not run them again (stream: %s)', async (stream) => {
    const gateway = await start('openai', (body) => {
      const id = callsOf(body)
        .map((call) => String(call['id']))
        .find((one) => !/^[A-Za-z0-9]{9}$/.test(one));
      return id === undefined
        ? undefined
        : { status: 400, message: `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.` };
    });
    const { status, body } = await gateway.ask('/v1/chat/completions', { messages: [user('q')], stream });
    expect({ status, isAnswered: body.includes('Fine.'), searches: gateway.searches.length }).toEqual({
      status: 200,
      isAnswered: true,
      searches: 1,
    });
    const last = gateway.bodies.at(-1) ?? {};
    expect(messagesOf(last).at(-1)?.['tool_call_id']).toBe(callsOf(last)[0]?.['id']);
  });

  it('of their signature does not run them again', async () => {
    const gateway = await start('openai', (body) =>
      callsOf(body).some(({ extra_content: signed }) => signed === undefined)
        ? { status: 400, message: 'Function call is missing a thought_signature in functionCall parts.' }
        : undefined,
    );
    expect(await gateway.ask('/v1/chat/completions', { messages: [user('q')] })).toMatchObject({ status: 200 });
    expect(gateway.searches).toHaveLength(1);
  });
});

describe("the client's own function, whose schema the server refuses", () => {
  const schema = { type: 'object', properties: { at: { type: 'string', pattern: '^(?=x)' } } };
  const called = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'mine', arguments: '{}' } }],
  };

  it('is offered in a simpler form before and after it was called, with a warning', async () => {
    const gateway = await start('openai', (body) =>
      JSON.stringify(body['tools'] ?? []).includes('"pattern"')
        ? { status: 400, message: 'Failed to initialize samplers: failed to parse grammar' }
        : undefined,
    );
    const tools = [{ type: 'function', function: { name: 'mine', parameters: schema } }];
    for (const messages of [[user('q')], [user('q'), called, { role: 'tool', tool_call_id: 'c1', content: 'r' }]]) {
      const { status, body } = await gateway.ask('/v1/chat/completions', { tools, tool_ids: [], messages });
      expect({ status, warns: body.includes('function_schema_refused') }).toEqual({ status: 200, warns: true });
    }
  });

  it.each([
    ['Responses', '/v1/responses', { input: 'q', tools: [{ type: 'function', name: 'mine', parameters: schema }] }],
    ['Messages', '/v1/messages', { max_tokens: 50, messages: [user('q')], tools: [{ name: 'mine', input_schema: schema }] }],
    [
      'Ollama',
      '/api/chat',
      {
        stream: false,
        messages: [user('q')],
        tools: [{ type: 'function', function: { name: 'mine', description: 'Mine', parameters: schema } }],
      },
    ],
  ])('is offered in a simpler form in %s', async (_dialect, path, payload) => {
    const gateway = await start('ollama', (body) =>
      JSON.stringify(body['tools'] ?? []).includes('"pattern"')
        ? { status: 400, message: 'json: cannot unmarshal array into Go struct field ChatRequest.tools.function.parameters of type string' }
        : undefined,
    );
    expect(await gateway.ask(path, { ...payload, tool_ids: [] })).toMatchObject({ status: 200 });
    expect(gateway.bodies).toHaveLength(2);
  });
});
