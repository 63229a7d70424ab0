import { randomUUID } from 'node:crypto';
import type { ChatEvent, FinishReason, Usage } from '../../../core/chat/chat.ts';
import type { GatewayError } from '../../../core/errors.ts';
import { modelThatAnswers } from '../../../core/chat/caller-warning.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { addUsage, usageDetail } from '../../../core/chat/usage.ts';
import type { AnswerCollector, AnswerFormat, AnswerHead, StreamEncoder } from '../answers/answer-format.ts';
import { isOfFurtherChoice } from '../answers/first-choice.ts';
import { GatewayAnswerFields } from '../answers/gateway-answer-fields.ts';
import { serverSentEvents } from '../answers/server-sent-events.ts';
import { AnswerItems } from './answer-items.ts';
import type { DeltaTarget, EventFields, ResponseEventType, ItemEvents, OutputItem } from './output-items.ts';
import type { OriginalTool } from './caller-tools.ts';

/** How an answer is written; plain JSON, stored with suspended runs. */
export interface ResponseOptions extends JsonObject {
  /** The fields that a response repeats from its request. */
  response: JsonObject;
  /** `OriginalTool`s by the names of the functions that stand for them. */
  tools?: Record<string, OriginalTool>;
  keepsReasoning?: boolean;
  /** Labels of MCP servers whose tools the client knows. */
  listed?: string[];
  /** Labels of MCP servers of the request whose approvals the client knows from their items. */
  asksItself?: string[];
}

/** The format of one answer: what it streams and what it collects have the same ids. */
export interface ResponseFormat extends AnswerFormat {
  collect: (head: AnswerHead) => ResponseCollector;
}

export interface ResponseCollector extends AnswerCollector {
  /** The response before its first event. */
  begun(): JsonObject;
  /** The response that ends with an error. */
  failure(error: GatewayError): JsonObject;
}

/** OpenAI's responses, with the gateway's `sources`, `warnings` and `approval` on the final one. */
export function responseFormat(options: JsonObject): ResponseFormat {
  const key = randomUUID().replaceAll('-', '').slice(0, 24);
  return {
    stream: (head) => createEventEncoder({ ...head, key }, options as ResponseOptions),
    collect: (head) => createResponseCollector({ ...head, key }, options as ResponseOptions),
  };
}

/** The id of one answer of a run, which may have several: after each decision it continues in another one. */
function responseId(runId: string, key: string): string {
  return `resp_${runId}${key.slice(0, 8)}`;
}

/** How a response ends. */
type ResponseEnd =
  | { status: 'completed' }
  | { status: 'incomplete'; reason: 'max_output_tokens' | 'content_filter' }
  | { status: 'failed'; error: GatewayError }
  | { status: 'cancelled' };

type ResponseAnswerHead = AnswerHead & { key: string };

/** Collects the fields of the response itself, besides its items. */
class ResponseHead {
  readonly runId: string;
  /** Part of the ids of the answer and of its items. */
  readonly key: string;
  readonly thoughts: AnswerHead['thoughts'];
  readonly #now: AnswerHead['now'];
  readonly #own = new GatewayAnswerFields();
  #fixed: JsonObject;
  #usage: Usage | undefined;
  #reason: FinishReason = 'stop';

  constructor({ runId, created, now, model, key, thoughts }: ResponseAnswerHead, { response }: ResponseOptions) {
    this.key = key;
    this.thoughts = thoughts;
    this.#now = now;
    this.runId = runId;
    this.#fixed = { id: responseId(runId, this.key), object: 'response', created_at: created, model, ...response };
  }

  note(event: ChatEvent): void {
    if (event.type === 'usage') this.#usage = addUsage(this.#usage, event.usage);
    else if (event.type === 'finish') this.#reason = event.reason;
    else {
      const model = event.type === 'run-event' ? modelThatAnswers(event.event) : undefined;
      if (model !== undefined) this.#fixed = { ...this.#fixed, model };
      this.#own.note(event);
    }
  }

  end(): ResponseEnd {
    if (this.#reason === 'length') return { status: 'incomplete', reason: 'max_output_tokens' };
    return this.#reason === 'content_filter' ? { status: 'incomplete', reason: 'content_filter' } : { status: 'completed' };
  }

  begun(): JsonObject {
    return { ...this.#fixed, status: 'in_progress', completed_at: null, error: null, incomplete_details: null, output: [], usage: null };
  }

  ended(end: ResponseEnd): JsonObject {
    return {
      ...this.#fixed,
      // One that fails in the background is stored, as its clients come back for it.
      ...(this.#fixed['background'] !== true && (end.status === 'failed' || end.status === 'cancelled') && { store: false }),
      status: end.status,
      completed_at: end.status === 'completed' ? Math.floor(this.#now() / 1000) : null,
      error: end.status === 'failed' ? toResponseError(end.error) : null,
      incomplete_details: end.status === 'incomplete' ? { reason: end.reason } : null,
      usage: this.#usage === undefined ? null : toResponseUsage(this.#usage),
      ...this.#own.toJson(),
      ...(end.status === 'failed' && end.error.progress),
    };
  }
}

function itemsOf(head: ResponseHead, options: ResponseOptions, events: ItemEvents): AnswerItems {
  const { tools = {}, keepsReasoning = false, listed = [], asksItself = [] } = options;
  const { runId, key } = head;
  const thoughts = keepsReasoning ? head.thoughts : undefined;
  return new AnswerItems({ runId, key, originals: tools, thoughts, listed, asksItself }, events);
}

/** Server-sent events, with their type as name and in the data. */
class EventWriter implements ItemEvents {
  #text = '';
  #number = 0;
  /** The JSON of items that are done, in order: they are written again at the end. */
  readonly #done: string[] = [];
  #target: DeltaTarget | undefined;
  #targetText = '';

  emit<Type extends ResponseEventType>(type: Type, fields: EventFields<Type>): void {
    let json = '';
    for (const [name, value] of Object.entries<unknown>(fields)) {
      const text = typeof value === 'function' ? String(value()) : JSON.stringify(value);
      if (type === 'response.output_item.done' && name === 'item' && 'output_index' in fields)
        this.#done[Number(fields.output_index)] = text;
      json += `,"${name}":${text}`;
    }
    this.#text += `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#number++}${json}}\n\n`;
  }

  emitDelta(target: DeltaTarget, delta: string): void {
    // Serialized once for each part, not for each delta.
    if (target !== this.#target) {
      this.#target = target;
      const { type, fields } = target;
      this.#targetText = `event: ${type}\ndata: {"type":"${type}",${JSON.stringify(fields).slice(1, -1)},"sequence_number":`;
    }
    this.#text += `${this.#targetText}${this.#number++},"delta":${JSON.stringify(delta)}}\n\n`;
  }

  /** The JSON of the output. */
  output(items: AnswerItems['output']): string {
    return `[${items.map((item, index) => this.#done[index] ?? JSON.stringify(item)).join(',')}]`;
  }

  take(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }
}

function createEventEncoder(answer: ResponseAnswerHead, options: ResponseOptions): StreamEncoder {
  const head = new ResponseHead(answer, options);
  const writer = new EventWriter();
  let hasBegun = false;
  /** With the first item, so that an error before it can still have an HTTP status. */
  const begin = (): void => {
    if (hasBegun) return;
    hasBegun = true;
    const response = JSON.stringify(head.begun());
    writer.emit('response.created', { response: () => response });
    writer.emit('response.in_progress', { response: () => response });
  };
  const items = itemsOf(head, options, {
    emit(type, fields) {
      begin();
      writer.emit(type, fields);
    },
    emitDelta: (target, delta) => writer.emitDelta(target, delta),
  });
  const close = (end: ResponseEnd): string => {
    begin();
    const response = JSON.stringify(head.ended(end));
    // OpenAI has no event for the end of a cancelled response.
    writer.emit(`response.${end.status === 'cancelled' ? 'failed' : end.status}`, {
      response: () => `${response.slice(0, -1)},"output":${writer.output(items.output)}}`,
    });
    return writer.take();
  };
  return {
    ...serverSentEvents,
    encode(event) {
      if (isOfFurtherChoice(event)) return '';
      head.note(event);
      items.note(event);
      return writer.take();
    },
    end() {
      const end = head.end();
      items.end(end.status === 'completed' ? 'completed' : 'incomplete');
      return close(end);
    },
    failure(error) {
      items.abandon();
      return close(failureOf(error));
    },
  };
}

function failureOf(error: GatewayError): ResponseEnd {
  return error.code === 'run_cancelled' ? { status: 'cancelled' } : { status: 'failed', error };
}

const silent: ItemEvents = { emit: () => undefined, emitDelta: () => undefined };

function createResponseCollector(answer: ResponseAnswerHead, options: ResponseOptions): ResponseCollector {
  const head = new ResponseHead(answer, options);
  const items = itemsOf(head, options, silent);
  return {
    add(event) {
      if (isOfFurtherChoice(event)) return;
      head.note(event);
      items.note(event);
    },
    body() {
      const end = head.end();
      items.end(end.status === 'completed' ? 'completed' : 'incomplete');
      return { ...head.ended(end), output: toJson(items.output) };
    },
    begun: () => head.begun(),
    failure(error) {
      items.abandon();
      return { ...head.ended(failureOf(error)), output: toJson(items.output) };
    },
  };
}

/** Interfaces such as OpenAI's have no index signature. */
function toJson(items: readonly OutputItem[]): JsonObject[] {
  return items as unknown as JsonObject[];
}

/** A response that has only begun, ended by an error. */
export function failedResponse(begun: JsonObject, error: GatewayError): JsonObject {
  return { ...begun, status: 'failed', error: toResponseError(error) };
}

/** One of OpenAI's codes: the message says what happened. */
function toResponseError({ code, message, status, type, param }: GatewayError): JsonObject {
  const known = code === 'context_length_exceeded' ? code : status === 429 ? 'rate_limit_exceeded' : 'server_error';
  return { code: known, message, type, param };
}

function toResponseUsage(usage: Usage): JsonObject {
  return {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: {
      cache_write_tokens: usageDetail(usage, 'prompt_tokens_details', 'cache_write_tokens') ?? 0,
      cached_tokens: usageDetail(usage, 'prompt_tokens_details', 'cached_tokens') ?? 0,
    },
    output_tokens: usage.completion_tokens,
    output_tokens_details: { reasoning_tokens: usageDetail(usage, 'completion_tokens_details', 'reasoning_tokens') ?? 0 },
    total_tokens: usage.total_tokens,
  };
}
