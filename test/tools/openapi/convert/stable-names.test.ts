import { array, assert, constantFrom, dictionary, double, infiniteStream, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/shared/json.ts';
import { convertOperations } from '../../../../src/tools/openapi/convert/convert-operations.ts';
import { largeDocument, shuffledDocument } from '../../../_support/large-document.ts';

/** By method and path: what a model calls it, and what it takes. */
function namesOf(document: JsonObject): Record<string, { name: string; arguments: string[] }> {
  const { operations } = convertOperations(document);
  const entries = operations.map(({ method, path, spec, bindings }) => {
    return [`${method} ${path}`, { name: spec.name, arguments: bindings.map(({ argument }) => argument).toSorted() }] as const;
  });
  return Object.fromEntries(entries);
}

const long = 'the_operation_whose_name_is_longer_than_any_model_may_be_told_about_';
/** Names that clash, are too long, equal what another becomes, or are missing. */
const operationIds = ['get', 'get item', 'get_item', `${long}a`, `${long}b`, long, '読む', 'lésen', 'lesen', '1st', '_1st', '', undefined];
const methods = ['get', 'post', 'put', 'patch', 'delete'];

const operation = record({ method: constantFrom(...methods), operationId: constantFrom(...operationIds) });
const paths = dictionary(
  constantFrom('/a', '/a/{id}', '/b', '/b/c', '/b_c', '/items', '/items/{item id}', `/${long}x`, `/${long}y`, '/读'),
  array(operation, { minLength: 1, maxLength: 4 }),
  { minKeys: 2 },
);

describe('the names of functions', () => {
  it('are the same in whatever order a document has its paths, methods and components', () => {
    assert(
      property(paths, infiniteStream(double({ min: 0, max: 0.999, noNaN: true })), (described, numbers) => {
        const schemas = { A: { type: 'object', properties: { x: { $ref: '#/components/schemas/B' } } }, B: { type: 'string' } };
        const entries = Object.entries(described).map(([path, list]): [string, JsonObject] => [
          path,
          Object.fromEntries(list.map(({ method, operationId }) => [method, { operationId, responses: {} }])),
        ]);
        const document: JsonObject = { openapi: '3.1.0', paths: Object.fromEntries(entries), components: { schemas } };
        const names = namesOf(document);
        expect(new Set(Object.values(names).map(({ name }) => name)).size).toBe(Object.keys(names).length);
        expect(namesOf(shuffledDocument(document, () => numbers.next().value ?? 0))).toEqual(names);
      }),
      { numRuns: 300 },
    );
  });

  it('are the same in a shuffled document of 1,000 operations', () => {
    const document = largeDocument();
    let seed = 1;
    const random = (): number => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
    const names = namesOf(document);
    expect(Object.keys(names)).toHaveLength(1_000);
    expect(namesOf(shuffledDocument(document, random))).toEqual(names);
  });
});
