import { expect, it } from 'vitest';
import { parseJson } from '../../src/shared/json/parse-exactly.ts';
import type { JsonObject } from '../../src/shared/json/json.ts';
import { checkInWorker } from '../../src/validation/check-job.ts';
import { checkValue } from '../../src/validation/check-value.ts';

const values = '9007199254740992 9007199254740993 9007199254740994 9007199254740993.5 9007199254740993.0 1e400 -1e400 1e-400'.split(' ');

/** By schema of `a`, the values that fit. */
it.each([
  ['{"type":"integer"}', '9007199254740992 9007199254740993 9007199254740994 9007199254740993.0 1e400 -1e400'],
  ['{"type":"number"}', values.join(' ')],
  ['{"type":"string"}', ''],
  ['{"type":"object"}', ''],
  ['{"required":["b"],"additionalProperties":false}', values.join(' ')],
  ['{"minimum":9007199254740993}', '9007199254740993 9007199254740994 9007199254740993.5 9007199254740993.0 1e400'],
  ['{"exclusiveMaximum":9007199254740993}', '9007199254740992 -1e400 1e-400'],
  ['{"maximum":9007199254740992}', '9007199254740992 -1e400 1e-400'],
  ['{"exclusiveMinimum":0,"maximum":1}', '1e-400'],
  ['{"enum":[9007199254740992,"x"]}', '9007199254740992'],
  ['{"enum":[9007199254740993,"x"]}', '9007199254740993 9007199254740993.0'],
  ['{"const":9007199254740994}', '9007199254740994'],
  ['{"not":{"const":9007199254740992}}', '9007199254740993 9007199254740994 9007199254740993.5 9007199254740993.0 1e400 -1e400 1e-400'],
  ['{"type":"integer","multipleOf":3}', '9007199254740993 9007199254740993.0'],
  ['{"$ref":"#/$defs/minimum"}', '9007199254740993 9007199254740993.0'],
])('%s accepts %s', async (schema, fitting) => {
  const text = `{"type":"object","properties":{"a":${schema}},"$defs":{"minimum":{"anyOf":[{"const":9007199254740993},{"type":"null"}]}}}`;
  const accepted = values.filter((value) => {
    const report = checkInWorker({ schemaText: text, valueText: `{"a":${value}}`, progress: new Int32Array(new SharedArrayBuffer(4)) });
    return report.type === 'checked' && report.errors.length === 0;
  });
  expect(accepted.join(' ')).toBe(fitting);
  for (const value of values) {
    const check = await checkValue(parseJson(`{"a":${value}}`) ?? null, parseJson(text) as JsonObject, { caller: 'c' });
    expect(check.type).toBe(accepted.includes(value) ? 'fits' : 'faulty');
  }
});

it('numbers within choices, constants and lists of different items are compared by value', () => {
  const schemaText =
    '{"properties":{"a/b":{"const":{"id":9007199254740993}},"ids":{"uniqueItems":true},"pick":{"enum":[[9007199254740993]]}}}';
  const check = (valueText: string): unknown =>
    checkInWorker({ schemaText, valueText, progress: new Int32Array(new SharedArrayBuffer(4)) });
  expect(check('{"a/b":{"id":9007199254740993},"ids":[9007199254740992,9007199254740993],"pick":[9007199254740993]}')).toMatchObject({
    errors: [],
  });
  expect(check('{"a/b":{"id":9007199254740995},"ids":[9007199254740993,9007199254740993.0],"pick":[9007199254740992]}')).toMatchObject({
    errors: ['a~1b: must be {"id":9007199254740993}', 'ids: must NOT have duplicate items', 'pick: must be one of [[9007199254740993]]'],
  });
});

it('compiling a schema with a long number is measured in the worker too', () => {
  const report = checkInWorker({
    schemaText: `{"properties":{"a":{"pattern":"(?i)[${'b-𞤀'.repeat(100)}]"}},"default":9007199254740993}`,
    valueText: '{}',
    progress: new Int32Array(new SharedArrayBuffer(4)),
  });
  expect(report).toMatchObject({ type: 'checked', errors: [] });
  expect(report.type === 'checked' && report.compileMs).toBeGreaterThan(10);
});

it('a number that is the whole value is compared by its digits', () => {
  const check = (valueText: string): unknown =>
    checkInWorker({ schemaText: '{"const":9007199254740993}', valueText, progress: new Int32Array(new SharedArrayBuffer(4)) });
  expect(check('9007199254740993')).toMatchObject({ errors: [] });
  expect(check('9007199254740992')).toMatchObject({ errors: [': must be 9007199254740993'] });
});
