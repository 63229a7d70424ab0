import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../../src/shared/json/json.ts';
import { ArgumentError, buildRequest } from '../../../../src/tools/openapi/call/build-request.ts';
import { convertOperations, type Operation } from '../../../../src/tools/openapi/convert/convert-operations.ts';

const base = 'http://tools.test:8000/api';

/** As fast-check's unit `binary`, which however needs half a second to prepare how each of the million characters would be shrunk. */
const anyCharacter = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((code) => String.fromCodePoint(code));

function operationOf(parts: JsonObject, path = '/things', method = 'post'): Operation {
  const [operation] = convertOperations({ openapi: '3.1.0', paths: { [path]: { [method]: { operationId: 'act', ...parts } } } }).operations;
  if (operation === undefined) throw new Error('not converted');
  return operation;
}

function parameter(place: string, form: JsonObject = {}, schema: JsonObject = {}): JsonObject {
  return { parameters: [{ name: 'p', in: place, schema, ...form }] };
}

function jsonBody(schema: JsonObject, required = true): JsonObject {
  return { requestBody: { required, content: { 'application/json': { schema } } } };
}

const flat: JsonObject = { type: 'object', properties: { a: { type: 'string' }, b: { type: ['integer', 'null'] } } };

describe('queries', () => {
  const values = { list: ['a b', 'c,d'], object: { x: 1, y: ['é'] } };

  it.each<[string, JsonObject, JsonValue, string]>([
    ['text', {}, 'a b&c=d+e/?', 'p=a%20b%26c%3Dd%2Be%2F%3F'],
    ['numbers and booleans', {}, true, 'p=true'],
    ['zero', {}, 0, 'p=0'],
    ['an empty text', {}, '', 'p='],
    ['arrays repeat', {}, values.list, 'p=a%20b&p=c%2Cd'],
    ['arrays with explode=false', { explode: false }, values.list, 'p=a%20b,c%2Cd'],
    ['spaceDelimited', { style: 'spaceDelimited', explode: false }, [1, 2], 'p=1%202'],
    ['pipeDelimited', { style: 'pipeDelimited', explode: false }, [1, 2], 'p=1%7C2'],
    ['an empty array', {}, [], ''],
    ['an object gives each member a pair', {}, values.object, 'x=1&y=%5B%22%C3%A9%22%5D'],
    ['an object in the stated form', { style: 'form' }, { x: 1, z: 'b c' }, 'x=1&z=b%20c'],
    ['the same, not exploded', { style: 'form', explode: false }, { x: 1, z: 2 }, 'p=x,1,z,2'],
    ['deepObject', { style: 'deepObject' }, values.object, 'p%5Bx%5D=1&p%5By%5D%5B%5D=%C3%A9'],
    [
      'deepObject, nested',
      { style: 'deepObject' },
      { a: { b: [{ c: 1 }, { c: 2 }], d: null } },
      'p%5Ba%5D%5Bb%5D%5B0%5D%5Bc%5D=1&p%5Ba%5D%5Bb%5D%5B1%5D%5Bc%5D=2',
    ],
    ['deepObject of a list', { style: 'deepObject' }, ['a', 'b'], 'p%5B%5D=a&p%5B%5D=b'],
    ['what is null in a list', {}, ['a', null], 'p=a'],
    ['reserved characters that may stay', { allowReserved: true }, "/a?b:c@d,e;$!'()*", 'p=/a?b:c@d,e;$!%27()*'],
    ['and those that would end or change the value', { allowReserved: true }, 'a&b=c#d+e[f] %', 'p=a%26b%3Dc%23d%2Be%5Bf%5D%20%25'],
    ['a text type', { content: { 'text/plain': {} } }, 'a b', 'p=a%20b'],
    ['a form type', { content: { 'application/x-www-form-urlencoded': {} } }, { a: 'b c', d: 1 }, 'p=a%3Db%2520c%26d%3D1'],
    ['a style of another place is the place’s own', { style: 'simple' }, [1, 2], 'p=1&p=2'],
    ['a media type', { content: { 'application/json': {} } }, 'a', 'p=%22a%22'],
  ])('%s', (_, form, value, query) => {
    const { url } = buildRequest(operationOf(parameter('query', form)), { p: value }, base);
    expect(url).toBe(`${base}/things${query === '' ? '' : `?${query}`}`);
  });

  it('null and missing arguments are not sent, and neither is what was never declared', () => {
    const operation = operationOf(parameter('query', {}, { type: ['string', 'null'] }));
    expect(buildRequest(operation, { p: null, extra: 1 }, base).url).toBe(`${base}/things`);
    expect(buildRequest(operation, {}, base).url).toBe(`${base}/things`);
  });

  it('a required argument that is missing is named', () => {
    expect(() => buildRequest(operationOf(parameter('query', { required: true })), {}, base)).toThrow(new ArgumentError('p: is required'));
  });

  it('a query of the path itself stays', () => {
    expect(buildRequest(operationOf(parameter('query'), '/things?action=list'), { p: 1 }, base).url).toBe(`${base}/things?action=list&p=1`);
  });
});

describe('paths', () => {
  const operation = operationOf({}, '/shelves/{shelf}/books/{book}.json', 'get');
  const url = (args: JsonObject): string => buildRequest(operation, args, base).url;
  const urlOrRefusal = (args: JsonObject): string | undefined => {
    try {
      return url(args);
    } catch (error) {
      if (error instanceof ArgumentError) return undefined;
      throw error;
    }
  };

  it('values are encoded, so that none adds a segment, a query or a fragment', () => {
    expect(url({ shelf: 'a/b', book: 'ü ?#&%' })).toBe(`${base}/shelves/a%2Fb/books/%C3%BC%20%3F%23%26%25.json`);
    expect(url({ shelf: 7, book: true })).toBe(`${base}/shelves/7/books/true.json`);
  });

  it.each<JsonValue>(['', ' ', '.', '..', '%2e', '%2E%2e', '%252e%252e', '../x', 'x/..', 'x\\..\\y', '..%2fadmin', [], ['..']])(
    '%j as a value is refused, and the message names the argument',
    (value) => {
      expect(() => url({ shelf: value, book: 'b' })).toThrow(ArgumentError);
      expect(() => url({ shelf: value, book: 'b' })).toThrow(/^shelf: must not/);
    },
  );

  it.each(['..;', '..;x=1', '.;', 'a/..;/b', '..%3b', '..%253Bx', '%2e%2e;'])(
    '%j is refused, reserved characters allowed or not, because servers cut path parameters off before they look for dots',
    (value) => {
      for (const form of [{ allowReserved: true }, {}]) {
        const reserved = operationOf(parameter('path', { required: true, ...form }), '/things/{p}/parts', 'get');
        expect(() => buildRequest(reserved, { p: value }, base)).toThrow(/^p: must not/);
      }
    },
  );

  it.each([';', ';x', '%3bx', 'a/;b'])(
    '%j would be an empty step where reserved characters are allowed, and is refused there alone',
    (value) => {
      const urlWith = (form: JsonObject): string =>
        buildRequest(operationOf(parameter('path', { required: true, ...form }), '/things/{p}', 'get'), { p: value }, base).url;
      expect(() => urlWith({ allowReserved: true })).toThrow(/^p: must not/);
      expect(urlWith({})).toBe(`${base}/things/${encodeURIComponent(value)}`);
    },
  );

  it.each(['a;b', '...;', '..a;', 'x..;', 'a;..'])('%j stays what it is', (value) => {
    const reserved = operationOf(parameter('path', { required: true, allowReserved: true }), '/things/{p}', 'get');
    expect(buildRequest(reserved, { p: value }, base).url).toBe(`${base}/things/${value}`);
  });

  it('half a character is refused', () => {
    expect(() => url({ shelf: '\ud800', book: 'b' })).toThrow(ArgumentError);
  });

  it('a missing value is refused, null too', () => {
    expect(() => url({ shelf: 'a' })).toThrow('book: is required');
    expect(() => url({ shelf: 'a', book: null })).toThrow('book: is required');
  });

  it('whatever the values, the address keeps its segments or is refused', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: anyCharacter }),
        fc.string({ unit: fc.constantFrom('.', '/', '%', '2', 'e', '\\', '\t', ';') }),
        (shelf, book) => {
          const built = urlOrRefusal({ shelf, book });
          const { origin, pathname, search, hash } = new URL(built ?? `${base}/shelves/refused/books/refused.json`);
          expect([origin, search, hash]).toEqual(['http://tools.test:8000', '', '']);
          expect(pathname.split('/')).toHaveLength(6);
          expect(pathname).toMatch(/^\/api\/shelves\/[^/]+\/books\/[^/]+\.json$/);
        },
      ),
    );
  });

  it.each<[JsonObject, JsonValue, string]>([
    [{}, ['a', 'b/c'], 'a,b%2Fc'],
    [{ explode: true }, { x: 1, y: 2 }, 'x=1,y=2'],
    [{}, { x: 1, y: 2 }, 'x,1,y,2'],
    [{ style: 'label' }, [1, 2], '.1,2'],
    [{ style: 'label', explode: true }, [1, 2], '.1.2'],
    [{ style: 'matrix' }, [1, 2], ';p=1,2'],
    [{ style: 'matrix', explode: true }, [1, 2], ';p=1;p=2'],
    [{ style: 'matrix', explode: true }, { x: 1, y: 2 }, ';x=1;y=2'],
    [{ style: 'matrix' }, 5, ';p=5'],
  ])('the form %j of %j', (form, value, expected) => {
    const styled = operationOf(parameter('path', { required: true, ...form }), '/things/{p}', 'get');
    expect(buildRequest(styled, { p: value }, base).url).toBe(`${base}/things/${expected}`);
  });
});

describe('headers and cookies', () => {
  it('are sent under lower-case names', () => {
    const parameters = [
      { name: 'X-Trace', in: 'header', schema: {} },
      { name: 'X-List', in: 'header', schema: {} },
      { name: 'theme', in: 'cookie', schema: {} },
      { name: 'size', in: 'cookie', schema: {} },
    ];
    const { headers } = buildRequest(operationOf({ parameters }), { 'X-Trace': 'é', 'X-List': ['a', 'b'], theme: 'a;b', size: 3 }, base);
    expect(headers).toMatchObject({ 'x-trace': 'é', 'x-list': 'a,b', cookie: 'theme=a%3Bb; size=3' });
  });

  it.each(['a\r\nb', 'a\nX-Evil: 1', 'a\u0000', 'a\u007f', '東京'])('the header value %j is refused', (value) => {
    expect(() => buildRequest(operationOf(parameter('header')), { p: value }, base)).toThrow(/^p: is sent as a header/);
  });

  it('a reserved header is not sent, even when an operation was made by hand', () => {
    const operation = operationOf(parameter('header'));
    const forged = { ...operation, bindings: operation.bindings.map((place) => ({ ...place, name: 'Authorization' })) };
    expect(buildRequest(forged, { p: 'Bearer x' }, base).headers).not.toHaveProperty('authorization');
  });
});

describe('bodies', () => {
  const request = (parts: JsonObject, args: JsonObject): [string | undefined, string | undefined] => {
    const { headers, body } = buildRequest(operationOf(parts), args, base);
    return [headers['content-type'], body];
  };

  it('hold the body’s arguments alone, under their own names', () => {
    const parts = {
      ...jsonBody({ ...flat, properties: { id: {}, a: {} } }),
      parameters: [{ name: 'id', in: 'path', required: true, schema: {} }],
    };
    const { url, body } = buildRequest(operationOf(parts, '/things/{id}'), { id: 1, body_id: 2, a: [true] }, base);
    expect(url).toBe(`${base}/things/1`);
    expect(body).toBe('{"id":2,"a":[true]}');
  });

  it.each<[string, JsonObject, JsonObject, string | undefined]>([
    ['an optional one without arguments is not sent', jsonBody(flat, false), {}, undefined],
    ['nor with null for what takes no null', jsonBody(flat, false), { a: null }, undefined],
    ['an optional one with arguments is', jsonBody(flat, false), { b: 0 }, '{"b":0}'],
    ['a required one without arguments is an empty object', jsonBody(flat), {}, '{}'],
    [
      'null is sent where a definition, a choice or the want of any type takes it',
      jsonBody({
        type: 'object',
        properties: { a: { anyOf: [{ type: 'string' }, { enum: ['x', null] }] }, b: {}, c: { enum: ['x', null] }, d: { const: null } },
      }),
      { a: null, b: null, c: null, d: null },
      '{"a":null,"b":null,"c":null,"d":null}',
    ],
    ['null is sent where the schema takes it', jsonBody(flat), { a: null, b: null }, '{"b":null}'],
    ['a whole one is its argument', jsonBody({ type: 'array' }), { body: [1, { x: null }] }, '[1,{"x":null}]'],
    ['an optional whole one may be left out', jsonBody({ type: 'array' }, false), {}, undefined],
    ['falsy values are values', jsonBody({ type: 'boolean' }), { body: false }, 'false'],
  ])('%s', (_, parts, args, body) => {
    expect(request(parts, args)).toEqual([body === undefined ? undefined : 'application/json', body]);
  });

  it('a required whole one has to be there', () => {
    expect(() => request(jsonBody({ type: 'array' }), {})).toThrow('body: is required');
  });

  it('forms are encoded, lists repeat', () => {
    const parts = {
      requestBody: {
        required: true,
        content: { 'application/x-www-form-urlencoded': { schema: { ...flat, properties: { a: {}, c: {} } } } },
      },
    };
    expect(request(parts, { a: 'x y&z', c: [1, 2] })).toEqual(['application/x-www-form-urlencoded', 'a=x%20y%26z&c=1&c=2']);
    expect(request(parts, {})).toEqual(['application/x-www-form-urlencoded', '']);
  });

  it('a field that is one file or several takes both, and says of each that it is a file', () => {
    const binary = { type: 'string', format: 'binary' };
    for (const key of ['oneOf', 'anyOf']) {
      const schema = { type: 'object', properties: { files: { [key]: [{ type: 'array', items: binary, maxItems: 5 }, binary] } } };
      const operation = operationOf({ requestBody: { required: true, content: { 'multipart/form-data': { schema } } } });
      const file = { type: 'string', description: expect.stringContaining('A file') as string };
      expect(operation.spec.parameters['properties']).toEqual({ files: { anyOf: [{ type: 'array', items: file, maxItems: 5 }, file] } });
      const filesIn = (files: JsonValue): number => (buildRequest(operation, { files }, base).body ?? '').split('filename=').length - 1;
      expect([filesIn('a'), filesIn(['a', 'b'])]).toEqual([1, 2]);
    }
  });

  it('files without a name never share one', () => {
    const schema = { type: 'object', properties: { photos: { type: 'array', items: { type: 'string', format: 'binary' } } } };
    const operation = operationOf({ requestBody: { required: true, content: { 'multipart/form-data': { schema } } } });
    const { body } = buildRequest(operation, { photos: ['a', 'b', 'data:text/csv;name=own.csv,c', 'd'] }, base);
    const names = Array.from((body ?? '').matchAll(/filename="([^"]*)"/g), ([, name]) => name);
    expect(names).toEqual(['photos.txt', 'photos-2.txt', 'own.csv', 'photos-4.txt']);
  });

  it('carry the declared type', () => {
    const parts = { requestBody: { content: { 'application/merge-patch+json; charset=utf-8': { schema: flat } } } };
    expect(request(parts, { a: 'x' })[0]).toBe('application/merge-patch+json; charset=utf-8');
  });
});
