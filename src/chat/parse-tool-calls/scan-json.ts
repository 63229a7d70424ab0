import { limits } from '../../core/limits.ts';
import type { Scan } from './call-pieces.ts';
import { findMark, isSpace, standsAt } from './growing-text.ts';
import type { GrowingText } from './growing-text.ts';

/** Extent of a JSON value, or of something that was meant to be one. */
export interface JsonExtent {
  end: number;
  /** False when the answer ended inside. */
  isClosed: boolean;
  /** What is no valid JSON, in words. */
  faults: Set<string>;
  /** False when no reading of it would be more than a guess (`NaN`, `undefined`). */
  isMendable: boolean;
  /** Extents of the containers that stand in a list: the calls, when it is a list of calls. */
  items: { start: number; end: number }[];
}

/** `missing`: the brackets that would close it where it failed, when a value had just ended there. */
export type JsonScan = ({ type: 'extent' } & JsonExtent) | { type: 'failed'; at: number; missing?: string };

export interface JsonScanOptions {
  /** Ends the scan as failed when the first key is none of these. */
  firstKeys?: ReadonlySet<string>;
}

/** Characters of a word without quotes; longer ones are no word. */
const maxWord = 512;
const maxComment = 4096;

const constants = new Set(['true', 'false', 'null']);
const pythonConstants = new Set(['True', 'False', 'None']);
const meaningless = /^[+-]?(?:nan|inf|infinity|undefined)$/i;
const numberForm = /^-?(?:0|[1-9]\d{0,400})(?:\.\d{1,400})?(?:e[+-]?\d{1,5})?$/i;

type Expectation = 'value' | 'key' | 'colon' | 'comma';

/**
 * Finds the end of the object or list that opens at `start`, in one pass, aware of strings. It goes along with what models get wrong
 * (single quotes, bare keys, Python's constants, comments, a comma too many or too few) and gives up at the first character that fits nothing,
 * so that prose with a brace costs little. Nothing is completed: an extent that is not closed ends with the answer.
 */
export function* scanJson(input: GrowingText, start: number, options: JsonScanOptions = {}): Scan<JsonScan> {
  const extent: JsonExtent = { end: start, isClosed: false, faults: new Set(), isMendable: true, items: [] };
  const stack: { isList: boolean; start: number }[] = [];
  let expected: Expectation = 'value';
  let isAfterComma = false;
  let isFirstKey = true;
  let position = start;
  for (;;) {
    while (input.lacks(position)) yield;
    if (position >= input.text.length) return { type: 'extent', ...extent, end: position };
    if (position - start > limits.argumentsBytes) return { type: 'failed', at: position };
    const code = input.text.charCodeAt(position);
    const container = stack.at(-1);
    if (isSpace(code)) {
      position++;
    } else if (code === 47 /* / */) {
      const end = yield* commentEnd(input, position);
      if (end === -1) return { type: 'failed', at: position };
      extent.faults.add('comment');
      position = end;
    } else if (code === 125 /* } */ || code === 93 /* ] */) {
      const isFitting =
        container !== undefined &&
        container.isList === (code === 93) &&
        (expected === 'comma' || expected === (container.isList ? 'value' : 'key'));
      if (!isFitting) return { type: 'failed', at: position };
      if (isAfterComma) extent.faults.add('trailing comma');
      stack.pop();
      position++;
      if (stack.length === 0) return { type: 'extent', ...extent, end: position, isClosed: true };
      if (stack.at(-1)?.isList === true && stack.length <= 2 && extent.items.length <= limits.callsPerRound)
        extent.items.push({ start: container.start, end: position });
      expected = 'comma';
      isAfterComma = false;
    } else if (expected === 'comma') {
      isAfterComma = code === 44; /* , */
      const isMissing = isQuote(code) || code === 123;
      if (!isAfterComma && !isMissing) return { type: 'failed', at: position, missing: closersOf(stack) };
      if (isAfterComma) position++;
      else extent.faults.add('missing comma');
      expected = container?.isList === true ? 'value' : 'key';
    } else if (expected === 'colon') {
      if (code !== 58 /* : */) return { type: 'failed', at: position };
      position++;
      expected = 'value';
    } else if (expected === 'value' && (code === 123 /* { */ || code === 91) /* [ */) {
      if (stack.length >= limits.jsonDepth) return { type: 'failed', at: position };
      stack.push({ isList: code === 91, start: position });
      position++;
      expected = code === 91 ? 'value' : 'key';
      isAfterComma = false;
    } else {
      const isQuoted = isQuote(code);
      const end = isQuoted ? yield* quotedEnd(input, position) : yield* wordEnd(input, position);
      if (end === 'cut') return { type: 'extent', ...extent, end: input.text.length };
      if (end === 'none') return { type: 'failed', at: position };
      const word = isQuoted ? '' : input.text.slice(position, end);
      if (isQuoted && code !== 34) extent.faults.add('single quotes');
      const key = isQuoted ? input.text.slice(position + 1, end - 1) : word;
      const isForeign = expected === 'key' && isFirstKey && options.firstKeys?.has(key) === false;
      if (isForeign) return { type: 'failed', at: position };
      if (!isQuoted && expected === 'key') extent.faults.add('unquoted key');
      if (!isQuoted && expected === 'value') noteWord(extent, word);
      isFirstKey &&= expected !== 'key';
      position = end;
      expected = expected === 'key' ? 'colon' : 'comma';
      isAfterComma = false;
    }
  }
}

function closersOf(stack: readonly { isList: boolean }[]): string {
  return stack
    .map((container) => (container.isList ? ']' : '}'))
    .toReversed()
    .join('');
}

function noteWord(extent: JsonExtent, word: string): void {
  if (constants.has(word)) return;
  if (pythonConstants.has(word)) extent.faults.add("Python's constants");
  else if (meaningless.test(word)) extent.isMendable = false;
  else if (!numberForm.test(word)) extent.faults.add('unquoted value');
}

function isQuote(code: number): boolean {
  return code === 34 || code === 39;
}

/** Position after the closing quote of the string at `start`; `cut` when the answer ends inside it, `none` when it is too long. */
export function* quotedEnd(input: GrowingText, start: number): Scan<number | 'cut' | 'none'> {
  const quote = input.text.charCodeAt(start);
  const last = start + limits.argumentsBytes;
  let position = start + 1;
  for (;;) {
    const { text } = input;
    const end = Math.min(text.length, last);
    while (position < end) {
      const code = text.charCodeAt(position);
      if (code === quote) return position + 1;
      position += code === 92 /* \\ */ ? 2 : 1;
    }
    if (position >= last) return 'none';
    if (input.isEnded) return 'cut';
    yield;
  }
}

/** End of a bare word: a number, a constant, a key or a value without quotes (`15:30` too). */
function* wordEnd(input: GrowingText, start: number): Scan<number | 'none'> {
  const isNumeric = isDigit(input.text.charCodeAt(start));
  let position = start;
  for (;;) {
    while (input.lacks(position)) yield;
    const code = input.text.charCodeAt(position);
    if (position - start >= maxWord || !(isWordCode(code) || (isNumeric && code === 58))) return position === start ? 'none' : position;
    position++;
  }
}

function isWordCode(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    isDigit(code) ||
    code === 95 ||
    code === 45 ||
    code === 43 ||
    code === 46 ||
    code === 36 ||
    (code > 0xff && !isSpace(code))
  );
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function* commentEnd(input: GrowingText, start: number): Scan<number> {
  const isBlock = yield* standsAt(input, start, '/*');
  if (!isBlock && !(yield* standsAt(input, start, '//'))) return -1;
  const mark = isBlock ? '*/' : '\n';
  const end = yield* findMark(input, start, { mark, maxDistance: maxComment });
  return end < 0 ? -1 : end + mark.length;
}
