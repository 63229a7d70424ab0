import type { Usage } from '../core/chat.ts';
import type { JsonObject } from '../shared/json.ts';
import { limits } from '../core/limits.ts';
import type { AnswerLog, ModelRequestLog } from '../core/model-request-log.ts';
import type { RunEvent } from '../core/run-event.ts';

/** What one of these events counts, beside its names and its words. */
const plainCharacters = 200;

export interface ModelRequestOptions {
  /** Adds an event with bounded data; `characters` is its size in the log of the run. */
  add: (event: RunEvent, characters: number) => void;
  now: () => number;
  /** Model requests of the run before it was resumed. */
  earlier: number;
}

/** Numbers the model requests of a run, and adds each of them and its answer as an event. */
export function createModelRequestLog({ add, now, earlier }: ModelRequestOptions): ModelRequestLog {
  let count = earlier;
  let namesBefore = '';

  /** The same names are not repeated with each round. */
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

  function answerTo(number: number): AnswerLog {
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
      end(how) {
        const data: JsonObject = { question: number, finish_reason: finish, calls, characters: text, duration_ms: now() - began };
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
    begin(request) {
      count += 1;
      const { data, characters } = withNewNames(request);
      add({ type: 'model.request', data }, characters);
      return answerTo(count);
    },
  };
}

/** Without the details of providers, which are in the run's total. */
function countsIn({ prompt_tokens, completion_tokens, total_tokens }: Usage): JsonObject {
  return { prompt_tokens, completion_tokens, total_tokens };
}
