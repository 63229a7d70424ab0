import type { Token } from 'marked';
import { plainBlock, readBlocks } from './read-blocks.ts';
import { addLinksOf, isLinkedOtherwise, noLinks } from './links.ts';
import type { Links } from './links.ts';

/** Characters of a part, which is rendered once and then left alone. */
const partSize = 8_000;
/** Characters that are read at a time. */
const windowSize = 24_000;
/**
 * A block may change with each character that comes, so all of it is read and rendered again. One that is longer is cut: code of four hundred lines and
 * tables of sixty rows stay whole.
 */
const maxOpen: Readonly<Record<string, number>> = { code: 16_000, table: 6_000, list: 8_000, blockquote: 8_000 };
const maxOpenOfOthers = 4_000;
/** Of a fence, or of a table's head; it is read again with each part of its block. */
const maxOpening = 1_000;
/** Characters that are read again when a link is defined after what refers to it; in a longer text this would hold up the page. */
const maxReadAgain = 50_000;

export interface MarkdownPart {
  blocks: readonly MarkdownBlock[];
}

export interface MarkdownBlock {
  token: Token;
  /** It goes on with the block before it, which was cut. */
  isContinued: boolean;
  /** Of code: all of it, with what other blocks have. */
  whole: WholeCode;
}

interface WholeCode {
  /** In blocks that do not change any more. */
  finished: string;
  open: string;
}

interface MarkdownReader {
  /**
   * The parts of a text, which is longer each time. Those that cannot change any more stay the same objects, and so do their blocks, so that they are
   * rendered once.
   */
  read(text: string): readonly MarkdownPart[];
}

/** Where a block was cut, and how the text goes on there as if it began anew. */
interface Cut {
  /** Opens the block again: the fence of code, the head of a table. */
  opening: string;
  whole: WholeCode;
}

const noCut = (): Cut => ({ opening: '', whole: { finished: '', open: '' } });

/** Reads a text that grows. Only what comes after its last finished block is read again. `lex` is told apart for tests, which count what it reads. */
export function createMarkdownReader(lex: typeof readBlocks = readBlocks): MarkdownReader {
  let parts: MarkdownPart[] = [];
  /** What is finished and no part yet, and how many characters it has. */
  let blocks: MarkdownBlock[] = [];
  let size = 0;
  let finishedText = '';
  /** Of what is finished. */
  let links = noLinks();
  /** Of all that was read last: what is finished was read with them. */
  let used = noLinks();
  let cut = noCut();

  function reset(): void {
    [parts, blocks, size, finishedText, links, cut] = [[], [], 0, '', noLinks(), noCut()];
  }

  /** `later`: links that are defined further on. */
  function read(text: string, later: Links): MarkdownBlock[] {
    used = noLinks(later, links);
    return lex(cut.opening + text, used).map((token, index) => {
      const isContinued = index === 0 && cut.opening !== '';
      const whole = isContinued ? cut.whole : noCut().whole;
      if (token.type === 'code') whole.open = (token as { text: string }).text;
      return { token, isContinued, whole };
    });
  }

  function finish(done: readonly MarkdownBlock[], text: string): void {
    finishedText += text;
    size += text.length;
    blocks.push(...done);
    for (const { token } of done) addLinksOf(token, links);
    if (size < partSize) return;
    parts = [...parts, { blocks }];
    [blocks, size] = [[], 0];
  }

  /** Finishes the first characters of a block that is too long. */
  function cutOff(piece: string, token: Token, later: Links): void {
    const done = read(piece, later);
    const opening = cut.opening === '' ? openingOf(token) : cut.opening;
    const { whole } = done[0] ?? cut;
    whole.finished += whole.open + (piece.endsWith('\n') ? '\n' : '');
    whole.open = '';
    finish(done, piece);
    cut = opening === '' ? noCut() : { opening, whole };
  }

  function readOn(text: string, later: Links): readonly MarkdownPart[] {
    for (;;) {
      const rest = text.slice(finishedText.length, finishedText.length + windowSize);
      const isAll = finishedText.length + rest.length === text.length;
      let found = read(rest, later);
      // The last block may go on: a list after an empty line, a table, a fence.
      let last = found.findLastIndex(({ token }) => token.type !== 'space');
      const raw = found
        .slice(0, Math.max(last, 0))
        .map(({ token }) => token.raw)
        .join('');
      let doneSize = raw.length - cut.opening.length;
      if (doneSize > 0 && !(cut.opening + rest).startsWith(raw)) {
        // What is read as other than it was written has no known place in the text.
        found = [{ token: plainBlock(rest), isContinued: false, whole: noCut().whole }];
        [last, doneSize] = [0, 0];
      }
      if (doneSize > 0) {
        finish(found.splice(0, last), rest.slice(0, doneSize));
        cut = noCut();
        if (!isAll) continue;
      }
      const open = doneSize > 0 ? rest.slice(doneSize) : rest;
      const token = found.find((block) => block.token.type !== 'space')?.token;
      if (token === undefined && !isAll) {
        finish(found, rest);
        continue;
      }
      if (token === undefined || open.length <= (maxOpen[token.type] ?? maxOpenOfOthers))
        return [...parts, { blocks: [...blocks, ...found] }];
      cutOff(open.slice(0, cutPlaceOf(open, token)), token, later);
    }
  }

  return {
    read(given) {
      const text = given.includes('\r') ? given.replaceAll(/\r\n?/g, '\n') : given;
      if (!text.startsWith(finishedText)) reset();
      const before = used;
      const found = readOn(text, noLinks());
      if (finishedText.length > maxReadAgain || !isLinkedOtherwise(finishedText, before, used)) return found;
      const later = used;
      reset();
      return readOn(text, later);
    },
  };
}

function openingOf({ type, raw }: Token): string {
  const opening =
    type === 'table' ? /^[^\n]*\n[^\n]*\n/.exec(raw)?.[0] : type === 'code' ? /^ {0,3}(?:`{3,}|~{3,})[^\n]*\n/.exec(raw)?.[0] : undefined;
  return opening === undefined || opening.length > maxOpening ? '' : opening;
}

/** Where a block that is too long is cut: between items, lines, spans or words, wherever that is possible. */
function cutPlaceOf(open: string, token: Token): number {
  const limit = maxOpen[token.type] ?? maxOpenOfOthers;
  const beginning = open.slice(0, limit);
  const items = token.type === 'list' ? [...beginning.matchAll(/\n(?=(?:[-*+]|\d{1,9}[.)]) )/g)].at(-1) : undefined;
  const places = [
    (items?.index ?? -1) + 1,
    token.type === 'paragraph' ? endOfSpans(token, limit) : 0,
    beginning.lastIndexOf('\n') + 1,
    beginning.lastIndexOf(' ') + 1,
  ];
  // Not after a few words: that would be many small pieces.
  const place = places.find((end) => end > limit / 4);
  if (place !== undefined) return place;
  // Two halves of one character stay together.
  return /[\uD800-\uDBFF]$/.test(beginning) ? limit - 1 : limit;
}

/** The end of the last word that stands in no link and no emphasis; 0 where there is none. */
function endOfSpans({ tokens = [] }: Token & { tokens?: Token[] }, limit: number): number {
  let place = 0;
  let at = 0;
  for (const { type, raw } of tokens) {
    if (at >= limit) break;
    const end = type === 'text' ? raw.slice(0, limit - at).lastIndexOf(' ') + 1 : 0;
    if (end > 0) place = at + end;
    at += raw.length;
  }
  return place;
}
