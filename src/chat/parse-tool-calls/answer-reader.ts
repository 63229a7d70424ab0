import { noCall, type Reading } from './answer-pieces.ts';
import { ReadingEmitter } from './emit-reading.ts';
import { NeedsMoreText, matchEnd, spaceEnd, type AnswerText } from './answer-text.ts';
import { fenceAt, type Fence } from './forms/fences.ts';
import { geminiNamespace, stringMarks } from './forms/gemma-calls.ts';
import { bareAnalysis, bareHeaders, beginsBareAnalysis, headerWithoutStart, readHarmonyMessage } from './forms/harmony-calls.ts';
import { readMangledAnswer } from './forms/json-calls.ts';
import { emphasis, findBeginning, innerBlocks, marksByOpen, skipNoise, thoughtEnds, type Mark } from './block-marks.ts';
import { leadsToCalls } from './selection/meant-calls.ts';
import { createPassage, writePassage, type Passage, type PieceWriter } from './piece-writer.ts';
import { readPlainCalls, selectionReading } from './forms/plain-calls.ts';
import type { QuoteCheck } from './quotes/quoted-calls.ts';
import { labelAt, readAction, type Label } from './forms/react-calls.ts';
import { nameBeforeKey } from './name-before-key.ts';
import { BlockReader, maxSelected } from './read-block.ts';
import { bare, type Enclosure, type ReadContext } from './read-context.ts';

interface AnswerReaderOptions {
  isNative?: boolean;
  isThinkingOpen?: boolean;
  isReact?: boolean;
  quotes?: QuoteCheck;
}

/** What is read next; 'section' is the text after a ReAct label such as "Thought:". */
type State = 'beginning' | 'header' | 'first label' | 'words' | 'section' | 'action' | 'final answer' | OpenPassage;

type OpenPassage = Passage & { next: State };

const plain: Enclosure = { ...bare, allowsPythonicCalls: true };

/** Template tokens in a row after which a block of calls is looked for. */
const maxTokensBetween = 3;

const blanks = /[ \t]{0,99}/y;

/** A bracket with a first character that a call can have. It rules out most brackets in prose. */
const openingBracket = /\[[\sA-Za-z_"'/\\[\]{}\u0100-\uffff]|\{[\sA-Za-z_"'/\\}\u0100-\uffff]/y;

/**
 * A state machine that goes through an answer from one possible beginning of a call to the next. Text in between is passed on at once. From such a
 * beginning on, text is held back until it is decided: `NeedsMoreText` aborts the step, which is repeated when more has arrived.
 */
export class AnswerReader {
  readonly #context: ReadContext;
  readonly #writer: PieceWriter;
  readonly #input: AnswerText;
  readonly #options: AnswerReaderOptions;
  readonly #isNative: boolean;
  readonly #emitter: ReadingEmitter;
  #state: State = 'beginning';
  /** The undecided block. It stores its complete calls, so that repeating the step does not read them again. */
  #block: BlockReader | undefined;
  #plainReadAt: number | undefined;
  #hasThought = false;
  #isHarmony = false;
  /** Bold text has begun with the last block. */
  #isEmphasized = false;

  constructor(context: ReadContext, writer: PieceWriter, options: AnswerReaderOptions) {
    this.#context = context;
    this.#writer = writer;
    this.#input = writer.input;
    this.#options = options;
    this.#isNative = options.isNative === true;
    this.#emitter = new ReadingEmitter(context, writer, options);
  }

  /** Reads as far as the text that has arrived allows. */
  read(): void {
    try {
      let hasMore = true;
      while (hasMore) hasMore = this.#step();
    } catch (error) {
      if (!(error instanceof NeedsMoreText)) throw error;
    }
    this.#release();
  }

  /** Frees text that has been emitted as pieces, unless a block is being read: it refers to positions in the text. */
  #release(): void {
    if (this.#block === undefined) this.#writer.release();
  }

  /** Must not change any state before all the text that it needs is there, because it may be repeated. False when nothing is left to do. */
  #step(): boolean {
    const state = this.#state;
    if (typeof state === 'object') return this.#passOn(state);
    switch (state) {
      case 'beginning':
        if (this.#context.isSelection) this.#input.need(Number.POSITIVE_INFINITY);
        this.#state = 'header';
        if (this.#options.isThinkingOpen === true) this.#think(thoughtEnds);
        return true;
      case 'header':
        return this.#readHeader();
      case 'first label':
        if (this.#options.isReact !== true || !this.#readLabel(this.#writer.cursor)) this.#state = 'words';
        return true;
      case 'words':
        return this.#readWords();
      case 'section':
        return this.#readSection();
      case 'action':
        return this.#readAction();
      case 'final answer':
        this.#writer.text(this.#input.text.length);
        return false;
    }
  }

  #readHeader(): boolean {
    const at = headerWithoutStart(this.#context, this.#writer.cursor);
    const isAnalysis = at === undefined && beginsBareAnalysis(this.#input, this.#writer.cursor);
    if (at !== undefined) this.#readHarmony(at, 'first label');
    else this.#state = 'first label';
    if (isAnalysis) this.#readBareAnalysis();
    return true;
  }

  #readBareAnalysis(): void {
    this.#hasThought = true;
    this.#writer.skip(this.#writer.cursor + bareAnalysis.length);
    this.#pass(bareHeaders, { as: 'reasoning', end: 'leave' });
  }

  /** Emits text up to the next possible beginning, and reads what begins there. */
  #readWords(): boolean {
    const writer = this.#writer;
    const { isSelection } = this.#context;
    this.#release();
    if (isSelection && writer.entries > maxSelected) {
      writer.text(this.#input.text.length);
      return false;
    }
    if (isSelection && writer.isFresh) this.#readPlainCalls();
    const isNative = this.#isNative;
    const kind = this.#options.isReact === true ? 'labelled' : isNative && !writer.isFresh ? 'marked' : 'bare';
    const { at, open } = findBeginning(this.#input, writer.cursor, kind);
    const mark = marksByOpen.get(open);
    const start = open === '' || mark?.kind === 'key' ? nameBeforeKey(this.#context, writer, { at, open, isNative }) : at;
    writer.text(start);
    if (open === '') return false;
    if (mark === undefined) this.#readUnmarked(at, open);
    else this.#readMark(start, mark);
    if (writer.cursor === start) writer.text(at + 1);
    this.#block = undefined;
    this.#emitter.beginNext();
    return true;
  }

  #readUnmarked(at: number, character: string): void {
    const { isFresh } = this.#writer;
    if (character === '`' || character === '~') return this.#readFence(at);
    if (character === '\n') return void this.#readLabel(at + 1);
    if (this.#isNative && !isFresh) return;
    if (character === '"') return isFresh ? void this.#readWhole(at, at, plain) : undefined;
    this.#input.need(at + 1);
    if (matchEnd(openingBracket, this.#input.text, at) === undefined) return;
    if (this.#isNative) this.#readWhole(at, at, { ...bare, needsCallKey: true });
    else this.#readBare(at);
  }

  #readMark(at: number, mark: Mark): void {
    const writer = this.#writer;
    const end = at + mark.open.length;
    switch (mark.kind) {
      case 'block':
        return void this.#emitter.emit({ at, reading: this.#readBlock(at, end - mark.keeps, mark.enclosure), isBare: false });
      case 'wrapper':
        if (!this.#isNative) return void this.#emitter.emit({ at, reading: this.#readBlock(at, end, mark.enclosure), isBare: true });
        return writer.isFresh ? void this.#readWhole(at, end, mark.enclosure) : undefined;
      case 'code':
        return this.#readCode(at, end, mark.enclosure);
      case 'key':
        return this.#readKeyed(at, mark);
      case 'emphasis':
        return this.#readEmphasized(at, end);
      case 'prefix':
        return this.#readPrefixed(at, mark.enclosure);
      case 'foreign':
        return this.#readForeign(end, mark.close);
      case 'thought':
        if (!mark.isToken && !writer.isAfterBlock && writer.lastCharacter !== '\n') return;
        writer.skip(end);
        return this.#think([mark.close]);
      case 'thought-end':
        return this.#endThought(end, mark.isToken);
      case 'harmony':
        return this.#readHarmony(at);
      case 'noise':
        if (writer.isAfterBlock || this.#isHarmony || this.#leadsToBlock(end)) writer.skip(end);
    }
  }

  /** A model that stops where the result of its call would begin has written the mark of the result itself. */
  #readForeign(end: number, close: string): void {
    const isLast = this.#writer.isAfterBlock && this.#input.skipSpace(end) >= this.#input.text.length;
    if (isLast) this.#writer.skip(this.#input.text.length);
    else this.#pass([close], { as: 'text', end: 'write' });
  }

  /** Whether nothing but template tokens stands before a block of calls. */
  #leadsToBlock(from: number): boolean {
    return innerBlocks.at(this.#input, skipNoise(this.#input, from, maxTokensBetween)) !== undefined;
  }

  /** A block of code that is more than calls may be a program. */
  #readCode(at: number, start: number, enclosure: Enclosure): void {
    const reading = this.#readBlock(at, start, enclosure);
    const { text } = this.#input;
    const isWhole =
      reading.type === 'entries' && (reading.end >= text.length || enclosure.closes.some((close) => text.endsWith(close, reading.end)));
    this.#emitter.emit({ at, reading: isWhole || reading.type !== 'entries' ? reading : noCall(reading.end), isBare: false });
  }

  /** `at`: the start of the name before the key, or of the key if there is no name. */
  #readKeyed(at: number, { open, enclosure }: Extract<Mark, { kind: 'key' }>): void {
    if (this.#input.startsWith(open, at)) return;
    this.#emitter.emit({ at, reading: this.#readBlock(at, at, enclosure), isBare: false });
  }

  /** Bold marks around a block, and around JSON that is the whole message, are no text. */
  #readEmphasized(at: number, end: number): void {
    const writer = this.#writer;
    if (this.#isEmphasized && writer.isAfterBlock) {
      this.#isEmphasized = false;
      return writer.skip(end);
    }
    if (this.#leadsToBlock(end)) {
      this.#isEmphasized = true;
      return writer.skip(end);
    }
    if (!writer.isFresh) return;
    const enclosure: Enclosure = { ...bare, closes: [emphasis] };
    if (this.#isNative && '{['.includes(this.#input.at(end))) this.#readWhole(at, end, { ...enclosure, needsCallKey: true });
    if (this.#context.isSelection) this.#readWhole(at, end, { ...enclosure, allowsPythonicCalls: true });
  }

  /**
   * Gemma's call without its marks, at the beginning of a line. In a native answer it has to be the whole message, unless marks of strings or the mark
   * behind it are left.
   */
  #readPrefixed(at: number, enclosure: Enclosure): void {
    if (!['', '\n'].includes(this.#writer.lastCharacter)) return;
    const reading = this.#readBlock(at, at, enclosure);
    if (reading.type !== 'entries' || !this.#isNative) return void this.#emitter.emit({ at, reading, isBare: true });
    const text = this.#input.text.slice(at, reading.end);
    const isMarked = [...stringMarks, ...enclosure.closes].some((mark) => text.includes(mark)) || this.#isGeminis(at, reading.end);
    if (isMarked) this.#emitter.emit({ at, reading, isBare: false });
    else if (this.#writer.isFresh) this.#readWhole(at, at, enclosure);
  }

  /** Gemini's namespace also counts as a mark, unless the sentence continues after the call. */
  #isGeminis(at: number, end: number): boolean {
    if (!this.#input.startsWith(`call:${geminiNamespace}`, at)) return false;
    const next = matchEnd(blanks, this.#input.text, end) ?? end;
    return ['', '\r', '\n'].includes(this.#input.at(next));
  }

  /** A closing tag without an opening one counts once, and only where a thought may end: at the start or end of a line, or after a sentence. */
  #endThought(end: number, isToken: boolean): void {
    // An empty text is part of any text, so the start of the answer counts as well.
    const isAtEdge = isToken || ['', '\r', '\n'].includes(this.#input.at(end)) || '\n.!?…。！？'.includes(this.#writer.lastCharacter);
    if (this.#hasThought || !isAtEdge) return;
    this.#hasThought = true;
    this.#writer.put({ type: 'retraction' });
    this.#writer.skip(end);
    this.#writer.isFresh = true;
  }

  #think(ends: readonly string[]): void {
    this.#hasThought = true;
    this.#pass(ends, { as: 'reasoning', end: 'skip' });
  }

  #pass(ends: readonly string[], { as, end }: Pick<Passage, 'as' | 'end'>): void {
    this.#state = { ...createPassage(ends, { as, end }), next: this.#state };
  }

  #passOn(passage: OpenPassage): boolean {
    const result = writePassage(this.#writer, passage);
    if (result === 'ended') this.#state = passage.next;
    return result !== 'open';
  }

  #readHarmony(at: number, next = this.#state): void {
    this.#input.searchedTo = at;
    const message = readHarmonyMessage(this.#context, at);
    this.#state = next;
    if (message.type === 'none') return;
    this.#isHarmony = true;
    this.#hasThought = true;
    if (message.type === 'call') return void this.#emitter.emit({ at, reading: message.reading, isBare: false });
    this.#writer.skip(message.end);
    if (message.type === 'reasoning')
      this.#pass(['<|end|>', '<|return|>', '<|call|>', '<|eom|>', '<|start|>', '<|channel|>'], { as: 'reasoning', end: 'leave' });
  }

  #readLabel(lineStart: number): boolean {
    const label = labelAt(this.#input, lineStart);
    if (label !== undefined) this.#enterLabel(label);
    return label !== undefined;
  }

  /** Thoughts and observations (which the model has invented) are reasoning; a final answer is text up to the end. */
  #enterLabel({ label, end }: Label): void {
    this.#writer.skip(end);
    this.#state = label === 'action' || label === 'final answer' ? label : 'section';
  }

  /** Reasoning up to the next label. */
  #readSection(): boolean {
    const { text } = this.#input;
    const at = text.indexOf('\n', this.#writer.cursor);
    this.#writer.reasoning(at === -1 ? text.length : at);
    if (at !== -1 && !this.#readLabel(at + 1)) this.#writer.reasoning(at + 1);
    return at !== -1;
  }

  #readAction(): boolean {
    const { entries, end, next } = readAction(this.#context, this.#writer.cursor);
    for (const entry of entries) this.#writer.put(entry);
    this.#writer.skip(end);
    this.#state = 'section';
    if (next !== undefined) this.#enterLabel(next);
    return true;
  }

  #readFence(at: number): void {
    const fence = fenceAt(this.#input, at);
    if (fence === undefined) return;
    const { isFresh, said } = this.#writer;
    const mayBeMeant = isFresh ? !fence.isProgram : fence.isToolCode && leadsToCalls(said);
    const isLookedInto = fence.mayHoldCalls && (!this.#isNative || mayBeMeant);
    if (isLookedInto && this.#readFenced(at, fence)) return;
    this.#writer.text(at + fence.mark.length);
    // A call inside code is an explanation and must not run.
    if (this.#isNative || fence.isProgram)
      this.#pass(fence.mark.length < 3 ? [fence.mark, '\n'] : [`\n${fence.mark}`], { as: 'text', end: 'write' });
  }

  /** In a fence with program code, calls count only if the fence holds nothing else: a call among other statements is sample code. */
  #readFenced(at: number, { mark, start, isProgram, isToolCode }: Fence): boolean {
    const enclosure: Enclosure = { ...plain, closes: [mark], allowsComments: isProgram, allowsPrint: isToolCode };
    if (this.#isNative) return this.#readWhole(at, start, enclosure);
    const { text } = this.#input;
    const block = this.#readBlock(at, start, enclosure);
    let reading = this.#context.isSelection ? selectionReading(this.#context, { at, start, reading: block }) : block;
    if (isProgram) {
      const isWhole = reading.type === 'entries' && (reading.end >= text.length || text.slice(0, reading.end).endsWith(mark));
      // Report how far was read, so that rereading is charged to the budget.
      if (!isWhole) reading = noCall(reading.type === 'none' ? reading.at : reading.end);
    } else if (reading !== block && reading.type !== 'none') {
      // Include the closing fence.
      const end = spaceEnd(text, reading.end);
      if (text.startsWith(mark, end)) reading = { ...reading, end: end + mark.length };
    }
    return this.#emitter.emit({ at, reading, isBare: true });
  }

  /** Reads calls without any marks, at the beginning of an answer and directly after other calls. */
  #readPlainCalls(): void {
    const at = spaceEnd(this.#input.text, this.#writer.cursor);
    if (at >= this.#input.text.length || at === this.#plainReadAt) return;
    this.#plainReadAt = at;
    const reading = readPlainCalls(this.#context, at);
    if (reading.type === 'entries') this.#emitter.emit({ at, reading, isBare: true });
  }

  #readBare(at: number): void {
    const { isFresh } = this.#writer;
    let reading = this.#readBlock(at, at, bare);
    if (this.#context.isSelection) reading = selectionReading(this.#context, { at, start: at, reading });
    if (reading.type === 'none' && isFresh) {
      const mangled = readMangledAnswer(this.#context, at);
      if (mangled.type === 'entries') reading = mangled;
    }
    this.#emitter.emit({ at, reading, isBare: true });
  }

  #readBlock(at: number, start: number, enclosure: Enclosure): Reading {
    if (this.#block === undefined) {
      this.#input.searchedTo = at;
      this.#block = new BlockReader(this.#context, start, enclosure);
    }
    return this.#block.read();
  }

  /** Accepts calls only if they are the whole message; nothing but template tokens may follow. */
  #readWhole(at: number, start: number, enclosure: Enclosure): boolean {
    const reading = this.#readBlock(at, start, enclosure);
    const isWhole = reading.type !== 'entries' || skipNoise(this.#input, reading.end) >= this.#input.text.length;
    return this.#emitter.emit({ at, reading: isWhole ? reading : noCall(at + 1), isBare: true });
  }
}
