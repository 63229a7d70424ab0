import { specTypeSchemas } from '@modelcontextprotocol/client';
import { array, assert, boolean, constant, constantFrom, nat, oneof, option, property, record, string, type Arbitrary } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../../src/shared/json/json.ts';
import { showOutputSchema, showStructure } from '../../../../src/tools/mcp/incoming/hidden-fields.ts';
import { misfitPaths } from '../../../../src/tools/mcp/incoming/find-misfit.ts';
import { normaliseMessage } from '../../../../src/tools/mcp/incoming/normalise-message.ts';

const resultOf = (result: unknown): JsonObject => (normaliseMessage({ jsonrpc: '2.0', id: 1, result }) as { result: JsonObject }).result;
const [toolIn, blocksIn] = [
  (tool: unknown): JsonObject => (resultOf({ tools: [tool] })['tools'] as JsonObject[])[0] ?? {},
  (...content: unknown[]): JsonObject[] => resultOf({ content })['content'] as JsonObject[],
];

describe('the envelope of a message', () => {
  it.each<[name: string, message: unknown, normal: unknown]>([
    [
      'an error of null beside a result',
      { id: 1, result: { a: 1 }, error: null },
      { jsonrpc: '2.0', id: 1, result: { a: 1, resultType: 'complete' } },
    ],
    [
      'a result of null beside an error',
      { jsonrpc: '2.0', id: 1, result: null, error: { code: 5, message: 'no' } },
      { jsonrpc: '2.0', id: 1, error: { code: 5, message: 'no' } },
    ],
    ['a result of null', { jsonrpc: '2.0', id: 1, result: null }, { jsonrpc: '2.0', id: 1, result: { resultType: 'complete' } }],
    [
      'members that nobody knows',
      { jsonrpc: '2.0', id: 1, result: {}, trace: 'x', server: 1 },
      { jsonrpc: '2.0', id: 1, result: { resultType: 'complete' } },
    ],
    [
      'an error that is a text',
      { jsonrpc: '2.0', id: 1, error: 'out of order' },
      { jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'out of order' } },
    ],
    [
      'an error with a code as text',
      { jsonrpc: '2.0', id: 1, error: { code: '-32001', message: 'gone' } },
      { jsonrpc: '2.0', id: 1, error: { code: -32001, message: 'gone' } },
    ],
    [
      'parameters of null',
      { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: null },
      { jsonrpc: '2.0', method: 'notifications/tools/list_changed' },
    ],
    [
      'progress with nulls',
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: '2', total: null, message: null } },
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 2 } },
    ],
    ['a batch', [{ id: 1, result: {} }], [{ jsonrpc: '2.0', id: 1, result: { resultType: 'complete' } }]],
    ['what is no message', 'hello', 'hello'],
  ])('%s', (_name, message, normal) => {
    expect(normaliseMessage(message)).toEqual(normal);
  });
});

describe('a list', () => {
  it('has the fields for its lifetime that the version of 2026 requires', () => {
    expect(resultOf({ tools: [], ttlMs: null })).toEqual({ tools: [], resultType: 'complete', ttlMs: 0, cacheScope: 'private' });
    expect(resultOf({ contents: [], ttlMs: 5, cacheScope: 'public' })).toMatchObject({ ttlMs: 5, cacheScope: 'public' });
    expect(resultOf({ prompts: [], ttlMs: -1, cacheScope: 'all' })).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
  });
});

describe('an introduction', () => {
  it('has what the protocol demands, and nothing that it does not know as null', () => {
    const capabilities = { tools: { listChanged: null }, prompts: null, resources: true, logging: false };
    const introduced = resultOf({
      protocolVersion: '2025-06-18',
      capabilities,
      serverInfo: { name: null, version: 3, icons: null },
      instructions: 7,
    });
    expect(introduced).toEqual({
      protocolVersion: '2025-06-18',
      resultType: 'complete',
      capabilities: { tools: {}, resources: {} },
      serverInfo: { name: '', version: '3' },
    });
    expect(misfitPaths(specTypeSchemas.InitializeResult, introduced)).toBeUndefined();
  });
});

describe('a tool', () => {
  it.each<[name: string, schema: unknown, normal: JsonObject]>([
    ['none', undefined, { type: 'object' }],
    ['null', null, { type: 'object' }],
    ['of a list of types', { type: ['object', 'null'], properties: { a: {} } }, { type: 'object', properties: { a: {} } }],
    ['with nulls', { type: 'object', properties: null, required: null }, { type: 'object' }],
    [
      'that is valid',
      { type: 'object', properties: { a: { default: null } }, required: ['a'] },
      { type: 'object', properties: { a: { default: null } }, required: ['a'] },
    ],
  ])('has a schema of an object where it sends %s', (_name, inputSchema, normal) => {
    expect(toolIn({ name: 'a', inputSchema })['inputSchema']).toEqual(normal);
    expect(toolIn({ name: 'a', input_schema: inputSchema })['inputSchema']).toEqual(normal);
  });

  it('keeps its hints beside what is not valid, and its output schema out of sight', () => {
    const annotations = { title: 5, readOnlyHint: 'true', destructiveHint: 'perhaps', idempotentHint: false };
    const tool = toolIn({
      name: 'a',
      description: null,
      title: {},
      annotations,
      outputSchema: { type: 'string' },
      icons: [null],
      _meta: { x: null },
    });
    expect(misfitPaths(specTypeSchemas.Tool, tool)).toBeUndefined();
    expect(tool).toMatchObject({ name: 'a', annotations: { readOnlyHint: true, idempotentHint: false } });
    expect(tool).not.toHaveProperty('outputSchema');
    expect(showOutputSchema(tool as never)).toMatchObject({ outputSchema: { type: 'string' } });
  });

  it('without a name stays what it is', () => {
    expect(toolIn({ inputSchema: { type: 'object' } })).not.toHaveProperty('name');
  });
});

describe('a result of a call', () => {
  it.each<[name: string, block: unknown, normal: JsonObject]>([
    [
      'a link without a name',
      { type: 'resource_link', uri: 'file:///a/b.txt' },
      { type: 'resource_link', uri: 'file:///a/b.txt', name: 'b.txt' },
    ],
    [
      'base64 in the alphabet of URLs',
      { type: 'image', data: 'a-_b', mimeType: 'image/png' },
      { type: 'image', data: 'a+/b', mimeType: 'image/png' },
    ],
    [
      'base64 without its end, with a line break',
      { type: 'audio', data: 'QUJ\nDRA', mimeType: 'audio/wav' },
      { type: 'audio', data: 'QUJDRA==', mimeType: 'audio/wav' },
    ],
    ['a data URI', { type: 'image', data: 'data:image/gif;base64,QUJD' }, { type: 'image', data: 'QUJD', mimeType: 'image/gif' }],
    ['a text that is a number', { type: 'text', text: 7 }, { type: 'text', text: '7' }],
    ['a bare text', 'more', { type: 'text', text: 'more' }],
    ['a text without a type', { text: 'more' }, { type: 'text', text: 'more' }],
    [
      'annotations that are none',
      { type: 'text', text: 'a', annotations: { priority: 7, audience: ['everybody', 'user'] } },
      { type: 'text', text: 'a', annotations: { audience: ['user'] } },
    ],
    [
      'a resource without contents',
      { type: 'resource', resource: { uri: 'file:///a' } },
      { type: 'resource', resource: { uri: 'file:///a', text: '' } },
    ],
  ])('has a block for %s', (_name, block, normal) => {
    expect(blocksIn(block)).toEqual([normal]);
  });

  it('shows what is no block as text, shortened', () => {
    const [unknown, none, huge] = blocksIn({ type: 'video', data: 'AA==' }, null, { type: 'hologram', data: 'x'.repeat(100_000) });
    expect(unknown).toEqual({ type: 'text', text: expect.stringContaining('"type":"video"') });
    expect(none).toEqual({ type: 'text', text: expect.stringContaining('null') });
    expect(String(huge?.['text']).length).toBeLessThan(3_000);
  });

  it('is a list of blocks whatever it came as', () => {
    expect(resultOf({ content: 'hello' })['content']).toEqual([{ type: 'text', text: 'hello' }]);
    expect(resultOf({ content: { type: 'text', text: 'hello' } })['content']).toEqual([{ type: 'text', text: 'hello' }]);
    expect(resultOf({ structuredContent: 5 })['content']).toEqual([]);
  });

  it.each<[structured: JsonValue]>([[17], ['seventeen'], [[1, null]], [{ a: null }], [false]])(
    'keeps its structure %j, nulls and all',
    (structuredContent) => {
      const result = resultOf({ content: [], structuredContent, isError: null, _meta: null });
      expect(misfitPaths(specTypeSchemas.CallToolResult, result)).toBeUndefined();
      expect(showStructure(result as never)).toEqual({ content: [], resultType: 'complete', structuredContent });
    },
  );
});

it('whatever is null in a valid result, it is valid without', () => {
  const nullable = <Value>(value: Arbitrary<Value>): Arbitrary<Value | null> => option(value);
  const text = string({ maxLength: 5 });
  const icons = nullable(array(record({ src: text, mimeType: nullable(text), sizes: nullable(array(text)) })));
  const tool = record({
    name: string({ minLength: 1 }),
    title: nullable(text),
    description: nullable(text),
    inputSchema: nullable(constant({ type: 'object' })),
    outputSchema: nullable(constant({ type: 'object' })),
    annotations: nullable(record({ title: nullable(text), readOnlyHint: nullable(boolean()), openWorldHint: nullable(boolean()) })),
    icons,
    execution: nullable(record({ taskSupport: nullable(constantFrom('optional', 'forbidden')) })),
    _meta: nullable(record({ a: nullable(text) })),
  });
  const annotations = nullable(
    record({
      audience: nullable(constant(['user'])),
      priority: nullable(constant(0.5)),
      lastModified: nullable(constant('2026-01-01T00:00:00Z')),
    }),
  );
  const block = oneof(
    record({ type: constant('text'), text, annotations, _meta: constant(null) }),
    record({
      type: constant('resource_link'),
      uri: constant('file:///a'),
      name: nullable(text),
      title: nullable(text),
      size: nullable(nat()),
      icons,
      annotations,
    }),
    record({
      type: constant('resource'),
      resource: record({ uri: constant('file:///a'), mimeType: nullable(text), text, blob: constant(null) }),
      annotations,
    }),
  );
  assert(
    property(array(tool), array(block), nullable(boolean()), (tools, content, isError) => {
      expect(misfitPaths(specTypeSchemas.ListToolsResult, resultOf({ tools, nextCursor: null, _meta: null }))).toBeUndefined();
      expect(misfitPaths(specTypeSchemas.CallToolResult, resultOf({ content, isError, structuredContent: null }))).toBeUndefined();
    }),
  );
});

it('reads binary data in one pass, whatever it is', () => {
  for (const data of [`${'='.repeat(200_000)}x`, `data:a/${'b'.repeat(7_000_000)}`, ' =\n'.repeat(1_000_000)])
    expect(blocksIn({ type: 'image', data })).toMatchObject([{ type: data.startsWith(' ') ? 'image' : 'text' }]);
});
