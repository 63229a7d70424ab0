import type { ReadEntry } from '../answer-pieces.ts';

/** Checks calls against what the model has read. */
export interface QuoteCheck {
  /**
   * Whether a call only repeats what the model has read. Prevents prompt injection: a call in a page, a file or a tool result must not run because the
   * model repeats it. See `quotesOf`. `not_known_yet`: the parser pauses, and asks again for the same entry when it is resumed.
   */
  isQuoted(text: string, entry: ReadEntry): boolean | 'not_known_yet';
}

/**
 * Whether a text occurs in an earlier message, ignoring differences in white space, quotes, invisible characters, and JSON and HTML escapes.
 * The messages are prepared by the first check, because most answers need none.
 */
export function quotesOf(earlierTexts: Iterable<string>): (text: string) => boolean {
  let known: CompactTexts | undefined;
  return (text) => {
    known ??= compactTexts({ texts: [...earlierTexts], isReact: false });
    return isFound(searchQuote(known, text));
  };
}

/** Earlier messages, normalised for comparison. `labelled` is for `isActionQuotedIn` and only filled in the mode `react`. */
export interface CompactTexts {
  plain: string[];
  labelled: string[];
}

export function compactTexts({ texts, isReact }: { texts: readonly string[]; isReact: boolean }): CompactTexts {
  return { plain: texts.map(compact), labelled: isReact ? texts.map((text) => compact(withPlainLabels(text))) : [] };
}

/** A search through earlier messages: yields every few hundred thousand characters, and returns whether the text was found. */
export type QuoteSearch = Generator<void, boolean>;

/** As `quotesOf`, but with messages that are already normalised. */
export function searchQuote({ plain }: CompactTexts, text: string): QuoteSearch {
  return searchAny(plain, compact(text));
}

/**
 * The same for actions with ReAct labels, ignoring Markdown around labels and input. `input` is the text after "Action Input:" or, for an action
 * without that label, the text after "Action:".
 */
export function* searchAction({ labelled }: CompactTexts, { name, input }: { name: string; input: string }): QuoteSearch {
  for (const form of [`Action: ${name}\nAction Input: ${input}`, `Action: ${input}`])
    if (yield* searchAny(labelled, compact(withPlainLabels(form)))) return true;
  return false;
}

/** Searches in one go. */
export function isFound(search: QuoteSearch): boolean {
  let step = search.next();
  while (step.done !== true) step = search.next();
  return step.value;
}

function withPlainLabels(text: string): string {
  return text
    .replaceAll(/```[a-z]*/gi, '')
    .replaceAll(/[*#_>`'"]/g, '')
    .replaceAll(/action\b[ \d]{0,9}(?:\binput\b[ \d]{0,9})?:/gi, (label) => label.replaceAll(/[ \d]/g, '').toLowerCase());
}

/** Normalises a text for comparison only. If different texts become equal, the worst outcome is a call that is left as text. */
export function compact(text: string): string {
  return (
    text
      // Collapse runs first: a pattern for a run and what follows it would take quadratic time.
      .replaceAll(/\\+/g, '\\')
      .replaceAll(/\\[nrt]/g, '')
      .replaceAll(/\\u([\da-f]{4})/gi, (_, code: string) => characterOf(code, 16))
      .replaceAll(/&(?:amp;)+/g, '&')
      .replaceAll(/&#(\d{1,7});/g, (_, code: string) => characterOf(code, 10))
      .replaceAll(/&#x([\da-f]{1,6});/gi, (_, code: string) => characterOf(code, 16))
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll(/&(?:quot|apos);/g, '')
      .replaceAll(/[\s\\"'\p{Cf}]/gu, '')
  );
}

export function characterOf(code: string, radix: 10 | 16): string {
  const point = Number.parseInt(code, radix);
  return point <= 0x10ffff ? String.fromCodePoint(point) : '';
}

/** Length of the prefix that `indexOf` searches for, at no more than this many steps per character. The rest is matched by our algorithm. */
const headCharacters = 8;
/** Characters that are searched between two yields, in about two milliseconds. */
const partCharacters = 256 * 1024;

/**
 * Searches texts for `wanted` in linear time. `String.prototype.includes` takes the product of the two lengths for repetitive texts (15 seconds for
 * 9 MB of `a` and 10,000 characters), and an attacker can choose both.
 * Knuth, Morris and Pratt, "Fast Pattern Matching in Strings" (1977).
 */
export function* searchAny(texts: readonly string[], wanted: string): QuoteSearch {
  if (wanted === '') return texts.length > 0;
  // Prepared once, not for each of thousands of messages.
  const search = { wanted, head: wanted.slice(0, headCharacters), borders: bordersOf(wanted) };
  let searched = 0;
  for (const text of texts) {
    let matched = 0;
    for (let start = 0; start < text.length; start += partCharacters) {
      const part = text.slice(start, start + partCharacters);
      matched = matchedAfter(part, matched, search);
      if (matched === wanted.length) return true;
      searched += part.length;
      if (searched < partCharacters) continue;
      yield;
      searched = 0;
    }
  }
  return false;
}

/** How many characters of `wanted` the end of a part matches, after `matched` ones before the part; all of them if it was found. */
function matchedAfter(
  part: string,
  before: number,
  { wanted, head, borders }: { wanted: string; head: string; borders: Uint32Array },
): number {
  let matched = before;
  for (let position = 0; position < part.length; position += 1) {
    if (matched === 0) {
      const found = part.indexOf(head, position);
      // The head may begin at the end of this part and go on in the next.
      position = found === -1 ? Math.max(position, part.length - head.length + 1) : found;
    }
    const code = part.charCodeAt(position);
    while (matched > 0 && wanted.charCodeAt(matched) !== code) matched = borders[matched - 1] ?? 0;
    if (wanted.charCodeAt(matched) === code) matched += 1;
    if (matched === wanted.length) break;
  }
  return matched;
}

/** The failure function of the algorithm: for each prefix, the length of its longest proper prefix that is also a suffix. */
function bordersOf(text: string): Uint32Array {
  const borders = new Uint32Array(text.length);
  let matched = 0;
  for (let index = 1; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    while (matched > 0 && text.charCodeAt(matched) !== code) matched = borders[matched - 1] ?? 0;
    if (text.charCodeAt(matched) === code) matched += 1;
    borders[index] = matched;
  }
  return borders;
}
