import { describe, expect, it } from 'vitest';
import { fitArguments, strictRules } from '../../../../src/chat/fit-calls/fit-arguments.ts';
import { compileSchema } from '../../../../src/validation/compile-schema.ts';
import type { JsonObject, JsonValue } from '../../../../src/shared/json/json.ts';
import { ArgumentError, buildRequest } from '../../../../src/tools/openapi/call/build-request.ts';
import { convertOperations } from '../../../../src/tools/openapi/convert/convert-operations.ts';
import type { Operation } from '../../../../src/tools/definitions/operation.ts';

const text = { type: 'string' };
const query = { name: 'dry', in: 'query', schema: { type: 'boolean' } };
const id = { name: 'id', in: 'path', required: true, schema: text };

/** An operation whose body may have each of these types. */
function operationWith(content: Record<string, JsonObject>, parameters: JsonObject[] = []): Operation {
  const types = Object.entries(content).map(([type, schema]) => [type, { schema }]);
  const operation = { operationId: 'f', parameters, requestBody: { required: true, content: Object.fromEntries(types) as JsonObject } };
  const path = parameters.includes(id) ? '/things/{id}' : '/things';
  const { operations, omitted } = convertOperations({ openapi: '3.1.0', paths: { [path]: { post: operation } } });
  const [converted] = operations;
  if (converted === undefined) throw new Error(JSON.stringify(omitted));
  return converted;
}

const withMore = (additionalProperties: JsonValue, properties: JsonObject = { a: text }): JsonObject => ({
  type: 'object',
  properties,
  additionalProperties,
});
const json = (schema: JsonObject, parameters?: JsonObject[]): Operation => operationWith({ 'application/json': schema }, parameters);

/** What is sent, or why nothing is. */
function sent(operation: Operation, given: JsonObject): { url: string; body: JsonValue | undefined } | string[] {
  const { args, problems } = fitArguments(given, operation.spec.parameters, strictRules);
  const errors = [...problems, ...(compileSchema(operation.spec.parameters)?.(args) ?? [])];
  if (errors.length > 0) return errors;
  const { url, body } = buildRequest(operation, args, 'http://tools.test');
  return {
    url: new URL(url).pathname + new URL(url).search,
    body: body?.startsWith('{') === true ? (JSON.parse(body) as JsonValue) : body,
  };
}

describe('members that a body allows beside the declared ones', () => {
  it('are offered and sent', () => {
    const operation = json(withMore(true));
    expect(operation.spec.parameters).toEqual({ type: 'object', properties: { a: text }, required: [], additionalProperties: true });
    expect(sent(operation, { a: 'x', n: 5, o: { p: [1] }, none: null })).toEqual({
      url: '/things',
      body: { a: 'x', n: 5, o: { p: [1] }, none: null },
    });
    expect(sent(operation, { n: 5 })).toMatchObject({ body: { n: 5 } });
  });

  it('are checked against their schema', () => {
    const operation = json(withMore({ type: 'integer' }));
    expect(operation.spec.parameters['additionalProperties']).toEqual({ type: 'integer' });
    expect(sent(operation, { a: 'x', n: 5 })).toMatchObject({ body: { a: 'x', n: 5 } });
    expect(sent(operation, { a: 'x', n: 'many' })).toEqual(['n: must be integer']);
    expect(sent(operation, { a: 'x', n: null })).toEqual(['n: must be integer']);
  });

  it.each([
    ['where nothing is said', { type: 'object', properties: { a: text, b: text } }],
    ['where they are forbidden', withMore(false, { a: text, b: text })],
  ])('are unknown %s', (_, schema) => {
    const operation = json(schema);
    expect(operation.spec.parameters).not.toHaveProperty('additionalProperties');
    expect(sent(operation, { a: 'x', n: 5 })).toEqual([expect.stringContaining('n: is not an argument'), 'known arguments: a, b']);
    expect(sent(operation, { a: 'x', b: 'y', n: 5 })).toMatchObject({ body: { a: 'x', b: 'y' } });
  });

  it('go into the body, and nowhere else', () => {
    expect(sent(json(withMore(true), [query, id]), { id: 'i', dry: true, n: 5 })).toEqual({ url: '/things/i?dry=true', body: { n: 5 } });
  });

  it('do not replace a member that has another name as an argument', () => {
    const operation = json(withMore(true, { id: text, 'filter[tag]': text }), [id]);
    expect(sent(operation, { id: 'i', body_id: 'b', filter_tag: 't', n: 1 })).toMatchObject({
      url: '/things/i',
      body: { id: 'b', 'filter[tag]': 't', n: 1 },
    });
    expect(() => sent(operation, { id: 'i', 'filter[tag]': 't' })).toThrow(new ArgumentError("filter[tag]: is given as 'filter_tag'"));
  });

  it('are fields of a form, and parts of a multipart body', () => {
    const form = operationWith({ 'application/x-www-form-urlencoded': withMore(true) });
    expect(sent(form, { a: 'x', n: 5, list: [1, 2] })).toMatchObject({ body: 'a=x&n=5&list=1&list=2' });
    const parts = operationWith({ 'multipart/form-data': withMore({ type: 'string', format: 'binary' }) });
    const body = JSON.stringify(sent(parts, { a: 'x', notes: 'data:text/plain,hello' }));
    expect(body).toMatch(/name=\\"notes\\"; filename=.*hello/);
    expect(JSON.stringify(parts.spec.parameters['additionalProperties'])).toContain('A file: text as it is');
  });

  it('choose the media type that allows them', () => {
    const operation = operationWith({
      'application/json': { type: 'object', properties: { a: text } },
      'application/x-www-form-urlencoded': withMore(true),
    });
    expect(operation.spec.parameters['additionalProperties']).toBe(true);
    expect(sent(operation, { a: 'x' })).toMatchObject({ body: { a: 'x' } });
    expect(sent(operation, { a: 'x', n: 5 })).toMatchObject({ body: 'a=x&n=5' });
  });
});
