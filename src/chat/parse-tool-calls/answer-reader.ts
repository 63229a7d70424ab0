import { limits } from '../../core/limits.ts';
import type { Reading, Scan, Wait } from './call-pieces.ts';
import { markAt, standsAt } from './find-mark.ts';
import { isSpace, spaceEnd } from './growing-text.ts';
import type { GrowingText } from './growing-text.ts';
import { markBeginnings, marksByOpen, noise, opensByBeginning, thoughtEnds } from './marks.ts';
import type { Mark } from './marks.ts';
import { NextBeginning } from './next-beginning.ts';
import type { PieceWriter } from './piece-writer.ts';
import { readBlock } from './read-block.ts';
import { bare } from './read-context.ts';
import type { EntryPlace, ReadContext } from './read-context.ts';
import { readFence } from './read-fence.ts';
import type { Fence } from './read-fence.ts';
import { readHarmony } from './read-harmony.ts';
import { readJsonArguments } from './read-json-entry.ts';
import { nameBefore, readPlainCalls } from './read-plain-calls.ts';
import { readMangledAnswer } from './read-mangled-answer.ts';
import { labelAt, readReact } from './read-react.ts';
import type { RescueRules } from './rescue-rules.ts';
import { settleReading } from './settle-reading.ts';
import type { Settling } from './settle-reading.ts';
import { readName, skipSpace } from './run-ends.ts';
import { writeUntil } from './write-until.ts';
import type { WriteUntil } from './write-until.ts';

export interface AnswerReaderOptions {
  rescue?: RescueRules;
  isThinkingOpen?: boolean;
  isReact?: boolean;
  quotes?: RescueRules;
}

/** A selection with more of them than this is not read to its end: what is beyond `limits.callsPerRound` does not run anyway. */
const maxEntries = 2 * limits.callsPerRound;

/** Characters near the end of what has arrived that may belong to a mark which is not complete. */
const longestMark = 40;

const plain: EntryPlace = { ...bare, allowsPlainCalls: true };
const wholeJson: EntryPlace = { ...bare, givesUpEarly: true };

/** A scan with nothing to do. */
const nothing: Iterable<never, undefined> = [];

/** Goes through an answer once, from one possible beginning of something to the next. */
export class AnswerReader {
  readonly #context: ReadContext;
  readonly #writer: PieceWriter;
  readonly #input: GrowingText;
  readonly #rescue: RescueRules | undefined;
  readonly #options: AnswerReaderOptions;
  readonly #next: NextBeginning;
  #plainReadAt: number | undefined;
  #hasThought = false;
  #isHarmony = false;

  constructor(context: ReadContext, writer: PieceWriter, options: AnswerReaderOptions) {
    this.#context = context;
    this.#writer = writer;
    this.#input = writer.input;
    this.#rescue = options.rescue;
    this.#options = options;
    this.#next = new NextBeginning(writer, options.isReact === true ? '<[{`~"◁f\n' : '<[{`~"◁f');
  }

  *read(): Scan<void> {
    if (this.#context.isSelection) while (!this.#input.isEnded) yield;
    if (this.#options.isThinkingOpen === true) yield* this.#think(thoughtEnds);
    yield* this.#readHeaderWithoutStart();
    const first = this.#options.isReact === true ? yield* labelAt(this.#input, this.#writer.cursor) : undefined;
    if (first !== undefined) return yield* readReact(this.#context, this.#writer, first);
    for (;;) {
      if (this.#context.isSelection && this.#writer.entries > maxEntries) return this.#writer.text(this.#input.text.length);
      if (this.#context.isSelection && this.#writer.isFresh) yield* this.#readPlainCalls();
      const at = yield* this.#next;
      if (at === undefined) return;
      this.#next.from = at + 1;
      if (this.#beginsNothing(at)) continue;
      const mark = yield* this.#markAt(at);
      if (mark !== undefined) yield* this.#readMark(at, mark);
      else if (this.#input.text[at] !== '\n') yield* this.#readUnmarked(at);
      else {
        this.#writer.text(at);
        const label = yield* labelAt(this.#input, at + 1);
        if (label !== undefined) return yield* readReact(this.#context, this.#writer, label);
      }
    }
  }

  /** A look without a reader: most of what could begin something is a letter or a sign in prose. */
  #beginsNothing(at: number): boolean {
    const { text } = this.#input;
    const character = text.charAt(at);
    const mayBeMark = '<[f◁'.includes(character);
    if (mayBeMark && (at + 1 >= text.length || markBeginnings.has(text.slice(at, at + 2)))) return false;
    if ('[{"'.includes(character)) return this.#rescue !== undefined && !this.#writer.isFresh;
    return mayBeMark;
  }

  *#markAt(at: number): Scan<Mark | undefined> {
    if (this.#input.text.length - at < longestMark) this.#writer.text(at);
    if (!'<[f◁'.includes(this.#input.text.charAt(at))) return undefined;
    while (this.#input.lacks(at + 1)) yield;
    if (!markBeginnings.has(this.#input.text.slice(at, at + 2))) return undefined;
    while (this.#input.lacks(at + 2)) yield;
    const opens = opensByBeginning.get(this.#input.text.slice(at, at + 3));
    return opens === undefined ? undefined : marksByOpen.get((yield* markAt(this.#input, at, opens)) ?? '');
  }

  *#readUnmarked(at: number): Scan<void> {
    const character = this.#input.text.charAt(at);
    if ('<f◁'.includes(character)) return;
    this.#writer.text(at);
    const isBracket = character === '{' || character === '[';
    if (isBracket && !(yield* this.#mayOpen(at))) return;
    const { isFresh } = this.#writer;
    if (character === '`' || character === '~') yield* this.#readFence(at);
    else if (character === '"') {
      if (isFresh) yield* this.#readBlock(at, { start: at, place: plain, isWhole: true });
    } else if (this.#rescue === undefined) yield* this.#readBare(at);
    else if (isFresh) yield* this.#readBlock(at, { start: at, place: wholeJson, isWhole: true });
  }

  /** A first look at the next character: most brackets in prose begin nothing. */
  *#mayOpen(at: number): Scan<boolean> {
    while (this.#input.lacks(at + 1)) yield;
    return mayFollow(this.#input.text.charAt(at), this.#input.text.charCodeAt(at + 1));
  }

  /** At the beginning of an answer, and behind each call while nothing else was written. */
  *#readPlainCalls(): Scan<void> {
    const at = spaceEnd(this.#input.text, this.#writer.cursor);
    if (at >= this.#input.text.length || at === this.#plainReadAt) return;
    this.#plainReadAt = at;
    const reading = yield* readPlainCalls(this.#context, at);
    if (reading.type === 'entries') yield* this.#settle({ at, reading, isBare: true });
  }

  /** The name of the function may stand on the line before; and what is assigned or passed on is part of a program. */
  *#inSelection(at: number, start: number, reading: Reading): Scan<Reading> {
    const { text } = this.#input;
    if (reading.type === 'entries')
      return /(?:[=(]|\breturn)\s{0,99}$/.test(text.slice(Math.max(0, at - 100), at)) ? { type: 'data', end: reading.end } : reading;
    const name = text[start] === '{' ? nameBefore(this.#context, at) : undefined;
    if (name === undefined) return reading;
    const named = yield* readJsonArguments(this.#context, start, name);
    const isFitting =
      named.type === 'entries' &&
      named.entries.every((entry) => entry.type === 'call' && this.#context.takes(name, Object.keys(entry.arguments)));
    return isFitting ? named : reading;
  }

  *#readBare(at: number): Scan<void> {
    const { isFresh } = this.#writer;
    this.#input.looked = at;
    let reading = yield* readBlock(this.#context, at, bare);
    if (this.#context.isSelection) reading = yield* this.#inSelection(at, at, reading);
    if (reading.type === 'none' && isFresh) {
      const mangled = yield* readMangledAnswer(this.#context, at);
      if (mangled.type === 'entries') reading = mangled;
    }
    yield* this.#settle({ at, reading, isBare: true });
  }

  /** No generator itself: waking a paused reader goes through every one above it. */
  #readMark(at: number, mark: Mark): Iterable<Wait | undefined, unknown> {
    const writer = this.#writer;
    const end = at + mark.open.length;
    writer.text(at);
    switch (mark.kind) {
      case 'block':
        return this.#readBlock(at, { start: end - mark.keeps, place: mark.place, isWhole: false });
      case 'wrapper':
        if (this.#rescue !== undefined && !writer.isFresh) return nothing;
        return this.#readBlock(at, { start: end, place: mark.place, isWhole: this.#rescue !== undefined });
      case 'foreign':
        return this.#write({ as: 'text', ends: [mark.close], end: 'write' });
      case 'thought':
        if (!mark.isToken && !writer.isAfterBlock && writer.lastCharacter !== '\n') return nothing;
        writer.skip(end);
        return this.#think([mark.close]);
      case 'thought-end':
        return this.#endThought(end);
      case 'harmony':
        return this.#readHarmony(at);
      case 'noise':
        if (writer.isAfterBlock || this.#isHarmony) writer.skip(end);
        return nothing;
    }
  }

  *#write(until: WriteUntil): Scan<void> {
    yield* writeUntil(this.#writer, until);
    this.#next.from = this.#writer.cursor;
  }

  #think(ends: readonly string[]): Scan<void> {
    this.#hasThought = true;
    return this.#write({ as: 'reasoning', ends, end: 'skip' });
  }

  /** A closing tag without an opening one counts once, where a thought may end: at the edge of a line or behind a sentence. */
  *#endThought(end: number): Scan<void> {
    while (this.#input.lacks(end)) yield;
    const before = this.#writer.lastCharacter;
    const isAtEdge =
      before === '' || '\n.!?…。！？'.includes(before) || end >= this.#input.text.length || '\r\n'.includes(this.#input.text.charAt(end));
    if (this.#hasThought || !isAtEdge) return;
    this.#hasThought = true;
    this.#writer.put({ type: 'retraction' });
    this.#writer.skip(end);
    this.#writer.isFresh = true;
  }

  *#readHarmony(at: number): Scan<void> {
    this.#input.looked = at;
    const message = yield* readHarmony(this.#context, at);
    if (message.type === 'none') return;
    this.#isHarmony = true;
    this.#hasThought = true;
    if (message.type === 'call') {
      yield* this.#settle({ at, reading: message.reading, isBare: false });
      return;
    }
    this.#writer.skip(message.end);
    if (message.type === 'text') return;
    yield* this.#write({ as: 'reasoning', ends: ['<|end|>', '<|return|>', '<|call|>', '<|start|>', '<|channel|>'], end: 'leave' });
  }

  /** gpt-oss: the template has written `<|start|>assistant`, so that the answer begins with the rest of a header: ` to=functions.f<|channel|>…`. */
  *#readHeaderWithoutStart(): Scan<void> {
    const start = this.#writer.cursor;
    let at = start;
    for (; at < start + longestMark; at += 1) {
      while (this.#input.lacks(at)) yield;
      if (!isSpace(this.#input.text.charCodeAt(at))) break;
    }
    if (!(yield* standsAt(this.#input, at, 'to='))) return;
    const nameEnd = yield* readName(this.#input, at + 3);
    const mark = yield* skipSpace(this.#input, nameEnd);
    if (nameEnd > at + 3 && (yield* markAt(this.#input, mark, ['<|channel|>', '<|constrain|>', '<|message|>'])) !== undefined)
      yield* this.#readHarmony(at);
  }

  *#readFence(at: number): Scan<void> {
    const fence = yield* readFence(this.#context, at);
    if (fence === undefined) return;
    const mayHoldCalls = fence.isCode && (this.#rescue === undefined || (this.#writer.isFresh && !fence.isProgram));
    if (mayHoldCalls && (yield* this.#readFenced(at, fence))) return;
    this.#next.from = Math.max(this.#next.from, at + fence.mark.length);
    if (this.#rescue === undefined && !fence.isProgram) return;
    // What stands in code explains something; it is no call of this answer.
    this.#writer.text(at + fence.mark.length);
    const ends = fence.mark.length < 3 ? [fence.mark, '\n'] : [`\n${fence.mark}`];
    yield* this.#write({ as: 'text', ends, end: 'write' });
  }

  /** In a program all of the fence has to be calls: one that stands among other statements shows how something is done. */
  *#readFenced(at: number, fence: Fence): Scan<boolean> {
    const place: EntryPlace = { ...plain, closes: [fence.mark], allowsComments: fence.isProgram, allowsPrint: fence.isToolCode };
    if (!fence.isProgram && !this.#context.isSelection)
      return yield* this.#readBlock(at, { start: fence.start, place, isWhole: this.#rescue !== undefined });
    this.#input.looked = at;
    const block = yield* readBlock(this.#context, fence.start, place);
    const reading = this.#context.isSelection ? yield* this.#inSelection(at, fence.start, block) : block;
    if (!fence.isProgram)
      return yield* this.#settle({ at, reading: reading === block ? block : this.#upTo(fence.mark, reading), isBare: true });
    const isWhole = reading.type === 'entries' && (reading.end >= this.#input.text.length || this.#endsWith(reading.end, fence.mark));
    // What was read for nothing costs its share of what may be read again.
    const seen = reading.type === 'none' ? reading.at : reading.end;
    return yield* this.#settle({ at, reading: isWhole ? reading : { type: 'none', at: seen }, isBare: true });
  }

  /** The fence's end belongs to what was read in it. */
  #upTo(mark: string, reading: Reading): Reading {
    if (reading.type === 'none') return reading;
    const end = spaceEnd(this.#input.text, reading.end);
    return this.#input.text.startsWith(mark, end) ? { ...reading, end: end + mark.length } : reading;
  }

  #endsWith(end: number, mark: string): boolean {
    return this.#input.text.slice(end - mark.length, end) === mark;
  }

  *#readBlock(at: number, { start, place, isWhole }: { start: number; place: EntryPlace; isWhole: boolean }): Scan<boolean> {
    this.#input.looked = at;
    const reading = yield* readBlock(this.#context, start, place);
    if (isWhole && reading.type === 'entries') {
      const after = yield* this.#skipNoise(reading.end);
      if (after < this.#input.text.length) return yield* this.#settle({ at, reading: { type: 'none', at: at + 1 }, isBare: true });
    }
    return yield* this.#settle({ at, reading, isBare: !place.isMarked });
  }

  /** Where the answer goes on behind white space and tokens of templates. */
  *#skipNoise(from: number): Scan<number> {
    let position = from;
    for (;;) {
      position = yield* skipSpace(this.#input, position);
      const mark = yield* markAt(this.#input, position, noise);
      if (mark === undefined) return position;
      position += mark.length;
    }
  }

  *#settle(settling: Pick<Settling, 'at' | 'reading' | 'isBare'>): Scan<boolean> {
    const isRescue = this.#rescue !== undefined;
    const quotes = this.#rescue ?? this.#options.quotes;
    const end = yield* settleReading(this.#context, this.#writer, { ...settling, isRescue, quotes });
    if (end !== undefined) this.#next.from = end;
    return end !== undefined;
  }
}

function mayFollow(character: string, next: number): boolean {
  if (Number.isNaN(next)) return false;
  const isLetter = (next >= 97 && next <= 122) || (next >= 65 && next <= 90) || next === 95 || next > 0xff;
  const isBracket = next === 91 || next === 93 || next === 123 || next === 125;
  return (
    isSpace(next) ||
    isLetter ||
    next === 34 ||
    next === 39 ||
    next === 47 ||
    next === 92 ||
    (isBracket && !(character === '{' && next !== 125))
  );
}
