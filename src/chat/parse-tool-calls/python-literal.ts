import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';

/**
 * Reads Python literals: strings, numbers, True, False, None, lists, tuples (as lists) and dictionaries; JSON's constants too.
 * Nothing is evaluated: `2+2`, names, bytes, `nan` and two strings in a row are no literals.
 */
class LiteralReader {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readWhole(): JsonValue {
    const value = this.#value(0);
    this.#space();
    if (this.#position < this.#text.length) throw new NoLiteral();
    return value;
  }

  /** `a=1, b='x'` up to the end of the text; a comma at the end is allowed. */
  readArguments(): JsonObject {
    const entries: [string, JsonValue][] = [];
    this.#space();
    while (this.#position < this.#text.length) {
      const name = this.#match(namePattern);
      this.#space();
      this.#expect('=');
      entries.push([name, this.#value(0)]);
      this.#space();
      if (this.#position < this.#text.length) this.#expect(',');
      this.#space();
    }
    if (new Set(entries.map(([name]) => name)).size < entries.length) throw new NoLiteral();
    return toObject(entries);
  }

  #value(depth: number): JsonValue {
    if (depth > limits.jsonDepth) throw new NoLiteral();
    this.#space();
    const character = this.#text[this.#position] ?? '';
    if (character === '"' || character === "'") return this.#string(character);
    if (character === '[') return this.#list(']', depth);
    if (character === '(') return this.#list(')', depth);
    if (character === '{') return this.#dictionary(depth);
    const word = this.#match(wordPattern);
    if (words.has(word)) return words.get(word) ?? null;
    const number = numberPattern.test(word) ? Number(word.replaceAll('_', '')) : Number.NaN;
    if (!Number.isFinite(number)) throw new NoLiteral();
    return number;
  }

  #list(closing: string, depth: number): JsonValue {
    const items: JsonValue[] = [];
    this.#position++;
    for (;;) {
      this.#space();
      if (this.#accept(closing)) return items;
      items.push(this.#value(depth + 1));
      this.#space();
      if (this.#accept(',')) continue;
      this.#expect(closing);
      // `(1)` is a number in brackets, `(1,)` a tuple.
      return closing === ')' && items.length === 1 ? (items[0] ?? null) : items;
    }
  }

  #dictionary(depth: number): JsonObject {
    const entries: [string, JsonValue][] = [];
    this.#position++;
    for (;;) {
      this.#space();
      if (this.#accept('}')) return toObject(entries);
      const key = this.#value(depth + 1);
      if (typeof key === 'object' && key !== null) throw new NoLiteral();
      this.#space();
      this.#expect(':');
      entries.push([String(key), this.#value(depth + 1)]);
      this.#space();
      if (this.#accept(',')) continue;
      this.#expect('}');
      return toObject(entries);
    }
  }

  #string(quote: string): string {
    const isTriple = this.#text.startsWith(quote.repeat(3), this.#position);
    const closing = isTriple ? quote.repeat(3) : quote;
    this.#position += closing.length;
    const special = quote === '"' ? doubleOrEscape : singleOrEscape;
    let text = '';
    for (;;) {
      const start = this.#position;
      special.lastIndex = start;
      if (!special.test(this.#text)) throw new NoLiteral();
      const at = special.lastIndex - 1;
      text += this.#text.slice(start, at);
      this.#position = at + 1;
      if (this.#text[at] === '\\') text += this.#escape();
      else if (this.#text.startsWith(closing, at)) {
        this.#position = at + closing.length;
        return text;
      } else text += quote;
    }
  }

  #escape(): string {
    const character = this.#text.charAt(this.#position++);
    const simple = escapes[character];
    if (simple !== undefined) return simple;
    const digits = { x: 2, u: 4, U: 8 }[character];
    if (digits === undefined) return `\\${character}`;
    const code = this.#text.slice(this.#position, this.#position + digits);
    if (!/^[0-9a-f]+$/i.test(code) || code.length < digits || Number.parseInt(code, 16) > 0x10_ff_ff) throw new NoLiteral();
    this.#position += digits;
    return String.fromCodePoint(Number.parseInt(code, 16));
  }

  #space(): void {
    const code = this.#text.charCodeAt(this.#position);
    if (code > 32 && code < 128) return;
    spacePattern.lastIndex = this.#position;
    if (spacePattern.test(this.#text)) this.#position = spacePattern.lastIndex;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#position;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) throw new NoLiteral();
    this.#position += found.length;
    return found;
  }

  #accept(character: string): boolean {
    if (this.#text[this.#position] !== character) return false;
    this.#position++;
    return true;
  }

  #expect(character: string): void {
    if (!this.#accept(character)) throw new NoLiteral();
  }
}

class NoLiteral extends Error {}

const doubleOrEscape = /["\\]/g;
const singleOrEscape = /['\\]/g;
const spacePattern = /\s+/y;
const namePattern = /[\p{L}_][\p{L}\p{N}_]*/uy;
const wordPattern = /[-+.\w]+/y;
const numberPattern = /^[-+]?(?:\d[\d_]{0,400}\.?\d{0,400}|\.\d{1,400})(?:e[-+]?\d{1,5})?$/i;
const words = new Map<string, JsonValue>([
  ['True', true],
  ['False', false],
  ['None', null],
  ['true', true],
  ['false', false],
  ['null', null],
]);
const escapes: Record<string, string> = {
  n: '\n',
  t: '\t',
  r: '\r',
  '\\': '\\',
  "'": "'",
  '"': '"',
  b: '\b',
  f: '\f',
  a: '\u0007',
  v: '\v',
  '0': '\0',
  '\n': '',
  '/': '/',
};

/** A literal, or undefined. */
export function parsePythonLiteral(text: string): JsonValue | undefined {
  return reading(() => new LiteralReader(text).readWhole());
}

/** What stands between the brackets of a call with keyword arguments, or undefined. */
export function parsePythonArguments(text: string): JsonObject | undefined {
  return reading(() => new LiteralReader(text).readArguments());
}

function reading<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof NoLiteral) return undefined;
    throw error;
  }
}

/** `__proto__` is left out, as with JSON. */
function toObject(entries: [string, JsonValue][]): JsonObject {
  return Object.fromEntries(entries.filter(([key]) => key !== '__proto__'));
}
