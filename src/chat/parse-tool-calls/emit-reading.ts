import { damagedCall, type ReadEntry, type Reading } from './answer-pieces.ts';
import { findPlaceholder } from './find-placeholder.ts';
import type { PieceWriter } from './piece-writer.ts';
import type { QuoteCheck } from './quotes/quoted-calls.ts';
import type { ReadContext } from './read-context.ts';

/** What was read from the position `at` on. `isBare` as in `ReadCall`. */
interface ReadAt {
  at: number;
  reading: Reading;
  isBare: boolean;
}

/** Budget for rereading after false starts: this many characters plus `rereadingShare` times the text. It keeps the work on hostile text linear. */
const freeRereading = 64 * 1024;
const rereadingShare = 4;

const demandedObject = /^\{\s{0,99}["']?tool_calls["']?\s{0,99}:/;

/** Emits what was read as pieces, if it is allowed to be a call. */
export class ReadingEmitter {
  readonly #context: ReadContext;
  readonly #writer: PieceWriter;
  readonly #isNative: boolean;
  readonly #quotes: QuoteCheck | undefined;
  /** How many calls of the undecided text have already been checked and are not quoted from earlier messages. */
  #notQuoted = 0;
  /** Characters read again so far: see `freeRereading`. */
  #reread = 0;

  constructor(context: ReadContext, writer: PieceWriter, { isNative = false, quotes }: { isNative?: boolean; quotes?: QuoteCheck }) {
    this.#context = context;
    this.#writer = writer;
    this.#isNative = isNative;
    this.#quotes = quotes;
  }

  /** To be called when the text so far is decided. */
  beginNext(): void {
    this.#notQuoted = 0;
  }

  /** Emits what was read as pieces. False when it was no call; its first character is then text. */
  emit({ at, reading, isBare }: ReadAt): boolean {
    const writer = this.#writer;
    const isNative = this.#isNative;
    if (reading.type === 'none') return this.#emitFalseStart(at, Math.max(reading.at, this.#writer.input.searchedTo));
    const asText = (end: number): boolean => {
      writer.text(end);
      return true;
    };
    const { end } = reading;
    if (reading.type === 'data') return asText(end);
    const entries = isNative ? reading.entries.map((entry) => this.#withExactName(entry)) : reading.entries;
    if (isNative && isBare && !entries.some((entry) => entry.type === 'call')) return asText(end);
    if (isNative && isBare && entries.some((entry) => this.#isForbidden(entry))) return asText(end);
    if (this.#isAnyQuoted(entries)) return asText(end);
    const text = this.#writer.input.text.slice(at, end);
    const [only, ...others] = entries;
    if (only === undefined) {
      if (isNative || (text.trim() === '[]' && !writer.isFresh)) return asText(end);
      writer.put({ type: 'nothing-chosen', text });
    }
    const mark = isBare && this.#context.isSelection ? { isBare, ...(demandedObject.test(text) && { isDemanded: true }) } : {};
    // The text of a single damaged call includes the marks around it, because it may be shown to the user.
    if (only?.type === 'damaged' && others.length === 0) writer.put({ ...only, ...mark, text });
    else for (const entry of entries) writer.put({ ...entry, ...mark });
    writer.skip(end);
    // The search for the end of a damaged call may have gone far; that text is read again only within the budget.
    const { searchedTo } = this.#writer.input;
    return searchedTo <= end || this.#mayReread(end, searchedTo) || asText(searchedTo);
  }

  /** Rereads the text of a false start if the budget allows it; otherwise all of it becomes text. */
  #emitFalseStart(at: number, failedAt: number): boolean {
    if (this.#mayReread(at, failedAt)) return false;
    this.#writer.text(Math.max(failedAt, at + 1));
    return true;
  }

  #mayReread(from: number, to: number): boolean {
    const cost = Math.max(0, to - from);
    if (this.#reread + cost > freeRereading + rereadingShare * (this.#writer.input.dropped + to)) return false;
    this.#reread += cost;
    return true;
  }

  /** In a native answer a call may run only if its name is offered exactly as written. */
  #withExactName(entry: ReadEntry): ReadEntry {
    if (entry.type === 'damaged' || this.#context.isOffered(entry.name)) return entry;
    return { ...damagedCall('unknown_name', entry.text, entry.name), arguments: entry.arguments };
  }

  /** Whether a call without marks in a native answer is rejected. */
  #isForbidden(entry: ReadEntry): boolean {
    if (entry.type === 'damaged') return entry.reason === 'unknown_name' || entry.reason === 'ambiguous';
    return findPlaceholder(entry.arguments, this.#context.parametersOf(entry.name) ?? {}) !== undefined;
  }

  #isAnyQuoted(entries: readonly ReadEntry[]): boolean {
    const quotes = this.#quotes;
    if (quotes === undefined) return false;
    for (const entry of entries.slice(this.#notQuoted)) {
      const isQuoted = quotes.isQuoted(entry.text, entry);
      if (isQuoted === 'not_known_yet') this.#writer.input.pause();
      if (isQuoted) return true;
      this.#notQuoted += 1;
    }
    return false;
  }
}
