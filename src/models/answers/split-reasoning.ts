import { reasoningTags } from '../../shared/reasoning-tags.ts';

export interface ReasoningPiece {
  type: 'text' | 'reasoning';
  text: string;
}

export interface ReasoningOptions {
  /** The chat template has already opened the reasoning block, so the answer starts inside it. */
  isOpen?: boolean;
}

interface AnswerEnd {
  /** The answer was cut off (`length`), so an unclosed block proves nothing. */
  isCut?: boolean;
}

/** Matched case-insensitively. */
const tags = reasoningTags.map(({ open, close }) => ({ open: open.toLowerCase(), close: close.toLowerCase() }));
const openings = tags.map((tag) => tag.open);
const closings = tags.map((tag) => tag.close);
const tagStart = /[<◁[]/;
const anyTag = oneOf([...openings, ...closings]);
const anyClosing = oneOf(closings);
const longestTag = Math.max(...[...openings, ...closings].map((tag) => tag.length));

/** Characters of presumed reasoning that are buffered in case they have to be emitted as text after all: about the longest reasoning of any model. */
const maxPresumed = 256 * 1024;
/** Leading white space that is buffered before the decision is made. */
const maxLeadingSpace = 1024;

/**
 * Separates reasoning that a model writes into its text (`<think>…</think>` and relatives) from the answer, however the text arrives.
 *
 * A block counts only at the start of the answer, after white space or another block; a tag later on, or in code, is text.
 * A closing tag without its opening comes from a chat template that opens the block itself. What was streamed as text by then cannot be taken back:
 * the tag is dropped and `opensInTemplate` becomes true, so that the model's next answer can be read with `isOpen`. Such a tag counts
 * outside code, before any opening tag, and where a thought may end: at the edge of a line or after the end of a sentence.
 * With `isOpen` everything up to the first closing tag is reasoning. When the answer ends by itself without one, the presumption was wrong:
 * the same text is given once more as text, because an answer must not be lost, and `opensInTemplate` becomes false.
 */
export class ReasoningSplitter {
  /** What this answer reveals about the model's chat template; undefined: nothing. */
  opensInTemplate: boolean | undefined;
  /** The length of the text before a closing tag without an opening tag. */
  textBeforeLoneClosing = 0;
  readonly #isOpen: boolean;
  #state: 'start' | 'presumed' | 'reasoning' | 'watched' | 'plain' = 'start';
  #pending = '';
  #closing = anyClosing;
  #isAfterReasoning = false;
  #isFresh = true;
  #presumed = '';
  #spoken = 0;
  #lastCharacter = '';
  readonly #code = new CodeTracker();

  constructor(options: ReasoningOptions = {}) {
    this.#isOpen = options.isOpen ?? false;
  }

  push(text: string): ReasoningPiece[] {
    if (this.#state === 'plain') return text === '' ? [] : [{ type: 'text', text }];
    this.#pending += text;
    return this.#advance(false);
  }

  /** Returns what is still buffered. Call it once, at the end of the answer. */
  flush(end: AnswerEnd = {}): ReasoningPiece[] {
    const pieces = this.#advance(true);
    const isDoubtful = this.#state === 'presumed' && end.isCut !== true && this.#presumed.length <= maxPresumed;
    if (!isDoubtful || this.#presumed.trim() === '') return pieces;
    this.opensInTemplate = false;
    return [...pieces, { type: 'text', text: this.#presumed }];
  }

  #advance(isEnd: boolean): ReasoningPiece[] {
    const pieces: ReasoningPiece[] = [];
    let isMoving = true;
    while (isMoving) {
      if (this.#state === 'start') isMoving = this.#start(isEnd);
      else if (this.#state === 'watched') isMoving = this.#watch(pieces, isEnd);
      else if (this.#state === 'plain') isMoving = this.#speak(pieces, this.#pending.length);
      else isMoving = this.#reason(pieces, isEnd);
    }
    return pieces;
  }

  #start(isEnd: boolean): boolean {
    const text = this.#pending.trimStart();
    const isNear = this.#pending.length - text.length <= maxLeadingSpace;
    const tag = anyTag.exec(text);
    if (isNear && tag?.index === 0) return this.#enter(tag[0], text);
    const isUndecided = text === '' || partialTagAt(text) === 0;
    if (isNear && isUndecided && !isEnd) return false;
    if (this.#isAfterReasoning) {
      this.#pending = text;
      this.#state = 'plain';
    } else this.#state = this.#isOpen ? 'presumed' : 'watched';
    return this.#pending !== '';
  }

  #enter(tag: string, text: string): boolean {
    const opened = tags.find((candidate) => candidate.open === tag.toLowerCase());
    if (opened === undefined && this.#isAfterReasoning) {
      this.#pending = text;
      this.#state = 'plain';
      return true;
    }
    this.#pending = text.slice(tag.length);
    this.#isAfterReasoning = true;
    if (opened === undefined) {
      this.opensInTemplate = true;
      return true;
    }
    if (this.#isOpen) this.opensInTemplate ??= false;
    this.#closing = oneOf([opened.close]);
    this.#isFresh = true;
    this.#state = 'reasoning';
    return true;
  }

  #reason(pieces: ReasoningPiece[], isEnd: boolean): boolean {
    const tag = this.#closing.exec(this.#pending);
    const end = tag?.index ?? (isEnd ? this.#pending.length : partialTagAt(this.#pending));
    this.#think(pieces, this.#pending.slice(0, end));
    this.#pending = this.#pending.slice(end + (tag?.[0].length ?? 0));
    if (tag === null) return false;
    if (this.#state === 'presumed') this.opensInTemplate = true;
    this.#isAfterReasoning = true;
    this.#state = 'start';
    return true;
  }

  #think(pieces: ReasoningPiece[], thought: string): void {
    if (this.#state === 'presumed' && this.#presumed.length <= maxPresumed) this.#presumed += thought;
    const text = this.#isFresh ? thought.trimStart() : thought;
    if (text === '') return;
    this.#isFresh = false;
    pieces.push({ type: 'reasoning', text });
  }

  /** Watches text after the start of the answer: a closing tag without an opening one reveals that the chat template opens the block. */
  #watch(pieces: ReasoningPiece[], isEnd: boolean): boolean {
    if (!tagStart.test(this.#pending)) {
      this.#speak(pieces, this.#pending.length);
      return false;
    }
    const tag = anyTag.exec(this.#pending);
    if (tag === null) {
      this.#speak(pieces, isEnd ? this.#pending.length : partialTagAt(this.#pending));
      return false;
    }
    this.#speak(pieces, tag.index);
    const after = this.#pending.charAt(tag[0].length);
    if (after === '' && !isEnd) return false;
    if (this.#code.isInside()) return this.#speak(pieces, tag[0].length);
    if (openings.includes(tag[0].toLowerCase())) {
      this.#state = 'plain';
      return true;
    }
    if (!endsThought(this.#lastCharacter, after)) return this.#speak(pieces, tag[0].length);
    this.opensInTemplate = true;
    this.textBeforeLoneClosing = this.#spoken;
    this.#pending = this.#pending.slice(tag[0].length);
    this.#state = 'plain';
    return true;
  }

  #speak(pieces: ReasoningPiece[], length: number): boolean {
    const text = this.#pending.slice(0, length);
    this.#pending = this.#pending.slice(length);
    if (text === '') return false;
    this.#spoken += text.length;
    this.#lastCharacter = text.charAt(text.length - 1);
    if (this.#state === 'watched') this.#code.read(text);
    pieces.push({ type: 'text', text });
    return true;
  }
}

/** The same for a complete answer, where text before a lone closing tag is reasoning too. */
export function splitReasoning(
  text: string,
  options: ReasoningOptions & AnswerEnd = {},
): { reasoning: string; text: string; splitter: ReasoningSplitter } {
  const splitter = new ReasoningSplitter(options);
  // Fast path: nearly every answer contains no tag.
  if (options.isOpen !== true && !anyTag.test(text)) return { reasoning: '', text, splitter };
  const pieces = [...splitter.push(text), ...splitter.flush(options)];
  const spoken = join(pieces, 'text');
  const before = splitter.textBeforeLoneClosing;
  if (before > 0) return { reasoning: spoken.slice(0, before).trim(), text: spoken.slice(before).trimStart(), splitter };
  const isRepeated = options.isOpen === true && splitter.opensInTemplate === false && spoken === text;
  return { reasoning: isRepeated ? '' : join(pieces, 'reasoning'), text: spoken, splitter };
}

function join(pieces: ReasoningPiece[], type: ReasoningPiece['type']): string {
  return pieces.flatMap((piece) => (piece.type === type ? [piece.text] : [])).join('');
}

function endsThought(before: string, after: string): boolean {
  return before === '' || after === '' || '\r\n'.includes(before) || '\r\n'.includes(after) || '.!?…。！？'.includes(before);
}

/** The position of the longest suffix that may be the beginning of a tag; the text's length if there is none. */
function partialTagAt(text: string): number {
  const tail = text.slice(-longestTag);
  const start = Math.max(tail.lastIndexOf('<'), tail.lastIndexOf('◁'), tail.lastIndexOf('['));
  if (start === -1) return text.length;
  const begun = tail.slice(start).toLowerCase();
  const isPartial = openings.some((tag) => tag.startsWith(begun)) || closings.some((tag) => tag.startsWith(begun));
  return isPartial ? text.length - tail.length + start : text.length;
}

function oneOf(texts: string[]): RegExp {
  return new RegExp(texts.map((text) => text.replaceAll(/[[\]|]/g, String.raw`\$&`)).join('|'), 'i');
}

/**
 * Tracks whether streamed text is inside a code span or fenced block, without look-ahead: a run of backticks opens code until a run of the same
 * length (for a fence: at least that length); a span ends with its line at the latest.
 */
class CodeTracker {
  #open = 0;
  #run = 0;

  read(text: string): void {
    if (this.#open === 0 && this.#run === 0 && !text.includes('`')) return;
    for (const character of text) {
      if (character === '`') {
        this.#run += 1;
        continue;
      }
      this.#endRun();
      if (character === '\n' && this.#open < 3) this.#open = 0;
    }
  }

  isInside(): boolean {
    this.#endRun();
    return this.#open > 0;
  }

  #endRun(): void {
    if (this.#run === 0) return;
    const isEnd = this.#open >= 3 ? this.#run >= this.#open : this.#run === this.#open;
    if (isEnd) this.#open = 0;
    else if (this.#open === 0) this.#open = this.#run;
    this.#run = 0;
  }
}
