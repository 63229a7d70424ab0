import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareDecimals, ExactNumber, isMultipleOf, isWhole } from '../../../src/shared/json/exact-number.ts';
import { copyJson, isDeeperThan, isJsonObject } from '../../../src/shared/json/json.ts';
import { losesDigits, parseExactly, parseForeign, parseJson } from '../../../src/shared/json/parse-exactly.ts';
import { toPlainJson, withNumbersOf } from '../../../src/shared/json/plain-json.ts';

const exact = (source: string): ExactNumber => new ExactNumber(source);

describe('parsing', () => {
  it.each([
    ['9007199254740993'],
    ['-9007199254740993'],
    ['1234567890123456789'],
    ['0.12345678901234567890'],
    ['9007199254740993.0'],
    ['1e400'],
    ['-1E+400'],
    ['1e-400'],
    ['123456789012345678e-5'],
    ['4.35e-324'],
    ['1000000000000000000000'],
    ['-12000000000000000000000'],
  ])('keeps the text of %s', (source) => {
    expect(parseExactly(`{"a":[${source}]}`)).toEqual({ a: [exact(source)] });
    expect(JSON.stringify(parseForeign(`{"a":[${source}]}`, 'remove'))).toBe(`{"a":[${source}]}`);
  });

  it.each([
    ['9007199254740992', 9007199254740992],
    ['9007199254740993000e-3', exact('9007199254740993000e-3')],
    ['1.0', 1],
    ['1e3', 1_000],
    ['1e22', 1e22],
    ['0.30000000000000004', 0.1 + 0.2],
    ['100000000000000000000', 1e20],
    ['0.10000000000000000000', 0.1],
    ['1.7976931348623157e308', Number.MAX_VALUE],
    ['5e-324', 5e-324],
    ['0e999', 0],
    ['-0.0', -0],
  ])('reads %s as what has its value', (source, expected) => {
    expect(parseExactly(source)).toEqual(expected);
  });

  it('is as strict as JSON, and finds no numbers in strings', () => {
    expect(parseJson('[9007199254740993,]')).toBeUndefined();
    expect(parseExactly('["9007199254740993", "1e400, 1e400"]')).toEqual(['9007199254740993', '1e400, 1e400']);
  });

  it('removes or refuses keys that change prototypes', () => {
    const text = '{"a":9007199254740993,"__proto__":{"b":9007199254740993}}';
    expect(Object.keys(parseForeign(text, 'remove') as object)).toEqual(['a']);
    expect(() => parseForeign(text, 'refuse')).toThrow(SyntaxError);
  });

  it('reads text that is too deep for a reviver', () => {
    const deep = `[9007199254740993,${'['.repeat(100_000)}${']'.repeat(100_000)}]`;
    expect(isDeeperThan(parseExactly(deep), 64)).toBe(true);
  });

  it('asks for no reviver where nothing is lost', () => {
    const measurements = Array.from({ length: 1_000 }, (_, index) => Math.sqrt(index));
    for (const value of [measurements, { id: '123456789012345', at: '2024-01-01T00:00:00.000000000Z' }, Number.MAX_SAFE_INTEGER])
      expect(losesDigits(JSON.stringify(value))).toBe(false);
  });
});

const digits = fc.string({ unit: fc.constantFrom('0', '1', '2', '3', '4', '5', '6', '7', '8', '9'), minLength: 1, maxLength: 40 });
const number = fc
  .record({
    sign: fc.constantFrom('', '-'),
    whole: digits.map((text) => text.replace(/^0+(?=.)/, '')),
    fraction: fc.option(digits, { nil: undefined }),
    exponent: fc.option(fc.integer({ min: -450, max: 450 }), { nil: undefined }),
  })
  .map(
    ({ sign, whole, fraction, exponent }) =>
      `${sign}${whole}${fraction === undefined ? '' : `.${fraction}`}${exponent === undefined ? '' : `e${exponent}`}`,
  );

/** The value of each number, independent of its notation. */
function valueOf(source: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(source) ?? [];
  const scale = Number(power) - fraction.length + 500;
  const value = BigInt(whole + fraction) * 10n ** BigInt(scale);
  return value === 0n ? '0' : `${sign}${value}`;
}

it('for any JSON, writing what was read gives numbers of the same value', () => {
  const json = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      number,
      fc.string().map((text) => JSON.stringify(text)),
      fc.array(tie('value')).map((items) => `[${items.join(' , ')}]`),
      fc.array(tie('value')).map((items) => `{${items.map((item, index) => `"k${index}": ${item}`).join(',')}}`),
    ),
  })).value;
  const numbersIn = (text: string): string[] =>
    [...text.matchAll(/"(?:[^"\\]|\\.)*"|(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)/gi)].flatMap(([, found]) =>
      found === undefined ? [] : [valueOf(found)],
    );
  fc.assert(
    fc.property(json, (text) => {
      expect(numbersIn(JSON.stringify(parseExactly(text)))).toEqual(numbersIn(text));
    }),
    { numRuns: 200 },
  );
});

it('decimals are compared and divided by value', () => {
  const unscaled = (source: string): bigint => BigInt(valueOf(source));
  fc.assert(
    fc.property(number, number, (one, other) => {
      const [left, right] = [unscaled(one), unscaled(other)];
      expect(Math.sign(compareDecimals(one, other))).toBe(left === right ? 0 : left < right ? -1 : 1);
    }),
  );
  expect(compareDecimals('1', String(1e21))).toBeLessThan(0);
  expect(isMultipleOf('9007199254740993', '3')).toBe(true);
  expect(isMultipleOf('9007199254740993', '2')).toBe(false);
  expect(isMultipleOf('19.99', '0.01')).toBe(true);
  expect(isMultipleOf('1e400', '0.3')).toBe(false);
  expect(isMultipleOf('1e999999999', '7')).toBe(true);
});

describe('an exact number', () => {
  it('is no object, is one level, and is copied', () => {
    const value = { a: [exact('9007199254740993')] };
    expect(isJsonObject(value.a[0])).toBe(false);
    expect(isDeeperThan(value, 2)).toBe(false);
    const copy = copyJson(value);
    expect(copy).not.toBe(value);
    expect(JSON.stringify(copy)).toBe('{"a":[9007199254740993]}');
    expect(isDeepStrictEqual(exact('9007199254740993'), exact('9007199254740995'))).toBe(false);
  });

  it('is whole by its value', () => {
    expect(
      ['1e400', '9007199254740993.0', '90071992547409931e-1', '9007199254740993.5', '1e-400'].map((text) => isWhole(exact(text))),
    ).toEqual([true, true, false, false, false]);
  });

  it('is digits for code that knows JavaScript numbers only, and a number again when it comes back', () => {
    const given = parseJson('{"id":9007199254740993,"list":[1,1234567890123456789],"share":0.12345678901234567890}') ?? null;
    expect(toPlainJson(exact('1000000000000000000000'))).toBe(1e21);
    const plain = toPlainJson(given);
    expect(plain).toEqual({ id: '9007199254740993', list: [1, '1234567890123456789'], share: 0.12345678901234568 });
    expect(withNumbersOf(given, plain)).toEqual(given);
    expect(withNumbersOf(given, { id: '9007199254740995', more: '9007199254740993' })).toEqual({
      id: '9007199254740995',
      more: '9007199254740993',
    });
  });
});

/** These read text that the gateway wrote itself and that has only numbers of its own, or only look whether a text is JSON. */
const withoutDigits = [
  'app/console-folder.ts',
  'chat/messages/repair-history.ts',
  'cli/doctor.ts',
  'demo/',
  'http/description/to-json-schema.ts',
  'http/dialects/responses/caller-tools.ts',
  'models/openai/openai-messages.ts',
  'models/openai/repeated-form.ts',
  'observability/source-positions.ts',
  'packaging/',
  'policy/',
  'shared/json/parse-exactly.ts',
  'storage/secrets/secret-parts.ts',
  'storage/sql/',
  'tools/functions/',
  'tools/mcp/',
  'console/',
  'client/',
  'use-newer-node.js',
];

it('whatever may hold numbers of others is parsed exactly', () => {
  const root = new URL('../../../src/', import.meta.url).pathname;
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => /\.[jt]sx?$/.test(path));
  const parsing = files.filter((path) => /(?<![`\w])JSON\.parse\(/.test(readFileSync(join(root, path), 'utf8')));
  expect(parsing.filter((path) => !withoutDigits.some((known) => path.startsWith(known)))).toEqual([]);
});

// A pattern that begins anew at each of these digits takes ten minutes.
it('a long text of digits is looked at once, with a large exponent elsewhere', () => {
  expect(losesDigits(JSON.stringify(`1e100 ${'0'.repeat(500_000)}`))).toBe(false);
  expect(losesDigits('[0.1e100, 12e1000]')).toBe(true);
});

it('decimals with exponents beyond any number are not divided', () => {
  const power = `e${'9'.repeat(400)}`;
  expect(isMultipleOf(`71${power}`, `7${power}`)).toBe(true);
});
