import { expect, it } from 'vitest';
import { z } from 'zod';
import { bodySchema } from '../../src/http/dialects/chat-completions/chat-body-schema.ts';
import { parseToFirstIssue } from '../../src/shared/parse-to-first-issue.ts';

/** A schema that counts how often it is asked. */
function counting() {
  const counted = { checks: 0 };
  const schema = z.custom((value) => {
    counted.checks += 1;
    return value === 'right';
  }, 'must be right');
  return { schema, counted };
}

const message = (fields: object): object => ({ model: 'm', messages: [{ role: 'user', content: 'Hello' }, fields] });
const numbers = Array.from({ length: 9_000 }, () => 1);

it.each<[string, (element: z.ZodType) => z.ZodType, (entries: string[]) => unknown]>([
  ['a list', (element) => z.array(element), (entries) => entries],
  ['a list in a field', (element) => z.looseObject({ list: z.array(element) }), (list) => ({ list })],
  ['a list that may be a text', (element) => z.union([z.string(), z.array(element)]), (entries) => entries],
  ['lists of a list', (element) => z.array(z.array(element)), (entries) => [entries, entries]],
])('nothing after the first wrong entry of %s is looked at', (_what, wrap, toValue) => {
  const { schema, counted } = counting();
  const parsed = parseToFirstIssue(wrap(schema), toValue(['right', 'wrong', ...Array.from({ length: 1_000 }, () => 'wrong')]));
  expect(parsed).toMatchObject({ issue: { path: expect.any(Array) } });
  expect(counted.checks).toBe(2);
});

it('all of a value that fits is looked at and given', () => {
  const { schema, counted } = counting();
  const entries = Array.from({ length: 1_000 }, () => 'right');
  expect(parseToFirstIssue(z.array(schema), entries)).toEqual({ data: entries });
  expect(counted.checks).toBe(1_000);
});

it.each([
  ['content', message({ role: 'user', content: numbers })],
  ['calls', message({ role: 'assistant', content: 'Well', tool_calls: numbers })],
])('of wrong %s in a chat the first issue is given, as it would be without this', (_what, body) => {
  const whole = bodySchema.safeParse(body);
  const { message: expected, path } = whole.error?.issues[0] ?? {};
  expect(parseToFirstIssue(bodySchema, body)).toMatchObject({ issue: { message: expected, path } });
});
