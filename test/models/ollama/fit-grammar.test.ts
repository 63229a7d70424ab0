import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../../src/shared/json/json.ts';
import { fitGrammar } from '../../../src/models/ollama/fit-grammar.ts';
import { grammarSize } from '../../../src/models/ollama/grammar-size.ts';

const text = { type: 'string' };

function objectOf(properties: JsonObject, required: string[] = []): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false };
}

function numbered(count: number, prefix: string, child: JsonObject): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}_${index}`, child]));
}

/** What the prompt-based pass asks for: one of these functions, with its own parameters. */
function selectionOf(count: number, parameters: JsonObject): JsonObject {
  const calls = Array.from({ length: count }, (_, index) =>
    objectOf({ name: { type: 'string', enum: [`list_entries_of_kind_${index}`] }, parameters }, ['name', 'parameters']),
  );
  return objectOf({ tool_calls: { type: 'array', items: { anyOf: calls }, maxItems: 10 } }, ['tool_calls']);
}

const optional = objectOf(numbered(8, 'filter_by_property', text));
const nested = objectOf({ page: { type: 'integer' }, body: objectOf(numbered(6, 'attribute', optional)) });

/** Beside each schema the characters that llama.cpp's own converter made of it (common/json-schema-to-grammar.cpp of Ollama 0.17.4). */
const measured: [string, JsonObject, number][] = [
  ['required properties', objectOf(numbered(40, 'column', text), Object.keys(numbered(40, 'column', text))), 3_292],
  ['optional properties', objectOf(numbered(40, 'column', { type: ['string', 'null'] })), 7_177],
  [
    'choices',
    objectOf(numbered(10, 'unit', { type: 'string', enum: Array.from({ length: 30 }, (_, index) => `value "${index}"`) })),
    8_835,
  ],
  ['lists of lists', objectOf(numbered(20, 'row', { type: 'array', items: { type: 'array', items: { type: 'number' } } })), 5_314],
  ['open objects', objectOf({ a: { ...optional, additionalProperties: true }, b: { ...optional, additionalProperties: text } }), 5_769],
  ['a selection', selectionOf(12, optional), 40_397],
  ['a large selection', selectionOf(40, nested), 1_020_504],
];

describe('the size of a grammar', () => {
  it.each(measured)('is not taken to be less than it is, nor much more: %s', (_name, schema, characters) => {
    expect(grammarSize(schema)).toBeGreaterThanOrEqual(characters);
    expect(grammarSize(schema)).toBeLessThan(1.6 * characters + 2_000);
  });
});

describe('a schema for Ollama', () => {
  it('stays as it is where its grammar has room', () => {
    const schema = selectionOf(5, optional);
    expect(fitGrammar(schema)).toBe(schema);
  });

  it('loses its innermost parts first: of a selection the names stay', () => {
    const body = objectOf({ page: { type: 'integer' }, body: { type: 'object' } });
    const list = (items: JsonObject) => objectOf({ list: { type: 'array', items } });
    expect(fitGrammar(selectionOf(12, nested))).toEqual(selectionOf(12, body));
    expect(fitGrammar(selectionOf(12, optional))).toEqual(selectionOf(12, { type: 'object' }));
    expect(fitGrammar(selectionOf(12, list(optional)))).toEqual(selectionOf(12, list({ type: 'object' })));
  });

  it('has no choice between things that have become the same', () => {
    const calls = { type: 'array', items: { type: 'object' }, maxItems: 10 };
    expect(fitGrammar(selectionOf(400, optional))).toEqual(objectOf({ tool_calls: calls }, ['tool_calls']));
  });

  it('is given up where nothing of it has room', () => {
    expect(fitGrammar({ anyOf: Array.from({ length: 2_000 }, (_, index) => ({ const: `choice ${index}` })) })).toBeUndefined();
  });
});

describe('a schema with references', () => {
  const refTo = (name: string) => ({ $ref: `#/$defs/${name}` });
  const wide = objectOf(numbered(30, 'attribute', text));

  it('counts what it refers to, once, and follows a circle no further', () => {
    const plain = grammarSize({ ...objectOf({ a: text }), $defs: { wide } });
    const once = grammarSize({ ...objectOf({ a: refTo('wide') }), $defs: { wide } });
    const often = grammarSize({ ...objectOf(numbered(9, 'a', refTo('wide'))), $defs: { wide } });
    const circle = grammarSize({ ...objectOf({ a: refTo('node') }), $defs: { node: objectOf({ next: refTo('node') }) } });
    expect(once).toBeGreaterThan(plain + grammarSize(wide) - grammarSize(text));
    expect(often).toBeLessThan(once + 2_000);
    expect(circle).toBeLessThan(plain + 500);
  });

  it('loses its innermost parts first, and refers to nothing that is gone', () => {
    const inner = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`inner_${index}`, wide]));
    const node = objectOf({ next: refTo('node'), list: { type: 'array', items: refTo('node') } });
    const root = objectOf(
      Object.fromEntries(Object.keys(inner).map((name) => [name, objectOf({ here: refTo(name), node: refTo('node') })])),
    );
    const fitted = fitGrammar({ ...root, $defs: { ...inner, node } });
    expect(fitted).toMatchObject({ properties: { inner_3: { type: 'object' } } });
    expect(grammarSize(fitted ?? {})).toBeLessThan(32_000);
  });

  it.each([
    ['a long chain', Array.from({ length: 3_000 }, (_, index) => [`n${index}`, objectOf({ next: refTo(`n${index + 1}`) })])],
    ['a long key', [['n0', { ...objectOf({ ['k'.repeat(200_000)]: text }), additionalProperties: true }]]],
    ['many keys', [['n0', objectOf(numbered(20_000, 'key', text))]]],
  ])('is looked at within bounds: %s', (_name, definitions) => {
    const schema = { ...objectOf({ a: refTo('n0') }), $defs: Object.fromEntries(definitions) as JsonObject };
    expect(grammarSize(schema)).toBeGreaterThan(32_000);
    expect(grammarSize(fitGrammar(schema) ?? {})).toBeLessThan(32_000);
  });
});
