import { argumentsAsObject } from '../../../core/tools/call-arguments.ts';
import type { ChatEvent, FinishReason, ToolCall, Usage } from '../../../core/chat/chat.ts';
import { modelThatAnswers } from '../../../core/chat/caller-warning.ts';
import { refusalAsText } from '../../../core/chat/refusal.ts';
import { addUsage } from '../../../core/chat/usage.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { ollamaError } from './ollama-error.ts';
import type { AnswerCollector, AnswerFormat, AnswerHead, StreamEncoder } from '../answers/answer-format.ts';
import { isOfFurtherChoice } from '../answers/first-choice.ts';
import { GatewayAnswerFields } from '../answers/gateway-answer-fields.ts';

/** Milliseconds since 1970, with fractions. */
type Clock = () => number;
const preciseTime: Clock = () => performance.timeOrigin + performance.now();

/** Where the two kinds of lines differ. */
interface LineKind {
  /** A piece of an answer, as the fields of a line besides the common ones. */
  text: (text: string) => JsonObject;
  /** The same as JSON, without the opening brace: most lines are of this kind. */
  textJson: (text: string) => string;
  thinking: (text: string) => JsonObject;
  calls: (calls: readonly JsonObject[]) => JsonObject;
  /** A whole answer. */
  whole: (answer: { text: string; thinking: string; calls: readonly JsonObject[] }) => JsonObject;
}

const chatLine = (message: JsonObject): JsonObject => ({ message: { role: 'assistant', content: '', ...message } });
const chatLines: LineKind = {
  text: (content) => chatLine({ content }),
  textJson: (text) => `"message":{"role":"assistant","content":${JSON.stringify(text)}},"done":false}`,
  thinking: (thinking) => chatLine({ thinking }),
  calls: (calls) => chatLine({ tool_calls: [...calls] }),
  whole: ({ text, thinking, calls }) =>
    chatLine({ content: text, ...(thinking !== '' && { thinking }), ...(calls.length > 0 && { tool_calls: [...calls] }) }),
};
const generateLines: LineKind = {
  text: (response) => ({ response }),
  textJson: (text) => `"response":${JSON.stringify(text)},"done":false}`,
  thinking: (thinking) => ({ response: '', thinking }),
  calls: (calls) => ({ response: '', tool_calls: [...calls] }),
  whole: ({ text, thinking, calls }) => ({
    response: text,
    ...(thinking !== '' && { thinking }),
    ...(calls.length > 0 && { tool_calls: [...calls] }),
  }),
};
const kinds = { chat: chatLines, generate: generateLines };

/** Ollama's answers: lines of JSON, or one object. `options` are `LineOptions`. */
export function ollamaFormat(
  kind: keyof typeof kinds,
  { showsThinking, doneReason }: JsonObject,
  clock: Clock = preciseTime,
): AnswerFormat {
  const options = { lines: kinds[kind], showsThinking: showsThinking !== false, doneReason, clock };
  return { stream: (head) => createLineEncoder(head, options), collect: (head) => createCollector(head, options) };
}

interface Writing {
  lines: LineKind;
  showsThinking: boolean;
  doneReason: JsonValue | undefined;
  clock: Clock;
}

function createLineEncoder({ model }: AnswerHead, writing: Writing): StreamEncoder {
  const { lines, showsThinking, clock } = writing;
  const ending = new Ending(writing);
  const prefixFor = (answering: string): string => `{"model":${JSON.stringify(answering)},"created_at":"`;
  let prefix = prefixFor(model);
  const line = (fields: JsonObject): string => `${prefix}${timeText(clock())}",${JSON.stringify(fields).slice(1)}\n`;
  const piece = (fields: JsonObject): string => line({ ...fields, done: false });
  // In one line: some clients take the first call of each line for the same one.
  const calls: JsonObject[] = [];

  return {
    contentType: 'application/x-ndjson',
    keepAlive: () => piece(lines.text('')),
    encode(given) {
      if (isOfFurtherChoice(given)) return '';
      const event = refusalAsText(given);
      ending.note(event);
      const answering = event.type === 'run-event' ? modelThatAnswers(event.event) : undefined;
      if (answering !== undefined) prefix = prefixFor(answering);
      if (event.type === 'text')
        return event.text === '' && event.isNotice !== true ? '' : `${prefix}${timeText(clock())}",${lines.textJson(event.text)}\n`;
      if (event.type === 'reasoning') return showsThinking && event.text !== '' ? piece(lines.thinking(event.text)) : '';
      if (event.type === 'tool-call') calls.push(ending.toWireCall(event.call));
      const logprobs = event.type === 'extra' ? logprobsIn(event) : undefined;
      return logprobs === undefined ? '' : piece({ ...lines.text(''), logprobs });
    },
    end: () => (calls.length === 0 ? '' : piece(lines.calls(calls))) + line({ ...lines.text(''), ...ending.fields() }),
    failure: (error) => `${JSON.stringify(ollamaError(error))}\n`,
  };
}

function createCollector({ model: named }: AnswerHead, writing: Writing): AnswerCollector {
  const { lines, showsThinking, clock } = writing;
  const ending = new Ending(writing);
  const calls: JsonObject[] = [];
  const logprobs: JsonValue[] = [];
  let model = named;
  let text = '';
  let thinking = '';
  return {
    add(given) {
      if (isOfFurtherChoice(given)) return;
      const event = refusalAsText(given);
      ending.note(event);
      if (event.type === 'run-event') model = modelThatAnswers(event.event) ?? model;
      if (event.type === 'text') text += event.text;
      else if (event.type === 'reasoning' && showsThinking) thinking += event.text;
      else if (event.type === 'tool-call') calls.push(ending.toWireCall(event.call));
      else if (event.type === 'extra') for (const entry of logprobsIn(event) ?? []) logprobs.push(entry);
    },
    body: () => ({
      model,
      created_at: timeText(clock()),
      ...lines.whole({ text, thinking, calls }),
      ...(logprobs.length > 0 && { logprobs }),
      ...ending.fields(),
    }),
  };
}

/** The fields of the last line of an answer. */
class Ending {
  readonly #clock: Clock;
  readonly #start: number;
  readonly #own = new GatewayAnswerFields();
  #firstOutput: number | undefined;
  #calls = 0;
  #usage: Usage | undefined;
  #reason: FinishReason = 'stop';
  #context: JsonValue | undefined;
  readonly #doneReason: JsonValue | undefined;

  constructor({ clock, doneReason }: Writing) {
    this.#clock = clock;
    this.#start = clock();
    this.#doneReason = doneReason;
  }

  note(event: ChatEvent): void {
    if (event.type === 'text' || event.type === 'reasoning' || event.type === 'tool-call') this.#firstOutput ??= this.#clock();
    else if (event.type === 'finish') this.#reason = event.reason;
    else if (event.type === 'usage') this.#usage = addUsage(this.#usage, event.usage);
    else if (event.type === 'extra' && event.level === 'response') this.#context = event.fields['context'] ?? this.#context;
    else this.#own.note(event);
  }

  toWireCall({ id, name, arguments: args }: ToolCall): JsonObject {
    const index = this.#calls;
    this.#calls += 1;
    return { id, function: { index, name, arguments: argumentsAsObject(args) } };
  }

  fields(): JsonObject {
    if (this.#doneReason !== undefined) return { done: true, done_reason: this.#doneReason };
    const end = this.#clock();
    const firstOutput = this.#firstOutput ?? end;
    return {
      done: true,
      done_reason: this.#reason === 'length' ? 'length' : 'stop',
      total_duration: nanoseconds(end - this.#start),
      load_duration: 0,
      prompt_eval_count: this.#usage?.prompt_tokens ?? 0,
      prompt_eval_duration: nanoseconds(firstOutput - this.#start),
      eval_count: this.#usage?.completion_tokens ?? 0,
      eval_duration: nanoseconds(end - firstOutput),
      ...(this.#context !== undefined && { context: this.#context }),
      ...this.#own.toJson(),
    };
  }
}

/** At least one, because clients divide by them. */
function nanoseconds(milliseconds: number): number {
  return Math.max(1, Math.round(milliseconds * 1e6));
}

function timeText(time: number): string {
  return new Date(time).toISOString();
}

/** OpenAI's `logprobs.content` are Ollama's `logprobs`. */
function logprobsIn({ level, fields }: ChatEvent & { type: 'extra' }): JsonValue[] | undefined {
  const logprobs = level === 'choice' ? fields['logprobs'] : undefined;
  const content = isJsonObject(logprobs) ? logprobs['content'] : undefined;
  return Array.isArray(content) ? content : undefined;
}
