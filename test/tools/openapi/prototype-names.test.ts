import { describe, expect, it } from 'vitest';
import { prepareToolCall } from '../../../src/chat/tool-calls/prepare-tool-call.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { buildRequest } from '../../../src/tools/openapi/call/build-request.ts';
import { convertOperations } from '../../../src/tools/openapi/convert/convert-operations.ts';
import { runContext, toolMap, toolNamed } from '../../_support/tools.ts';

const names = ['hasOwnProperty', 'constructor', '__proto__', 'toString', 'valueOf', 'prototype', '__defineGetter__'];
const text = { type: 'string' };
const only = (name: string, value: JsonObject): JsonObject => Object.fromEntries([[name, value]]);
const bodyOf = (type: string, schema: JsonObject): JsonObject => ({ requestBody: { content: { [type]: { schema } } } });

/** Where a name may stand in an operation; what is beside the operation in its document. */
const bindings: Record<string, (name: string) => { operation: JsonObject; beside?: JsonObject }> = {
  'a query parameter': (name) => ({ operation: { parameters: [{ name, in: 'query', schema: text }] } }),
  'a header parameter': (name) => ({ operation: { parameters: [{ name, in: 'header', schema: text }] } }),
  'a cookie parameter': (name) => ({ operation: { parameters: [{ name, in: 'cookie', schema: text }] } }),
  'a shared parameter': (name) => ({
    operation: { parameters: [{ $ref: `#/components/parameters/${name}` }] },
    beside: { components: { parameters: only(name, { name, in: 'query', schema: text }) } },
  }),
  'a member of a JSON body': (name) => ({ operation: bodyOf('application/json', { type: 'object', properties: only(name, text) }) }),
  'a field of a form': (name) => ({
    operation: bodyOf('application/x-www-form-urlencoded', { type: 'object', properties: only(name, text) }),
  }),
  'a part of a multipart body': (name) => ({ operation: bodyOf('multipart/form-data', { type: 'object', properties: only(name, text) }) }),
  'a schema': (name) => ({
    operation: bodyOf('application/json', { $ref: `#/components/schemas/${name}` }),
    beside: { components: { schemas: only(name, { type: 'object', properties: only(name, text) }) } },
  }),
};

describe.each(Object.entries(bindings))('%s that is called', (_place, toParts) => {
  it.each(names)('%s makes a function that can be called with it and without', async (name) => {
    const { operation, beside = {} } = toParts(name);
    const paths = { '/things': { post: { operationId: 'act', responses: {}, ...operation } } };
    const { operations, omitted } = convertOperations({ openapi: '3.1.0', info: { title: 't', version: '1' }, paths, ...beside });
    expect(omitted).toEqual([]);
    const [made] = operations;
    const [place] = made?.bindings ?? [];
    if (made === undefined || place === undefined) throw new Error('No function was made');
    const tools = toolMap(toolNamed(made.spec.name, 1, { parameters: made.spec.parameters }));
    const requestFor = async (args: string): Promise<string> => {
      const prepared = await prepareToolCall({ id: 'a', name: made.spec.name, arguments: args }, tools, runContext());
      if (prepared.type === 'refused') throw new Error(prepared.message);
      return JSON.stringify(buildRequest(made, prepared.args, 'http://things.test'));
    };
    expect(await requestFor(JSON.stringify({ [place.argument]: 'given' }))).toContain('given');
    expect(await requestFor('{}')).not.toMatch(/given|native code/);
  });
});
