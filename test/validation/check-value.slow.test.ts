import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/shared/json/json.ts';
import { checkInWorker } from '../../src/validation/check-job.ts';
import { checkValue, type ValueCheck } from '../../src/validation/check-value.ts';
import { compileSchema } from '../../src/validation/compile-schema.ts';
import { OutOfSteps } from '../../src/validation/count-steps.ts';
import { trustSchema } from '../../src/validation/trusted-schemas.ts';
import { begunJobs, watchWorkerJobs } from '../_support/worker-jobs.ts';

function check(value: JsonValue, schema: JsonObject, signal?: AbortSignal): Promise<ValueCheck> {
  return checkValue(value, schema, { caller: 'key-1', signal });
}

function inWorker(value: JsonValue, schema: JsonObject): string[] {
  const progress = new Int32Array(new SharedArrayBuffer(4));
  const report = checkInWorker({ schemaText: JSON.stringify(schema), valueText: JSON.stringify(value), progress });
  return report.type === 'checked' ? report.errors : ['unusable'];
}

/** A schema that no other test has. */
let made = 0;
function fresh(schema: JsonObject): JsonObject {
  made += 1;
  return { ...schema, title: `schema ${made}` };
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
  const usual = (): JsonObject => ({
    type: 'object',
    properties: { city: { type: 'string', pattern: '^[A-Z]', maxLength: 40 }, days: { type: 'integer', minimum: 1 } },
    required: ['city'],
  });
  const faulty = { type: 'faulty', errors: ['city: must match pattern "^[A-Z]"', 'days: must be >= 1'] };

  it('is tried in a worker with its first check, and checked in place afterwards, also when it comes as another object', async () => {
    const events = watchWorkerJobs();
    const schema = fresh(usual());
    expect(await check({ city: 'paris', days: 0 }, schema)).toEqual(faulty);
    expect(begunJobs(events)).toBe(1);
    expect(await check({ city: 'Paris', days: 2 }, schema)).toEqual({ type: 'fits' });
    expect(await check({ city: 'paris', days: 0 }, schema)).toEqual(faulty);
    expect(await check({ city: 'paris', days: 0 }, structuredClone(schema))).toEqual(faulty);
    expect(begunJobs(events)).toBe(1);
  });

  it('is tried once for all calls of a round', async () => {
    const events = watchWorkerJobs();
    const [schema, other] = [fresh(usual()), fresh(usual())];
    const checks = await Promise.all(
      [1, 2, 3, 4].flatMap((days) => [check({ city: 'Paris', days }, schema), check({ city: 'Rome' }, other)]),
    );
    expect(checks).toEqual(checks.map(() => ({ type: 'fits' })));
    expect(begunJobs(events)).toBe(2);
  });

  it('is checked for everybody when whoever tried it first has left', async () => {
    const leaving = new AbortController();
    const schema = fresh(usual());
    const first = check({ city: 'Paris' }, schema, leaving.signal);
    const second = check({ city: 'paris', days: 0 }, schema);
    leaving.abort(new Error('left'));
    await expect(first).rejects.toThrow('left');
    expect(await second).toEqual(faulty);
  });

  it('is never tried in a worker if it is trusted', async () => {
    const events = watchWorkerJobs();
    expect(await check({ city: 'paris', days: 0 }, trustSchema(fresh(usual())))).toEqual(faulty);
    expect(begunJobs(events)).toBe(0);
  });

  it.each<[value: JsonObject]>([[{ city: 'Paris' }], [{}], [{ city: 'paris', days: 0 }], [{ city: 1, days: 'x' }]])(
    'gives the same sentences in a worker for %j',
    (value) => {
      expect(inWorker(value, usual())).toEqual(compileSchema(usual())?.(value));
    },
  );
});

/** Folding the case of a wide range takes about five milliseconds, however short it is. */
const foldedRanges = `(?i)[${'b-\u{1e900}'.repeat(40)}]`;
/** References to many levels of one nested schema: compiling each of them goes through all that is below it. */
function levels(depth: number, references: number): JsonObject {
  let nestedSchema: JsonObject = { type: 'string' };
  for (let level = 0; level < depth; level += 1) nestedSchema = { properties: { a: nestedSchema } };
  const properties = Object.fromEntries(
    Array.from({ length: references }, (_, level) => [`r${level}`, { $ref: `#${'/properties/a'.repeat(level + 1)}` }]),
  );
  return { properties: { a: nestedSchema, ...properties } };
}

describe('a schema that is expensive to compile', () => {
  it.each<[what: string, schema: JsonObject]>([
    ['a short pattern', { type: 'object', properties: { a: { type: 'string', pattern: foldedRanges } } }],
    ['a pattern for names', { type: 'object', patternProperties: { [foldedRanges]: {} } }],
    ['references to many levels', levels(60, 30)],
  ])('is never compiled on the main thread: %s', async (_what, schema) => {
    const events = watchWorkerJobs();
    for (let times = 1; times <= 3; times += 1) {
      await check({}, schema);
      expect(begunJobs(events)).toBe(times);
    }
  });

  it('costs only calls that need the expensive part', async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`p${index}`, { type: 'string', pattern: `${foldedRanges}${index}` }]),
    );
    const schema = { type: 'object', properties: { ...properties, days: { type: 'integer' } } };
    // The check stops where compiling the whole takes too long, and goes on with what concerns the value.
    expect(await check({ days: 'x' }, schema)).toEqual({ type: 'faulty', errors: ['days: must be integer'] });
    const many = Object.fromEntries(Object.keys(properties).map((name) => [name, 'x']));
    expect(await check(many, schema)).toEqual({ type: 'unchecked', reason: expect.stringMatching(/^takes longer than 1\.\d+ s$/) });
  });
});

describe('what may take long goes aside', () => {
  it.each<[what: string, schema: JsonObject, value: JsonObject, faulty: JsonObject, error: string]>([
    ['recursive branches', recursive(), { a: nested(9, null) }, { a: nested(9, 1) }, 'a.b: is required'],
    [
      'unique objects',
      uniqueObjects(),
      objects(300),
      { list: [...(objects(300)['list'] as JsonValue[]), { id: 7 }] },
      'list: must NOT have duplicate items (items ## 7 and 300 are identical)',
    ],
  ])('%s, with the same result', async (_what, schema, value, faulty, error) => {
    await check({}, schema);
    const events = watchWorkerJobs();
    expect(await check(value, schema)).toEqual({ type: 'fits' });
    const refused = await check(faulty, schema);
    expect(refused).toMatchObject({ type: 'faulty', errors: expect.arrayContaining([error]) });
    expect(refused).toEqual({ type: 'faulty', errors: compileSchema(schema)?.(faulty) });
    expect(events.map(({ type, caller }) => `${type} ${caller}`)).toEqual(['begun key-1', 'done key-1', 'begun key-1', 'done key-1']);
  });

  it('and what does not stays, of the same schema', async () => {
    const schema = fresh(recursive());
    await check({}, schema);
    const events = watchWorkerJobs();
    expect(await check({ a: nested(2, null) }, schema)).toEqual({ type: 'fits' });
    expect(begunJobs(events)).toBe(0);
  });

  it.each<[what: string, schema: JsonObject, value: JsonObject]>([
    ['recursive branches', recursive(), { a: nested(60, null) }],
    [
      'unique objects',
      { ...uniqueObjects(), properties: { list: { uniqueItems: true, type: 'array' } } },
      { list: Array.from({ length: 45_000 }, (_, id) => ({ id })) },
    ],
  ])('and is ended where it does take long: %s', async (_what, schema, value) => {
    const events = watchWorkerJobs();
    expect(await check(value, schema)).toEqual({ type: 'unchecked', reason: 'takes longer than 1.01 s' });
    expect(events).toMatchObject([{ type: 'begun' }, { type: 'failed', error: { name: 'TookTooLong' } }]);
    // The schema is used on.
    expect(await check({}, schema)).toEqual({ type: 'fits' });
  });

  it('and ends with its signal', async () => {
    const leaving = new AbortController();
    const checking = check({ a: nested(60, null) }, recursive(), leaving.signal);
    leaving.abort(new Error('left'));
    await expect(checking).rejects.toThrow('left');
  });

  it('unless it is too large to be handed over', async () => {
    const events = watchWorkerJobs();
    expect(await check({ list: Array.from({ length: 100_001 }, () => 1) }, uniqueObjects())).toEqual({ type: 'too_large' });
    expect(begunJobs(events)).toBe(0);
  });
});

describe('a schema checks nothing', () => {
  it.each<[why: string, schema: JsonObject]>([
    ['that does not compile', { type: 'nonsense' }],
    ['with a reference to nothing', { properties: { a: { $ref: '#/$defs/none' } } }],
    ['that is large and does not compile', { ...wide(200), type: 'nonsense' }],
  ])('%s', async (_why, schema) => {
    expect(await check({ a: 1 }, schema)).toEqual({ type: 'fits' });
    expect(await check({ a: 1 }, schema)).toEqual({ type: 'fits' });
  });
});

it('a schema that is too large to compile is checked in the part that concerns the value', async () => {
  expect(await check({ a: 1 }, wide(10_000))).toEqual({ type: 'faulty', errors: ['p0: is required'] });
});

describe('the steps of a check', () => {
  const plain = (schema: JsonObject): JsonObject => ({ type: 'object', properties: { a: schema } });
  const list = (count: number): JsonObject => ({ a: Array.from({ length: count }, (_, id) => ({ id })) });
  const isWithin = (schema: JsonObject, value: JsonObject): boolean => {
    try {
      compileSchema(schema)?.(value, 5_000);
      return true;
    } catch (error) {
      if (error instanceof OutOfSteps) return false;
      throw error;
    }
  };
  /** The branches are inside a constant, which no traversal of schemas looks into. */
  const hidden = {
    const: {
      anyOf: [
        { properties: { a: { $ref: '#/const' } }, required: ['b'] },
        { properties: { a: { $ref: '#/const' } }, required: ['c'] },
      ],
    },
    properties: { a: { $ref: '#/const' } },
  };
  /** No circle, and twice the work with each level. */
  const doubling = {
    $defs: Object.fromEntries(
      Array.from({ length: 30 }, (_, level) => {
        const next = { $ref: `#/$defs/l${level + 1}` };
        return [`l${level}`, level === 29 ? { type: 'string' } : { allOf: [next, next] }];
      }),
    ),
    properties: { a: { $ref: '#/$defs/l24' }, b: { $ref: '#/$defs/l0' } },
  };

  it.each<[what: string, schema: JsonObject, cheap: JsonObject, dear: JsonObject]>([
    ['recursive branches', recursive(), { a: nested(3, null) }, { a: nested(25, null) }],
    ['branches in a constant', hidden, { a: nested(3, null) }, { a: nested(25, null) }],
    ['doubled references', doubling, { a: 'x' }, { b: 'x' }],
    ['unique items', plain({ uniqueItems: true }), list(50), list(1_000)],
    ['many items', plain({ items: { properties: { id: { type: 'integer' } } } }), list(200), list(5_000)],
    ['contained items', plain({ contains: { properties: { id: { const: -1 } } } }), list(200), list(5_000)],
    ['a pattern', plain({ pattern: '^(a|b|ab){1,50}$' }), { a: 'ab' }, { a: 'ab'.repeat(4_000) }],
    ['a long enumeration', plain({ items: { enum: Array.from({ length: 150 }, (_, n) => ({ n })) } }), list(3), list(200)],
    ['many keys', plain({ additionalProperties: { type: 'integer' } }), { a: { x: 1 } }, { a: wide(5_000)['properties'] }],
    ['names of keys', plain({ propertyNames: { maxLength: 3 } }), { a: { x: 1 } }, { a: wide(5_000)['properties'] }],
    ['patterns of keys', plain({ patternProperties: { '^x': true, '^y': true } }), { a: { x: 1 } }, { a: wide(5_000)['properties'] }],
    [
      'names that depend on another',
      plain({ dependentRequired: { x: wide(300)['required'], y: Object.keys(wide(300)['properties'] ?? {}) } }),
      {},
      { a: {} },
    ],
    ['long texts', plain({ allOf: Array.from({ length: 40 }, () => ({ maxLength: 3 })) }), { a: 'x' }, { a: 'x'.repeat(20_000) }],
  ])('grow with schema times value: %s', (_what, schema, cheap, dear) => {
    expect(isWithin(schema, cheap)).toBe(true);
    expect(isWithin(schema, dear)).toBe(false);
  });

  it.each<[what: string, schema: JsonObject]>([
    ['a reference to itself', { $ref: '#' }],
    ['branches that lead back', { anyOf: [{ $ref: '#' }, { $ref: '#' }] }],
  ])('end for %s', (_what, schema) => {
    expect(isWithin(schema, {})).toBe(false);
  });
});
