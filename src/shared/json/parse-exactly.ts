import { parse as parseSecurely } from 'secure-json-parse';
import { ExactNumber, toNumber } from './exact-number.ts';
import { isJsonObject, type JsonValue } from './json.ts';

/** Shorter runs of digits and points cannot lose anything: every decimal of 15 digits is a double of its own. */
const shortestRun = 16;

/** Exponents of three digits may leave the range of a double. */
const largeExponents = /\d[eE][+-]?\d{3,}/g;
const largeExponent = /\d[eE][+-]?\d{3}/;
const numberHere = /\d[\d.]*(?:[eE][+-]?\d+)?/y;

/**
 * `JSON.parse`, but a number that would lose digits becomes an `ExactNumber`. Use it for whatever may hold JSON of a model, a tool or a caller.
 * @throws SyntaxError
 */
export function parseExactly(text: string): unknown {
  return reviveNumbers(text, (reviver): unknown => (reviver === undefined ? JSON.parse(text) : JSON.parse(text, reviver)));
}

/** Undefined for text that is no JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return parseExactly(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/**
 * The same for text from outside. A key `__proto__`, and `constructor` with a prototype, is removed or refused.
 * @throws SyntaxError
 */
export function parseForeign(text: string, prototypes: 'remove' | 'refuse'): JsonValue {
  const action = prototypes === 'refuse' ? 'error' : 'remove';
  const actions = { protoAction: action, constructorAction: action } as const;
  return reviveNumbers(text, (reviver) => parseSecurely(text, reviver as never, actions) as unknown) as JsonValue;
}

/** Numbers that JavaScript may write otherwise: with zeros at the end, an exponent, or more digits. */
const mayChange = /\d\.\d*0(?!\d)|\d[eE]|\d{16}|\.\d{15}/;

/**
 * `parseForeign` for the arguments of a call: every number that JavaScript would write otherwise is an `ExactNumber`, even with the same value, because a
 * function may want text. A model that writes 3.10 for a version does not mean 3.1. `withPlainNumbers` takes the others back.
 * @throws SyntaxError
 */
export function parseAsWritten(text: string): JsonValue {
  if (!mayChange.test(text)) return parseForeign(text, 'remove');
  const reviver: Reviver = (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? new ExactNumber(source) : value;
  const actions = { protoAction: 'remove', constructorAction: 'remove' } as const;
  try {
    return parseSecurely(text, reviver as never, actions) as JsonValue;
  } catch (error) {
    if (error instanceof RangeError) return parseForeign(text, 'remove');
    throw error;
  }
}

/** The same value where it has nothing to take back. It must not be deep. */
export function withPlainNumbers(value: JsonValue): JsonValue {
  if (value instanceof ExactNumber) {
    const number = toNumber(value.source);
    return typeof number === 'number' ? number : value;
  }
  if (Array.isArray(value)) {
    const items = value.map(withPlainNumbers);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isJsonObject(value)) return value;
  let isChanged = false;
  const entries = Object.entries(value).map(([key, child]): [string, JsonValue | undefined] => {
    const plain = child === undefined ? undefined : withPlainNumbers(child);
    isChanged ||= plain !== child;
    return [key, plain];
  });
  return isChanged ? Object.fromEntries(entries) : value;
}

type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;

const point = 0x2e;
const nine = 0x39;

/** A reviver takes six times as long, so it is used only where a number would lose something. */
function reviveNumbers(text: string, parse: (reviver: Reviver | undefined) => unknown): unknown {
  if (!losesDigits(text)) return parse(undefined);
  try {
    return parse(reviveNumber);
  } catch (error) {
    // A reviver recurses: text that is nested so deep is refused later, by its depth.
    if (error instanceof RangeError) return parse(undefined);
    throw error;
  }
}

function reviveNumber(_key: string, value: unknown, { source }: { source?: string }): unknown {
  return typeof value === 'number' && source !== undefined ? toNumber(source) : value;
}

/**
 * Whether some number in JSON text has a value that no JavaScript number has. It may find one within a string. Looks at every sixteenth character
 * alone, because a run of sixteen digits has one of them.
 */
export function losesDigits(text: string): boolean {
  for (let at = shortestRun - 1; at < text.length; at += shortestRun) {
    let code = text.charCodeAt(at);
    // Digits and points, and the slash between them in the table of codes, which no number has beside it.
    if (code < point || code > nine) continue;
    let start = at;
    while ((code = text.charCodeAt(start - 1)) >= point && code <= nine) start -= 1;
    let end = at + 1;
    while ((code = text.charCodeAt(end)) >= point && code <= nine) end += 1;
    if (end - start >= shortestRun && isInexact(text, { start, end })) return true;
    while (at + shortestRun < end) at += shortestRun;
  }
  if (!largeExponent.test(text)) return false;
  for (const { 0: found, index } of text.matchAll(largeExponents)) {
    let start = index;
    // Backwards from the exponent: a pattern for the whole number would begin anew at each digit of a long text of them.
    while (isDigitOrPoint(text.charCodeAt(start - 1))) start -= 1;
    if (toNumber(text.slice(start, index + found.length)) instanceof ExactNumber) return true;
  }
  return false;
}

/** Of the number whose digits and points lie there. The sign does not matter. */
function isInexact(text: string, { start, end }: { start: number; end: number }): boolean {
  const plain = text.slice(start, end);
  // Most are measurements, written by a program that knows doubles.
  if (String(Number(plain)) === plain && !/[eE]/.test(text.charAt(end))) return false;
  numberHere.lastIndex = start;
  const number = numberHere.exec(text)?.[0];
  return number !== undefined && toNumber(number) instanceof ExactNumber;
}

/** Not for the end of the text, whose code is NaN. */
function isDigitOrPoint(code: number): boolean {
  return (code >= 0x30 && code <= nine) || code === point;
}
