import { afterEach, describe, expect, it } from 'vitest';
import { isJsonObject, type JsonObject } from '../../../src/shared/json/json.ts';
import type { OutboundResponse } from '../../../src/core/outbound.ts';
import { testApp, type TestApp } from '../../_support/build-app.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { jsonResponse, scriptedSend } from '../../tools/scripted-send.ts';
import { documentOf, serverOf } from '../gateway.ts';

const apps: TestApp[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
});

const objects = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
const messagesOf = (body: JsonObject): JsonObject[] => objects(body['messages']);
const callsOf = (body: JsonObject): JsonObject[] => messagesOf(body).flatMap((message) => objects(message['tool_calls']));
const hasResults = (body: JsonObject): boolean => messagesOf(body).some(({ role }) => role === 'tool');

/** How the fallback refuses a request; undefined: it calls `search` if it can and has not, then says "Fine." */
type Refuse = (body: JsonObject) => { message: string; status?: number; param?: string } | undefined;

const searchCall = { id: 'call_of_a_model_with_long_ids_01', type: 'function', function: { name: 'search', arguments: '{"q":"x"}' } };

function answerTo(body: JsonObject): OutboundResponse {
  const isCalling = Array.isArray(body['tools']) && !hasResults(body);
  const message = isCalling ? { role: 'assistant', content: null, tool_calls: [searchCall] } : { role: 'assistant', content: 'Fine.' };
  return jsonResponse({ choices: [{ index: 0, message, finish_reason: isCalling ? 'tool_calls' : 'stop' }] });
}

/** A model that is down (once it has answered `answersBefore` requests), and its fallback, which refuses as it is told. */
async function start(refuse: Refuse, answersBefore = 0) {
  const asked: Record<'own' | 'other', JsonObject[]> = { own: [], other: [] };
  const searches: unknown[] = [];
  const read = async (request: { body?: unknown }, name: 'own' | 'other'): Promise<JsonObject> => {
    const body = JSON.parse(await Promise.resolve(String(request.body))) as JsonObject;
    asked[name].push(body);
    return body;
  };
  const entryOf = (name: string, fallbacks: string[]) => ({
    kind: 'openai' as const,
    url: `http://${name}.test/v1`,
    urls: [`http://${name}.test/v1`],
    origin: 'file' as const,
    name,
    headers: {},
    maxContext: 1,
    isExplicit: true,
    fallbacks,
  });
  const listOf = (id: string): JsonObject => ({ object: 'list', data: [{ id, object: 'model' }] });
  const answers = {
    'http://own.test/v1/models': listOf('own'),
    'http://other.test/v1/models': listOf('other'),
    'http://own.test/v1/chat/completions': async (request: { body?: unknown }) => {
      const body = await read(request, 'own');
      return asked.own.length <= answersBefore ? answerTo(body) : jsonResponse({ error: { message: 'overloaded' } }, 503);
    },
    'http://other.test/v1/chat/completions': async (request: { body?: unknown }) => {
      const body = await read(request, 'other');
      const refusal = refuse(body);
      if (refusal === undefined) return answerTo(body);
      const { status = 400, ...error } = refusal;
      return jsonResponse({ error }, status);
    },
    'http://box.test/search': async (request: { body?: unknown }) => {
      searches.push(await Promise.resolve(request.body));
      return jsonResponse({ found: true });
    },
  };
  const document = documentOf({ search: { type: 'object', properties: { q: { type: 'string', pattern: '^(?=x)' } } } });
  const app = await testApp(
    { TOOLWHARF_ADMIN_KEY: 'sk-administrator-of-these-tests', TOOLWHARF_DEMO: 'false' },
    {
      registry: memoryRegistry([serverOf('box', document)]),
      send: scriptedSend(answers).send,
      config: { backends: [entryOf('own', ['other']), entryOf('other', [])] },
    },
  );
  apps.push(app);
  return {
    asked,
    searches,
    async ask(payload: JsonObject): Promise<{ status: number; isAnswered: boolean; warnings: string[] }> {
      const { statusCode, body } = await app.server.inject({
        method: 'POST',
        url: '/v1/chat/completions',
        headers: { authorization: 'Bearer sk-administrator-of-these-tests' },
        payload: { model: 'own', ...payload },
      });
      const { warnings = [] } = JSON.parse(body) as { warnings?: { code: string }[] };
      return { status: statusCode, isAnswered: body.includes('Fine.'), warnings: warnings.map(({ code }) => code) };
    },
  };
}

const user = (content: unknown): JsonObject => ({ role: 'user', content: content as string });
const system = (content: string): JsonObject => ({ role: 'system', content });
const called = { role: 'assistant', content: null, tool_calls: [{ ...searchCall, function: { name: 'mine', arguments: '{}' } }] };
const result = (content: unknown): JsonObject => ({ role: 'tool', tool_call_id: searchCall.id, content: content as string });
const mine = {
  type: 'function',
  function: { name: 'mine', parameters: { type: 'object', properties: { at: { type: 'string', pattern: '^(?=x)' } } } },
};
const isPatterned = ({ tools = [] }: JsonObject): boolean => JSON.stringify(tools).includes('"pattern"');
const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
const hasText = ({ content }: JsonObject): boolean => typeof content === 'string';

/** What the fallback refuses, and what the answer says of it: nothing where the change loses nothing. */
const refusals: [what: string, payload: JsonObject, refuse: Refuse, warnings: string[]][] = [
  [
    'late system messages',
    { messages: [system('one'), user('q'), system('two')], tool_ids: [] },
    (body) =>
      messagesOf(body)
        .slice(1)
        .some(({ role }) => role === 'system')
        ? { message: 'System message must be at the beginning.', status: 500 }
        : undefined,
    [],
  ],
  [
    'two messages of one role in a row',
    { messages: [user('q'), user('and?')], tool_ids: [] },
    (body) =>
      messagesOf(body).some(({ role }, index, all) => role === 'user' && all[index - 1]?.['role'] === 'user')
        ? { message: 'Conversation roles must alternate user/assistant/user/assistant/...' }
        : undefined,
    [],
  ],
  [
    'pictures in results',
    { messages: [user('q'), called, result([{ type: 'text', text: 'A map' }, picture])], tools: [mine], tool_ids: [] },
    (body) =>
      messagesOf(body).some((message) => message['role'] === 'tool' && !hasText(message))
        ? { message: 'Invalid type for messages[2].content: expected a string' }
        : undefined,
    [],
  ],
  [
    'ids of earlier calls',
    { messages: [user('q'), called, result('r')], tools: [mine], tool_ids: [] },
    (body) => {
      const id = callsOf(body)
        .map((call) => String(call['id']))
        .find((one) => !/^[A-Za-z0-9]{9}$/.test(one));
      return id === undefined ? undefined : { message: `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.` };
    },
    [],
  ],
  [
    'earlier calls without reasoning',
    { messages: [user('q'), called, result('r')], tools: [mine], tool_ids: [] },
    (body) =>
      messagesOf(body).some((message) => message['role'] === 'assistant' && message['reasoning_content'] === undefined)
        ? { message: 'The `reasoning_content` in the thinking mode must be passed back to the API.' }
        : undefined,
    [],
  ],
  [
    'a message to continue',
    { messages: [user('q'), { role: 'assistant', content: 'Once' }], tool_ids: [] },
    (body) =>
      messagesOf(body).at(-1)?.['role'] === 'assistant'
        ? { message: 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant' }
        : undefined,
    ['prefill_refused'],
  ],
  [
    "the schema of the client's function",
    { messages: [user('q'), called, result('r')], tools: [mine], tool_ids: [] },
    (body) => (isPatterned(body) ? { message: 'Failed to initialize samplers: failed to parse grammar' } : undefined),
    ['function_schema_refused'],
  ],
  [
    'the schema of a registered function',
    { messages: [user('q')] },
    (body) => (isPatterned(body) ? { message: 'Failed to initialize samplers: failed to parse grammar' } : undefined),
    ['function_schema_refused'],
  ],
  [
    'functions beside reasoning',
    { messages: [user('q')], reasoning_effort: 'low' },
    ({ reasoning_effort: effort, tools }) =>
      Array.isArray(tools) && effort !== 'none'
        ? { message: 'Function tools with reasoning_effort are not supported for m in /v1/chat/completions.', param: 'reasoning_effort' }
        : undefined,
    ['reasoning_disabled'],
  ],
];

describe('a fallback that refuses', () => {
  it.each(refusals)('%s answers in its own form, which later requests use at once', async (_what, payload, refuse, warnings) => {
    let refused = 0;
    const gateway = await start((body) => {
      const refusal = refuse(body);
      if (refusal !== undefined) refused += 1;
      return refusal;
    });
    const first = await gateway.ask(payload);
    expect(first).toEqual({ status: 200, isAnswered: true, warnings: [...warnings, 'model_fallback'] });
    expect(refused).toBeGreaterThan(0);
    const refusedFirst = refused;
    expect(await gateway.ask(payload)).toEqual(first);
    expect(refused).toBe(refusedFirst);
    expect(gateway.searches).toHaveLength('tool_ids' in payload ? 0 : 2);
  });

  it.each(refusals)('%s answers in its own form amid a run, and no call is repeated', async (_what, payload, refuse) => {
    const { tool_ids: _none, tools: _own, ...asked } = payload;
    const gateway = await start(refuse, 1);
    expect(await gateway.ask(asked)).toMatchObject({ status: 200, isAnswered: true });
    expect(gateway.searches).toHaveLength(hasResults(payload) ? 0 : 1);
    const others = gateway.asked.other.length;
    expect(others > 0 || hasResults(payload)).toBe(true);
  });
});
