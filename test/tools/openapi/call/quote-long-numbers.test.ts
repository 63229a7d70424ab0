import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { quoteLongNumbers } from '../../../../src/tools/openapi/call/quote-long-numbers.ts';

test.each([
  ['{"id":1234567890123456789}', '{"id":"1234567890123456789"}'],
  ['[-9007199254740993, 9007199254740991]', '["-9007199254740993", 9007199254740991]'],
  ['12345678901234567890', '"12345678901234567890"'],
  ['[1.12345678901234567, 12345678901234567.5, 12345678901234567e2, 1e-12345678901234567]', undefined],
  ['{"12345678901234567890":"12345678901234567890"}', undefined],
  [String.raw`["\\",12345678901234567890,"\"12345678901234567890"]`, String.raw`["\\","12345678901234567890","\"12345678901234567890"]`],
  ['{"never ends: 12345678901234567890', undefined],
])('%s', (text, quoted) => expect(quoteLongNumbers(text)).toBe(quoted ?? text));

/** What the reviver of `JSON.parse` says, which sees every value. */
function byReviver(text: string): unknown {
  return JSON.parse(text, function keep(this: unknown, ...[, value, context]: [string, unknown, { source?: string }?]) {
    const isExact = typeof value !== 'number' || !Number.isInteger(value) || Number.isSafeInteger(value);
    return isExact || !/^-?\d+$/.test(context?.source ?? '') ? value : context?.source;
  });
}

test('it does what a reviver would do with every value', () => {
  const number = fc.oneof(
    fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }).map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  );
  const text = fc.string({ unit: fc.constantFrom('"', '\\', '1234567890123456789', 'a', ':', ',') }).map((value) => JSON.stringify(value));
  const list = fc.array(
    fc.oneof(
      number,
      text,
      fc.tuple(text, number).map(([name, value]) => `{${name}:${value}}`),
    ),
  );
  const property = fc.property(list, (entries) => {
    const json = `[${entries.join(', ')}]`;
    expect(JSON.parse(quoteLongNumbers(json))).toEqual(byReviver(json));
  });
  fc.assert(property);
});
