import { limits } from '../../../core/limits.ts';
import { cutOff, matchEnd, spaceEnd, tooFar, type AnswerText } from '../answer-text.ts';

/** Extent of a JSON value, or of something that was meant to be one. */
export interface JsonExtent {
  type: 'extent';
  end: number;
  /** False when the answer ended inside. */
  isClosed: boolean;
  /** Deviations from valid JSON, in words. */
  faults: string[];
  /** False if a repair would have to guess a value (`NaN`, `undefined`, `-`, or words that may be variables: `{"city": city}`). */
  isMendable: boolean;
  /** Extents of the objects and lists that are members of a list: the calls, if it is a list of calls. */
  items: { start: number; end: number; isMendable: boolean }[];
}

/** `missing`: the brackets that would complete the JSON at `at`; present only if a value had just ended there. */
type NoJsonExtent = { type: 'failed'; at: number; missing?: string };

const maxComment = 4096;

/** A number, a constant, a key or a value without quotes (`15:30` too). */
const bareWord = /\d(?:[\w\-+.$:]|[^\0-\u00ff\s]){0,511}|(?:[\w\-+.$]|[^\0-\u00ff\s]){1,512}/y;
/** Longer ones are no word. */
const maxWord = 512;
const constants = new Set(['true', 'false', 'null']);
const pythonConstants = new Set(['True', 'False', 'None']);
/** Not a number, or the beginning of one (`-`, `1e`) that a repair would complete by guessing. */
const meaningless = /^(?:[+-]?(?:nan|inf|infinity|undefined|\d[\d.]{0,400}e[+-]?)|[+-])$/i;
/** May be the name of a variable, whose value is unknown; reading it as a string would be wrong. */
const variable = /^[\p{L}_$][\p{L}\p{N}_$.]*$/u;
const numberForm = /^-?(?:0|[1-9]\d{0,400})(?:\.\d{1,400})?(?:e[+-]?\d{1,5})?$/i;

/**
 * Finds the end of the object or list that opens at `start`, in one pass, aware of strings. It tolerates the usual mistakes of models
 * (single quotes, bare keys, Python's constants, comments, a comma too many or too few) and gives up at the first unexpected character,
 * so that prose with a brace costs little. Nothing is completed: an extent that is not closed ends with the answer.
 * @param firstKeys it fails when the first key is none of these
 */
export function findJsonExtent(input: AnswerText, start: number, firstKeys?: ReadonlySet<string>): JsonExtent | NoJsonExtent {
  return new JsonScanner(input, start, firstKeys).scan();
}

class JsonScanner {
  readonly #input: AnswerText;
  readonly #start: number;
  readonly #firstKeys: ReadonlySet<string> | undefined;
  readonly #faults = new Set<string>();
  readonly #items: JsonExtent['items'] = [];
  readonly #stack: { isList: boolean; start: number }[] = [];
  /** The position of the last value that cannot be repaired. */
  #unmendableAt = -1;
  #expected: 'value' | 'key' | 'colon' | 'comma' = 'value';
  #isAfterComma = false;
  #isFirstKey = true;
  #position: number;

  constructor(input: AnswerText, start: number, firstKeys: ReadonlySet<string> | undefined) {
    this.#input = input;
    this.#start = start;
    this.#position = start;
    this.#firstKeys = firstKeys;
  }

  scan(): JsonExtent | NoJsonExtent {
    for (;;) {
      const found = this.#readToken();
      if (found !== undefined) return found;
    }
  }

  /** Reads one token and the space before it. Returns the result once it is decided. */
  #readToken(): JsonExtent | NoJsonExtent | undefined {
    const { text } = this.#input;
    const last = this.#start + limits.argumentsBytes;
    const position = Math.min(spaceEnd(text, this.#position), last + 1);
    this.#position = position;
    if (position >= text.length) {
      this.#input.need(position);
      return this.#extent(position, false);
    }
    if (position > last) return this.#failed();
    const character = text.charAt(position);
    if (character === '/') return this.#comment();
    if (character === '}' || character === ']') return this.#close(character === ']');
    if (this.#expected === 'comma') return this.#comma(character);
    if (this.#expected === 'colon') {
      if (character !== ':') return this.#failed();
      this.#position += 1;
      this.#expected = 'value';
      return undefined;
    }
    if (this.#expected === 'value' && (character === '{' || character === '[')) return this.#open(character === '[');
    return isQuote(character) ? this.#string(character) : this.#word();
  }

  #open(isList: boolean): NoJsonExtent | undefined {
    if (this.#stack.length >= limits.jsonDepth) return this.#failed();
    this.#stack.push({ isList, start: this.#position });
    this.#position += 1;
    this.#expected = isList ? 'value' : 'key';
    this.#isAfterComma = false;
    return undefined;
  }

  #close(isList: boolean): JsonExtent | NoJsonExtent | undefined {
    const container = this.#stack.at(-1);
    const mayEnd = this.#expected === 'comma' || this.#expected === (isList ? 'value' : 'key');
    if (container?.isList !== isList || !mayEnd) return this.#failed();
    if (this.#isAfterComma) this.#faults.add('trailing comma');
    this.#stack.pop();
    this.#position += 1;
    if (this.#stack.length === 0) return this.#extent(this.#position, true);
    if (this.#stack.length <= 2 && this.#stack.at(-1)?.isList === true && this.#items.length <= limits.callsPerRound)
      this.#items.push({ start: container.start, end: this.#position, isMendable: this.#unmendableAt < container.start });
    this.#expected = 'comma';
    this.#isAfterComma = false;
    return undefined;
  }

  #comma(character: string): NoJsonExtent | undefined {
    this.#isAfterComma = character === ',';
    const isMissing = isQuote(character) || character === '{';
    if (!this.#isAfterComma && !isMissing) return this.#failed(closersOf(this.#stack));
    if (this.#isAfterComma) this.#position += 1;
    else this.#faults.add('missing comma');
    this.#expected = this.#stack.at(-1)?.isList === true ? 'value' : 'key';
    return undefined;
  }

  #string(quote: string): JsonExtent | NoJsonExtent | undefined {
    const end = this.#input.stringEnd(this.#position);
    if (end === cutOff) return this.#extent(this.#input.text.length, false);
    if (end === tooFar) return this.#failed();
    if (quote !== '"') this.#faults.add('single quotes');
    return this.#keyOrValue(end, 1);
  }

  #word(): NoJsonExtent | undefined {
    const end = matchEnd(bareWord, this.#input.text, this.#position);
    if (end === undefined) return this.#failed();
    if (end - this.#position < maxWord) this.#input.need(end);
    if (this.#expected === 'value') this.#judgeWord(this.#input.text.slice(this.#position, end));
    else this.#faults.add('unquoted key');
    return this.#keyOrValue(end, 0);
  }

  #keyOrValue(end: number, quoteLength: number): NoJsonExtent | undefined {
    const isKey = this.#expected === 'key';
    if (isKey && this.#isFirstKey) {
      const key = this.#input.text.slice(this.#position + quoteLength, end - quoteLength);
      if (this.#firstKeys?.has(key) === false) return this.#failed();
      this.#isFirstKey = false;
    }
    this.#position = end;
    this.#expected = isKey ? 'colon' : 'comma';
    this.#isAfterComma = false;
    return undefined;
  }

  #comment(): NoJsonExtent | undefined {
    const next = this.#input.at(this.#position + 1);
    if (next !== '*' && next !== '/') return this.#failed();
    const mark = next === '*' ? '*/' : '\n';
    const end = this.#input.find(mark, this.#position, maxComment);
    if (end < 0) return this.#failed();
    this.#faults.add('comment');
    this.#position = end + mark.length;
    return undefined;
  }

  #extent(end: number, isClosed: boolean): JsonExtent {
    return { type: 'extent', end, isClosed, faults: [...this.#faults], isMendable: this.#unmendableAt === -1, items: this.#items };
  }

  #failed(missing?: string): NoJsonExtent {
    return { type: 'failed', at: this.#position, ...(missing !== undefined && { missing }) };
  }

  #judgeWord(word: string): void {
    if (numberForm.test(word) || constants.has(word)) return;
    if (pythonConstants.has(word)) this.#faults.add("Python's constants");
    else if (meaningless.test(word) || variable.test(word)) this.#unmendableAt = this.#position;
    else this.#faults.add('unquoted value');
  }
}

function closersOf(stack: readonly { isList: boolean }[]): string {
  return stack
    .map((container) => (container.isList ? ']' : '}'))
    .toReversed()
    .join('');
}

function isQuote(character: string): boolean {
  return character === '"' || character === "'";
}
