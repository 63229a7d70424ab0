import type { ChatEvent, Usage } from '../core/chat.ts';
import type { JsonObject } from '../shared/json.ts';
import { limits } from '../core/limits.ts';
import type { AnswerFault, AnswerLog, ModelRequestLog } from '../core/model-request-log.ts';
import type { RunEvent } from '../core/run-event.ts';

export interface ModelRequestRecorder extends ModelRequestLog {
  /** Events of the run other than texts. They belong to the answer of `askLast`, while there is one. */
  note(event: ChatEvent): void;
  /** The end of that answer; does nothing without one, or once it has ended. */
  endLast(how?: AnswerFault | 'stopped'): void;
}

interface RunningAnswer extends AnswerLog {
  /** `more`: characters of text beside those of noted events. */
  end(how?: AnswerFault | 'stopped', more?: number): void;
}

/** What one of these events counts, beside its names and its message. */
const plainCharacters = 200;

export interface ModelRequestRecorderOptions {
  /** Bounded data: `characters` is what it counts in the log of the run. */
  add: (event: RunEvent, characters: number) => void;
  now: () => number;
  /** Model requests of the run before it was resumed. */
  earlier: number;
  /** How much text the run has emitted so far: a call for each text would cost every plain chat more than all the rest here. */
  emitted: { characters: number };
}

/** Numbers the model requests of a run, and logs each of them and its answer as an event. */
export function createModelRequestRecorder({ add, now, earlier, emitted }: ModelRequestRecorderOptions): ModelRequestRecorder {
  let count = earlier;
  let namesBefore = '';
  let last: RunningAnswer | undefined;
  let emittedBefore = 0;

  /** The same names need not be logged with each round. */
  function withNewNames(request: JsonObject): { data: JsonObject; characters: number } {
    const data = { question: count, ...request };
    if (request['names'] === undefined) return { data, characters: plainCharacters };
    const names = JSON.stringify(request['names']);
    if (names !== namesBefore) {
      namesBefore = names;
      return { data, characters: plainCharacters + names.length };
    }
    const { names: _names, ...others } = data as JsonObject;
    return { data: others, characters: plainCharacters };
  }

  function ask(request: JsonObject): RunningAnswer {
    count += 1;
    const { data, characters } = withNewNames(request);
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
        const message = typeof how === 'object' ? how.message.slice(0, limits.loggedTextCharacters) : '';
        if (typeof how === 'object') data['error'] = { code: how.code, message };
        add({ type: 'model.response', data }, plainCharacters + message.length);
      },
    };
  }

  return {
    ask,
    askLast(request) {
      emittedBefore = emitted.characters;
      last = ask(request);
    },
    note: (event) => last?.note(event),
    endLast(how) {
      last?.end(how, emitted.characters - emittedBefore);
      last = undefined;
    },
  };
}

/** Providers add details as they like; the sum over the run has them. */
function countsIn({ prompt_tokens, completion_tokens, total_tokens }: Usage): JsonObject {
  return { prompt_tokens, completion_tokens, total_tokens };
}
