import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { ArgumentError, buildRequest } from '../../../src/tools/openapi/call/build-request.ts';
import { convertOperations } from '../../../src/tools/openapi/convert/convert-operations.ts';
import type { Operation } from '../../../src/tools/definitions/operation.ts';

const text = { type: 'string' };
const objectOf = (properties: JsonObject, required: string[]): JsonObject => ({ type: 'object', properties, required });
const base = 'http://things.test';

function operationIn(document: JsonObject, operation: JsonObject): Operation {
  const paths = { '/things': { post: { operationId: 'make', description: 'Makes it.', responses: {}, ...operation } } };
  const { operations, omitted } = convertOperations({ info: { title: 't', version: '1' }, paths, ...document });
  expect(omitted).toEqual([]);
  const [made] = operations;
  if (made === undefined) throw new Error('No function was made');
  return made;
}

const json = { schema: objectOf({ name: text, url: text, note: text }, ['name', 'url']) };
const multipart = { schema: objectOf({ name: text, file: { type: 'string', format: 'binary' } }, ['name', 'file']) };

describe.each<[string, Operation]>([
  [
    'OpenAPI 3',
    operationIn(
      { openapi: '3.1.0' },
      { requestBody: { required: true, content: { 'application/json': json, 'multipart/form-data': multipart } } },
    ),
  ],
  [
    'Swagger 2.0',
    operationIn(
      { swagger: '2.0' },
      {
        consumes: ['application/json', 'multipart/form-data'],
        parameters: [
          { name: 'body', in: 'body', required: true, schema: json.schema },
          { name: 'name', in: 'formData', type: 'string', required: true },
          { name: 'file', in: 'formData', type: 'file', required: true },
        ],
      },
    ),
  ],
])('a body of several media types (%s)', (_version, operation) => {
  it('has the members of each, requires what all require, and says what goes together', () => {
    const { parameters, description } = operation.spec;
    expect(Object.keys(parameters['properties'] as JsonObject)).toEqual(['name', 'url', 'note', 'file']);
    expect(parameters['required']).toEqual(['name']);
    expect(description).toBe('Makes it. Give arguments of one of these groups: name, url, note; or name, file.');
  });

  it('is sent in the type that takes what is given', () => {
    const asJson = buildRequest(operation, { name: 'a', url: 'b' }, base);
    expect([asJson.headers['content-type'], asJson.body]).toEqual(['application/json', '{"name":"a","url":"b"}']);
    const asForm = buildRequest(operation, { name: 'a', file: 'content', url: null }, base);
    expect(asForm.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect(asForm.body).toContain('content');
  });

  it('is refused where members of two types are mixed, or one that the type requires is missing', () => {
    const request = (args: JsonObject) => (): unknown => buildRequest(operation, args, base);
    expect(request({ name: 'a', url: 'b', file: 'c' })).toThrow(ArgumentError);
    expect(request({ name: 'a', url: 'b', file: 'c' })).toThrow(
      'cannot be sent together. Use only the arguments of one of these groups: name, url, note; or name, file',
    );
    expect(request({ name: 'a', note: 'b' })).toThrow('url: is required');
  });
});

it('names as required with an optional body only what each media type requires', () => {
  const content = { 'application/json': json, 'multipart/form-data': multipart };
  const { description } = operationIn({ openapi: '3.1.0' }, { requestBody: { content } }).spec;
  expect(description).toBe('Makes it. Required with a body: name. Give arguments of one of these groups: name, url, note; or name, file.');
});

it('types of the same members are one body, and nothing is said of them', () => {
  const schema = objectOf({ name: text }, ['name']);
  const content = { 'application/json': { schema }, 'application/x-www-form-urlencoded': { schema: { ...schema } } };
  const operation = operationIn({ openapi: '3.1.0' }, { requestBody: { required: true, content } });
  expect(operation.spec.description).toBe('Makes it.');
  expect(operation.body).toEqual({ mediaType: 'application/json', kind: 'properties', isRequired: true });
});
