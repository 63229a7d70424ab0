import { expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { OutboundRequest } from '../../../src/core/outbound.ts';
import { call } from '../approvals/approval-fixture.ts';
import { answerOf, gatewayOf } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';
import { jsonResponse } from '../../tools/scripted-send.ts';

type Answers = NonNullable<GatewayOptions['answers']>;

const act: JsonObject = { post: { operationId: 'act', responses: { 200: { description: 'Done' } } } };
const documentAt = (path: string, fields: JsonObject = {}): JsonObject => ({
  openapi: '3.0.3',
  info: { title: 'Shop', version: '1' },
  paths: { [path]: act },
  ...fields,
});
const page = (html: string): Answers[string] => answerOf(`<!doctype html><html>${html}</html>`, { type: 'text/html' });
const script = (text: string): Answers[string] => answerOf(text, { type: 'text/javascript' });

async function gatewayWith(answers: Answers): Promise<Gateway> {
  const gateway = await gatewayOf({ servers: [], answers });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  return gateway;
}

/** Registers the address and calls its function: what was found, and where the call went. */
async function callAt(
  url: string,
  answers: Answers,
  fields: JsonObject = {},
): Promise<{ report: JsonObject; called: string | undefined; gateway: Gateway }> {
  const gateway = await gatewayWith(answers);
  const made = await call(gateway, 'POST /api/tool-servers', { payload: { url, info: { id: 'shop' }, ...fields } });
  const { report } = made.json<{ report: JsonObject }>();
  await call(gateway, 'POST /api/tools/act/invoke', { payload: { arguments: {} } });
  return { report, called: gateway.sent.find(({ method }) => method === 'POST')?.url, gateway };
}

it.each<[string, string, JsonObject, string]>([
  ['drf-spectacular', '/schema/', documentAt('/items'), 'http://h.test/items'],
  ['drf-spectacular below /api', '/api/schema/', documentAt('/api/items'), 'http://h.test/api/items'],
  ['Fastify', '/documentation/json', documentAt('/items', { servers: [{ url: 'http://localhost:3000' }] }), 'http://h.test/items'],
  ['Hono', '/doc', documentAt('/items'), 'http://h.test/items'],
  ['Hono in a sub-application', '/api/doc', documentAt('/items'), 'http://h.test/api/items'],
  ['gin-swagger', '/swagger/doc.json', { swagger: '2.0', basePath: '/v1', paths: { '/items': act } }, 'http://h.test/v1/items'],
  ['Quarkus', '/q/openapi', documentAt('/items'), 'http://h.test/items'],
  ['springdoc', '/v3/api-docs', documentAt('/items', { servers: [{ url: 'http://internal:8080/shop' }] }), 'http://h.test/shop/items'],
  ['Phoenix', '/api/openapi', documentAt('/api/items'), 'http://h.test/api/items'],
  ['any other path', '/internal/description', documentAt('/items', { servers: [{ url: '/api/v2' }] }), 'http://h.test/api/v2/items'],
  [
    'a server beside the document',
    '/internal/description',
    documentAt('/items', { servers: [{ url: './v2' }] }),
    'http://h.test/internal/v2/items',
  ],
  ['a server above the document', '/internal/description', documentAt('/items', { servers: [{ url: '../' }] }), 'http://h.test/items'],
  [
    'an absolute server',
    '/internal/description',
    documentAt('/items', { servers: [{ url: 'https://x.test/v3' }] }),
    'http://h.test/v3/items',
  ],
  [
    'another operation’s server',
    '/doc',
    documentAt('/items', { servers: [{ url: '/a' }], paths: { '/items': { ...act, servers: [{ url: '/b' }] } } }),
    'http://h.test/b/items',
  ],
])('takes the document’s own address for a server, and calls the right one: %s', async (_, path, document, called) => {
  const found = await callAt(`http://h.test${path}`, { [`http://h.test${path}`]: document });
  expect(found.report).toMatchObject({ ok: true, functions: [{ name: 'act' }] });
  expect(found.called).toBe(called);
});

it('resolves a relative server of a document against the document’s address', async () => {
  const document = documentAt('/items', { servers: [{ url: '../v2' }] });
  expect((await callAt('http://h.test/api/openapi.json', { 'http://h.test/api/openapi.json': document })).called).toBe(
    'http://h.test/v2/items',
  );
});

it('asks openapi.json below the address before anything else', async () => {
  const { called, gateway } = await callAt('http://h.test/api/v1', {
    'http://h.test/api/v1': documentAt('/other'),
    'http://h.test/api/v1/openapi.json': documentAt('/items'),
  });
  expect(called).toBe('http://h.test/api/v1/items');
  expect(gateway.sent.map(({ url }) => url)).toEqual(['http://h.test/api/v1/openapi.json', 'http://h.test/api/v1/items']);
});

it.each([
  'v3/api-docs',
  'api/schema/',
  'schema/',
  'documentation/json',
  'doc',
  'swagger/doc.json',
  'q/openapi',
  'openapi/json',
  'api-docs',
  'openapi',
])('finds a document at a usual place: %s', async (place) => {
  const address = `http://h.test/${place}`;
  const { report, called } = await callAt('http://h.test/', { [address]: documentAt('/items') });
  expect(report).toMatchObject({ ok: true, document_url: address });
  expect(called).toBe('http://h.test/items');
});

it('finds a document at the root, like that of PostgREST', async () => {
  const document: JsonObject = { swagger: '2.0', basePath: '/', host: '0.0.0.0:3000', paths: { '/items': act } };
  expect((await callAt('http://h.test', { 'http://h.test': document, 'http://h.test/': document })).called).toBe('http://h.test/items');
});

const swaggerUi = '<div id="swagger-ui"></div>';
it.each<[string, string, Answers, string]>([
  [
    'FastAPI',
    '/docs',
    {
      '/docs': page(`${swaggerUi}<script>SwaggerUIBundle({ url: '/openapi.json', dom_id: '#swagger-ui' })</script>`),
      '/openapi.json': documentAt('/items'),
    },
    '/items',
  ],
  [
    'Redoc',
    '/redoc',
    { '/redoc': page('<redoc spec-url="/v1/spec"></redoc>'), '/v1/spec': documentAt('/items', { servers: [{ url: '/v1' }] }) },
    '/v1/items',
  ],
  [
    'Redoc, by a call',
    '/reference',
    { '/reference': page(`<script>Redoc.init("spec", {})</script>`), '/spec': documentAt('/items') },
    '/items',
  ],
  [
    'Scalar',
    '/scalar',
    {
      '/scalar': page('<script id="api-reference" data-url="/my/spec.yaml"></script>'),
      '/my/spec.yaml': documentAt('/items', { servers: [{ url: '/my' }] }),
    },
    '/my/items',
  ],
  [
    'Scalar of ASP.NET',
    '/scalar/v1',
    {
      '/scalar/v1': page(`<script>Scalar.createApiReference('#app', {"sources":[{"title":"v1","url":"/openapi/v7.json"}]})</script>`),
      '/openapi/v7.json': documentAt('/items'),
    },
    '/items',
  ],
  [
    'Scalar, escaped',
    '/ref',
    {
      '/ref': page('<script id="api-reference" data-configuration="{&quot;url&quot;:&quot;/my-spec&quot;}"></script>'),
      '/my-spec': documentAt('/items'),
    },
    '/items',
  ],
  [
    'springdoc',
    '/swagger-ui/index.html',
    {
      '/swagger-ui/index.html': page(`${swaggerUi}<script src="./swagger-initializer.js" charset="UTF-8"></script>`),
      '/swagger-ui/swagger-initializer.js': script(
        `window.ui = SwaggerUIBundle({ url: "https://petstore.swagger.io/v2/swagger.json", "configUrl" : "/own/swagger-config" })`,
      ),
      '/own/swagger-config': {
        configUrl: '/own/swagger-config',
        oauth2RedirectUrl: 'http://h.test/swagger-ui/oauth2-redirect.html',
        url: '/own/api-docs',
      },
      '/own/api-docs': documentAt('/items', { servers: [{ url: 'http://h.test' }] }),
    },
    '/items',
  ],
  [
    'Swashbuckle',
    '/swagger/index.html',
    {
      '/swagger/index.html': page(
        `${swaggerUi}<script>var configObject = JSON.parse('{"urls":[{"url":"v9/shop.json","name":"V9"}]}');</script>`,
      ),
      '/swagger/v9/shop.json': documentAt('/items'),
    },
    '/items',
  ],
  [
    'Fastify',
    '/documentation',
    {
      '/documentation': page(`${swaggerUi}<script>url: resolveUrl('./json')</script>`),
      '/documentation/json': documentAt('/items'),
    },
    '/items',
  ],
  [
    'drf-spectacular',
    '/docs/',
    {
      '/docs/': page(`${swaggerUi}<script>const schemaUrl = "/hidden/schema-of-it/";</script>`),
      '/hidden/schema-of-it/': documentAt('/items', { servers: [{ url: '/' }] }),
    },
    '/items',
  ],
  ['a page that names none', '/api/docs/', { '/api/docs/': page(swaggerUi), '/api/swagger.json': documentAt('/api/items') }, '/api/items'],
])('finds the document of a page that displays it: %s', async (_, path, answers, called) => {
  const absolute = Object.fromEntries(Object.entries(answers).map(([at, answer]) => [`http://h.test${at}`, answer]));
  const found = await callAt(`http://h.test${path}`, absolute);
  expect(found.report['ok']).toBe(true);
  expect(found.called).toBe(`http://h.test${called}`);
});

it('follows no link of a page to another origin, and none of a page of another kind', async () => {
  const links = `<script>url: "http://other.test/openapi.json", logoutUrl: "/logout"</script>`;
  const { gateway, report } = await callAt(
    'http://h.test/app',
    { 'http://h.test/app': page(`${swaggerUi}${links}`) },
    { auth_type: 'bearer', key: 'k-123456789' },
  );
  expect(report['ok']).toBe(false);
  expect(gateway.sent.every(({ url }) => url.startsWith('http://h.test/') && !url.endsWith('/logout'))).toBe(true);
  const plain = await callAt('http://h.test/app', { 'http://h.test/app': page('<script>url: "/change"</script>') });
  expect(plain.gateway.sent.some(({ url }) => url.endsWith('/change'))).toBe(false);
});

it('asks only the address of a path that is set, and names the fix', async () => {
  const { gateway, report } = await callAt('http://h.test', { 'http://h.test/doc': documentAt('/items') }, { path: 'spec.json' });
  expect(report['error']).toContain('http://h.test/spec.json does not exist (HTTP 404).');
  expect(gateway.sent.filter(({ method }) => method === 'GET')).toHaveLength(1);
});

it('names the usual address and the fix if there is no document', async () => {
  const { report } = await callAt('http://h.test/api', {});
  expect(report['error']).toContain('http://h.test/api/openapi.json does not exist (HTTP 404).');
  expect(report['error']).toContain('The usual paths of frameworks were tried too. Set "path" to the path of the document');
});

it('asks for a credential and stops searching if the server demands one', async () => {
  const locked = async () => jsonResponse({ error: 'no key' }, 401);
  const { gateway, report } = await callAt('http://h.test/api', { 'http://h.test/api': locked, 'http://h.test/api/openapi.json': locked });
  expect(report['credential']).toBe('refused');
  expect(gateway.sent.filter(({ method }) => method === 'GET')).toHaveLength(2);
});

it('asks the address where it was found when the document is read again', async () => {
  const asked: OutboundRequest[] = [];
  const answers = new Map<string, JsonObject>([['http://h.test/doc', documentAt('/items')]]);
  const gateway = await gatewayWith(
    Object.fromEntries(
      ['openapi.json', 'doc', 'schema/'].map((path) => [
        `http://h.test/${path}`,
        async (request: OutboundRequest) => {
          asked.push(request);
          const document = answers.get(request.url);
          return document === undefined
            ? jsonResponse({}, 404)
            : { ...jsonResponse(document), headers: { 'content-type': 'application/json', etag: '"1"' } };
        },
      ]),
    ),
  );
  await call(gateway, 'POST /api/tool-servers', { payload: { url: 'http://h.test', info: { id: 'shop' } } });
  asked.length = 0;
  const refresh = async () => (await call(gateway, 'POST /api/tool-servers/shop/refresh')).json<{ report: JsonObject }>();
  await refresh();
  expect(asked.map(({ url, headers }) => [url, headers?.['if-none-match']])).toEqual([['http://h.test/doc', '"1"']]);
  // It moved.
  answers.clear();
  answers.set('http://h.test/schema/', documentAt('/items'));
  await refresh();
  expect(asked.at(-1)?.url).toBe('http://h.test/schema/');
  expect((await call(gateway, 'GET /api/tool-servers/shop')).json()).toMatchObject({
    report: { ok: true, document_url: 'http://h.test/schema/' },
  });
});

it('accepts the address of a document in a chat request too', async () => {
  const gateway = await gatewayWith({ 'http://h.test/documentation/json': documentAt('/items') });
  const listed = await call(gateway, 'POST /v1/chat/completions', {
    payload: {
      model: 'model',
      messages: [{ role: 'user', content: 'Hello' }],
      tool_ids: [],
      tool_servers: [{ url: 'http://h.test/documentation/json' }],
    },
  });
  expect(listed.json<{ warnings?: unknown }>().warnings).toBeUndefined();
  expect(gateway.model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['act']);
});
