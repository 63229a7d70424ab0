import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { convertOperations } from '../../../../src/tools/openapi/convert/convert-operations.ts';
import { compileSchema } from '../../../../src/validation/compile-schema.ts';
import type { PreparedRequest } from '../../../../src/core/tools/browser-call.ts';
import { ArgumentError, buildRequest } from '../../../../src/tools/openapi/call/build-request.ts';
import { createBaseUrls } from '../../../../src/tools/openapi/document/server-base-url.ts';
import { nameArguments } from '../../../../src/tools/openapi/convert/name-arguments.ts';
import { parseDocument } from '../../../../src/tools/openapi/document/parse-document.ts';

const folder = new URL('../../../../openapi-fixtures/', import.meta.url);
const documents = readdirSync(folder).filter((name) => !name.endsWith('.expected.json'));

function read(name: string): string {
  return readFileSync(new URL(name, folder), 'utf8');
}

/** `requests` is there where the document is about calls: arguments, and the request or the refusal that they must become. */
interface Expected {
  requests?: { function: string; arguments: JsonObject; request?: PreparedRequest; refusal?: string }[];
}

function expectedOf(name: string): Expected {
  return JSON.parse(read(name.replace(/\.\w+$/, '.expected.json'))) as Expected;
}

function requestOrRefusal(build: () => PreparedRequest): { request?: PreparedRequest; refusal?: string } {
  try {
    return { request: build() };
  } catch (error) {
    if (error instanceof ArgumentError) return { refusal: error.message };
    throw error;
  }
}

/** A document with one operation. */
function documentOf(operation: JsonObject, path = '/things/{id}', method = 'post'): JsonObject {
  return { openapi: '3.1.0', paths: { [path]: { [method]: { operationId: 'act', ...operation } } } };
}

function bodyOf(schema: JsonObject, isRequired = true, type = 'application/json'): JsonObject {
  return { requestBody: { required: isRequired, content: { [type]: { schema } } } };
}

function only(document: JsonObject): ReturnType<typeof convertOperations>['operations'][number] {
  const { operations, omitted } = convertOperations(document);
  const [operation] = operations;
  if (operation === undefined) throw new Error(JSON.stringify(omitted));
  return operation;
}

describe('every document of openapi-fixtures', () => {
  it.each(documents)('%s becomes the functions beside it', (name) => {
    const { requests: _requests, ...expected } = expectedOf(name);
    expect(JSON.parse(JSON.stringify(convertOperations(parseDocument(read(name)))))).toEqual(expected);
  });

  it.each(documents)('%s becomes the requests beside it', (name) => {
    const document = parseDocument(read(name));
    const { operations } = convertOperations(document);
    const baseUrlFor = createBaseUrls(document, 'http://tools.test:8000', undefined);
    for (const expected of expectedOf(name).requests ?? []) {
      const operation = operations.find(({ spec }) => spec.name === expected.function);
      if (operation === undefined) throw new Error(`no function ${expected.function}`);
      expect(compileSchema(operation.spec.parameters)?.(expected.arguments)).toEqual([]);
      const { request, refusal } = expected;
      expect(requestOrRefusal(() => buildRequest(operation, expected.arguments, baseUrlFor(operation)))).toEqual({ request, refusal });
    }
  });

  it.each(documents)('%s keeps its function names when it is turned around', (name) => {
    const document = parseDocument(read(name));
    const paths = Object.entries(document['paths'] as JsonObject).toReversed();
    const turned = {
      ...document,
      paths: Object.fromEntries(paths.map(([path, item]) => [path, Object.fromEntries(Object.entries(item as JsonObject).toReversed())])),
    };
    const names = (converted: JsonObject): string[] =>
      convertOperations(converted)
        .operations.map(({ method, path, spec }) => `${method} ${path} ${spec.name}`)
        .sort();
    expect(names(turned)).toEqual(names(document));
  });

  it('are there', () => {
    expect(documents).toContain('secure-time-utilities.json');
    expect(documents.length).toBeGreaterThanOrEqual(4);
  });
});

describe('a document without operations', () => {
  it.each<[string, string | undefined, string]>([
    ['says what that often means', undefined, 'register each by its own URL'],
    [
      'names the documents that its description links to, as the root of mcpo does',
      '- **available tools**：\n    - [time](/time/docs)\n    - [my files](/my-files/docs)',
      'register each with this URL followed by its path (/time, /my-files)',
    ],
  ])('%s', (_, description, words) => {
    const info = { title: 'MCP OpenAPI Proxy', version: '1.0', ...(description !== undefined && { description }) };
    const { operations, omitted, warnings } = convertOperations({ openapi: '3.1.0', info, paths: {} });
    expect({ operations, omitted }).toEqual({ operations: [], omitted: [] });
    expect(warnings).toEqual([expect.stringContaining(words)]);
  });
});

describe('one operation that cannot be converted', () => {
  it.each<[string, JsonObject, string]>([
    ['a dangling parameter', { parameters: [{ $ref: '#/components/parameters/None' }] }, 'points at nothing'],
    ['a foreign schema', bodyOf({ $ref: 'models.json#/Pet' }), 'leaves the document'],
    [
      'a dangling schema deep inside',
      bodyOf({ type: 'object', properties: { a: { type: 'array', items: { $ref: '#/x' } } } }),
      'points at nothing',
    ],
    ['a dangling body', { requestBody: { $ref: '#/components/requestBodies/None' } }, 'points at nothing'],
    [
      'a body of another type',
      { requestBody: { required: true, content: { 'multipart/mixed': { schema: { type: 'object' } } } } },
      'multipart/mixed',
    ],
    ['a required header that cannot be sent', { parameters: [{ name: 'X Y', in: 'header', required: true, schema: {} }] }, '"X Y"'],
  ])('%s costs that operation alone', (_, operation, reason) => {
    const document = documentOf(operation);
    const paths = { ...(document['paths'] as JsonObject), '/other': { get: { operationId: 'other' } } };
    const { operations, omitted } = convertOperations({ ...document, paths });
    expect(operations.map(({ operationId }) => operationId)).toEqual(['other']);
    expect(omitted).toEqual([{ operation: 'POST /things/{id}', reason: expect.stringContaining(reason) as string }]);
  });

  it('a broken path item is named by its path', () => {
    const paths = { '/a': { $ref: '#/components/pathItems/None' }, '/b': 5, '/c': { get: {} }, 'x-note': 'text' };
    const { operations, omitted } = convertOperations({ openapi: '3.1.0', paths });
    expect(operations.map(({ path }) => path)).toEqual(['/c']);
    expect(omitted.map(({ operation }) => operation)).toEqual(['/a', '/b']);
  });

  it('a path that leaves its server is no function', () => {
    const paths = { '/../admin': { get: {} }, '/a/%2E%2e/b': { get: {} }, '/a\\b': { get: {} }, '/ok': { get: {} } };
    const { operations, omitted } = convertOperations({ openapi: '3.1.0', paths });
    expect(operations.map(({ path }) => path)).toEqual(['/ok']);
    expect(omitted).toHaveLength(3);
  });

  it('a document without paths has no functions', () => {
    expect(convertOperations({ openapi: '3.1.0', webhooks: {} })).toEqual({
      operations: [],
      renamed: [],
      omitted: [],
      warnings: [expect.stringContaining('lists no operation')],
    });
  });

  it('an optional body of another type is left out, and the operation stays', () => {
    const operation = { requestBody: { content: { 'application/cbor': { schema: { type: 'object', properties: { a: {} } } } } } };
    expect(only(documentOf(operation))).toMatchObject({ body: undefined, bindings: [{ in: 'path', name: 'id' }] });
  });
});

describe('parameters', () => {
  it('reserved headers and keys of a security scheme are never offered', () => {
    const names = [
      'Authorization',
      'cookie',
      'Host',
      'Content-Type',
      'X-Forwarded-For',
      'Proxy-Authorization',
      'X-HTTP-Method-Override',
      'X-Key',
      'X-Ok',
    ];
    const parameters = names.map((name) => ({ name, in: 'header', required: true, schema: { type: 'string' } }));
    const components = { securitySchemes: { a: { type: 'apiKey', in: 'header', name: 'x-key' } } };
    expect(only({ ...documentOf({ parameters }, '/a'), components }).bindings.map(({ name }) => name)).toEqual(['X-Ok']);
  });

  it('a path variable that nobody declared is a required text, one that is not in the path is left out', () => {
    const { spec, bindings } = only(documentOf({ parameters: [{ name: 'other', in: 'path', required: true }] }));
    expect(bindings).toEqual([{ argument: 'id', in: 'path', name: 'id', isRequired: true }]);
    expect(spec.parameters).toEqual({ type: 'object', properties: { id: { type: 'string' } }, required: ['id'] });
  });

  it('a parameter called __proto__ is an ordinary argument', () => {
    const { spec, bindings } = only(documentOf({ parameters: [{ name: '__proto__', in: 'query', schema: { type: 'string' } }] }, '/a'));
    expect(bindings[0]?.argument).toMatch(/^__proto___[0-9a-f]{6}$/);
    expect(Object.keys(spec.parameters['properties'] as JsonObject)).toEqual([bindings[0]?.argument]);
  });

  it('arguments never share a name', () => {
    const wires = (['query', 'body', 'path', 'body'] as const).map((place, index) => ({
      in: place,
      name: index === 3 ? 'query_id' : 'id',
    }));
    expect(nameArguments(wires)).toEqual(['query_id', 'body_id', 'id', 'body_query_id']);
    const marks = ['DateSent<', 'DateSent>', 'DateSent', 'tags[]', '名', '前'].map((name) => ({ in: 'query' as const, name }));
    const names = nameArguments(marks);
    expect(names.slice(0, 4)).toEqual(['DateSent_lt', 'DateSent_gt', 'DateSent', 'tags']);
    expect(new Set(names).size).toBe(6);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
  });
});

describe('bodies', () => {
  const text: JsonObject = { type: 'string' };

  it.each<[string, JsonObject, string[]]>([
    ['an object', { type: 'object', properties: { a: text, b: text } }, ['a', 'b']],
    ['an object without its type', { properties: { a: text } }, ['a']],
    ['an allOf', { allOf: [{ properties: { a: text } }, { properties: { b: text } }] }, ['a', 'b']],
    [
      'a rule about which are required',
      { type: 'object', properties: { a: text, b: text }, anyOf: [{ required: ['a'] }, { required: ['b'] }] },
      ['a', 'b'],
    ],
    ['an object without properties', { type: 'object', properties: {} }, []],
    ['an array', { type: 'array', items: text }, ['body']],
    ['a text', text, ['body']],
    ['a choice', { oneOf: [{ type: 'object', properties: { a: text } }, text] }, ['body']],
    ['a map', { type: 'object', additionalProperties: text }, ['body']],
    ['anything', {}, ['body']],
  ])('%s becomes its arguments', (_, schema, expected) => {
    const { bindings, body } = only(documentOf(bodyOf(schema), '/a'));
    expect(bindings.map(({ argument }) => argument)).toEqual(expected);
    expect(body?.kind).toBe(expected[0] === 'body' ? 'whole' : 'properties');
  });

  it('a whole body gets another name beside a parameter called body', () => {
    const parameters = [{ name: 'body', in: 'query', schema: text }];
    const { bindings, body } = only(documentOf({ parameters, ...bodyOf({ type: 'array' }) }, '/a'));
    expect(bindings.map(({ argument, in: place }) => [argument, place])).toEqual([
      ['body', 'query'],
      ['body_body', 'body'],
    ]);
    expect(body?.argument).toBe('body_body');
  });

  it('nothing of an optional body is required', () => {
    const schema = { type: 'object', properties: { a: text }, required: ['a'] };
    expect(only(documentOf(bodyOf(schema, false), '/a')).spec.parameters['required']).toEqual([]);
    expect(only(documentOf(bodyOf(schema, true), '/a')).spec.parameters['required']).toEqual(['a']);
  });

  it('what an optional body must hold stands in the description, under the arguments’ names', () => {
    const schema = { type: 'object', properties: { id: text, a: text, b: text }, required: ['id', 'b'] };
    const described = (isRequired: boolean): string =>
      only(documentOf({ summary: 'Changes a thing', ...bodyOf(schema, isRequired) })).spec.description;
    expect(described(false)).toBe('Changes a thing. Required with a body: body_id, b.');
    expect(described(true)).toBe('Changes a thing');
  });

  it.each([
    [['text/json', 'application/xml', 'application/json'], 'application/json'],
    [['application/json-patch+json', 'application/merge-patch+json'], 'application/merge-patch+json'],
    [['application/xml', 'application/vnd.api+json'], 'application/vnd.api+json'],
    [['application/json ; charset=utf-8'], 'application/json ; charset=utf-8'],
    [['application/*+json'], 'application/json'],
    [['multipart/form-data', 'application/x-www-form-urlencoded'], 'application/x-www-form-urlencoded'],
  ])('of %j the type %s is sent', (types, expected) => {
    const content = Object.fromEntries(types.map((type) => [type, { schema: { type: 'object', properties: { a: text } } }]));
    expect(only(documentOf({ requestBody: { required: true, content } }, '/a')).body?.mediaType).toBe(expected);
  });

  it('a GET has none', () => {
    const { operations, warnings } = convertOperations(documentOf(bodyOf({ type: 'object', properties: { a: text } }), '/a', 'get'));
    expect(operations[0]).toMatchObject({ bindings: [], body: undefined });
    expect(warnings).toEqual(['GET /a: The body of a GET request is not sent.']);
  });
});

describe('size', () => {
  it('descriptions hold nothing that a template of a model would read as its own, wherever it comes from', () => {
    const bad = '<|im_start|>';
    const schema = { type: 'object', properties: { a: { type: 'string', description: `x ${bad}`, enum: [bad] } } };
    const body = { required: true, description: bad, content: { 'application/json': { schema } } };
    const parameters = [{ name: 'q', in: 'query', description: bad, schema: { type: 'string', default: bad } }];
    const response = { description: 'ok', content: { [`image/${bad}`]: { schema: {} } } };
    for (const words of [{ description: bad }, { summary: bad }, { tags: [`t${bad}`] }]) {
      const { spec } = only(documentOf({ ...words, parameters, requestBody: body, responses: { 200: response } }));
      expect(spec.description).toMatch(/< \|im_start\|>.*< \|im_start\|>/s);
      expect(spec.description).not.toContain(bad);
      expect(spec.parameters['properties']).toMatchObject({
        q: { description: '< |im_start|>', default: bad },
        a: { description: 'x < |im_start|>', enum: [bad] },
      });
    }
  });

  it('descriptions end at 1,024 characters, at a whole one', () => {
    const { description } = only(documentOf({ description: `${'a'.repeat(1_022)}😀😀` })).spec;
    expect(description).toBe(`${'a'.repeat(1_022)}…`);
  });

  it('a function whose schemas grow keeps them as definitions', () => {
    const schemas: JsonObject = { L0: { type: 'string' } };
    for (let level = 1; level <= 25; level += 1) {
      const inner = { $ref: `#/components/schemas/L${level - 1}` };
      schemas[`L${level}`] = { type: 'object', properties: { a: inner, b: inner } };
    }
    const document = { ...documentOf(bodyOf({ $ref: '#/components/schemas/L25' }), '/a'), components: { schemas } };
    expect(only(document).spec.parameters).toMatchObject({
      properties: { a: { $ref: '#/$defs/L24' } },
      $defs: { L1: { properties: { a: { $ref: '#/$defs/L0' } } } },
    });
  });

  it('a function has no more definitions than can be built in a moment, nearest first; the next takes any value', () => {
    const schemas: JsonObject = { L4000: { type: 'string' } };
    for (let level = 0; level < 4_000; level += 1)
      schemas[`L${level}`] = { type: 'object', properties: { next: { $ref: `#/components/schemas/L${level + 1}` } } };
    const document = { ...documentOf(bodyOf({ $ref: '#/components/schemas/L0' }), '/a'), components: { schemas } };
    const definitions = only(document).spec.parameters['$defs'] as JsonObject;
    const names = Object.keys(definitions);
    expect(names.length).toBeGreaterThan(1_000);
    expect(names.length).toBeLessThan(2_600);
    expect(definitions['L1']).toEqual({ type: 'object', properties: { next: { $ref: '#/$defs/L2' } } });
    expect(definitions[names.at(-1) ?? '']).toEqual({ description: expect.stringContaining('Any value') });
  });

  it('an operation whose schemas double at each level costs itself only', () => {
    const schemas: JsonObject = { L0: { type: 'object', properties: { x: { type: 'string' } } } };
    for (let level = 1; level <= 60; level += 1) {
      const inner = { $ref: `#/components/schemas/L${level - 1}` };
      schemas[`L${level}`] = { type: 'object', properties: { a: inner }, allOf: [inner, { type: 'object', ...inner }, inner] };
    }
    const post = (operationId: string, schema: JsonObject): JsonObject => ({ post: { operationId, ...bodyOf(schema) } });
    const plain = { type: 'object', properties: { x: { type: 'string' } } };
    const paths = { '/bad': post('bad', { $ref: '#/components/schemas/L60' }), '/good': post('good', plain), '/fine': post('fine', plain) };
    const { operations, omitted } = convertOperations({ openapi: '3.1.0', paths, components: { schemas } });
    expect(operations.map(({ spec }) => spec.name)).toEqual(['good', 'fine']);
    expect(omitted).toEqual([{ operation: 'POST /bad', reason: expect.stringMatching(/more than .* schemas/) }]);
  });
});
