import { expect, it } from 'vitest';
import { maxHops, resolveSchema } from '../../../src/shared/json-schema/resolve.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';

const root: JsonObject = {
  $defs: {
    text: { type: 'string' },
    alias: { $ref: '#/$defs/text' },
    'a/b': { type: 'integer' },
    loop: { $ref: '#/$defs/loop' },
  },
};

it.each([
  ['a schema without a reference', { type: 'null' }, { type: 'null' }],
  ['a truth value', true, true],
  ['a reference', { $ref: '#/$defs/text', title: 'ignored' }, { type: 'string' }],
  ['a reference to a reference', { $ref: '#/$defs/alias' }, { type: 'string' }],
  ['a name with a slash', { $ref: '#/$defs/a~1b' }, { type: 'integer' }],
  ['the whole schema', { $ref: '#' }, root],
  ['a reference to nothing', { $ref: '#/$defs/none' }, undefined],
  ['another document', { $ref: 'https://example.com/schema' }, undefined],
  ['a circle', { $ref: '#/$defs/loop' }, undefined],
  ['a property that is called $ref', { $ref: { type: 'string' } }, { $ref: { type: 'string' } }],
])('resolves %s', (_what, schema, expected) => {
  expect(resolveSchema(schema, root)).toEqual(expected);
});

it('follows as many references as it says, and no more', () => {
  const chain = (length: number): JsonObject => ({
    $defs: Object.fromEntries(
      Array.from({ length }, (_, index) => [`d${index}`, index + 1 < length ? { $ref: `#/$defs/d${index + 1}` } : { type: 'string' }]),
    ),
  });
  expect(resolveSchema({ $ref: '#/$defs/d0' }, chain(maxHops))).toEqual({ type: 'string' });
  expect(resolveSchema({ $ref: '#/$defs/d0' }, chain(maxHops + 1))).toBeUndefined();
});
