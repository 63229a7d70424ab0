import { isContainer, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { limits } from '../../../core/limits.ts';
import { matchEnd, spaceEnd } from '../answer-text.ts';
import { objectOfEntries } from '../json/parse-json.ts';
import { toNumber } from '../../../shared/json/exact-number.ts';

/** A literal, or undefined. */
export function parsePythonLiteral(text: string): JsonValue | undefined {
  return undefinedIfNoLiteral(() => new LiteralReader(text).readWhole());
}

/** Parses the text between the brackets of a call with keyword arguments; undefined if it is anything else. */
export function parsePythonArguments(text: string): JsonObject | undefined {
  return undefinedIfNoLiteral(() => new LiteralReader(text).readArguments());
}

function undefinedIfNoLiteral<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof NoLiteral) return undefined;
    throw error;
  }
}

class NoLiteral extends Error {}

const plainOrEscaped = { '"': /[^"\\]*/y, "'": /[^'\\]*/y };
const namePattern = /[\p{L}_][\p{L}\p{N}_]*/uy;
const wordPattern = /[-+.\w]+/y;
const numberPattern = /^[-+]?(?:\d[\d_]{0,400}\.?\d{0,400}|\.\d{1,400})(?:e[-+]?\d{1,5})?$/i;
/** A number of Python in the syntax of JSON: `+1`, `1_000`, `.5`, `5.` and `007` are none there. */
function toJsonNumber(word: string): string {
  const [mantissa = '', power] = word.replaceAll('_', '').toLowerCase().split('e');
  const isNegative = mantissa.startsWith('-');
  const [whole = '', fraction = ''] = mantissa.replace(/^[-+]/, '').split('.');
  const digits = whole.replace(/^0+(?=\d)/, '') || '0';
  return `${isNegative ? '-' : ''}${digits}${fraction === '' ? '' : `.${fraction}`}${power === undefined ? '' : `e${power}`}`;
}

const constants = new Map([
  ['True', true],
  ['False', false],
  ['None', null],
  ['true', true],
  ['false', false],
  ['null', null],
]);
const escapes = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
  ['\\', '\\'],
  ["'", "'"],
  ['"', '"'],
  ['b', '\b'],
  ['f', '\f'],
  ['a', '\u0007'],
  ['v', '\v'],
  ['0', '\0'],
  ['\n', ''],
  ['/', '/'],
]);
const codeEscape = /x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4}|U[\dA-Fa-f]{8}/y;

/**
 * Reads Python literals: strings, numbers, True, False, None, lists, tuples (as lists) and dictionaries; JSON's constants too.
 * Nothing is evaluated: `2+2`, names, bytes, `nan` and two strings in a row are no literals.
 */
class LiteralReader {
  readonly #text: string;
  #position = 0;
  #isAfterComma = false;

  constructor(text: string) {
    this.#text = text;
  }

  readWhole(): JsonValue {
    const value = this.#value(0);
    this.#skipSpace();
    if (this.#position < this.#text.length) throw new NoLiteral();
    return value;
  }

  /** `a=1, b='x'` up to the end of the text; a comma at the end is allowed. */
  readArguments(): JsonObject {
    const entries = this.#items('', (): [string, JsonValue] => {
      const name = this.#match(namePattern);
      this.#expect('=');
      return [name, this.#value(0)];
    });
    if (new Set(entries.map(([name]) => name)).size < entries.length) throw new NoLiteral();
    return objectOfEntries(entries);
  }

  #value(depth: number): JsonValue {
    if (depth > limits.jsonDepth) throw new NoLiteral();
    this.#skipSpace();
    const character = this.#text[this.#position];
    if (character === '"' || character === "'") return this.#string(character);
    if (character === '{') return objectOfEntries(this.#bracketed('}', () => this.#entry(depth + 1)));
    if (character === '[') return this.#bracketed(']', () => this.#value(depth + 1));
    if (character === '(') {
      const items = this.#bracketed(')', () => this.#value(depth + 1));
      // `(1)` is a number in brackets, `(1,)` a tuple.
      return items.length === 1 && !this.#isAfterComma ? (items[0] ?? null) : items;
    }
    const word = this.#match(wordPattern);
    const constant = constants.get(word);
    if (constant !== undefined) return constant;
    if (!numberPattern.test(word) || !Number.isFinite(Number(word.replaceAll('_', '')))) throw new NoLiteral();
    return toNumber(toJsonNumber(word));
  }

  #entry(depth: number): [string, JsonValue] {
    const key = this.#value(depth);
    if (isContainer(key)) throw new NoLiteral();
    this.#expect(':');
    return [String(key), this.#value(depth)];
  }

  #bracketed<Item>(closing: string, read: () => Item): Item[] {
    this.#position += 1;
    const items = this.#items(closing, read);
    this.#expect(closing);
    return items;
  }

  /** Items with commas between them, up to the closing bracket or, with none, the end of the text. */
  #items<Item>(closing: string, read: () => Item): Item[] {
    const items: Item[] = [];
    let isAfterComma = true;
    for (;;) {
      this.#skipSpace();
      const isAtEnd = this.#position >= this.#text.length || this.#text[this.#position] === closing;
      if (isAtEnd || !isAfterComma) break;
      items.push(read());
      isAfterComma = this.#accepts(',');
    }
    this.#isAfterComma = isAfterComma;
    if (closing === '' && this.#position < this.#text.length) throw new NoLiteral();
    return items;
  }

  #string(quote: '"' | "'"): string {
    const closing = this.#text.startsWith(quote.repeat(3), this.#position) ? quote.repeat(3) : quote;
    this.#position += closing.length;
    let text = '';
    for (;;) {
      text += this.#match(plainOrEscaped[quote]);
      if (this.#position >= this.#text.length) throw new NoLiteral();
      if (this.#text.startsWith(closing, this.#position)) {
        this.#position += closing.length;
        return text;
      }
      const character = this.#text.charAt(this.#position);
      this.#position += 1;
      text += character === '\\' ? this.#escape() : character;
    }
  }

  #escape(): string {
    const character = this.#text.charAt(this.#position);
    const code = 'xuU'.includes(character) && character !== '' ? this.#match(codeEscape).slice(1) : undefined;
    if (code !== undefined) {
      if (Number.parseInt(code, 16) > 0x10_ff_ff) throw new NoLiteral();
      return String.fromCodePoint(Number.parseInt(code, 16));
    }
    this.#position += 1;
    return escapes.get(character) ?? `\\${character}`;
  }

  #skipSpace(): void {
    this.#position = spaceEnd(this.#text, this.#position);
  }

  #match(pattern: RegExp): string {
    const start = this.#position;
    const end = matchEnd(pattern, this.#text, start);
    if (end === undefined) throw new NoLiteral();
    this.#position = end;
    return this.#text.slice(start, end);
  }

  #accepts(character: string): boolean {
    this.#skipSpace();
    if (this.#text[this.#position] !== character) return false;
    this.#position += 1;
    return true;
  }

  #expect(character: string): void {
    if (!this.#accepts(character)) throw new NoLiteral();
  }
}
