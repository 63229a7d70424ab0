import type { ModelEvent } from '../../../core/chat.ts';
import { limits } from '../../../core/limits.ts';
import type { AnswerPiece } from '../../parse-tool-calls/answer-pieces.ts';
import type { ToolCallParser } from '../../parse-tool-calls/tool-call-parser.ts';
import type { EarlierTexts } from '../earlier-texts.ts';

export interface ReactStep {
  /** `push` and `end` append to the option `read`. Each promise that they yield must be awaited before the next iteration. */
  push(text: string): Iterable<Promise<void>>;
  end(isCut: boolean): Iterable<Promise<void>>;
  /** The first action. Everything after it is ignored: the model has invented the observation. */
  readonly call: { name: string; arguments: string } | undefined;
  /** The thoughts and the action, as the next prompt repeats them to the model. */
  readonly written: string;
  /** Characters after the first action. */
  readonly invented: number;
}

export interface StepOptions {
  /** Emit no text, because the answer is requested separately. */
  withholdsText: boolean;
  /** This is the first step of the run. */
  isFirst: boolean;
  /** Receives the events. */
  read: ModelEvent[];
  /** An action that is quoted from an earlier message counts as a thought. */
  earlier: EarlierTexts;
}

/**
 * Reads one ReAct answer: thoughts become reasoning, and what follows "Final Answer:" becomes text. Text without a label is held back up to
 * `limits.unlabelledCharacters`, because it is a thought if an action follows.
 */
export function createStep(parser: ToolCallParser, { withholdsText, isFirst, earlier, read: events }: StepOptions): ReactStep {
  let held = '';
  let isHolding = true;
  let invented = 0;
  let thoughts = '';
  let hasText = false;
  let call: { name: string; arguments: string } | undefined;

  function toText(text: string): ModelEvent[] {
    const shown = hasText ? text : text.trimStart();
    if (shown === '') return [];
    hasText = true;
    return withholdsText ? [] : [{ type: 'text', text: shown }];
  }

  function toReasoning(text: string): ModelEvent[] {
    const shown = thoughts === '' ? text.trimStart() : text;
    if (shown === '') return [];
    const isNext = thoughts === '' && !isFirst;
    thoughts += shown;
    return [{ type: 'reasoning', text: isNext ? `\n\n${shown}` : shown }];
  }

  /** Emits the text that was held back: as a thought when a label has followed, else as text. */
  function release(asThought: boolean): ModelEvent[] {
    const text = held;
    held = '';
    isHolding = false;
    return asThought ? toReasoning(text) : toText(text);
  }

  function read(piece: AnswerPiece): ModelEvent[] {
    if (call !== undefined) return [];
    switch (piece.type) {
      case 'text':
        if (!isHolding) return toText(piece.text);
        held += piece.text;
        return held.length > limits.unlabelledCharacters ? release(false) : [];
      case 'reasoning':
        return [...(isHolding ? release(true) : []), ...toReasoning(piece.text)];
      case 'call':
        if (earlier.isActionQuoted(piece.name, piece.text)) return [...(isHolding ? release(true) : []), ...toReasoning(asWritten(piece))];
        call = { name: piece.name, arguments: JSON.stringify(piece.arguments) };
        return release(true);
      case 'damaged':
        if (piece.name === undefined) return [];
        // Deliberately no JSON: the loop refuses the call and reports the reason to the model.
        call = { name: piece.name, arguments: `unreadable: ${piece.text}` };
        return release(true);
      case 'nothing-chosen':
      case 'retraction':
        return [];
    }
  }

  function* readAll(pieces: readonly AnswerPiece[]): Generator<Promise<void>, void> {
    for (const piece of pieces) {
      if (piece.type === 'call' && call === undefined && !earlier.mayCheck()) yield earlier.prepare();
      events.push(...read(piece));
    }
  }

  /** Reads the pieces, and resumes the parser each time that it paused for the earlier messages. */
  function* readWithPauses(pieces: readonly AnswerPiece[]): Generator<Promise<void>, void> {
    let isPaused = earlier.isAwaited;
    yield* readAll(pieces);
    while (isPaused) {
      yield earlier.prepare();
      const more = parser.resume();
      isPaused = earlier.isAwaited;
      yield* readAll(more);
    }
  }

  return {
    *push(text) {
      if (call !== undefined) invented += text.length;
      yield* readWithPauses(parser.push(text));
    },
    *end(isCut) {
      yield* readWithPauses(parser.flush({ isCut }));
      if (isHolding) events.push(...release(false));
      // A model that ends with a thought and no final answer: its thought is the answer.
      if (call === undefined && !hasText && thoughts.trim() !== '') events.push(...toText(thoughts.trim()));
    },
    get call() {
      return call;
    },
    get written() {
      const thought = thoughts.trim() === '' ? [] : [`Thought: ${thoughts.trim()}`];
      return [...thought, `Action: ${call?.name ?? ''}`, `Action Input: ${call?.arguments ?? '{}'}`].join('\n');
    },
    get invented() {
      return invented;
    },
  };
}

/** Restores the labels, which are not part of the piece. */
function asWritten({ name, text }: { name: string; text: string }): string {
  return text.includes(name) ? `\nAction: ${text}\n` : `\nAction: ${name}\nAction Input: ${text}\n`;
}
