import type { ModelEvent } from '../../../core/chat/chat.ts';
import type { AnswerPiece } from '../../parse-tool-calls/answer-pieces.ts';
import type { AnswerRepairs } from '../../parse-tool-calls/json/repair-json.ts';
import type { ToolCallParser } from '../../parse-tool-calls/tool-call-parser.ts';
import type { EarlierTexts } from '../earlier-texts.ts';

/** Characters of unlabelled text that `react` buffers, because it may turn out to be a thought before an action. */
const unlabelledCharacters = 400;

interface StepOptions {
  /** Emit no text, because the answer is requested separately. */
  withholdsText: boolean;
  /** This is the first step of the run. */
  isFirst: boolean;
  /** Receives the events. */
  read: ModelEvent[];
  /** An action that is quoted from an earlier message counts as a thought. */
  earlier: EarlierTexts;
  repairs: AnswerRepairs;
  /** Settles the awaited one. */
  repair: () => Promise<void>;
}

/**
 * Reads one ReAct answer: thoughts become reasoning, and what follows "Final Answer:" becomes text. Text without a label is held back up to
 * `unlabelledCharacters`, because it is a thought if an action follows.
 */
export class ReactStep {
  readonly #parser: ToolCallParser;
  readonly #options: StepOptions;
  #held = '';
  #isHolding = true;
  #invented = 0;
  #thoughts = '';
  #hasText = false;
  #call: { name: string; arguments: string } | undefined;

  constructor(parser: ToolCallParser, options: StepOptions) {
    this.#parser = parser;
    this.#options = options;
  }

  /** The first action. Everything after it is ignored: the model has invented the observation. */
  get call(): { name: string; arguments: string } | undefined {
    return this.#call;
  }

  /** The thoughts and the action, as the next prompt repeats them to the model. */
  get written(): string {
    const thought = this.#thoughts.trim() === '' ? [] : [`Thought: ${this.#thoughts.trim()}`];
    return [...thought, `Action: ${this.#call?.name ?? ''}`, `Action Input: ${this.#call?.arguments ?? '{}'}`].join('\n');
  }

  /** Characters after the first action. */
  get invented(): number {
    return this.#invented;
  }

  /** Appends to the option `read`, as `end` does. Each promise that it yields must be awaited before the next iteration. */
  *push(text: string): Generator<Promise<void>, void> {
    if (this.#call !== undefined) this.#invented += text.length;
    yield* this.#readWithPauses(this.#parser.push(text));
  }

  *end(isCut: boolean): Generator<Promise<void>, void> {
    yield* this.#readWithPauses(this.#parser.flush({ isCut }));
    const { read } = this.#options;
    if (this.#isHolding) read.push(...this.#release(false));
    // A model that ends with a thought and no final answer: its thought is the answer.
    const thought = this.#thoughts.trim();
    if (this.#call === undefined && !this.#hasText && thought !== '') read.push(...this.#toText(thought));
  }

  /** Reads the pieces, and resumes the parser each time that it paused for the earlier messages or a repair. */
  *#readWithPauses(pieces: readonly AnswerPiece[]): Generator<Promise<void>, void> {
    const { earlier, repair } = this.#options;
    let isPaused = this.#isPaused;
    yield* this.#readAll(pieces);
    while (isPaused) {
      yield earlier.isAwaited ? earlier.search() : repair();
      const more = this.#parser.resume();
      isPaused = this.#isPaused;
      yield* this.#readAll(more);
    }
  }

  get #isPaused(): boolean {
    const { earlier, repairs } = this.#options;
    return earlier.isAwaited || repairs.awaited !== undefined;
  }

  *#readAll(pieces: readonly AnswerPiece[]): Generator<Promise<void>, void> {
    const { earlier, read } = this.#options;
    for (const piece of pieces) {
      if (piece.type === 'call' && this.#call === undefined && earlier.isActionQuoted(piece.name, piece.text) === 'not_known_yet')
        yield earlier.search();
      read.push(...this.#read(piece));
    }
  }

  #read(piece: AnswerPiece): ModelEvent[] {
    if (this.#call !== undefined) return [];
    switch (piece.type) {
      case 'text':
        if (!this.#isHolding) return this.#toText(piece.text);
        this.#held += piece.text;
        return this.#held.length > unlabelledCharacters ? this.#release(false) : [];
      case 'reasoning':
        return [...this.#releaseAsThought(), ...this.#toReasoning(piece.text)];
      case 'call':
        if (this.#options.earlier.isActionQuoted(piece.name, piece.text) !== false)
          return [...this.#releaseAsThought(), ...this.#toReasoning(asWritten(piece))];
        this.#call = { name: piece.name, arguments: JSON.stringify(piece.arguments) };
        return this.#release(true);
      case 'damaged':
        if (piece.name === undefined) return [];
        // Deliberately no JSON: the loop refuses the call and reports the reason to the model.
        this.#call = { name: piece.name, arguments: `unreadable: ${piece.text}` };
        return this.#release(true);
      case 'nothing-chosen':
      case 'retraction':
        return [];
    }
  }

  #releaseAsThought(): ModelEvent[] {
    return this.#isHolding ? this.#release(true) : [];
  }

  /** Emits the text that was held back: as a thought when a label has followed, else as text. */
  #release(asThought: boolean): ModelEvent[] {
    const text = this.#held;
    this.#held = '';
    this.#isHolding = false;
    return asThought ? this.#toReasoning(text) : this.#toText(text);
  }

  #toText(text: string): ModelEvent[] {
    const shown = this.#hasText ? text : text.trimStart();
    if (shown === '') return [];
    this.#hasText = true;
    return this.#options.withholdsText ? [] : [{ type: 'text', text: shown }];
  }

  #toReasoning(text: string): ModelEvent[] {
    const shown = this.#thoughts === '' ? text.trimStart() : text;
    if (shown === '') return [];
    const isNext = this.#thoughts === '' && !this.#options.isFirst;
    this.#thoughts += shown;
    return [{ type: 'reasoning', text: isNext ? `\n\n${shown}` : shown }];
  }
}

/** Restores the labels, which are not part of the piece. */
function asWritten({ name, text }: { name: string; text: string }): string {
  return text.includes(name) ? `\nAction: ${text}\n` : `\nAction: ${name}\nAction Input: ${text}\n`;
}
