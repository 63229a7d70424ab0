import { SpanStatusCode, type Attributes, type Histogram, type Span } from '@opentelemetry/api';
import type { ChatEvent, ToolCall, Usage } from '../../core/chat/chat.ts';
import type { AnswerFault, AnswerLog, SentPrompt } from '../../core/models/model-request-log.ts';
import type { TraceHeaders } from '../../core/outbound.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { inputMessages, outputMessages } from './contents.ts';
import { names } from './names.ts';

/** The GenAI client metrics; undefined: none are sent. */
export interface ModelMetrics {
  tokens: Histogram;
  duration: Histogram;
}

export interface TracedModelRequest {
  /** Not recording: it is not sampled, and only counted. */
  span: Span;
  trace: TraceHeaders;
  metrics: ModelMetrics | undefined;
  sent: SentPrompt;
  provider: string | undefined;
  hasContents: boolean;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
  onUsage: (usage: Usage) => void;
}

/** Traces and counts one model request. A class, because one is made for each. */
export class ModelRequestTrace implements AnswerLog {
  readonly trace: TraceHeaders;
  readonly #request: TracedModelRequest;
  readonly #log: AnswerLog | undefined;
  readonly #began: number;
  #usage: Usage | undefined;
  #finish = '';
  #text = '';
  #calls: ToolCall[] = [];

  constructor(request: TracedModelRequest, log: AnswerLog | undefined) {
    this.#request = request;
    this.#log = log;
    this.trace = request.trace;
    this.#began = request.elapsed();
  }

  note(event: ChatEvent): void {
    this.#log?.note(event);
    if (event.type === 'usage') this.#usage = event.usage;
    else if (event.type === 'finish') this.#finish = event.reason;
    else if (this.#request.hasContents) this.#keep(event);
  }

  end(how?: AnswerFault | 'stopped'): void {
    this.#log?.end(how);
    const code = how === 'stopped' ? undefined : how?.code;
    this.#count(code);
    const { span, onUsage, hasContents } = this.#request;
    if (this.#usage !== undefined) onUsage(this.#usage);
    if (!span.isRecording()) return;
    if (this.#finish !== '') span.setAttribute(names.finishReasons, [this.#finish]);
    if (this.#usage !== undefined) span.setAttributes(usageAttributes(this.#usage));
    if (hasContents) span.setAttribute(names.outputMessages, outputMessages(this.#text, this.#calls, this.#finish));
    if (code !== undefined) markFailed(span, code);
    span.end();
  }

  #keep(event: ChatEvent): void {
    if (event.type === 'text') this.#text += event.text;
    else if (event.type === 'tool-call') this.#calls.push(event.call);
  }

  #count(code: string | undefined): void {
    const { metrics, sent, provider, elapsed } = this.#request;
    if (metrics === undefined) return;
    const attributes = modelAttributes(sent, provider);
    metrics.duration.record((elapsed() - this.#began) / 1000, code === undefined ? attributes : { ...attributes, [names.errorType]: code });
    if (this.#usage === undefined) return;
    metrics.tokens.record(this.#usage.prompt_tokens, { ...attributes, [names.tokenType]: 'input' });
    metrics.tokens.record(this.#usage.completion_tokens, { ...attributes, [names.tokenType]: 'output' });
  }
}

export function modelAttributes({ model }: Pick<SentPrompt, 'model'>, provider = 'unknown'): Attributes {
  return { [names.operation]: 'chat', [names.provider]: provider, [names.requestModel]: model };
}

/** What is known when the request is made. `data`: of its `model.request` event. */
export function requestAttributes(sent: SentPrompt, data: JsonObject, hasContents: boolean): Attributes {
  const attributes: Attributes = {};
  for (const [field, name] of parameters) if (typeof sent.parameters[field] === 'number') attributes[name] = sent.parameters[field];
  if (typeof data['purpose'] === 'string') attributes[names.purpose] = data['purpose'];
  if (hasContents) attributes[names.inputMessages] = inputMessages(sent.messages);
  return attributes;
}

const parameters = [
  ['temperature', names.temperature],
  ['top_p', names.topP],
  ['max_tokens', names.maxTokens],
  ['max_completion_tokens', names.maxTokens],
  ['seed', names.seed],
  ['frequency_penalty', names.frequencyPenalty],
  ['presence_penalty', names.presencePenalty],
] as const;

export function usageAttributes({ prompt_tokens, completion_tokens }: Usage): Attributes {
  return { [names.inputTokens]: prompt_tokens, [names.outputTokens]: completion_tokens };
}

/** Without a message, which may quote what somebody wrote. */
export function markFailed(span: Span, code: string): void {
  span.setAttribute(names.errorType, code);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
