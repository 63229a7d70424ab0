import type { Token } from 'marked';
import { plainBlock, readBlocks } from './read-blocks.ts';
import { addLinksOf, isLinkedOtherwise, noLinks, type Links } from './links.ts';

/** Characters of a part, which is rendered only once. */
const partSize = 8_000;
/** Characters that are parsed at a time. */
const windowSize = 24_000;
/**
 * The last block may change with each new character, so all of it is parsed and rendered again. A longer block is split: code of 400 lines and tables of 60 rows
 * stay whole.
 */
const maxOpen: Readonly<Record<string, number>> = { code: 16_000, table: 6_000, list: 8_000, blockquote: 8_000 };
const maxOpenOfOthers = 4_000;
/** Characters of a fence or a table head, which is parsed again with each piece of its block. */
const maxOpening = 1_000;
/** Characters that are parsed again when a link is defined after its use. In a longer text this would block the page. */
const maxReadAgain = 50_000;

export interface MarkdownPart {
  blocks: readonly MarkdownBlock[];
}

export interface MarkdownBlock {
  token: Token;
  /** It continues the previous block, which was split. */
  isContinued: boolean;
  /** All of the code in a split code block. */
  whole: WholeCode;
}

export interface WholeCode {
  /** The code in blocks that no longer change. */
  finished: string;
  open: string;
}

/** Where a block was split, and how its next piece starts. */
interface Split {
  /** Opens the block again: the fence of code, or the head of a table. */
  opening: string;
  whole: WholeCode;
}

const noSplit = (): Split => ({ opening: '', whole: { finished: '', open: '' } });

/** Parses a growing text. Only what follows its last finished block is parsed again. `lex` is a parameter so that tests can count its input. */
export class MarkdownReader {
  readonly #lex: typeof readBlocks;
  #parts: MarkdownPart[] = [];
  /** Finished blocks that are not in a part yet, and their number of characters. */
  #blocks: MarkdownBlock[] = [];
  #size = 0;
  #finishedText = '';
  /** The links of the finished text. */
  #links = noLinks();
  /** The links that the last parse used. */
  #used = noLinks();
  #split = noSplit();

  constructor(lex: typeof readBlocks = readBlocks) {
    this.#lex = lex;
  }

  /**
   * The parts of a text that is longer each time. Parts that can no longer change stay the same objects, and so do their blocks, so that they are rendered only
   * once.
   */
  read(given: string): readonly MarkdownPart[] {
    const text = given.includes('\r') ? given.replaceAll(/\r\n?/g, '\n') : given;
    if (!text.startsWith(this.#finishedText)) this.#reset();
    const before = this.#used;
    const found = this.#readRest(text, noLinks());
    if (this.#finishedText.length > maxReadAgain || !isLinkedOtherwise(this.#finishedText, before, this.#used)) return found;
    const later = this.#used;
    this.#reset();
    return this.#readRest(text, later);
  }

  #reset(): void {
    [this.#parts, this.#blocks, this.#size, this.#finishedText] = [[], [], 0, ''];
    [this.#links, this.#split] = [noLinks(), noSplit()];
  }

  /** `later`: links that are defined further on in the text. */
  #readRest(text: string, later: Links): readonly MarkdownPart[] {
    for (;;) {
      const rest = text.slice(this.#finishedText.length, this.#finishedText.length + windowSize);
      const isAll = this.#finishedText.length + rest.length === text.length;
      let found = this.#parse(rest, later);
      // The last block may continue: a list after an empty line, a table, a fence.
      let last = found.findLastIndex(({ token }) => token.type !== 'space');
      const raw = found
        .slice(0, Math.max(last, 0))
        .map(({ token }) => token.raw)
        .join('');
      let doneSize = raw.length - this.#split.opening.length;
      if (doneSize > 0 && !(this.#split.opening + rest).startsWith(raw)) {
        // The lexer has changed the text, so its position in the text is unknown.
        found = [{ token: plainBlock(rest), isContinued: false, whole: noSplit().whole }];
        [last, doneSize] = [0, 0];
      }
      if (doneSize > 0) {
        this.#finish(found.splice(0, last), rest.slice(0, doneSize));
        this.#split = noSplit();
        if (!isAll) continue;
      }
      const open = doneSize > 0 ? rest.slice(doneSize) : rest;
      const token = found.find((block) => block.token.type !== 'space')?.token;
      if (token === undefined && !isAll) {
        this.#finish(found, rest);
        continue;
      }
      if (token === undefined || open.length <= (maxOpen[token.type] ?? maxOpenOfOthers))
        return [...this.#parts, { blocks: [...this.#blocks, ...found] }];
      this.#splitBlock(open.slice(0, splitIndexOf(open, token)), token, later);
    }
  }

  #parse(text: string, later: Links): MarkdownBlock[] {
    const { opening, whole: splitWhole } = this.#split;
    this.#used = noLinks(later, this.#links);
    return this.#lex(opening + text, this.#used).map((token, index) => {
      const isContinued = index === 0 && opening !== '';
      const whole = isContinued ? splitWhole : noSplit().whole;
      if (token.type === 'code') whole.open = (token as { text: string }).text;
      return { token, isContinued, whole };
    });
  }

  #finish(done: readonly MarkdownBlock[], text: string): void {
    this.#finishedText += text;
    this.#size += text.length;
    this.#blocks.push(...done);
    for (const { token } of done) addLinksOf(token, this.#links);
    if (this.#size < partSize) return;
    this.#parts = [...this.#parts, { blocks: this.#blocks }];
    [this.#blocks, this.#size] = [[], 0];
  }

  /** Finishes the first piece of a block that is too long. */
  #splitBlock(piece: string, token: Token, later: Links): void {
    const done = this.#parse(piece, later);
    const opening = this.#split.opening === '' ? openingOf(token) : this.#split.opening;
    const { whole } = done[0] ?? this.#split;
    whole.finished += whole.open + (piece.endsWith('\n') ? '\n' : '');
    whole.open = '';
    this.#finish(done, piece);
    this.#split = opening === '' ? noSplit() : { opening, whole };
  }
}

function openingOf({ type, raw }: Token): string {
  const opening =
    type === 'table' ? /^[^\n]*\n[^\n]*\n/.exec(raw)?.[0] : type === 'code' ? /^ {0,3}(?:`{3,}|~{3,})[^\n]*\n/.exec(raw)?.[0] : undefined;
  return opening === undefined || opening.length > maxOpening ? '' : opening;
}

/** Where to split a block that is too long: between items, lines, spans or words, if possible. */
function splitIndexOf(open: string, token: Token): number {
  const limit = maxOpen[token.type] ?? maxOpenOfOthers;
  const beginning = open.slice(0, limit);
  const items = token.type === 'list' ? [...beginning.matchAll(/\n(?=(?:[-*+]|\d{1,9}[.)]) )/g)].at(-1) : undefined;
  const candidates = [
    (items?.index ?? -1) + 1,
    token.type === 'paragraph' ? endOfSpans(token, limit) : 0,
    beginning.lastIndexOf('\n') + 1,
    beginning.lastIndexOf(' ') + 1,
  ];
  // Not near the beginning, or there would be many small pieces.
  const index = candidates.find((end) => end > limit / 4);
  if (index !== undefined) return index;
  // The two halves of a surrogate pair stay together.
  return /[\uD800-\uDBFF]$/.test(beginning) ? limit - 1 : limit;
}

/** The end of the last word outside of links and emphasis. 0 if there is none. */
function endOfSpans({ tokens = [] }: Token & { tokens?: Token[] }, limit: number): number {
  let last = 0;
  let at = 0;
  for (const { type, raw } of tokens) {
    if (at >= limit) break;
    const end = type === 'text' ? raw.slice(0, limit - at).lastIndexOf(' ') + 1 : 0;
    if (end > 0) last = at + end;
    at += raw.length;
  }
  return last;
}
