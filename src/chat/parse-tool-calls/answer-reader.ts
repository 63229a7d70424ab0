import type { Scan } from './call-pieces.ts';
import { isSpace, isUndecided, skipSpace } from './growing-text.ts';
import type { GrowingText } from './growing-text.ts';
import { marksByBeginning, thoughtEnds } from './marks.ts';
import type { Mark } from './marks.ts';
import { writeUntil } from './piece-writer.ts';
import type { PieceWriter } from './piece-writer.ts';
import { readBlock } from './read-block.ts';
import type { EntryPlace, ReadContext } from './read-context.ts';
import { readFence } from './read-fence.ts';
import { readHarmony } from './read-harmony.ts';
import { readMangledAnswer } from './read-mangled-answer.ts';
import { labelAt, readReact } from './read-react.ts';
import type { RescueRules } from './rescue-rules.ts';
import { settleReading } from './settle-reading.ts';
import type { Settling } from './settle-reading.ts';

export interface AnswerReaderOptions {
  rescue?: RescueRules;
  isThinkingOpen?: boolean;
  isReact?: boolean;
  isQuoted?: RescueRules['isQuoted'];
}

/** Characters near the end of what has arrived that may belong to a mark which is not complete. */
const longestMark = 40;

const bare: EntryPlace = { isMarked: false, closes: [], allowsPlainCalls: false, givesUpEarly: false };

/** Goes through an answer once, from one possible beginning of something to the next. */
export class AnswerReader {
  readonly #context: ReadContext;
  readonly #writer: PieceWriter;
  readonly #input: GrowingText;
  readonly #rescue: RescueRules | undefined;
  readonly #options: AnswerReaderOptions;
  readonly #beginnings: RegExp;
  /** Position where the search goes on; never before the writer's cursor. */
  #from = 0;
  #hasThought = false;
  #isHarmony = false;

  constructor(context: ReadContext, writer: PieceWriter, options: AnswerReaderOptions) {
    this.#context = context;
    this.#writer = writer;
    this.#input = writer.input;
    this.#rescue = options.rescue;
    this.#options = options;
    this.#beginnings = options.isReact === true ? /[<[{`~"◁f\n]/g : /[<[{`~"◁f]/g;
  }

  *read(): Scan<void> {
    if (this.#options.isThinkingOpen === true) yield* this.#think(thoughtEnds);
    const first = this.#options.isReact === true ? yield* labelAt(this.#input, this.#writer.cursor) : undefined;
    if (first !== undefined) return yield* readReact(this.#context, this.#writer, first);
    for (;;) {
      const at = yield* this.#nextBeginning();
      if (at === undefined) return;
      this.#from = at + 1;
      if (this.#input.text[at] !== '\n') yield* this.#readFrom(at);
      else {
        this.#writer.text(at);
        const label = yield* labelAt(this.#input, at + 1);
        if (label !== undefined) return yield* readReact(this.#context, this.#writer, label);
      }
    }
  }

  /** Gives text up to the end of what has arrived, or finds the next character with which something may begin. */
  *#nextBeginning(): Scan<number | undefined> {
    for (;;) {
      this.#from = Math.max(this.#from, this.#writer.cursor);
      this.#beginnings.lastIndex = this.#from;
      const at = this.#beginnings.exec(this.#input.text)?.index;
      if (at !== undefined) return at;
      this.#writer.text(this.#input.text.length);
      if (this.#input.isEnded) return undefined;
      this.#writer.release();
      this.#from = 0;
      yield;
    }
  }

  *#readFrom(at: number): Scan<void> {
    const character = this.#input.text.charAt(at);
    if (this.#input.text.length - at < longestMark) this.#writer.text(at);
    if ('<[f◁'.includes(character)) {
      const mark = yield* this.#markAt(at);
      if (mark !== undefined) return yield* this.#readMark(at, mark);
      if (character !== '[') return;
    }
    this.#writer.text(at);
    const isBracket = character === '{' || character === '[';
    if (isBracket && !(yield* this.#mayOpen(at))) return;
    const { isFresh } = this.#writer;
    if (character === '`' || character === '~') yield* this.#readFence(at);
    else if (character === '"') {
      if (isFresh) yield* this.#readBlock(at, { start: at, place: { ...bare, allowsPlainCalls: true }, isWhole: true });
    } else if (this.#rescue === undefined) yield* this.#readBare(at);
    else if (isFresh) yield* this.#readBlock(at, { start: at, place: { ...bare, givesUpEarly: true }, isWhole: true });
  }

  /** A first look at the next character: most brackets in prose begin nothing. */
  *#mayOpen(at: number): Scan<boolean> {
    while (this.#input.lacks(at + 1)) yield;
    return mayFollow(this.#input.text.charAt(at), this.#input.text.charCodeAt(at + 1));
  }

  *#readBare(at: number): Scan<void> {
    const { isFresh } = this.#writer;
    this.#input.looked = at;
    let reading = yield* readBlock(this.#context, at, bare);
    if (reading.type === 'none' && isFresh) {
      const mangled = yield* readMangledAnswer(this.#context, at);
      if (mangled.type === 'entries') reading = mangled;
    }
    this.#settle({ at, reading, isBare: true });
  }

  *#markAt(at: number): Scan<Mark | undefined> {
    while (this.#input.lacks(at + 1)) yield;
    for (const mark of marksByBeginning.get(this.#input.text.slice(at, at + 2)) ?? []) {
      while (isUndecided(this.#input, at, mark.open)) yield;
      if (this.#input.text.startsWith(mark.open, at)) return mark;
    }
    return undefined;
  }

  *#readMark(at: number, mark: Mark): Scan<void> {
    const writer = this.#writer;
    const end = at + mark.open.length;
    writer.text(at);
    switch (mark.kind) {
      case 'block':
        yield* this.#readBlock(at, {
          start: end - mark.keeps,
          place: { ...bare, isMarked: true, allowsPlainCalls: true, closes: mark.closes },
          isWhole: false,
        });
        return;
      case 'wrapper':
        if (this.#rescue === undefined || writer.isFresh)
          yield* this.#readBlock(at, { start: end, place: { ...bare, closes: mark.closes }, isWhole: this.#rescue !== undefined });
        return;
      case 'foreign':
        yield* writeUntil(writer, { as: 'text', ends: [mark.close], end: 'write' });
        this.#from = writer.cursor;
        return;
      case 'thought':
        if (!mark.isToken && !writer.isAfterBlock && writer.lastCharacter !== '\n') return;
        writer.skip(end);
        return yield* this.#think([mark.close]);
      case 'thought-end':
        return yield* this.#endThought(end);
      case 'harmony':
        return yield* this.#readHarmony(at);
      case 'noise':
        if (writer.isAfterBlock || this.#isHarmony) writer.skip(end);
    }
  }

  *#think(ends: readonly string[]): Scan<void> {
    this.#hasThought = true;
    yield* writeUntil(this.#writer, { as: 'reasoning', ends, end: 'skip' });
    this.#from = this.#writer.cursor;
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
    const message = yield* readHarmony(this.#context, at);
    if (message.type === 'none') return;
    this.#isHarmony = true;
    this.#hasThought = true;
    if (message.type === 'call') {
      this.#settle({ at, reading: message.reading, isBare: false });
      return;
    }
    this.#writer.skip(message.end);
    if (message.type === 'text') return;
    yield* writeUntil(this.#writer, {
      as: 'reasoning',
      ends: ['<|end|>', '<|return|>', '<|call|>', '<|start|>', '<|channel|>'],
      end: 'leave',
    });
    this.#from = this.#writer.cursor;
  }

  *#readFence(at: number): Scan<void> {
    const fence = yield* readFence(this.#context, at);
    if (fence === undefined) return;
    if (fence.isCode && (this.#rescue === undefined || this.#writer.isFresh)) {
      const isSettled = yield* this.#readBlock(at, {
        start: fence.start,
        place: { ...bare, closes: [fence.mark], allowsPlainCalls: true },
        isWhole: this.#rescue !== undefined,
      });
      if (isSettled) return;
    }
    this.#from = Math.max(this.#from, at + fence.mark.length);
    if (this.#rescue === undefined) return;
    // What stands in code explains something; it is no call of this answer.
    this.#writer.text(at + fence.mark.length);
    const ends = fence.mark.length < 3 ? [fence.mark, '\n'] : [`\n${fence.mark}`];
    yield* writeUntil(this.#writer, { as: 'text', ends, end: 'write' });
    this.#from = this.#writer.cursor;
  }

  *#readBlock(at: number, { start, place, isWhole }: { start: number; place: EntryPlace; isWhole: boolean }): Scan<boolean> {
    this.#input.looked = at;
    const reading = yield* readBlock(this.#context, start, place);
    if (isWhole && reading.type === 'entries') {
      const after = yield* skipSpace(this.#input, reading.end);
      if (after < this.#input.text.length) return this.#settle({ at, reading: { type: 'none', at: at + 1 }, isBare: true });
    }
    return this.#settle({ at, reading, isBare: !place.isMarked });
  }

  #settle(settling: Settling): boolean {
    const end = settleReading(this.#context, this.#writer, { ...settling, rescue: this.#rescue, isQuoted: this.#options.isQuoted });
    if (end !== undefined) this.#from = end;
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
