import SwaggerParser from '@apidevtools/swagger-parser';
import { Validator } from '@seriousme/openapi-schema-validator';
import Fastify from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ListedTool } from '../../../src/core/tools/tool.ts';
import { moveSchema } from '../../../src/http/openapi-tools/movable-schema.ts';
import { createToolDocument } from '../../../src/http/openapi-tools/tool-document.ts';
import { sendPieces } from '../../../src/http/routes/send-in-slices.ts';
import { parseToolServerConnection } from '../../../src/storage/tool-server-connection.ts';
import type { JsonObject, JsonValue } from '../../../src/shared/json/json.ts';
import { listen, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { answerOf, documentOf, gatewayOf, serverOf } from '../gateway.ts';
import { httpPeer, toolOf } from '../../tools/mcp/scripted-peer.ts';

const adminKey = 'sk-tw-fixed-administrator';
const withKey = { authorization: `Bearer ${adminKey}` };
const documentPath = '/api/tools/openapi.json';
const amount = { type: 'object', properties: { amount: { type: 'integer' } }, required: ['amount'] };

interface Operation extends JsonObject {
  operationId: string;
  requestBody: { required: boolean; content: { 'application/json': { schema: JsonObject } } };
  responses: Record<string, { content: { 'application/json': { schema: JsonObject } } }>;
}
type Document = JsonObject & { paths: Record<string, { post: Operation }>; components: { schemas: JsonObject } };

async function expectValid(document: Document): Promise<void> {
  const { errors } = await new Validator().validate(structuredClone(document));
  expect(errors ?? []).toEqual([]);
  await SwaggerParser.validate(structuredClone(document) as never);
}

function toolNamed(name: string, rest: Partial<ListedTool> = {}): ListedTool {
  const hints = { isReadOnly: false, isIdempotent: false, gateways: [] };
  return { id: `s/${name}`, name, description: `Does ${name}`, parameters: amount, server: 's', kind: 'mcp', hints, ...rest };
}

/** As it is sent. */
async function sentDocument(listed: readonly ListedTool[]): Promise<Document> {
  const app = Fastify();
  app.get('/', async (_, reply) => sendPieces(reply, await createToolDocument({ version: '1', gatewayId: 'g' })(listed)));
  const answer = await app.inject({ url: '/' });
  await app.close();
  return answer.json<Document>();
}

describe('the document of the functions', () => {
  it('describes every status that a call can have', async () => {
    const { paths } = await sentDocument([toolNamed('pay')]);
    const statuses = Object.keys(paths['/api/tools/pay/call']?.post.responses ?? {});
    expect(statuses).toEqual(expect.arrayContaining(['200', '400', '401', '403', '404', '409', '429', '502', '504', 'default']));
  });

  it.each<[string, Record<string, string>, Record<string, string>, string]>([
    ['PUBLIC_URL', { PUBLIC_URL: 'https://tools.example' }, { host: 'inside:8080' }, 'https://tools.example'],
    ['the host that was asked', {}, { host: 'toolwharf:8080' }, 'http://toolwharf:8080'],
    ['an address of the network', {}, { host: '[fd00::1]:8080' }, 'http://[fd00::1]:8080'],
    [
      'the address of the document behind a proxy',
      {},
      { host: 'toolwharf:8080', 'x-forwarded-host': 'tools.example', 'x-forwarded-proto': 'https' },
      '/',
    ],
    ['the address of the document where the host is none', {}, { host: 'a/b?c' }, '/'],
  ])('names as its server %s', async (_, environment, headers, url) => {
    await using gateway = await gatewayOf({ servers: [], environment: { TOOLWHARF_ADMIN_KEY: adminKey, ...environment } });
    const { body } = await gateway.app.server.inject({ url: documentPath, headers: { ...withKey, ...headers } });
    expect(JSON.parse(body)).toMatchObject({ servers: [{ url }] });
  });

  it('has an operation for each function that this key may use', async () => {
    await using gateway = await gatewayOf({
      servers: [serverOf('bank', documentOf({ pay: amount, look: amount })), serverOf('shop', documentOf({ look: amount }))],
      environment: { TOOLWHARF_ADMIN_KEY: adminKey, TOOLWHARF_DEMO: 'false' },
    });
    const { server } = gateway.app;
    expect((await server.inject({ url: documentPath })).statusCode).toBe(401);
    const document = (await server.inject({ url: documentPath, headers: withKey })).json<Document>();
    await expectValid(document);
    expect(document).toMatchObject({ openapi: '3.1.0', servers: [{ url: 'http://localhost' }] });
    const ids = Object.entries(document.paths).map(([path, { post }]) => [path, post.operationId]);
    // Of two functions of one name one has another name, as in a chat.
    expect(ids).toHaveLength(3);
    expect(ids).toEqual(ids.map(([, id]) => [`/api/tools/${id}/call`, id]));
    expect(document.paths['/api/tools/pay/call']?.post).toMatchObject({
      description: 'Does pay',
      tags: ['bank'],
      requestBody: { required: true, content: { 'application/json': { schema: amount } } },
    });

    const body = { name: 'user', role: 'user', tools: ['server:shop'] };
    const { key } = (await server.inject({ method: 'POST', url: '/api/keys', headers: withKey, payload: body })).json<{ key: string }>();
    const shown = (await server.inject({ url: documentPath, headers: { authorization: `Bearer ${key}` } })).json<Document>();
    expect(Object.keys(shown.paths)).toEqual(['/api/tools/look/call']);
  });

  it('is valid whatever the schemas of tools are', async () => {
    const definitions = { Node: { type: 'object', properties: { next: { $ref: '#/$defs/Node' }, all: { $ref: '#' } } } };
    const schemas: Record<string, JsonObject> = {
      recursive: { type: 'object', properties: { node: { $ref: '#/$defs/Node' } }, $defs: definitions },
      draft_seven: {
        $schema: 'http://json-schema.org/draft-07/schema#',
        $id: 'https://example.test/tool',
        type: 'object',
        properties: { pair: { type: 'array', items: [{ type: 'string' }, { $ref: '#/definitions/two' }], additionalItems: false } },
        definitions: { two: { type: 'number', minimum: 0, exclusiveMinimum: true } },
      },
      dangling: {
        type: 'object',
        properties: { a: { $ref: '#/$defs/None' }, b: { $ref: 'https://example.test/b' }, c: { $ref: '#anchor' } },
      },
      optional: { type: 'object', properties: { a: { type: 'string' } } },
      extended: { type: 'object', properties: { 'x-result': { type: 'integer', 'x-unit': 'm' } }, 'x-fastmcp-wrap-result': true },
      nothing: { $schema: 'x', type: 'object', properties: {}, required: [], additionalProperties: false },
    };
    const listed = Object.entries(schemas).map(([name, parameters]) => toolNamed(name, { parameters, output: parameters }));
    const document = await sentDocument(listed);
    await expectValid(document);
    expect(JSON.parse(JSON.stringify(document.components.schemas['recursive.arguments']))).toEqual({
      type: 'object',
      properties: { node: { $ref: '#/components/schemas/recursive.arguments/$defs/Node' } },
      $defs: {
        Node: {
          type: 'object',
          properties: {
            next: { $ref: '#/components/schemas/recursive.arguments/$defs/Node' },
            all: { $ref: '#/components/schemas/recursive.arguments' },
          },
        },
      },
    });
    const schemaOf = (name: string): JsonValue | undefined =>
      document.paths[`/api/tools/${name}/call`]?.post.requestBody.content['application/json'].schema;
    expect(schemaOf('recursive')).toEqual({ $ref: '#/components/schemas/recursive.arguments' });
    expect(document.paths['/api/tools/recursive/call']?.post.responses['200']?.content['application/json'].schema).toEqual({
      $ref: '#/components/schemas/recursive.result',
    });
    expect(document.components.schemas['draft_seven.arguments']).toEqual({
      type: 'object',
      properties: {
        pair: {
          type: 'array',
          prefixItems: [{ type: 'string' }, { $ref: '#/components/schemas/draft_seven.arguments/definitions/two' }],
          items: false,
        },
      },
      definitions: { two: { type: 'number', exclusiveMinimum: 0 } },
    });
    expect(schemaOf('dangling')).toEqual({ type: 'object', properties: { a: {}, b: {}, c: {} } });
    expect(document.paths['/api/tools/optional/call']?.post.requestBody.required).toBe(false);
    expect(document.paths['/api/tools/extended/call']?.post.responses['200']?.content['application/json'].schema).toEqual({
      type: 'object',
      properties: { 'x-result': { type: 'integer' } },
    });
    // Open WebUI refuses to call an operation with a body without any argument.
    expect(document.paths['/api/tools/nothing/call']?.post).not.toHaveProperty('requestBody');
  });

  it('takes no value and no name of an argument for a reference', () => {
    const schema = {
      type: 'object',
      properties: { $ref: { type: 'string' }, a: { const: { $ref: '#/none' }, default: { $schema: 'x' }, examples: [{ $ref: 1 }] } },
    };
    expect(moveSchema(schema, '#/x')).toEqual({ isReferring: false, schema });
  });

  it('of ten thousand functions builds their schemas in many turns of the event loop', async () => {
    let turn = 0;
    const count = (): void => void ((turn += 1), (next = setImmediate(count)));
    let next = setImmediate(count);
    const turns = new Map<number, number>();
    const listed = Array.from({ length: 10_000 }, (_, index): ListedTool =>
      Object.defineProperty(toolNamed(`f${index}`), 'parameters', {
        get() {
          turns.set(turn, (turns.get(turn) ?? 0) + 1);
          return amount;
        },
      }),
    );
    const { paths } = await sentDocument(listed);
    clearImmediate(next);
    expect(Object.keys(paths)).toHaveLength(10_000);
    expect(Math.max(...turns.values())).toBeLessThan(100);
  });
});

describe('a call', () => {
  const servers = [
    serverOf(
      'bank',
      documentOf({ pay: amount, look: amount, say: amount, draw: amount, break: amount, refuse: amount, lock: amount, wait: amount }),
      {
        extra: { config: { needs_approval: ['pay'] } },
      },
    ),
  ];
  const picture = `data:image/png;base64,${'A'.repeat(20_000)}`;
  const answers = {
    'http://bank.test/look': { balance: 7 },
    'http://bank.test/say': answerOf('Seven.', { type: 'text/plain' }),
    'http://bank.test/draw': { drawn: picture },
    'http://bank.test/break': answerOf('{"detail":"The vault is closed."}', { status: 500 }),
    'http://bank.test/refuse': answerOf('{"detail":"No such account."}', { status: 422 }),
    'http://bank.test/lock': answerOf('{"detail":"No key."}', { status: 401 }),
    'http://bank.test/wait': () => new Promise<never>(() => undefined),
  };

  const failedWith = (code: string, words = ''): unknown =>
    expect.objectContaining({ error: expect.objectContaining({ code, message: expect.stringContaining(words) }) });

  it.each<[path: string, body: JsonValue | undefined, status: number, expected: unknown]>([
    ['look', { amount: 1 }, 200, { balance: 7 }],
    ['bank%2Flook', { amount: 1 }, 200, { balance: 7 }],
    ['say', { amount: 1 }, 200, 'Seven.'],
    ['draw', { amount: 1 }, 200, [{ drawn: expect.stringContaining('image/png') }, picture]],
    ['look', {}, 400, failedWith('args_invalid')],
    ['look', undefined, 400, failedWith('args_invalid')],
    ['look', [1], 400, failedWith('invalid_request')],
    ['none', { amount: 1 }, 404, failedWith('not_found')],
    ['pay', { amount: 1 }, 409, failedWith('approval_required')],
    ['break', { amount: 1 }, 502, failedWith('tool_error', 'The vault is closed.')],
    ['refuse', { amount: 1 }, 400, failedWith('tool_error', 'No such account.')],
    ['lock', { amount: 1 }, 502, failedWith('tool_error', 'No key.')],
    ['wait', { amount: 1 }, 504, failedWith('tool_timeout')],
  ])('of %s with %j is answered with %i', async (name, payload, status, expected) => {
    await using gateway = await gatewayOf({ servers, answers, environment: { TOOL_TIMEOUT_MS: '300', TOOLWHARF_DEMO: 'false' } });
    const answer = await gateway.app.server.inject({
      method: 'POST',
      url: `/api/tools/${name}/call`,
      ...(payload !== undefined && { payload: JSON.stringify(payload), headers: { 'content-type': 'application/json' } }),
    });
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([status, 'application/json; charset=utf-8']);
    expect(answer.json()).toEqual(expected);
  });
});

describe('a gateway whose functions another one has by their document', () => {
  interface Report {
    ok: boolean;
    error?: string;
    functions: { name: string }[];
    omitted: { operation: string; reason: string }[];
  }

  async function gateway(
    parts: Parameters<typeof testApp>[1] = {},
    environment: NodeJS.ProcessEnv = {},
  ): Promise<TestApp & { url: string }> {
    const app = await testApp({ TOOLWHARF_DEMO: 'false', ...environment }, parts);
    onTestFinished(() => app.close());
    return { ...app, url: await listen(app) };
  }
  async function post({ server }: TestApp, url: string, payload: object = {}): Promise<Report & { report: Report }> {
    return (await server.inject({ method: 'POST', url, payload })).json();
  }
  const register = (at: TestApp, id: string, url: string, key?: string): Promise<{ report: Report }> =>
    post(at, '/api/tool-servers', { id, url: `${url}${documentPath}`, ...(key !== undefined && { key }) });
  async function namesOf({ server }: TestApp): Promise<string[]> {
    const { data } = (await server.inject({ url: '/api/tools' })).json<{ data: { name: string }[] }>();
    return data.map(({ name }) => name).toSorted();
  }

  it('runs an MCP function of it, and has its pictures', async () => {
    const inputSchema = {
      type: 'object' as const,
      properties: { place: { $ref: '#/$defs/Place' } },
      required: ['place'],
      $defs: { Place: { type: 'string' } },
    };
    const outputSchema = { type: 'object' as const, properties: { degrees: { type: 'number' } }, required: ['degrees'] };
    const peer = httpPeer([toolOf('weather', { inputSchema, outputSchema }), toolOf('photo')], (name, { place }) =>
      name === 'photo'
        ? { content: [{ type: 'image', data: 'A'.repeat(20_000), mimeType: 'image/png' }] }
        : { content: [{ type: 'text', text: String(place) }], structuredContent: { degrees: 21 } },
    );
    const first = await gateway({ send: peer.send }, { TOOLWHARF_ADMIN_KEY: adminKey });
    const mcp = { id: 'peer', type: 'mcp', url: 'http://peer.test/mcp' };
    await first.server.inject({ method: 'POST', url: '/api/tool-servers', headers: withKey, payload: mcp });
    const document = (await first.server.inject({ url: documentPath, headers: withKey })).json<Document>();
    await expectValid(document);
    expect(document.paths['/api/tools/weather/call']?.post.responses['200']?.content['application/json'].schema).toEqual(outputSchema);

    const second = await gateway();
    const { report } = await register(second, 'first', first.url, adminKey);
    expect([report.ok, report.error, report.omitted]).toEqual([true, undefined, []]);
    expect(report.functions.map(({ name }) => name)).toEqual(['weather', 'photo']);
    const weather = await post(second, '/api/tools/weather/invoke', { arguments: { place: 'Osaka' } });
    expect(weather).toMatchObject({ result: { degrees: 21 } });
    const payload = { arguments: { place: 'Osaka' } };
    const own = await first.server.inject({ method: 'POST', url: '/api/tools/weather/invoke', headers: withKey, payload });
    expect(own.json()).toMatchObject({ result: { degrees: 21 }, text: 'Osaka' });
    const photo = await post(second, '/api/tools/photo/invoke', { arguments: {} });
    expect(photo).toMatchObject({ files: [{ type: 'image/png', url: `data:image/png;base64,${'A'.repeat(20_000)}` }] });
    expect(peer.calls).toEqual(['weather', 'weather', 'photo']);
  });

  it('is refused where it is this gateway itself, and gives nobody what came from there', async () => {
    const own = (name: string): Promise<TestApp & { url: string }> => {
      const spec = documentOf({ [`own_${name}`]: amount });
      return gateway({ config: { toolServers: [parseToolServerConnection({ id: name, url: `http://${name}.test`, spec }, 'file')] } });
    };
    const [one, two] = [await own('one'), await own('two')];
    const itself = await register(one, 'self', one.url);
    expect(itself.report).toMatchObject({ ok: false, error: expect.stringContaining('A gateway cannot be its own tool server') });
    await one.server.inject({ method: 'DELETE', url: '/api/tool-servers/self' });
    await register(one, 'two', two.url);
    await register(two, 'one', one.url);
    const { omitted } = await post(one, '/api/tool-servers/two/refresh');
    expect(omitted).toEqual([
      { operation: 'POST /api/tools/own_one/call', reason: 'it comes from this gateway itself, through another gateway' },
    ]);
    for (const each of [one, two]) expect(await namesOf(each)).toEqual(['own_one', 'own_two']);
  });
});
