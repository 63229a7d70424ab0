import { describe, expect, it } from 'vitest';
import { compileSchema } from '../../../../../src/validation/compile-schema.ts';
import type { JsonObject } from '../../../../../src/shared/json/json.ts';
import { convertOperations } from '../../../../../src/tools/openapi/convert/convert-operations.ts';

const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
const text = { type: 'string' };
const Cat: JsonObject = { type: 'object', required: ['kind'], properties: { kind: text, lives: { type: 'integer' } } };
const Dog: JsonObject = { allOf: [ref('Base'), { type: 'object', properties: { barks: { type: 'boolean' } } }] };
const Base: JsonObject = { type: 'object', required: ['kind'], properties: { kind: text } };

/** The parameters of a function whose body is a pet. */
function parametersOf(Pet: JsonObject, schemas: JsonObject = {}): JsonObject {
  const operation = { requestBody: { required: true, content: { 'application/json': { schema: ref('Pet') } } } };
  const components = { schemas: { Pet, Cat, Dog, Base, ...schemas } };
  const [converted] = convertOperations({ openapi: '3.0.3', paths: { '/pets': { post: operation } }, components }).operations;
  if (converted === undefined) throw new Error('not converted');
  return converted.spec.parameters;
}

/** Whether a model that goes by the schema alone may send this pet. */
const takes = (parameters: JsonObject, body: JsonObject): boolean => compileSchema(parameters)?.({ body }).length === 0;

describe.each(['oneOf', 'anyOf'])('the branches of %s that a discriminator tells apart', (word) => {
  const choice = { [word]: [ref('Cat'), ref('Dog')] };

  it('say their names', () => {
    const parameters = parametersOf({ ...choice, discriminator: { propertyName: 'kind' } });
    expect(takes(parameters, { kind: 'Cat', lives: 9 })).toBe(true);
    expect(takes(parameters, { kind: 'Dog', barks: true })).toBe(true);
    expect(takes(parameters, { kind: 'tiger' })).toBe(false);
  });

  it('say the values of the mapping, by reference or by name, and all of them', () => {
    const mapping = { cat: '#/components/schemas/Cat', tom: 'Cat', dog: 'Dog' };
    const parameters = parametersOf({ ...choice, discriminator: { propertyName: 'kind', mapping } });
    expect(['cat', 'dog'].map((kind) => takes(parameters, { kind }))).toEqual([true, true]);
    expect(takes(parameters, { kind: 'Cat' })).toBe(false);
  });

  it('keep the value that they say themselves', () => {
    const Own = { type: 'object', required: ['kind'], properties: { kind: { type: 'string', enum: ['feline'] } } };
    const parameters = parametersOf({ ...choice, discriminator: { propertyName: 'kind' } }, { Cat: Own });
    expect(takes(parameters, { kind: 'feline' })).toBe(true);
    expect(takes(parameters, { kind: 'Cat' })).toBe(false);
  });

  it('stay closed where they are, and as they are where the name has no room', () => {
    const Room = {
      type: 'object',
      required: ['kind'],
      properties: { kind: text, lives: { type: 'integer' } },
      additionalProperties: false,
    };
    const NoRoom = { type: 'object', properties: { barks: text }, additionalProperties: false };
    const parameters = parametersOf({ ...choice, discriminator: { propertyName: 'kind' } }, { Cat: Room, Dog: NoRoom });
    expect(takes(parameters, { kind: 'Cat', lives: 1 })).toBe(true);
    expect(takes(parameters, { kind: 'Cat', more: 1 })).toBe(false);
    expect(takes(parameters, { barks: 'b' })).toBe(true);
    expect(takes(parameters, { kind: 'Dog', barks: 'b' })).toBe(false);
  });

  it('stay as they are without one, and with one that says nothing', () => {
    for (const discriminator of [undefined, {}, { propertyName: '' }, { propertyName: 5 }, 'kind'])
      expect(takes(parametersOf({ ...choice, ...(discriminator !== undefined && { discriminator }) }), { kind: 'tiger' })).toBe(true);
  });
});
