import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import {
  createBudget,
  createRequestBudget,
  outgrownReason,
  spentReason,
  type ConversionBudget,
  type Spend,
} from '../../../src/tools/openapi/conversion-budget.ts';
import { convertOperations } from '../../../src/tools/openapi/convert/convert-operations.ts';
import { mergeSchemas } from '../../../src/tools/openapi/convert/schemas/merge-schemas.ts';
import { nameArguments } from '../../../src/tools/openapi/convert/name-arguments.ts';
import { isReadOnly } from '../../../src/tools/openapi/convert/schemas/adapt-parts.ts';
import { createBaseUrls } from '../../../src/tools/openapi/document/server-base-url.ts';

const text: JsonObject = { type: 'string' };
const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
const post = (schema: JsonObject): JsonObject => ({ post: { requestBody: { content: { 'application/json': { schema } } } } });
const numbered = <T>(count: number, prefix: string, make: (index: number) => T): Record<string, T> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, make(index)]));

function documentOf(count: number, pathItem: JsonObject, components: JsonObject = {}): JsonObject {
  return { openapi: '3.1.0', paths: numbered(count, '/p', () => pathItem), components };
}

const wide = (count: number): JsonObject => ({ type: 'object', properties: numbered(count, 'p', () => text) });
const largeBudget = (): ConversionBudget => createBudget({ nodesLeft: 1e9, valuesLeft: 1e9, charactersLeft: 1e9 });

/** What converting a document takes. */
function costOf(document: JsonObject): number {
  const budget = largeBudget();
  convertOperations(document, { budget });
  return largeBudget().nodesLeft - budget.nodesLeft;
}

describe('the budget of a conversion', () => {
  const extended = (count: number): JsonObject =>
    documentOf(count, post({ allOf: [ref('B'), { properties: { z: text } }] }), { schemas: { B: wide(1_500) } });

  it('pays for every key that a merge copies, in each function again', () => {
    const [one, eleven] = [costOf(extended(1)), costOf(extended(11))];
    // Each takes the 1,500 properties over, merges them into the schema around and adds one more.
    expect(eleven - one).toBeGreaterThan(10 * 3 * 1_500);
    expect(eleven - one).toBeLessThan(10 * 8 * 1_500);
  });

  it('pays for a schema that is taken over what it cost at first', () => {
    const document = (count: number): JsonObject => documentOf(count, post(ref('B')), { schemas: { B: wide(1_000) } });
    expect(costOf(document(2))).toBeGreaterThan(costOf(document(1)) * 1.9);
  });

  it('once spent leaves out the other operations, with the reason', () => {
    const { operations, omitted, cut } = convertOperations(extended(1_000), { budget: createRequestBudget() });
    expect(operations.length).toBeGreaterThan(5);
    expect(operations.length).toBeLessThan(100);
    expect(operations.length + omitted.length).toBe(1_000);
    expect(new Set(omitted.map(({ reason }) => reason))).toEqual(new Set([spentReason]));
    expect(cut).toEqual({ count: omitted.length, reason: spentReason });
  });

  it('may be shared by documents', () => {
    const budget = createRequestBudget();
    convertOperations(extended(1_000), { budget });
    expect(convertOperations(documentOf(3, { get: {} }), { budget }).operations).toEqual([]);
  });

  it('is large enough for nine hundred usual functions', () => {
    const document = documentOf(900, post({ allOf: [ref('B'), { properties: { z: text } }] }), { schemas: { B: wide(30) } });
    const { operations, cut } = convertOperations(document, { budget: createRequestBudget() });
    expect(operations).toHaveLength(900);
    expect(cut).toBeUndefined();
  });

  const names = (count: number): Record<string, JsonObject> => numbered(count, 'a', () => ({}));
  it.each<[string, JsonObject]>([
    ['properties', documentOf(200, post(ref('W')), { schemas: { W: wide(160_000) } })],
    [
      'branches that are no objects',
      documentOf(200, post(ref('W')), { schemas: { W: { anyOf: Array.from({ length: 160_000 }, () => true) } } }),
    ],
    ['required names', documentOf(200, post(ref('W')), { schemas: { W: { ...wide(10), required: Object.keys(names(90_000)) } } })],
    ['entries of a default', documentOf(200, post(ref('W')), { schemas: { W: { default: Object.keys(names(90_000)) } } })],
    ['characters', documentOf(200, post(ref('W')), { schemas: { W: { default: 'x'.repeat(9_000_000) } } })],
    [
      'branches that cannot be merged',
      documentOf(200, post(ref('W')), { schemas: { W: { allOf: Object.keys(names(9_000)).map((pattern) => ({ pattern })) } } }),
    ],
    [
      'hops to what is read-only',
      documentOf(200, post(ref('W')), {
        schemas: {
          W: { properties: numbered(900, 'p', () => ref('C0')) },
          ...numbered(900, 'C', (index) => ref(`C${Math.min(index + 1, 899)}`)),
        },
      }),
    ],
    [
      'media types',
      documentOf(
        200,
        { post: { requestBody: { $ref: '#/components/requestBodies/B' } } },
        { requestBodies: { B: { content: names(90_000) } } },
      ),
    ],
    ['security schemes', documentOf(200, { get: {} }, { securitySchemes: names(320_000) })],
    [
      'shared parameters',
      {
        ...documentOf(200, { $ref: '#/shared' }),
        shared: { get: {}, parameters: Object.keys(names(40_000)).map((name) => ({ name, in: 'query' })) },
      },
    ],
    ['keys of a shared path item', { ...documentOf(200, { $ref: '#/shared' }), shared: { get: {}, ...numbered(5_000, 'x-', () => 1) } }],
  ])('pays for %s', (_, document) => {
    const { operations, cut } = convertOperations(document, { budget: createRequestBudget() });
    expect(operations.length).toBeLessThan(10);
    expect(cut?.reason).toBe(spentReason);
  });

  const union = (count: number): JsonObject => ({
    anyOf: Object.keys(numbered(count, 'a', () => 1)).map((name) => ({ properties: { [name]: text } })),
  });

  it('is spent on the characters that are kept, once on what is the same', () => {
    const budget = largeBudget();
    budget.charactersLeft = 100_000;
    const same = documentOf(10, post(ref('U')), { schemas: { U: union(600) } });
    expect(convertOperations(same, { budget }).omitted).toEqual([]);
    expect(budget.charactersLeft).toBeGreaterThan(60_000);
    const different = { openapi: '3.1.0', paths: numbered(10, '/p', (index) => post(union(600 + index))) };
    Object.assign(different.paths, { '/small': { get: {} } });
    const { operations, omitted, cut } = convertOperations(different, { budget });
    expect(operations.length).toBeGreaterThan(1);
    // What is small fits nevertheless.
    expect(operations.at(-1)?.path).toBe('/small');
    expect(operations.length + omitted.length).toBe(11);
    expect(cut).toEqual({ count: omitted.length, reason: outgrownReason });
  });

  const described = (count: number, length: number): JsonObject => ({
    type: 'object',
    properties: numbered(count, 'p', () => ({ type: 'string', enum: ['x'.repeat(length)] })),
  });

  it('has room for a function that no model could read', () => {
    const { operations } = convertOperations(documentOf(2, post(described(900, 300))));
    expect(operations).toHaveLength(2);
    expect(JSON.stringify(operations[0]?.spec.parameters).length).toBeGreaterThan(270_000);
  });

  it('leaves the largest arguments of a function open that has more than any program could read', () => {
    const properties = { large: described(1, 1_000_000), small: text };
    const { operations } = convertOperations(documentOf(1, post({ type: 'object', properties })));
    const parameters = operations[0]?.spec.parameters ?? {};
    expect(parameters['properties']).toEqual({ large: { description: expect.stringContaining('too large') }, small: text });
  });

  it('leaves the farthest definitions of such a function open', () => {
    const schemas = numbered(8, 'C', (index) => {
      const { properties } = described(1, 250_000);
      return { type: 'object', properties: { ...(properties as JsonObject), next: ref(`C${index + 1}`) } };
    });
    const { operations } = convertOperations(documentOf(1, post(ref('C0')), { schemas: { ...schemas, C8: text } }));
    const definitions = operations[0]?.spec.parameters['$defs'] as Record<string, JsonObject>;
    expect(Object.keys(definitions)).toEqual(['C1', 'C2', 'C3']);
    expect(definitions['C3']).toEqual({ description: expect.stringContaining('too large') });
    expect(definitions['C2']).toMatchObject({ type: 'object', properties: { next: { $ref: '#/$defs/C3' } } });
  });

  it('writes schemas out in functions while more than half of it is left, and then shares them', () => {
    const budget = createRequestBudget();
    const wideOnes = documentOf(400, post({ type: 'object', properties: { b: ref('B') } }), { schemas: { B: wide(400) } });
    const { operations, omitted } = convertOperations(wideOnes, { budget });
    expect(omitted).toEqual([]);
    const isShared = operations.map(({ spec }) => spec.parameters['$defs'] !== undefined);
    expect(isShared.slice(0, 50)).not.toContain(true);
    expect(isShared.slice(-50)).not.toContain(false);
  });

  it('ends a list of more operations than a document may have', () => {
    const { operations, omitted } = convertOperations(documentOf(20_000, { get: {} }));
    expect(operations).toHaveLength(10_000);
    expect(omitted).toHaveLength(1);
    expect(omitted[0]).toEqual({ operation: '/p10000 and all after it', reason: 'the document has more than 10000 operations' });
  });
});

describe('what is spent', () => {
  const spentBy = (work: (spend: Spend) => unknown): number => {
    let spent = 0;
    work((nodes) => (spent += nodes));
    return spent;
  };

  // Properties are compared and then copied.
  it.each<[string, JsonObject, JsonObject, number]>([
    ['properties', wide(1_000), { properties: { z: text } }, 2_001],
    ['properties of items', { items: wide(1_000) }, { items: { properties: { z: text } } }, 2_001],
    ['required names', { required: ['a', 'b', 'c'] }, { required: ['d'] }, 4],
    ['choices', { enum: [1, 2, 3] }, { enum: [3, 4] }, 5],
    ['branches', { allOf: [text, text] }, { allOf: [text] }, 3],
    ['compared values', { const: { a: [1, 2, 3] } }, { const: { a: [1, 2, 4] } }, 3],
  ])('on a merge grows with its %s', (_, outer, inner, least) => {
    const spent = spentBy((spend) => mergeSchemas(outer, inner, spend));
    expect(spent).toBeGreaterThanOrEqual(least);
    expect(spent).toBeLessThan(least + 20);
  });

  it('on what is read-only grows with the references to it', () => {
    const document = { components: { schemas: numbered(100, 'C', (index) => ref(`C${index + 1}`)) } };
    Object.assign(document.components.schemas, { C100: { readOnly: true } });
    expect(spentBy((spend) => expect(isReadOnly(document, ref('C0'), spend)).toBe(true))).toBeGreaterThanOrEqual(100);
  });
});

describe('choices', () => {
  const properties = (document: JsonObject): JsonObject => {
    const [operation] = convertOperations(document).operations;
    return operation?.spec.parameters['properties'] as JsonObject;
  };
  const choices = (count: number, first = 0): string[] => Array.from({ length: count }, (_, index) => `c${first + index}`);

  it('beyond 1,000 are named by their number, whatever else is described', () => {
    const schemas = { Many: { enum: choices(60_000), description: 'A zone.' } };
    const schema = {
      type: 'object',
      properties: {
        a: ref('Many'),
        b: { ...ref('Many'), description: 'Yours.' },
        c: { allOf: [ref('Many'), { enum: choices(60_000) }] },
        d: { enum: choices(1_000) },
      },
    };
    const document = documentOf(1, post(schema), { schemas });
    const note = '(One of 60000 values, too many to list.)';
    expect(properties(document)).toMatchObject({
      a: { type: 'string', description: `A zone. ${note}` },
      b: { type: 'string', description: `Yours. ${note}` },
      c: { type: 'string', description: `A zone. ${note}` },
      d: { enum: choices(1_000) },
    });
    expect(JSON.stringify(properties(document))).not.toContain('c1000');
    const query = { get: { parameters: [{ name: 'zone', in: 'query', description: 'Where.', schema: ref('Many') }] } };
    expect(properties(documentOf(1, query, { schemas }))).toEqual({ zone: { type: 'string', description: `Where. ${note}` } });
  });

  it('of both branches are found without comparing each with each', () => {
    const merged = (count: number): JsonObject =>
      documentOf(1, post({ properties: { a: { allOf: [{ enum: choices(count) }, { enum: choices(count, count / 2) }] } } }));
    expect(properties(merged(1_000))).toEqual({ a: { type: 'string', enum: choices(500, 500) } });
    expect(costOf(merged(1_000))).toBeLessThan(10_000);
  });

  it('that are objects pay for being compared', () => {
    const objects = (first: number): JsonObject[] => Array.from({ length: 1_000 }, (_, index) => ({ a: first + index }));
    const schema = { properties: { a: { allOf: [{ enum: objects(0) }, { enum: objects(5_000) }] } } };
    expect(costOf(documentOf(1, post(schema)))).toBeGreaterThan(1_000_000);
    const few = { properties: { a: { allOf: [{ enum: [{ x: 1, y: [2] }, 3] }, { enum: [{ y: [2], x: 1 }, 4] }] } } };
    expect(properties(documentOf(1, post(few)))).toEqual({ a: { enum: [{ x: 1, y: [2] }] } });
  });
});

describe('texts that would take time without measure', () => {
  it('a media type of many semicolons is judged at once', () => {
    const content = { [`a${';a'.repeat(60)}\u00e9`]: {}, 'multipart/mixed; x=y': { schema: { type: 'object' } } };
    const { omitted } = convertOperations(documentOf(1, { post: { requestBody: { required: true, content } } }));
    expect(omitted[0]?.reason).toBe('its body must be multipart/mixed; x=y, and such a body cannot be built from arguments');
  });

  it.each([
    ['a reference', documentOf(1, post({ $ref: `#${'/a'.repeat(501)}` })), 'has more than 1000 characters'],
    ['a path', { openapi: '3.1.0', paths: { [`/${'a'.repeat(2_048)}`]: { get: {} } } }, 'its path has more than 2048 characters'],
  ])('%s that is too long costs its operation', (_, document, reason) => {
    expect(convertOperations(document)).toMatchObject({ operations: [], omitted: [{ reason: expect.stringContaining(reason) as string }] });
  });

  it('thousands of arguments that would have the same name are numbered in one go', () => {
    const wires = Array.from({ length: 20_000 }, (_, index) => ({
      in: 'body' as const,
      name: `a${'!'.repeat(index % 100)}${'?'.repeat(index / 100)}`,
    }));
    const given = nameArguments(wires);
    expect(new Set(given).size).toBe(20_000);
    expect(given.slice(0, 4)).toEqual(['a', 'body_a', 'body_a_2', 'body_a_3']);
  });

  it('a server address of many equal segments is joined at once', () => {
    const document = { servers: [{ url: `/${'a/'.repeat(100_000)}b` }] };
    expect(createBaseUrls(document, `http://h.test/${'a/'.repeat(100_000)}`, undefined)({})).toMatch(/^http:\/\/h\.test\/a\/a/);
  });
});
