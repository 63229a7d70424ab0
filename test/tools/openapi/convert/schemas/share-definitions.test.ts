import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/shared/json/json.ts';
import { shareDefinitions } from '../../../../../src/tools/openapi/convert/schemas/share-definitions.ts';

const place: JsonObject = {
  type: 'object',
  properties: { hall: { type: 'string', description: 'The hall, as it is written on its gate' }, row: { type: 'integer', minimum: 1 } },
  required: ['hall'],
};
const words = 'w'.repeat(400);

function parametersWith(properties: JsonObject, more: JsonObject = {}): JsonObject {
  return { type: 'object', properties: { ...properties, note: { type: 'string', description: words } }, required: [], ...more };
}

describe('what stands several times in the parameters of a function', () => {
  it('is written once, under the name of the first property that it stands under', () => {
    const shared = shareDefinitions(parametersWith({ start_place: place, end: place, via: { type: 'array', items: place } }));
    const pointer = { $ref: '#/$defs/StartPlace' };
    expect(shared).toEqual(
      parametersWith({ start_place: pointer, end: pointer, via: { type: 'array', items: pointer } }, { $defs: { StartPlace: place } }),
    );
  });

  it('has the name that the document gives it', () => {
    const { $defs } = shareDefinitions(parametersWith({ a: place, b: place }), (schema) => (schema === place ? 'Place' : undefined));
    expect($defs).toEqual({ Place: place });
  });

  it('is the definition that is there already', () => {
    const known = { Place: place };
    const shared = shareDefinitions(parametersWith({ a: place, b: { type: 'array', items: { $ref: '#/$defs/Place' } } }, { $defs: known }));
    expect(shared).toEqual(
      parametersWith({ a: { $ref: '#/$defs/Place' }, b: { type: 'array', items: { $ref: '#/$defs/Place' } } }, { $defs: known }),
    );
  });

  it('within a repeated part is written with it', () => {
    const outer = { type: 'object', properties: { from: place, to: place, why: { type: 'string', description: 'y'.repeat(300) } } };
    const shared = shareDefinitions(parametersWith({ a: outer, b: outer }));
    expect(Object.keys(shared['$defs'] ?? {}).toSorted()).toEqual(['A', 'From']);
    expect(shared['$defs']).toMatchObject({
      A: { properties: { from: { $ref: '#/$defs/From' }, to: { $ref: '#/$defs/From' } } },
      From: place,
    });
  });

  it('and is a text or a number stays an argument of its own, whatever its description', () => {
    const text = { type: 'string', description: words };
    expect(shareDefinitions(parametersWith({ a: text, b: text }))).not.toHaveProperty('$defs');
  });

  it('and is short stays where it is, and so does everything in a small function', () => {
    const short = parametersWith({ a: { type: 'integer', minimum: 1 }, b: { type: 'integer', minimum: 1 } });
    expect(shareDefinitions(short)).toBe(short);
    const small = { type: 'object', properties: { a: { enum: ['x'.repeat(60)] }, b: { enum: ['x'.repeat(60)] } }, required: [] };
    expect(shareDefinitions(small)).toBe(small);
  });

  it('is not touched in the schema that was given', () => {
    const given = parametersWith({ a: place, b: place });
    const before = JSON.stringify(given);
    shareDefinitions(given);
    expect(JSON.stringify(given)).toBe(before);
  });
});
