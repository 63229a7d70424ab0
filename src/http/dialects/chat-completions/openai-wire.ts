import type { IncomingHttpHeaders } from 'node:http';
import type { ChatEvent, FinishReason, ToolCall, Usage } from '../../../core/chat/chat.ts';
import { CallerWarnings, modelThatAnswers } from '../../../core/chat/caller-warning.ts';
import { refusalIn } from '../../../core/chat/refusal.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import type { RunEvent } from '../../../core/chat/run-event.ts';
import { addUsage, noUsage } from '../../../core/chat/usage.ts';
import { errorBody } from '../../errors/error-handler.ts';
import type { AnswerCollector, AnswerFormat, AnswerHead, StreamEncoder } from '../answers/answer-format.ts';
import { choiceOf } from '../answers/first-choice.ts';
import { GatewayAnswerFields } from '../answers/gateway-answer-fields.ts';
import { isNotStored } from '../answers/not-stored.ts';
import { serverSentEvents } from '../answers/server-sent-events.ts';
import { toFunctionCall } from './legacy-functions.ts';
import { isOpenWebUi } from '../requests/is-open-webui.ts';
import { createOpenWebUiEvents, type OpenWebUiEvents, type OpenWebUiPart } from './open-webui-events.ts';

/** Plain JSON, stored with suspended runs. */
export interface CompletionOptions extends JsonObject {
  includeUsage?: boolean;
  includeEvents?: boolean;
  /** Calls as `function_call`. */
  isLegacy?: boolean;
}

/** OpenAI's completions and chunks, with the gateway's extensions. `headers` are those of the request. */
export function chatCompletionFormat(options: CompletionOptions, headers: IncomingHttpHeaders): AnswerFormat {
  return {
    stream: (head) => createChunkEncoder(head, options, isOpenWebUi(headers) ? createOpenWebUiEvents() : undefined),
    collect: (head) => new CompletionCollector(head, options),
  };
}

/** The id of a run's completion, streamed and not. */
export function completionId(runId: string): string {
  return `chatcmpl-${runId}`;
}

/** Server-sent events, one OpenAI chunk each. */
function createChunkEncoder(
  { runId, created, model }: AnswerHead,
  options: CompletionOptions,
  openWebUi: OpenWebUiEvents | undefined,
): StreamEncoder {
  // Serialized once per model, not for each chunk.
  const prefixFor = (answering: string): string =>
    `data: ${JSON.stringify({ id: completionId(runId), object: 'chat.completion.chunk', created, model: answering }).slice(0, -1)}`;
  const textPrefixAfter = (before: string): string => `${before},"choices":[{"index":0,"delta":{"content":`;
  let prefix = prefixFor(model);
  let textPrefix = textPrefixAfter(prefix);
  const chunk = (fields: JsonObject): string => `${prefix},${JSON.stringify(fields).slice(1)}\n\n`;
  const choiceChunk = (index: number, fields: JsonObject, more: JsonObject = {}): string =>
    chunk({ choices: [{ index, delta: {}, finish_reason: null, ...fields }], ...more });
  const started = new Set<number>();
  const spoken = new Set<number>();
  const sentFields = new Map<string, string>();
  const callCounts = new Map<number, number>();
  const warnings = new CallerWarnings();
  let usage: Usage | undefined;

  const begin = (choice: number, content: '' | null = ''): string => {
    if (started.has(choice)) return '';
    started.add(choice);
    return choiceChunk(choice, { delta: { role: 'assistant', content } });
  };
  const deltaChunk = (delta: JsonObject, choice: number): string => begin(choice) + choiceChunk(choice, { delta });
  /** After the role, without which LangChain.js takes the whole answer for no answer of an assistant. */
  const extensionChunk = (fields: JsonObject): string => begin(0) + choiceChunk(0, {}, fields);
  const runEventChunk = (event: RunEvent): string => {
    const answering = modelThatAnswers(event);
    if (answering !== undefined) {
      prefix = prefixFor(answering);
      textPrefix = textPrefixAfter(prefix);
    }
    const warning = warnings.add(event);
    if (warning === undefined && options.includeEvents !== true) return '';
    const shown = {
      ...(warning !== undefined && { warnings: [{ ...warning }] }),
      ...(isNotStored(event) && { store: false }),
      ...(options.includeEvents === true && { event: { ...event } }),
    };
    return extensionChunk(shown);
  };
  /** Fields of the response, without those that it has already: each round of a run brings them. */
  const newFieldsChunk = (fields: JsonObject): string => {
    const added = Object.entries(fields).filter(([name, value]) => sentFields.get(name) !== JSON.stringify(value));
    for (const [name, value] of added) sentFields.set(name, JSON.stringify(value));
    return added.length === 0 ? '' : extensionChunk(Object.fromEntries(added));
  };
  const partChunks = (parts: readonly OpenWebUiPart[]): string =>
    parts.map((part) => ('event' in part ? extensionChunk(part) : deltaChunk(part, 0))).join('');
  const lastParts = (): string => (openWebUi === undefined ? '' : partChunks(openWebUi.end()));
  const callChunk = (call: ToolCall, choice: number): string => {
    const index = callCounts.get(choice) ?? 0;
    callCounts.set(choice, index + 1);
    if (options.isLegacy !== true) return deltaChunk({ tool_calls: [{ index, ...toWireCall(call) }] }, choice);
    return index > 0 ? '' : deltaChunk({ ...(!spoken.has(choice) && { content: null }), ...toFunctionCall(call) }, choice);
  };

  return {
    ...serverSentEvents,
    encode(event) {
      openWebUi?.note(event);
      const choice = choiceOf(event);
      switch (event.type) {
        case 'text':
          if (event.text !== '' && options.isLegacy === true) spoken.add(choice);
          if (choice === 0) return `${begin(0)}${textPrefix}${JSON.stringify(event.text)}},"finish_reason":null}]}\n\n`;
          return deltaChunk({ content: event.text }, choice);
        case 'reasoning':
          return deltaChunk({ reasoning_content: event.text }, choice);
        case 'thought':
          return deltaChunk(event.fields, choice);
        case 'tool-call':
          return callChunk(event.call, choice);
        case 'finish':
          return begin(choice) + choiceChunk(choice, { finish_reason: toWireReason(event.reason, options, callCounts.has(choice)) });
        case 'source': {
          const { source } = event;
          // Open WebUI shows only the `sources` of the first chunk that has some, and stores none; those that come as events it shows and stores.
          return extensionChunk({ sources: [source], ...(openWebUi && { event: { type: 'source', data: source } }) });
        }
        case 'run-event':
          return runEventChunk(event.event);
        case 'approval':
          return extensionChunk({ approval: { ...event.approval } });
        case 'connect':
          return extensionChunk({ connect: { ...event.connect } });
        case 'extra':
          if (refusalIn(event) !== '') return begin(choice, null) + choiceChunk(choice, { delta: event.fields });
          if (event.level === 'delta') return deltaChunk(event.fields, choice);
          return event.level === 'choice' ? begin(choice) + choiceChunk(choice, event.fields) : newFieldsChunk(event.fields);
        case 'usage':
          usage = addUsage(usage, event.usage);
          return '';
        case 'selecting':
        case 'tool-list':
          return '';
        default:
          return event satisfies never;
      }
    },
    ...(openWebUi && { afterBatch: () => partChunks(openWebUi.pending()) }),
    end: () => `${lastParts()}${options.includeUsage === true ? chunk({ choices: [], usage: usage ?? noUsage }) : ''}data: [DONE]\n\n`,
    // A failed stream ends without `[DONE]`.
    failure: (error) => `${lastParts()}data: ${JSON.stringify(errorBody(error))}\n\n`,
  };
}

/** A call in OpenAI's format. */
export function toWireCall({ id, name, arguments: args, extra }: ToolCall): JsonObject {
  return { ...extra, id, type: 'function', function: { name, arguments: args } };
}

function toWireReason(reason: FinishReason, { isLegacy }: CompletionOptions, hasCalls: boolean): string {
  return isLegacy === true && reason === 'tool_calls' && hasCalls ? 'function_call' : reason;
}

interface CollectedChoice {
  readonly index: number;
  text: string;
  reasoning: string;
  refusal: string;
  toolCalls: ToolCall[];
  finishReason: FinishReason;
  delta: JsonObject;
  fields: JsonObject;
}

/** Collects events into one completion. */
class CompletionCollector implements AnswerCollector {
  readonly #head: AnswerHead;
  readonly #options: CompletionOptions;
  readonly #choices: CollectedChoice[] = [];
  readonly #own = new GatewayAnswerFields();
  readonly #response: JsonObject = {};
  #model: string;
  #usage: Usage | undefined;

  constructor(head: AnswerHead, options: CompletionOptions) {
    this.#head = head;
    this.#options = options;
    this.#model = head.model;
  }

  add(event: ChatEvent): void {
    if (event.type === 'text') this.#choiceAt(event.choice).text += event.text;
    else if (event.type === 'reasoning') this.#choiceAt(event.choice).reasoning += event.text;
    else if (event.type === 'tool-call') this.#choiceAt(event.choice).toolCalls.push(event.call);
    else if (event.type === 'finish') this.#choiceAt(event.choice).finishReason = event.reason;
    else if (event.type === 'usage') this.#usage = addUsage(this.#usage, event.usage);
    else if (event.type === 'thought' || (event.type === 'extra' && event.level === 'delta')) {
      const choice = this.#choiceAt(event.choice);
      Object.assign(choice.delta, event.fields);
      choice.refusal += refusalIn(event);
    } else if (event.type === 'extra' && event.level === 'choice') Object.assign(this.#choiceAt(event.choice).fields, event.fields);
    else if (event.type === 'extra') Object.assign(this.#response, event.fields);
    else {
      if (event.type === 'run-event') this.#model = modelThatAnswers(event.event) ?? this.#model;
      this.#own.note(event);
    }
  }

  body(): JsonObject {
    this.#choiceAt(0);
    const { runId, created } = this.#head;
    const choices = this.#choices.toSorted((one, other) => one.index - other.index);
    return {
      id: completionId(runId),
      object: 'chat.completion',
      created,
      model: this.#model,
      choices: choices.map((choice) => completedChoice(choice, this.#options)),
      ...(this.#usage !== undefined && { usage: this.#usage }),
      ...this.#response,
      ...this.#own.toJson(),
    };
  }

  #choiceAt(index = 0): CollectedChoice {
    const known = this.#choices.find((choice) => choice.index === index);
    if (known !== undefined) return known;
    const fresh: CollectedChoice = {
      index,
      text: '',
      reasoning: '',
      refusal: '',
      toolCalls: [],
      finishReason: 'stop',
      delta: {},
      fields: {},
    };
    this.#choices.push(fresh);
    return fresh;
  }
}

function completedChoice(choice: CollectedChoice, options: CompletionOptions): JsonObject {
  const { index, text, reasoning, refusal, toolCalls, delta, fields, finishReason } = choice;
  const [first] = toolCalls;
  const message: JsonObject = {
    role: 'assistant',
    content: text === '' && (first !== undefined || refusal !== '') ? null : text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(first !== undefined && (options.isLegacy === true ? toFunctionCall(first) : { tool_calls: toolCalls.map(toWireCall) })),
    ...delta,
    refusal: refusal === '' ? null : refusal,
  };
  return { index, message, logprobs: null, finish_reason: toWireReason(finishReason, options, first !== undefined), ...fields };
}
