import { array, assert, constantFrom, dictionary, double, infiniteStream, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
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

/** What each operation takes, as JSON, so that the order of keys is compared too. */
function schemasOf(document: JsonObject): Map<string, string> {
  return new Map(convertOperations(document).operations.map(({ spec }) => [spec.name, JSON.stringify(spec.parameters)]));
}

it('a function has the same schema in a long document as alone', () => {
  const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
  const schemas = {
    Tree: {
      type: 'object',
      properties: { left: ref('Tree'), right: { ...ref('Tree'), description: 'The other one.' }, value: ref('Value') },
    },
    Value: { anyOf: [{ type: 'string' }, { type: 'array', items: ref('Value') }, ref('Tree')] },
    Wide: {
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 1_500 }, (_, index) => [`p${index}`, { type: 'string' }])),
    },
    Double: { type: 'object', properties: { a: ref('Wide'), b: ref('Wide'), tree: ref('Tree') } },
    Wrapped: { allOf: [ref('Tree'), { properties: { own: ref('Value') } }] },
  };
  const entries = Object.keys(schemas).flatMap((name) =>
    ['put', 'post'].map((method): [string, JsonObject] => {
      const body = { type: 'object', properties: { [method]: ref(name), more: ref('Value') } };
      const operation = {
        operationId: `${method}${name}`,
        requestBody: { content: { 'application/json': { schema: body } } },
        responses: {},
      };
      return [`/${method}/${name}`, { [method]: operation }];
    }),
  );
  const documentOf = (paths: JsonObject): JsonObject => ({ openapi: '3.1.0', paths, components: { schemas } });
  const together = schemasOf(
    documentOf(Object.fromEntries([...entries, ...entries.map(([path, item]) => [`${path}/more`, item] as const)])),
  );
  expect(together.size).toBe(20);
  for (const [path, item] of entries)
    for (const [name, schema] of schemasOf(documentOf({ [path]: item }))) expect(together.get(name)).toBe(schema);
});

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
      { numRuns: 100 },
    );
  });

  it('are the same in a shuffled document of many operations', () => {
    const document = largeDocument(200);
    let seed = 1;
    const random = (): number => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
    const names = namesOf(document);
    expect(Object.keys(names)).toHaveLength(200);
    expect(namesOf(shuffledDocument(document, random))).toEqual(names);
  });
});
