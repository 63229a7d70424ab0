import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../../../src/shared/json/json.ts';
import { convertOperations } from '../../../../../src/tools/openapi/convert/convert-operations.ts';
import { parseDocument } from '../../../../../src/tools/openapi/document/parse-document.ts';

/** A parameter's schema as it is offered. */
function offered(schema: JsonObject, schemas: JsonObject = {}): JsonObject {
  const parameters = [{ name: 'v', in: 'query', schema }];
  const document = { openapi: '3.0.3', paths: { '/a': { get: { operationId: 'f', parameters } } }, components: { schemas } };
  const properties = convertOperations(document).operations[0]?.spec.parameters['properties'] as JsonObject;
  return properties['v'] as JsonObject;
}

describe('the choices of a schema', () => {
  it.each<[type: JsonValue, choices: JsonValue[], expected: JsonValue[]]>([
    ['string', [0, 1.5, 100], ['0', '1.5', '100']],
    ['string', [true, false, 'auto'], ['true', 'false', 'auto']],
    ['string', [1, '1', 'a'], ['1', 'a']],
    [
      ['string', 'null'],
      [1, null],
      ['1', null],
    ],
    ['integer', ['1', '-2', 3], [1, -2, 3]],
    ['number', ['1.5', '2'], [1.5, 2]],
    ['boolean', ['true', 'False'], [true, false]],
    [
      ['integer', 'string'],
      [1, 'a'],
      [1, 'a'],
    ],
  ])('are brought to the type %j: %j', (type, choices, expected) => {
    expect(offered({ type, enum: choices })['enum']).toEqual(expected);
  });

  it.each<[type: JsonValue, choices: JsonValue[]]>([
    ['integer', ['1.5', 'one', '007', '9007199254740993', '']],
    ['boolean', ['yes', 0, 1]],
    ['number', ['1.50', '1e3', 'NaN', '0x10']],
    ['string', ['a', null, { b: 1 }]],
    ['object', ['a', 1]],
  ])('stay where it is not certain what they mean: %j, %j', (type, choices) => {
    expect(offered({ type, enum: choices })['enum']).toEqual(choices);
  });

  it('are brought to it with constants and defaults, and where another part states the type', () => {
    expect(offered({ type: 'string', const: 7, default: 7 })).toEqual({ type: 'string', const: '7', default: '7' });
    expect(offered({ allOf: [{ type: 'string' }, { enum: [1, 2] }] })).toEqual({ type: 'string', enum: ['1', '2'] });
    expect(offered({ allOf: [{ $ref: '#/components/schemas/Level' }], default: 2 }, { Level: { type: 'string', enum: [1, 2] } })).toEqual({
      type: 'string',
      enum: ['1', '2'],
      default: '2',
    });
    expect(offered({ type: 'string', nullable: true, enum: [1, null] })).toEqual({ type: ['string', 'null'], enum: ['1', null] });
  });

  it('beside a list are those of its items', () => {
    expect(offered({ type: 'array', items: { type: 'string' }, enum: ['a', 1] })).toEqual({
      type: 'array',
      items: { type: 'string', enum: ['a', '1'] },
    });
    const lists = { type: 'array', items: { type: 'string' }, enum: [['a'], ['b']] };
    expect(offered(lists)).toEqual(lists);
  });

  it('are what YAML reads where they are not quoted', () => {
    const document = parseDocument(`openapi: 3.0.3
paths:
  /a:
    get:
      operationId: f
      parameters:
        - { name: v, in: query, schema: { type: string, enum: [1, 10, true, no], default: 1 } }
`);
    const properties = convertOperations(document).operations[0]?.spec.parameters['properties'];
    expect(properties).toEqual({ v: { type: 'string', enum: ['1', '10', 'true', 'no'], default: '1' } });
  });
});
