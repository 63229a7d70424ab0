import type { ChatEvent, Usage } from '../core/chat/chat.ts';
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue } from '../shared/json/json.ts';
import { keepFor } from '../shared/keep-last.ts';
import type { AnswerFault, AnswerLog, ModelRequestLog, SentPrompt } from '../core/models/model-request-log.ts';
import type { RunEvent } from '../core/chat/run-event.ts';
import { withoutUndefined } from '../shared/json/without-undefined.ts';
import type { PromptAnswer, PromptRecorder } from './prompt-log.ts';

/** One text within a logged event: enough to follow the run. The model reads the whole text. */
export const loggedTextCharacters = 4_000;

/** The size of one of these events, besides its names and its message. */
const plainCharacters = 200;

/** Where the events are logged. */
interface ShortEvents {
  /** Adds an event with bounded data; `characters` is its size in the log of the run. */
  addShort(event: RunEvent, characters: number): void;
}

interface ModelRequestOptions {
  now: () => number;
  /** Model requests of the run before it was resumed. */
  earlier: number;
  /** Records prompts and answers in full; undefined: nothing does. */
  prompts: PromptRecorder | undefined;
}

/** Numbers the model requests of a run, and adds each of them and its answer as an event. A class, like the next, because one is made for each chat. */
export class NumberedRequestLog implements ModelRequestLog {
  readonly #events: ShortEvents;
  readonly #options: ModelRequestOptions;
  #count: number;
  #namesBefore: JsonValue | undefined;

  constructor(events: ShortEvents, options: ModelRequestOptions) {
    this.#events = events;
    this.#options = options;
    this.#count = options.earlier;
  }

  begin(request: JsonObject, sent: SentPrompt): AnswerLog {
    const { now, prompts } = this.#options;
    this.#count += 1;
    const question = this.#count;
    const data: JsonObject = { question, ...request };
    const { names } = request;
    // The same names are not repeated with each round.
    const isRepeated = names !== undefined && isDeepStrictEqual(names, this.#namesBefore);
    if (isRepeated) delete data['names'];
    else if (names !== undefined) this.#namesBefore = names;
    const added = isRepeated || !Array.isArray(names) ? 0 : charactersOf(names);
    this.#events.addShort({ type: 'model.request', data }, plainCharacters + added);
    return new NumberedAnswer(this.#events, { question, now, prompt: prompts?.begin(question, sent) });
  }
}

/** The characters of names. The same list has the same for all runs. */
const charactersOf = keepFor((names: readonly JsonValue[]): number => JSON.stringify(names).length);

interface AnswerOptions {
  question: number;
  now: () => number;
  prompt: PromptAnswer | undefined;
}

class NumberedAnswer implements AnswerLog {
  readonly #events: ShortEvents;
  readonly #options: AnswerOptions;
  readonly #began: number;
  #text = 0;
  #reasoning = 0;
  #calls = 0;
  #finish: string | null = null;
  #usage: Usage | undefined;
  #firstTokenMs: number | undefined;

  constructor(events: ShortEvents, options: AnswerOptions) {
    this.#events = events;
    this.#options = options;
    this.#began = options.now();
  }

  note(event: ChatEvent): void {
    this.#options.prompt?.note(event);
    if (event.type === 'text' || event.type === 'reasoning' || event.type === 'tool-call')
      this.#firstTokenMs ??= this.#options.now() - this.#began;
    if (event.type === 'text') this.#text += event.text.length;
    else if (event.type === 'reasoning') this.#reasoning += event.text.length;
    else if (event.type === 'tool-call') this.#calls += 1;
    else if (event.type === 'finish') this.#finish = event.reason;
    else if (event.type === 'usage') this.#usage = event.usage;
  }

  end(how?: AnswerFault | 'stopped'): void {
    const { question, now, prompt } = this.#options;
    const data: JsonObject = {
      question,
      finish_reason: this.#finish,
      calls: this.#calls,
      characters: this.#text,
      duration_ms: now() - this.#began,
    };
    if (this.#firstTokenMs !== undefined) data['first_token_ms'] = this.#firstTokenMs;
    if (this.#reasoning > 0) data['reasoning_characters'] = this.#reasoning;
    if (this.#usage !== undefined) data['usage'] = countsIn(this.#usage);
    if (how === 'stopped') data['stopped'] = true;
    const message = typeof how === 'object' ? how.message.slice(0, loggedTextCharacters) : '';
    if (typeof how === 'object') data['error'] = { code: how.code, message };
    this.#events.addShort({ type: 'model.response', data }, plainCharacters + message.length);
    prompt?.end(withoutUndefined({ finish_reason: data['finish_reason'], stopped: data['stopped'], error: data['error'] }));
  }
}

/** Without the details of providers, which are in the run's total. */
function countsIn({ prompt_tokens, completion_tokens, total_tokens }: Usage): JsonObject {
  return { prompt_tokens, completion_tokens, total_tokens };
}
