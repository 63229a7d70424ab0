import { limits } from '../../core/limits.ts';
import { cutOff, MarkSearch, tooFar } from './find-mark.ts';
import { spaceEnd } from './growing-text.ts';
import type { GrowingText } from './growing-text.ts';
import { Search } from './search.ts';
import { QuotedEnd, WordEnd } from './token-ends.ts';

/** Extent of a JSON value, or of something that was meant to be one. */
export interface JsonExtent {
  end: number;
  /** False when the answer ended inside. */
  isClosed: boolean;
  /** What is no valid JSON, in words. */
  faults: string[];
  /** False when no reading of it would be more than a guess (`NaN`, `undefined`, `-`, and words that may be variables: `{"city": city}`). */
  isMendable: boolean;
  /** Extents of the containers that stand in a list: the calls, when it is a list of calls. */
  items: { start: number; end: number; isMendable: boolean }[];
}

/** `missing`: the brackets that would close it where it failed, when a value had just ended there. */
export type JsonScan = ({ type: 'extent' } & JsonExtent) | { type: 'failed'; at: number; missing?: string };

export interface JsonScanOptions {
  /** Ends the scan as failed when the first key is none of these. */
  firstKeys?: ReadonlySet<string>;
}

const maxComment = 4096;

const constants = new Set(['true', 'false', 'null']);
const pythonConstants = new Set(['True', 'False', 'None']);
/** No number, or the beginning of one (`-`, `1e`), which a repair would complete. */
const meaningless = /^(?:[+-]?(?:nan|inf|infinity|undefined|\d[\d.]{0,400}e[+-]?)|[+-])$/i;
/** A word that a program could stand for: taken for text it would be another value. */
const variable = /^[\p{L}_$][\p{L}\p{N}_$.]*$/u;
const numberForm = /^-?(?:0|[1-9]\d{0,400})(?:\.\d{1,400})?(?:e[+-]?\d{1,5})?$/i;

type Expectation = 'value' | 'key' | 'colon' | 'comma';

/**
 * Finds the end of the object or list that opens at `start`, in one pass, aware of strings. It goes along with what models get wrong
 * (single quotes, bare keys, Python's constants, comments, a comma too many or too few) and gives up at the first character that fits nothing,
 * so that prose with a brace costs little. Nothing is completed: an extent that is not closed ends with the answer.
 */
export function scanJson(input: GrowingText, start: number, options: JsonScanOptions = {}): Search<JsonScan> {
  return new JsonScanner(input, start, options);
}

class JsonScanner extends Search<JsonScan> {
  found: JsonScan;
  #isFound = false;
  readonly #input: GrowingText;
  readonly #start: number;
  readonly #firstKeys: ReadonlySet<string> | undefined;
  readonly #faults: string[] = [];
  readonly #items: JsonExtent['items'] = [];
  readonly #stack: { isList: boolean; start: number }[] = [];
  /** Where the last value stands that no repair can read. */
  #unmendableAt: number | undefined;
  #expected: Expectation = 'value';
  #isAfterComma = false;
  #isFirstKey = true;
  #position: number;
  /** The search for the end of what begins at `#position`. One field each, because a call of many shapes is a slow one. */
  #stringEnd: QuotedEnd | undefined;
  #wordEnd: WordEnd | undefined;
  #commentEnd: MarkSearch | undefined;

  constructor(input: GrowingText, start: number, { firstKeys }: JsonScanOptions) {
    super();
    this.#input = input;
    this.#start = start;
    this.#position = start;
    this.#firstKeys = firstKeys;
    this.found = { type: 'failed', at: start };
  }

  isOver(): boolean {
    while (!this.#isFound) if (!this.#step()) return false;
    return true;
  }

  /** One token and the space before it; false when its end has not arrived. */
  #step(): boolean {
    const { text, isEnded } = this.#input;
    const last = this.#start + limits.argumentsBytes;
    const position = Math.min(spaceEnd(text, this.#position), last + 1);
    this.#position = position;
    if (position >= text.length) return isEnded && this.#end(position, false);
    if (position > last) return this.#fail();
    const code = text.charCodeAt(position);
    if (code === 47 /* / */) return this.#comment();
    if (code === 125 /* } */ || code === 93 /* ] */) return this.#close(code === 93);
    if (this.#expected === 'comma') return this.#comma(code);
    if (this.#expected === 'colon') {
      if (code !== 58 /* : */) return this.#fail();
      this.#position++;
      this.#expected = 'value';
      return true;
    }
    if (this.#expected === 'value' && (code === 123 /* { */ || code === 91) /* [ */) return this.#open(code === 91);
    return isQuote(code) ? this.#quoted(code) : this.#word();
  }

  #open(isList: boolean): boolean {
    if (this.#stack.length >= limits.jsonDepth) return this.#fail();
    this.#stack.push({ isList, start: this.#position });
    this.#position++;
    this.#expected = isList ? 'value' : 'key';
    this.#isAfterComma = false;
    return true;
  }

  #close(isList: boolean): boolean {
    const container = this.#stack.at(-1);
    const isFitting =
      container !== undefined &&
      container.isList === isList &&
      (this.#expected === 'comma' || this.#expected === (isList ? 'value' : 'key'));
    if (!isFitting) return this.#fail();
    if (this.#isAfterComma) this.#note('trailing comma');
    this.#stack.pop();
    this.#position++;
    if (this.#stack.length === 0) return this.#end(this.#position, true);
    if (this.#stack.length <= 2 && this.#stack.at(-1)?.isList === true && this.#items.length <= limits.callsPerRound)
      this.#items.push({ start: container.start, end: this.#position, isMendable: (this.#unmendableAt ?? -1) < container.start });
    this.#expected = 'comma';
    this.#isAfterComma = false;
    return true;
  }

  #comma(code: number): boolean {
    this.#isAfterComma = code === 44; /* , */
    const isMissing = isQuote(code) || code === 123;
    if (!this.#isAfterComma && !isMissing) return this.#fail(closersOf(this.#stack));
    if (this.#isAfterComma) this.#position++;
    else this.#note('missing comma');
    this.#expected = this.#stack.at(-1)?.isList === true ? 'value' : 'key';
    return true;
  }

  #quoted(quote: number): boolean {
    this.#stringEnd ??= new QuotedEnd(this.#input, this.#position);
    if (!this.#stringEnd.isOver()) return false;
    const end = this.#stringEnd.found;
    this.#stringEnd = undefined;
    if (end === cutOff) return this.#end(this.#input.text.length, false);
    if (end === tooFar) return this.#fail();
    if (quote !== 34) this.#note('single quotes');
    return this.#keyOrValue(end, 1);
  }

  #word(): boolean {
    this.#wordEnd ??= new WordEnd(this.#input, this.#position);
    if (!this.#wordEnd.isOver()) return false;
    const end = this.#wordEnd.found;
    this.#wordEnd = undefined;
    if (end === tooFar) return this.#fail();
    if (this.#expected === 'value') this.#noteWord(this.#input.text.slice(this.#position, end));
    else this.#note('unquoted key');
    return this.#keyOrValue(end, 0);
  }

  #keyOrValue(end: number, quoteLength: number): boolean {
    const isKey = this.#expected === 'key';
    if (isKey && this.#isFirstKey) {
      const key = this.#input.text.slice(this.#position + quoteLength, end - quoteLength);
      if (this.#firstKeys?.has(key) === false) return this.#fail();
      this.#isFirstKey = false;
    }
    this.#position = end;
    this.#expected = isKey ? 'colon' : 'comma';
    this.#isAfterComma = false;
    return true;
  }

  #comment(): boolean {
    const { text } = this.#input;
    if (this.#input.lacks(this.#position + 1)) return false;
    const next = text.charAt(this.#position + 1);
    if (next !== '*' && next !== '/') return this.#fail();
    const mark = next === '*' ? '*/' : '\n';
    this.#commentEnd ??= new MarkSearch(this.#input, this.#position, { mark, maxDistance: maxComment });
    if (!this.#commentEnd.isOver()) return false;
    const { found } = this.#commentEnd;
    this.#commentEnd = undefined;
    if (found < 0) return this.#fail();
    this.#note('comment');
    this.#position = found + mark.length;
    return true;
  }

  #end(end: number, isClosed: boolean): boolean {
    this.found = { type: 'extent', end, isClosed, faults: this.#faults, isMendable: this.#unmendableAt === undefined, items: this.#items };
    this.#isFound = true;
    return true;
  }

  #fail(missing?: string): boolean {
    this.found = { type: 'failed', at: this.#position, ...(missing === undefined ? {} : { missing }) };
    this.#isFound = true;
    return true;
  }

  #note(fault: string): void {
    if (!this.#faults.includes(fault)) this.#faults.push(fault);
  }

  #noteWord(word: string): void {
    if (numberForm.test(word) || constants.has(word)) return;
    if (pythonConstants.has(word)) this.#note("Python's constants");
    else if (meaningless.test(word) || variable.test(word)) this.#unmendableAt = this.#position;
    else this.#note('unquoted value');
  }
}

function closersOf(stack: readonly { isList: boolean }[]): string {
  return stack
    .map((container) => (container.isList ? ']' : '}'))
    .toReversed()
    .join('');
}

function isQuote(code: number): boolean {
  return code === 34 || code === 39;
}
