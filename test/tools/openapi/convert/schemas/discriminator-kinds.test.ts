import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { fitArguments, strictRules } from '../../../../../src/chat/fit-calls/fit-arguments.ts';
import { compileSchema } from '../../../../../src/validation/compile-schema.ts';
import type { JsonObject } from '../../../../../src/shared/json/json.ts';
import { convertOperations } from '../../../../../src/tools/openapi/convert/convert-operations.ts';

const ref = (name: string, place = 'components/schemas'): JsonObject => ({ $ref: `#/${place}/${name}` });
const text = { type: 'string' };
const mapping = { cat: '#/components/schemas/Cat', dog: 'Dog' };
const base = (discriminator: JsonObject | undefined, properties: JsonObject = {}): JsonObject => ({
  type: 'object',
  required: ['kind'],
  properties: { kind: text, name: text, ...properties },
  ...(discriminator && { discriminator }),
});
const kind = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  allOf: [ref('Pet'), { type: 'object', properties, ...more }],
});
const Cat = kind({ lives: { type: 'integer' } });
const Dog = kind({ barks: { type: 'boolean' } });
const Pet = base({ propertyName: 'kind', mapping });

/** The parameters of a function whose body is of this schema. */
function parametersOf(schemas: JsonObject, schema: JsonObject = ref('Pet')): JsonObject {
  const operation = { requestBody: { required: true, content: { 'application/json': { schema } } } };
  const { operations, omitted } = convertOperations({ openapi: '3.0.3', paths: { '/pets': { post: operation } }, components: { schemas } });
  const [converted] = operations;
  if (converted === undefined) throw new Error(JSON.stringify(omitted));
  return converted.spec.parameters;
}

/** Why a pet is refused; empty where it is sent as it is. */
function objectionsTo(parameters: JsonObject, body: JsonObject, argument = 'body'): string[] {
  const given = argument === '' ? body : { [argument]: body };
  const { args, problems } = fitArguments(given, parameters, strictRules);
  const changes = isDeepStrictEqual(args, given) ? [] : [`sent as ${JSON.stringify(args)}`];
  return [...problems, ...(compileSchema(parameters)?.(args) ?? ['not compiled']), ...changes];
}

describe('the kinds of a base with a discriminator', () => {
  it('are offered with their members, at the root of a body and within', () => {
    for (const [parameters, argument] of [
      [parametersOf({ Pet, Cat, Dog }), 'body'],
      [parametersOf({ Pet, Cat, Dog }, { type: 'object', properties: { pet: ref('Pet') } }), 'pet'],
    ] as const) {
      expect(objectionsTo(parameters, { kind: 'cat', name: 'Tom', lives: 9 }, argument)).toEqual([]);
      expect(objectionsTo(parameters, { kind: 'dog', barks: true }, argument)).toEqual([]);
      expect(objectionsTo(parameters, { kind: 'cat', name: 'Tom' }, argument)).toEqual([]);
      expect(objectionsTo(parameters, { kind: 'cat', lives: 'many' }, argument)).not.toEqual([]);
      expect(objectionsTo(parameters, { kind: 'fish' }, argument)).not.toEqual([]);
      expect(objectionsTo(parameters, { kind: 'cat', legs: 4 }, argument)[0]).toContain('legs: is not an argument');
    }
  });

  it('are those that extend it where there is no mapping, over several steps, under their names', () => {
    const Lion = { allOf: [ref('Cat'), { type: 'object', properties: { mane: text } }] };
    const parameters = parametersOf({ Pet: base({ propertyName: 'kind' }), Cat, Lion });
    expect(objectionsTo(parameters, { kind: 'Cat', lives: 9 })).toEqual([]);
    expect(objectionsTo(parameters, { kind: 'Lion', lives: 9, mane: 'long' })).toEqual([]);
    expect(objectionsTo(parameters, { kind: 'Pet', name: 'Tom' })).toEqual([]);
    expect(objectionsTo(parameters, { kind: 'tiger' })).not.toEqual([]);
  });

  it('take values that the base lists and no kind has', () => {
    const listed = base({ propertyName: 'kind', mapping: { cat: 'Cat' } }, { kind: { type: 'string', enum: ['cat', 'fish'] } });
    const parameters = parametersOf({ Pet: listed, Cat });
    expect(objectionsTo(parameters, { kind: 'cat', lives: 9 })).toEqual([]);
    expect(objectionsTo(parameters, { kind: 'fish', name: 'Nemo' })).toEqual([]);
  });

  it('keep the value that they say themselves', () => {
    const Own = kind({ kind: { type: 'string', enum: ['feline'] }, lives: { type: 'integer' } });
    const parameters = parametersOf({ Pet: base({ propertyName: 'kind' }), Cat: Own, Dog });
    expect(objectionsTo(parameters, { kind: 'feline', lives: 9 })).toEqual([]);
  });

  it('have members of their base although one of both is closed', () => {
    const closed = { additionalProperties: false };
    const parameters = parametersOf({ Pet: { ...Pet, ...closed }, Cat: kind({ lives: { type: 'integer' } }, closed), Dog });
    expect(objectionsTo(parameters, { kind: 'cat', name: 'Tom', lives: 9 })).toEqual([]);
  });

  it('are not offered where one of them is asked for', () => {
    const parameters = parametersOf({ Pet, Cat, Dog }, ref('Cat'));
    expect(Object.keys(parameters['properties'] as JsonObject).sort()).toEqual(['kind', 'lives', 'name']);
  });

  it('may hold their base again', () => {
    const Owner = { type: 'object', properties: { pets: { type: 'array', items: ref('Pet') } } };
    const schemas = { Pet, Cat: kind({ friend: ref('Pet'), owner: ref('Owner') }), Dog, Owner };
    for (const schema of [ref('Pet'), ref('Owner'), ref('Cat')]) {
      const parameters = parametersOf(schemas, schema);
      expect(JSON.stringify(parameters).length).toBeLessThan(5_000);
      expect(compileSchema(parameters)).toBeDefined();
    }
    const friend = { kind: 'cat', friend: { kind: 'dog', barks: true }, owner: { pets: [{ kind: 'dog', name: 'Rex' }] } };
    expect(objectionsTo(parametersOf(schemas), { kind: 'cat', friend })).toEqual([]);
    expect(objectionsTo(parametersOf(schemas), { kind: 'cat', friend: { kind: 'dog', barks: 'loud' } })).not.toEqual([]);
  });

  it('that lead nowhere cost nothing else', () => {
    const Broken = kind({ lives: ref('Nowhere') });
    const parameters = parametersOf({
      Pet: base({ propertyName: 'kind', mapping: { ...mapping, fish: 'Fish', bird: 'Broken' } }),
      Cat,
      Dog,
      Broken,
    });
    expect(objectionsTo(parameters, { kind: 'cat', lives: 9 })).toEqual([]);
  });

  it('leave an object open where there are too many of them to be written', () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`Kind${index}`, kind({ [`member${index}`]: text })]));
    const parameters = parametersOf({ Pet: base({ propertyName: 'kind' }), ...many });
    expect(objectionsTo(parameters, { kind: 'Kind7', member7: 'x' })).toEqual([]);
    expect(JSON.stringify(parameters).length).toBeLessThan(200_000);
  });

  it('are found in Swagger 2.0, by their names or by the value that an extension states', () => {
    const own = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
      allOf: [ref('Pet', 'definitions'), { properties }],
      ...more,
    });
    const definitions = {
      Pet: { ...base(undefined), discriminator: 'kind' },
      Cat: own({ lives: { type: 'integer' } }, { 'x-ms-discriminator-value': 'Animals.Cat' }),
      Dog: own({ barks: { type: 'boolean' } }),
    };
    const operation = { parameters: [{ name: 'pet', in: 'body', required: true, schema: ref('Pet', 'definitions') }], responses: {} };
    const [converted] = convertOperations({ swagger: '2.0', paths: { '/pets': { post: operation } }, definitions }).operations;
    const parameters = converted?.spec.parameters ?? {};
    expect(objectionsTo(parameters, { kind: 'Animals.Cat', lives: 9 })).toEqual([]);
    expect(objectionsTo(parameters, { kind: 'Dog', barks: true })).toEqual([]);
  });

  it('have their values fitted, once an object says which kind it is', () => {
    const parameters = parametersOf({ Pet, Cat, Dog });
    const fitted = (body: JsonObject) => fitArguments({ body }, parameters, strictRules).args['body'];
    expect(fitted({ kind: 'cat', lives: '9' })).toEqual({ kind: 'cat', lives: 9 });
    expect(fitted({ lives: '9' })).toEqual({ lives: '9' });
  });
});
