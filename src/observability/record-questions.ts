import type { ChatEvent, Usage } from '../core/chat.ts';
import type { JsonObject } from '../shared/json.ts';
import { limits } from '../core/limits.ts';
import type { AnswerFault, AnswerLog, ModelRequestLog } from '../core/model-request-log.ts';
import type { RunEvent } from '../core/run-event.ts';

export interface QuestionRecorder extends ModelRequestLog {
  /** What the run says beside texts; the answer of `askLast`, while there is one. */
  note(event: ChatEvent): void;
  /** Its end; does nothing where there is none, or it was told. */
  endLast(how?: AnswerFault | 'stopped'): void;
}

interface RunningAnswer extends AnswerLog {
  /** `more`: characters of texts that were not noted. */
  end(how?: AnswerFault | 'stopped', more?: number): void;
}

/** What one of these events counts, beside its names and its words. */
const plainCharacters = 200;

export interface QuestionRecorderOptions {
  /** Bounded data: `characters` is what it counts in the log of the run. */
  add: (event: RunEvent, characters: number) => void;
  now: () => number;
  /** Questions of the run before it was taken up again. */
  asked: number;
  /** How much text the run has said so far: a call for each text would cost every plain chat more than all the rest here. */
  said: { characters: number };
}

/** Numbers the questions of a run, and tells each of them and what it came to as an event. */
export function createQuestionRecorder({ add, now, asked, said }: QuestionRecorderOptions): QuestionRecorder {
  let count = asked;
  let namesBefore = '';
  let last: RunningAnswer | undefined;
  let saidBefore = 0;

  /** The same names need not be told with each round. */
  function withNewNames(question: JsonObject): { data: JsonObject; characters: number } {
    const data = { question: count, ...question };
    if (question['names'] === undefined) return { data, characters: plainCharacters };
    const told = JSON.stringify(question['names']);
    if (told !== namesBefore) {
      namesBefore = told;
      return { data, characters: plainCharacters + told.length };
    }
    const { names: _names, ...others } = data as JsonObject;
    return { data: others, characters: plainCharacters };
  }

  function ask(question: JsonObject): RunningAnswer {
    count += 1;
    const { data, characters } = withNewNames(question);
    add({ type: 'model.request', data }, characters);
    return answerTo(count);
  }

  function answerTo(number: number): RunningAnswer {
    const began = now();
    let text = 0;
    let reasoning = 0;
    let calls = 0;
    let finish: string | null = null;
    let usage: Usage | undefined;
    return {
      note(event) {
        if (event.type === 'text') text += event.text.length;
        else if (event.type === 'reasoning') reasoning += event.text.length;
        else if (event.type === 'tool-call') calls += 1;
        else if (event.type === 'finish') finish = event.reason;
        else if (event.type === 'usage') usage = event.usage;
      },
      end(how, more = 0) {
        const data: JsonObject = { question: number, finish_reason: finish, calls, characters: text + more, duration_ms: now() - began };
        if (reasoning > 0) data['reasoning_characters'] = reasoning;
        if (usage !== undefined) data['usage'] = countsIn(usage);
        if (how === 'stopped') data['stopped'] = true;
        const message = typeof how === 'object' ? how.message.slice(0, limits.keptTextCharacters) : '';
        if (typeof how === 'object') data['error'] = { code: how.code, message };
        add({ type: 'model.response', data }, plainCharacters + message.length);
      },
    };
  }

  return {
    ask,
    askLast(question) {
      saidBefore = said.characters;
      last = ask(question);
    },
    note: (event) => last?.note(event),
    endLast(how) {
      last?.end(how, said.characters - saidBefore);
      last = undefined;
    },
  };
}

/** Providers add details as they like; the sum over the run has them. */
function countsIn({ prompt_tokens, completion_tokens, total_tokens }: Usage): JsonObject {
  return { prompt_tokens, completion_tokens, total_tokens };
}
