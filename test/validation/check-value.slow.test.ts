import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/shared/json.ts';
import { checkInWorker } from '../../src/validation/check-job.ts';
import { checkValue, type ValueCheck } from '../../src/validation/check-value.ts';
import { compileSchema } from '../../src/validation/compile-schema.ts';
import { isCheapCheck, isSmallSchema } from '../../src/validation/work-bound.ts';
import { begunJobs, watchWorkerJobs } from '../_support/worker-jobs.ts';

function check(value: JsonValue, schema: JsonObject, signal?: AbortSignal): Promise<ValueCheck> {
  return checkValue(value, schema, { caller: 'key-1', signal });
}

function inWorker(value: JsonValue, schema: JsonObject): string[] | 'unusable' {
  const progress = new Int32Array(new SharedArrayBuffer(4));
  return checkInWorker({ schemaText: JSON.stringify(schema), valueText: JSON.stringify(value), progress });
}

const nested = (depth: number, innermost: JsonValue): JsonValue => {
  let value = innermost;
  for (let level = 0; level < depth; level += 1) value = { a: value };
  return value;
};

/** Branches that lead back to where they stand: the work triples with each level of the value. */
const recursive = (): JsonObject => ({
  $defs: {
    node: {
      anyOf: [
        { type: 'object', properties: { a: { $ref: '#/$defs/node' } }, required: ['b'] },
        { type: 'object', properties: { a: { $ref: '#/$defs/node' } }, required: ['c'] },
        { type: 'object', properties: { a: { $ref: '#/$defs/node' } }, required: ['a'] },
        { type: 'null' },
      ],
    },
  },
  type: 'object',
  properties: { a: { $ref: '#/$defs/node' } },
});
const uniqueObjects = (): JsonObject => ({ type: 'object', properties: { list: { type: 'array', uniqueItems: true } } });
const objects = (count: number): JsonObject => ({ list: Array.from({ length: count }, (_, id) => ({ id })) });
const wide = (properties: number): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: properties }, (_, index) => [`p${index}`, { type: 'integer', minimum: index }])),
  required: ['p0'],
});

describe('a usual schema', () => {
  const schema = (): JsonObject => ({
    type: 'object',
    properties: { city: { type: 'string', pattern: '^[A-Z]', maxLength: 40 }, days: { type: 'integer', minimum: 1 } },
    required: ['city'],
  });

  test('is checked in place', async () => {
    const events = watchWorkerJobs();
    expect(await check({ city: 'Paris', days: 2 }, schema())).toEqual({ type: 'fits' });
    expect(await check({ city: 'paris', days: 0 }, schema())).toEqual({
      type: 'faulty',
      errors: ['city: must match pattern "^[A-Z]"', 'days: must be >= 1'],
    });
    expect(begunJobs(events)).toBe(0);
  });

  test.each<[value: JsonObject]>([[{ city: 'Paris' }], [{}], [{ city: 'paris', days: 0 }], [{ city: 1, days: 'x' }]])(
    'gives the same sentences in a worker for %j',
    (value) => {
      expect(inWorker(value, schema())).toEqual(compileSchema(schema())?.(value));
    },
  );
});

describe('what may take long goes aside', () => {
  test.each<[what: string, schema: JsonObject, value: JsonObject, faulty: JsonObject, error: string]>([
    ['recursive branches', recursive(), { a: nested(9, null) }, { a: nested(9, 1) }, 'a.b: is required'],
    [
      'unique objects',
      uniqueObjects(),
      objects(300),
      { list: [...(objects(300)['list'] as JsonValue[]), { id: 7 }] },
      'list: must NOT have duplicate items (items ## 7 and 300 are identical)',
    ],
    ['a large schema', wide(150), { p0: 1, p9: 9 }, { p0: 1, p9: 2 }, 'p9: must be >= 9'],
  ])('%s, with the same result', async (_what, schema, value, faulty, error) => {
    const events = watchWorkerJobs();
    expect(await check(value, schema)).toEqual({ type: 'fits' });
    const refused = await check(faulty, schema);
    expect(refused).toMatchObject({ type: 'faulty', errors: expect.arrayContaining([error]) });
    expect(refused).toEqual({ type: 'faulty', errors: compileSchema(schema)?.(faulty) });
    expect(events.map(({ type, caller }) => `${type} ${caller}`)).toEqual(['begun key-1', 'done key-1', 'begun key-1', 'done key-1']);
  });

  test.each<[what: string, schema: JsonObject, value: JsonObject]>([
    ['recursive branches', recursive(), { a: nested(60, null) }],
    [
      'unique objects',
      { ...uniqueObjects(), properties: { list: { uniqueItems: true, type: 'array' } } },
      { list: Array.from({ length: 45_000 }, (_, id) => ({ id })) },
    ],
  ])('and is ended where it does take long: %s', async (_what, schema, value) => {
    const events = watchWorkerJobs();
    expect(await check(value, schema)).toEqual({ type: 'unchecked', reason: 'takes longer than 1 s to check' });
    expect(events).toMatchObject([{ type: 'begun' }, { type: 'failed', error: { name: 'TookTooLong' } }]);
    // The schema is used on.
    expect(await check({}, schema)).toEqual({ type: 'fits' });
  });

  test('and ends with its signal', async () => {
    const leaving = new AbortController();
    const checking = check({ a: nested(60, null) }, recursive(), leaving.signal);
    leaving.abort(new Error('left'));
    await expect(checking).rejects.toThrow('left');
  });

  test('unless it is too large to be handed over', async () => {
    const events = watchWorkerJobs();
    expect(await check({ list: Array.from({ length: 100_001 }, () => 1) }, uniqueObjects())).toEqual({
      type: 'unchecked',
      reason: 'is too large to be checked',
    });
    expect(begunJobs(events)).toBe(0);
  });
});

describe('a schema checks nothing', () => {
  test.each<[why: string, schema: JsonObject]>([
    ['that does not compile', { type: 'nonsense' }],
    ['with a reference to nothing', { properties: { a: { $ref: '#/$defs/none' } } }],
    ['that is large and does not compile', { ...wide(200), type: 'nonsense' }],
  ])('%s', async (_why, schema) => {
    expect(await check({ a: 1 }, schema)).toEqual({ type: 'fits' });
    expect(await check({ a: 1 }, schema)).toEqual({ type: 'fits' });
  });
});

test('a schema that is too large to compile is checked in the part that concerns the value', async () => {
  expect(await check({ a: 1 }, wide(10_000))).toEqual({ type: 'faulty', errors: ['p0: is required'] });
});

describe('the bound on the work', () => {
  const plain = (schema: JsonObject): JsonObject => ({ type: 'object', properties: { a: schema } });
  const list = (count: number): JsonObject => ({ a: Array.from({ length: count }, (_, id) => ({ id })) });

  test.each<[what: string, schema: JsonObject, cheap: JsonObject, dear: JsonObject]>([
    ['recursive branches', recursive(), { a: nested(3, null) }, { a: nested(25, null) }],
    ['unique items', plain({ uniqueItems: true }), list(50), list(1_000)],
    ['many items', plain({ items: { properties: { id: { type: 'integer' } } } }), list(200), list(5_000)],
    ['contained items', plain({ contains: { properties: { id: { const: -1 } } } }), list(200), list(5_000)],
    ['a pattern', plain({ pattern: '^(a|b|ab){1,50}$' }), { a: 'ab' }, { a: 'ab'.repeat(4_000) }],
    ['a long enumeration', plain({ items: { enum: Array.from({ length: 150 }, (_, n) => ({ n })) } }), list(3), list(200)],
    ['many keys', plain({ additionalProperties: { type: 'integer' } }), { a: { x: 1 } }, { a: wide(5_000)['properties'] }],
    ['names of keys', plain({ propertyNames: { maxLength: 3 } }), { a: { x: 1 } }, { a: wide(5_000)['properties'] }],
  ])('grows with schema times value: %s', (_what, schema, cheap, dear) => {
    expect(isSmallSchema(schema)).toBe(true);
    expect(isCheapCheck(schema, cheap)).toBe(true);
    expect(isCheapCheck(schema, dear)).toBe(false);
  });

  test.each<[what: string, schema: JsonObject]>([
    ['a reference to itself', { $ref: '#' }],
    ['a circle of references', { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' }],
    ['branches that lead back', { anyOf: [{ $ref: '#' }, { $ref: '#' }] }],
  ])('ends for %s', (_what, schema) => {
    expect(isCheapCheck(schema, {})).toBe(false);
  });

  test.each<[what: string, isSmall: boolean, schema: JsonObject]>([
    ['the properties of a usual function', true, wide(30)],
    ['many properties', false, wide(100)],
    ['long descriptions', true, plain({ description: 'x'.repeat(100_000) })],
    ['schemas that hide below a name like an annotation', false, plain({ properties: { default: wide(100) } })],
    ['long choices', false, plain({ enum: ['x'.repeat(30_000)] })],
    ['patterns that are written out', false, plain({ pattern: '(abcdefghij){1000}' })],
  ])('knows a small schema: %s', (_what, isSmall, schema) => {
    expect(isSmallSchema(schema)).toBe(isSmall);
  });
});
