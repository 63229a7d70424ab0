import { describe, expect, it } from 'vitest';
import { isJsonObject } from '../../../../src/shared/json/json.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { cutSchema } from '../../../../src/tools/catalog/cut/cut-schema.ts';
import { lengthWithin } from '../../../../src/tools/catalog/cut/json-length.ts';

const words = (length: number): string => 'word '.repeat(length / 5);
const texts = (count: number, description: string): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`text_${index}`, { type: 'string', description }]));

describe('a cut schema', () => {
  it('is the whole where that fits', () => {
    const whole = { type: 'object', properties: texts(3, 'Some words') };
    expect(cutSchema(whole, 1_000)).toEqual({ schema: whole, cuts: [] });
  });

  it('shortens descriptions before it leaves out structure', () => {
    const whole = { type: 'object', properties: { inner: { type: 'object', properties: texts(20, words(500)) } } };
    const { schema, cuts } = cutSchema(whole, 4_000);
    expect(Object.keys(propertyOf(schema, 'inner')['properties'] ?? {})).toHaveLength(20);
    expect(JSON.stringify(schema)).toContain('word…');
    expect(cuts).toEqual([]);
  });

  it('has what is required, at every depth, before anything optional, and says where the rest is', () => {
    const container = { type: 'object', properties: { ...texts(100, words(100)), image: { type: 'string' } }, required: ['image'] };
    const spec = { type: 'object', properties: { ...texts(100, words(100)), container }, required: ['container'] };
    const { schema, cuts } = cutSchema({ type: 'object', properties: { spec }, required: ['spec'] }, 1_500);
    const shown = propertyOf(propertyOf(schema, 'spec'), 'container');
    expect(shown).toMatchObject({ required: ['image'], additionalProperties: true });
    expect(shown['description']).toMatch(/Also text_\d+.*, …\. More: \/spec\/container$/);
    expect(cuts).toEqual(['/spec', '/spec/container']);
  });

  it('writes a schema within itself once, and refers to it', () => {
    const rule = { type: 'object', properties: { ...texts(5, words(100)), rules: { type: 'array', items: { $ref: '#/$defs/Rule' } } } };
    const whole = { type: 'object', properties: { rule: { $ref: '#/$defs/Rule' }, ...texts(20, words(200)) }, $defs: { Rule: rule } };
    const { schema } = cutSchema(whole, 5_000);
    const again = propertyOf(propertyOf(schema, 'rule'), 'rules')['items'];
    expect(again).toEqual({ type: 'object', description: 'As /rule. More: /rule/rules/*' });
  });

  it('names a few of the choices that it has no room for, and forbids none', () => {
    const choices = Array.from({ length: 2_000 }, (_, index) => `choice ${index}`);
    const whole = { type: 'object', properties: { one: { enum: choices, type: 'string' }, few: { enum: ['a', 'b'] } } };
    const { schema } = cutSchema(whole, 4_000);
    expect(propertyOf(schema, 'one')).toEqual({
      type: 'string',
      description: 'One of 2000: "choice 0", "choice 1", "choice 2", "choice 3", "choice 4", …',
    });
    expect(propertyOf(schema, 'few')).toEqual({ enum: ['a', 'b'] });
  });

  it('takes as long for a schema without an end as for one that is hardly too long', () => {
    const endless = (): JsonObject => ({
      type: 'object',
      get properties() {
        return { one: endless(), other: endless() };
      },
    });
    const { schema } = cutSchema(endless(), 5_000);
    expect(lengthWithin(schema, 5_000)).toBeLessThanOrEqual(5_000);
  });
});

function propertyOf(schema: JsonObject, name: string): JsonObject {
  const { properties } = schema;
  const found = isJsonObject(properties) ? properties[name] : undefined;
  return isJsonObject(found) ? found : {};
}
