import { expect, it } from 'vitest';
import { z } from 'zod';
import { describeSchemaIssue } from '../../src/shared/describe-schema-issue.ts';

const oneLine = z.string().regex(/^[^\n]*$/, 'must be one line of text');

it.each<[z.ZodType, unknown, string]>([
  [z.array(z.string()), undefined, 'is missing; it must be a list'],
  [z.string(), 5, 'must be text'],
  [z.object({ input: z.unknown() }), {}, 'is missing'],
  [z.looseObject({}).nullish(), [], 'must be an object'],
  [z.boolean(), 'yes', 'must be true or false'],
  [z.int(), 1.5, 'must be a whole number'],
  [z.string().min(1), '', 'must not be empty'],
  [z.string().min(3), 'a', 'must have at least 3 characters'],
  [z.array(z.string()).max(1), ['a', 'b'], 'must have at most 1 entry'],
  [z.int().min(1), 0, 'must be at least 1'],
  [z.number().positive(), -1, 'must be more than 0'],
  [z.number().max(3), 9, 'must be at most 3'],
  [z.enum(['a', 'b', 'c']), 'd', 'must be "a", "b" or "c"'],
  [z.literal('a'), 'b', 'must be "a"'],
  [z.strictObject({}), { b: 1 }, 'has no field "b"'],
  [z.union([z.string(), z.array(z.string())]), 5, 'must be text or a list'],
  [z.union([oneLine, z.number()]), 'a\nb', 'must be one line of text'],
  [z.union([z.string(), z.array(z.string())]), [1], '0 must be text'],
  [z.record(z.string().regex(/^a/, 'is not a header name'), z.string()), { b: 'x' }, 'is not a header name'],
  [
    z.discriminatedUnion('role', [z.object({ role: z.literal('a') }), z.object({ role: z.literal('b') })]),
    { role: 'c' },
    'must be "a" or "b"',
  ],
  [z.custom(() => false), 'x', 'is not valid'],
  [z.string('must be a name'), 5, 'must be a name'],
])('the first issue of schema %# is told in words', (schema, value, words) => {
  const { error } = schema.safeParse(value);
  expect(describeSchemaIssue(error?.issues[0])).toBe(words);
});
