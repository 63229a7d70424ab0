import type { Usage } from '../core/chat/chat.ts';
import type { JsonObject } from '../shared/json/json.ts';
import type { AnswerLog, ModelRequestLog } from '../core/models/model-request-log.ts';
import type { RunEvent } from '../core/chat/run-event.ts';
import { withoutUndefined } from '../shared/json/without-undefined.ts';
import type { PromptAnswer, PromptRecorder } from './prompt-log.ts';

/** One text within a logged event: enough to follow the run. The model reads the whole text. */
export const loggedTextCharacters = 4_000;

/** The size of one of these events, besides its names and its message. */
const plainCharacters = 200;

interface ModelRequestOptions {
  /** Adds an event with bounded data; `characters` is its size in the log of the run. */
  add: (event: RunEvent, characters: number) => void;
  now: () => number;
  /** Model requests of the run before it was resumed. */
  earlier: number;
  /** Records prompts and answers in full; undefined: nothing does. */
  prompts: PromptRecorder | undefined;
}

/** Numbers the model requests of a run, and adds each of them and its answer as an event. */
export function createModelRequestLog({ add, now, earlier, prompts }: ModelRequestOptions): ModelRequestLog {
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

  function answerTo(number: number, prompt: PromptAnswer | undefined): AnswerLog {
    const began = now();
    let text = 0;
    let reasoning = 0;
    let calls = 0;
    let finish: string | null = null;
    let usage: Usage | undefined;
    let firstTokenMs: number | undefined;
    return {
      note(event) {
        prompt?.note(event);
        if (event.type === 'text' || event.type === 'reasoning' || event.type === 'tool-call') firstTokenMs ??= now() - began;
        if (event.type === 'text') text += event.text.length;
        else if (event.type === 'reasoning') reasoning += event.text.length;
        else if (event.type === 'tool-call') calls += 1;
        else if (event.type === 'finish') finish = event.reason;
        else if (event.type === 'usage') usage = event.usage;
      },
      end(how) {
        const data: JsonObject = { question: number, finish_reason: finish, calls, characters: text, duration_ms: now() - began };
        if (firstTokenMs !== undefined) data['first_token_ms'] = firstTokenMs;
        if (reasoning > 0) data['reasoning_characters'] = reasoning;
        if (usage !== undefined) data['usage'] = countsIn(usage);
        if (how === 'stopped') data['stopped'] = true;
        const message = typeof how === 'object' ? how.message.slice(0, loggedTextCharacters) : '';
        if (typeof how === 'object') data['error'] = { code: how.code, message };
        add({ type: 'model.response', data }, plainCharacters + message.length);
        prompt?.end(withoutUndefined({ finish_reason: data['finish_reason'], stopped: data['stopped'], error: data['error'] }));
      },
    };
  }

  return {
    begin(request, sent) {
      count += 1;
      const { data, characters } = withNewNames(request);
      add({ type: 'model.request', data }, characters);
      return answerTo(count, prompts?.begin(count, sent));
    },
  };
}

/** Without the details of providers, which are in the run's total. */
function countsIn({ prompt_tokens, completion_tokens, total_tokens }: Usage): JsonObject {
  return { prompt_tokens, completion_tokens, total_tokens };
}
