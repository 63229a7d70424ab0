import * as fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../src/shared/json/json.ts';
import { compileSchema } from '../../src/validation/compile-schema.ts';
import { sampleValue } from './sample-arguments.ts';

const names = ['a', 'b', 'c', 'd'];
const scalar = fc.oneof(fc.integer({ min: -2, max: 3 }), fc.constantFrom('x', 'yy', ''), fc.boolean(), fc.constant(null));
const description = fc.record({ description: fc.string({ maxLength: 150 }) }, { requiredKeys: [] });

/** Schemas of every kind that a function may have, over the same few names and values, so that many values fit. */
const { schema: schemas } = fc.letrec<{ schema: JsonValue; object: JsonObject; values: JsonValue }>((tie) => {
  const schema = tie('schema');
  const children = fc.array(schema, { minLength: 1, maxLength: 3 });
  const members = fc.dictionary(fc.constantFrom(...names), schema, { maxKeys: 4 });
  const required = fc.uniqueArray(fc.constantFrom(...names), { maxLength: 2 });
  return {
    values: scalar,
    object: fc.record(
      {
        type: fc.constant('object'),
        properties: members,
        required,
        additionalProperties: fc.oneof(fc.boolean(), schema),
        patternProperties: fc.record({ '^[ab]': schema }),
        unevaluatedProperties: fc.boolean(),
        minProperties: fc.integer({ min: 0, max: 2 }),
        dependentRequired: fc.constant({ a: ['b'] }),
        not: fc.record({ required }),
        if: fc.record({ required }),
        else: schema,
        anyOf: children,
        oneOf: children,
        allOf: children,
      },
      { requiredKeys: ['type'] },
    ),
    schema: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.boolean(),
      fc.constantFrom<JsonObject>({ type: 'string' }, { type: 'integer', minimum: 0 }, { type: ['string', 'null'] }, {}),
      fc.record({ enum: fc.array(scalar, { minLength: 1, maxLength: 200 }) }),
      fc.record({ const: scalar }),
      fc.record({ $ref: fc.constantFrom('#/$defs/A', '#/$defs/B', '#/$defs/missing', '#', '#/properties/a') }),
      fc.record({ $ref: fc.constantFrom('#/$defs/A', '#/$defs/B'), properties: members, minProperties: fc.constant(1) }),
      fc.tuple(tie('object'), description).map(([object, words]) => ({ ...object, ...words })),
      fc.record(
        { type: fc.constant('array'), items: schema, prefixItems: children, maxItems: fc.integer({ min: 0, max: 3 }) },
        { requiredKeys: ['type'] },
      ),
      fc.record({ oneOf: children }),
      fc.record({ allOf: children }),
    ),
  };
});

/** Parameters of a function. */
export const functionSchemas = fc
  .tuple(fc.dictionary(fc.constantFrom(...names), schemas, { maxKeys: 4 }), fc.record({ A: schemas, B: schemas }), fc.boolean())
  .map(([properties, $defs, isClosed]): JsonObject => ({
    type: 'object',
    properties,
    ...(isClosed && { additionalProperties: false }),
    $defs,
  }));

export const anyValues = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names, 'other'), tie('value'), { maxKeys: 3 }),
  ),
})).value;

/** As calls are checked. A schema that leads to itself without an end fits nothing. */
export function fitting(schema: JsonObject): (value: JsonValue) => boolean {
  const findErrors = compileSchema(schema);
  return (value) => {
    try {
      return findErrors?.(value).length === 0;
    } catch {
      return false;
    }
  };
}

/** Values made for the schema; none if it has no end. */
export function samplesOf(whole: JsonObject): JsonValue[] {
  try {
    return [0, 1, 2, 3].map((seed) => sampleValue(whole, whole, seed));
  } catch {
    return [];
  }
}
