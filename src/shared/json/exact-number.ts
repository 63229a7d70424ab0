/**
 * A number of JSON whose value no JavaScript number has, such as `9007199254740993`, `0.12345678901234567890` or `1e400`, or a whole number that
 * JavaScript would write with an exponent, such as `1000000000000000000000`: it keeps its text.
 * `JSON.stringify` writes the text, and so does `String`. All other numbers of JSON are JavaScript numbers.
 */
export class ExactNumber {
  /** As in JSON (RFC 8259 section 6). Public, so that `isDeepStrictEqual` tells two of them apart. */
  readonly source: string;
  #decimal: Decimal | undefined;

  constructor(source: string) {
    this.source = source;
  }

  /** Read once: a check may compare a number of thousands of digits with thousands of others. */
  get decimal(): Decimal {
    this.#decimal ??= toDecimal(this.source);
    return this.#decimal;
  }

  toJSON(): unknown {
    return JSON.rawJSON(this.source);
  }

  toString(): string {
    return this.source;
  }
}

declare global {
  // Node 22 and later; the standard library of TypeScript does not have them yet.
  interface JSON {
    rawJSON(text: string): unknown;
    parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  }
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Whether a text is a number in the syntax of JSON. `JSON.stringify` throws for an `ExactNumber` of any other text. */
export function isJsonNumber(text: string): boolean {
  return jsonNumber.test(text);
}

/** From here on JavaScript writes whole numbers as `1e+21`, which many readers of integers refuse. */
const writtenWithExponent = 1e21;

/** A number in the syntax of JSON as a JavaScript number if one has the same value and is written alike. */
export function toNumber(source: string): number | ExactNumber {
  const number = Number(source);
  const keepsDigits = Math.abs(number) < writtenWithExponent || /[.eE]/.test(source);
  return keepsDigits && isSameDecimal(source, number) ? number : new ExactNumber(source);
}

/** Whether some JavaScript number has its value. */
export function hasJavaScriptNumber({ source }: ExactNumber): boolean {
  return isSameDecimal(source, Number(source));
}

/** Of the shortest text that tells a JavaScript number from all others. */
const mostDigits = 17;

function isSameDecimal(source: string, number: number): boolean {
  if (!Number.isFinite(number)) return false;
  const shortest = String(number);
  if (shortest === source) return true;
  const decimal = toDecimal(source);
  return decimal.digits.length <= mostDigits && compare(toDecimal(shortest), decimal) === 0;
}

export function isNumber(value: unknown): value is number | ExactNumber {
  return typeof value === 'number' || value instanceof ExactNumber;
}

/** Equal, apart from arrays and objects. */
export function isSameScalar(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!isNumber(one) || !isNumber(other) || (typeof one === 'number' && typeof other === 'number')) return false;
  return compareDecimals(one, other) === 0;
}

/** Whether the value of the number is whole, whatever its notation: `1e400` is, `9007199254740993.5` is not. */
export function isWhole(number: ExactNumber): boolean {
  const { digits, exponent } = number.decimal;
  return digits === '' || exponent >= 0;
}

/** Negative, 0 or positive, as in `toSorted`. A text is that of a number in JSON. */
export function compareDecimals(one: AnyNumber, other: AnyNumber): number {
  return compare(decimalOf(one), decimalOf(other));
}

function compare(left: Decimal, right: Decimal): number {
  if (left.digits === '' || right.digits === '' || left.isNegative !== right.isNegative) return signOf(left) - signOf(right);
  const magnitude = left.digits.length + left.exponent - (right.digits.length + right.exponent);
  const difference = magnitude === 0 ? compareTexts(left.digits, right.digits) : magnitude;
  return left.isNegative ? -difference : difference;
}

/** Longer numbers are not divided, which would take time and space of their own. */
const dividedDigits = 1_000;

/** Whether a decimal is a whole multiple of another one, which is not 0. True for numbers that are too long to be divided. */
export function isMultipleOf(number: AnyNumber, divisor: AnyNumber): boolean {
  const [of, by] = [decimalOf(number), decimalOf(divisor)];
  const exponent = Math.min(of.exponent, by.exponent);
  // Exponents may be infinite, and their difference no number.
  const isLong = [of, by].some((decimal) => !(decimal.digits.length + decimal.exponent - exponent <= dividedDigits));
  if (of.digits === '' || isLong) return true;
  return by.digits !== '' && scaled(of, exponent) % scaled(by, exponent) === 0n;
}

function scaled(decimal: Decimal, exponent: number): bigint {
  return BigInt(decimal.digits + '0'.repeat(decimal.exponent - exponent));
}

type AnyNumber = number | ExactNumber | string;

function decimalOf(number: AnyNumber): Decimal {
  return number instanceof ExactNumber ? number.decimal : toDecimal(String(number));
}

/** `digits` × 10^`exponent`, without zeros at either end; no digits for 0. */
interface Decimal {
  isNegative: boolean;
  digits: string;
  exponent: number;
}

const zero = 0x30;

function toDecimal(source: string): Decimal {
  const isNegative = source.startsWith('-');
  const mark = Math.max(source.indexOf('e'), source.indexOf('E'));
  const mantissa = source.slice(isNegative ? 1 : 0, mark === -1 ? undefined : mark);
  const point = mantissa.indexOf('.');
  const fractionDigits = point === -1 ? 0 : mantissa.length - point - 1;
  const digits = point === -1 ? mantissa : mantissa.slice(0, point) + mantissa.slice(point + 1);
  // Loops, because `/0+$/` takes quadratic time.
  let [start, end] = [0, digits.length];
  while (start < end && digits.charCodeAt(start) === zero) start += 1;
  while (end > start && digits.charCodeAt(end - 1) === zero) end -= 1;
  return {
    isNegative,
    digits: digits.slice(start, end),
    exponent: (mark === -1 ? 0 : Number(source.slice(mark + 1))) - fractionDigits + digits.length - end,
  };
}

function signOf({ isNegative, digits }: Decimal): number {
  return digits === '' ? 0 : isNegative ? -1 : 1;
}

function compareTexts(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}
