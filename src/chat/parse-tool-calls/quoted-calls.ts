/** Knows the earlier messages of the conversation. */
export interface QuoteCheck {
  /**
   * Whether a text occurs in an earlier message of the conversation: what a page, a file or a tool's result says must not act through a model
   * that repeats it. See `quotesOf`.
   */
  isQuoted: (text: string) => boolean;
  /** Whether `isQuoted` may be called now; until it may, the parser pauses. Absent: always. */
  mayCheck?: () => boolean;
}

/**
 * Whether a text occurs in one of the earlier messages, however white space, quotes, invisible characters, and the escapes of JSON and HTML differ.
 * The messages are prepared by the first check, because most answers need none.
 */
export function quotesOf(earlierTexts: Iterable<string>): (text: string) => boolean {
  let known: CompactTexts | undefined;
  return (text) => {
    known ??= compactTexts({ texts: [...earlierTexts], isReact: false });
    return isQuotedIn(known, text);
  };
}

/** Earlier messages as they are compared: see `quotesOf`, and `isActionQuotedIn` for `labelled`, which only the mode `react` needs. */
export interface CompactTexts {
  plain: string[];
  labelled: string[];
}

export function compactTexts({ texts, isReact }: { texts: readonly string[]; isReact: boolean }): CompactTexts {
  return { plain: texts.map(compact), labelled: isReact ? texts.map((text) => compact(withPlainLabels(text))) : [] };
}

/** As `quotesOf`, in messages that are prepared. */
export function isQuotedIn({ plain }: CompactTexts, text: string): boolean {
  return isInAny(plain, compact(text));
}

/**
 * The same for actions written with labels, whose marks around labels and input a model may leave away: with its input, or, where it has none, as
 * the text behind the label.
 */
export function isActionQuotedIn({ labelled }: CompactTexts, { name, input }: { name: string; input: string }): boolean {
  const forms = [`Action: ${name}\nAction Input: ${input}`, `Action: ${input}`].map((form) => compact(withPlainLabels(form)));
  return forms.some((form) => isInAny(labelled, form));
}

function withPlainLabels(text: string): string {
  return text
    .replaceAll(/```[a-z]*/gi, '')
    .replaceAll(/[*#_>`'"]/g, '')
    .replaceAll(/action\b[ \d]{0,9}(?:\binput\b[ \d]{0,9})?:/gi, (label) => label.replaceAll(/[ \d]/g, '').toLowerCase());
}

/** What all spellings of one text have in common. Only ever compared: that different texts may become the same leaves a call as text, no more. */
function compact(text: string): string {
  return (
    text
      // One of each run first: a pattern for a run and what follows it would begin anew at each of them.
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

function characterOf(code: string, radix: 10 | 16): string {
  const point = Number.parseInt(code, radix);
  return point <= 0x10ffff ? String.fromCodePoint(point) : '';
}

/** What is looked for by the engine's own search, which takes this many steps a character at most; what it finds is compared here. */
const headCharacters = 8;

/**
 * Whether one of the texts contains `wanted`, in time that grows with their lengths. `String.prototype.includes` takes the product of the two for texts
 * that repeat themselves (15 seconds for 9 MB of `a` and 10,000 characters), and whoever writes a conversation chooses both.
 * Knuth, Morris and Pratt, "Fast Pattern Matching in Strings" (1977).
 */
export function isInAny(texts: readonly string[], wanted: string): boolean {
  if (wanted.length <= headCharacters) return texts.some((text) => text.includes(wanted));
  // Prepared once, not for each of thousands of messages.
  const borders = bordersOf(wanted);
  return texts.some((text) => contains(text, wanted, borders));
}

function contains(text: string, wanted: string, borders: Uint32Array): boolean {
  const head = wanted.slice(0, headCharacters);
  let matched = 0;
  for (let position = 0; position < text.length; position += 1) {
    if (matched === 0) {
      position = text.indexOf(head, position);
      if (position === -1) return false;
    }
    const code = text.charCodeAt(position);
    while (matched > 0 && wanted.charCodeAt(matched) !== code) matched = borders[matched - 1] ?? 0;
    if (wanted.charCodeAt(matched) === code) matched += 1;
    if (matched === wanted.length) return true;
  }
  return false;
}

/** For each beginning of a text the length of its longest proper beginning that is also its end. */
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
