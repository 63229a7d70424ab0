import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json.ts';
import { convertOperations } from '../../../src/tools/openapi/convert/convert-operations.ts';
import type { Operation } from '../../../src/tools/openapi/operation.ts';
import { findLosses } from '../../_support/find-losses.ts';

const long = Array.from({ length: 120 }, (_, index) => `word${index}`).join(' ');
const document: JsonObject = {
  openapi: '3.1.0',
  paths: {
    '/a': {
      post: {
        operationId: 'add',
        parameters: [
          {
            name: 'page',
            in: 'query',
            required: true,
            description: 'Which [page\nof them](http://x.test/y) to <b>read</b>.',
            schema: { type: 'integer' },
          },
          { name: 'X-Token', in: 'header', schema: { type: 'string' } },
          { name: 'kind', in: 'query', schema: { $ref: '#/components/schemas/Kind' } },
        ],
        requestBody: { required: true, content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } },
      },
    },
  },
  components: {
    securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-token' } },
    schemas: {
      Kind: { type: 'string', enum: ['one', 'two'] },
      Thing: {
        type: 'object',
        required: ['shape'],
        properties: {
          note: { type: 'string', description: long },
          tags: { type: 'array', items: { $ref: '#/components/schemas/Kind' } },
          extra: { type: 'object', additionalProperties: { type: 'integer' } },
          shape: {
            oneOf: [
              { type: 'object', required: ['side'], properties: { side: { type: 'number', description: 'Of the square.' } } },
              { type: 'object', properties: { radius: { type: 'number' } } },
            ],
          },
        },
      },
    },
  },
};

function converted(): Operation & { properties: Record<string, JsonObject> } {
  const [operation] = structuredClone(convertOperations(document).operations);
  if (operation === undefined) throw new Error('There is no function.');
  return { ...operation, properties: operation.spec.parameters['properties'] as Record<string, JsonObject> };
}

type Converted = ReturnType<typeof converted>;

describe('the search for losses', () => {
  it('finds none where nothing is lost', () => {
    expect(findLosses(document, converted())).toEqual([]);
  });

  const branches = ({ properties }: Converted): JsonObject[] => properties['shape']?.['anyOf'] as JsonObject[];
  it.each<[string, (operation: Converted) => void, string]>([
    ['a parameter', (operation) => operation.places.splice(0, 1), 'add has lost page'],
    ['a description', ({ properties }) => delete properties['page']?.['description'], 'add: page has lost words of its description'],
    [
      'a word of a description',
      ({ properties }) => Object.assign(properties['page'] ?? {}, { description: 'Which page to read.' }),
      'add: page has lost words of its description',
    ],
    [
      'more of a long text than its length asks for',
      ({ properties }) => Object.assign(properties['note'] ?? {}, { description: 'word0 word1 …' }),
      'add.note has lost words of its description',
    ],
    ['a required parameter', ({ spec }) => Object.assign(spec.parameters, { required: ['shape'] }), 'add: page is no longer required'],
    ['a required field', ({ spec }) => Object.assign(spec.parameters, { required: ['page'] }), 'add.shape is no longer required'],
    ['a type', ({ properties }) => Object.assign(properties['page'] ?? {}, { type: 'string' }), 'add: page is no integer any more'],
    ['a choice', ({ properties }) => Object.assign(properties['kind'] ?? {}, { enum: ['one'] }), 'add: kind has lost the choices ["two"]'],
    ['what items are', ({ properties }) => Object.assign(properties['tags'] ?? {}, { items: {} }), 'add.tags[] is no string any more'],
    [
      'what a map holds',
      ({ properties }) => delete properties['extra']?.['additionalProperties'],
      'add.extra has lost its additionalProperties',
    ],
    ['a branch', (operation) => branches(operation).pop(), 'add.shape.radius is missing'],
    ['what a branch requires', (operation) => delete branches(operation)[0]?.['required'], 'add.shape.side is no longer required'],
  ])('finds %s', (_, lose, expected) => {
    const operation = converted();
    lose(operation);
    expect(findLosses(document, operation)).toContain(expected);
  });
});
