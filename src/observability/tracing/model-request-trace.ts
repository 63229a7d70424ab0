import { SpanStatusCode, type Attributes, type Span } from '@opentelemetry/api';
import type { ChatEvent, ToolCall, Usage } from '../../core/chat/chat.ts';
import type { AnswerFault, AnswerLog, SentPrompt } from '../../core/models/model-request-log.ts';
import type { TraceHeaders } from '../../core/outbound.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { inputMessages, outputMessages } from './contents.ts';
import type { ModelMeter } from './model-meter.ts';
import { names } from './names.ts';

/** What all requests share. */
export interface Measuring {
  /** Undefined: no metrics are sent. */
  meter: ModelMeter | undefined;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
}

export interface MeasuredRequest {
  trace: TraceHeaders;
  model: string;
  provider: string | undefined;
  log: AnswerLog | undefined;
}

/** Measures one model request, and says what it is sent with. A class, like the next, because one is made for each. */
export class MeasuredAnswer implements AnswerLog {
  readonly trace: TraceHeaders;
  readonly #measuring: Measuring;
  readonly #request: MeasuredRequest;
  readonly #began: number;
  protected usage: Usage | undefined;

  constructor(measuring: Measuring, request: MeasuredRequest) {
    this.trace = request.trace;
    this.#measuring = measuring;
    this.#request = request;
    this.#began = measuring.elapsed();
  }

  note(event: ChatEvent): void {
    this.#request.log?.note(event);
    if (event.type === 'usage') this.usage = event.usage;
  }

  end(how?: AnswerFault | 'stopped'): void {
    const { log, model, provider } = this.#request;
    log?.end(how);
    const { meter, elapsed } = this.#measuring;
    meter?.record({ model, provider, seconds: (elapsed() - this.#began) / 1000, usage: this.usage, code: codeOf(how) });
  }
}

export interface Spanned {
  span: Span;
  hasContents: boolean;
  onUsage: (usage: Usage) => void;
}

/** The same for a request that has a span. */
export class TracedAnswer extends MeasuredAnswer {
  readonly #spanned: Spanned;
  #finish = '';
  #text = '';
  #calls: ToolCall[] = [];

  constructor(measuring: Measuring, request: MeasuredRequest, spanned: Spanned) {
    super(measuring, request);
    this.#spanned = spanned;
  }

  override note(event: ChatEvent): void {
    super.note(event);
    if (event.type === 'finish') this.#finish = event.reason;
    if (!this.#spanned.hasContents) return;
    if (event.type === 'text') this.#text += event.text;
    else if (event.type === 'tool-call') this.#calls.push(event.call);
  }

  override end(how?: AnswerFault | 'stopped'): void {
    super.end(how);
    const { span, hasContents, onUsage } = this.#spanned;
    if (this.#finish !== '') span.setAttribute(names.finishReasons, [this.#finish]);
    if (this.usage !== undefined) {
      onUsage(this.usage);
      span.setAttributes(usageAttributes(this.usage));
    }
    if (hasContents) span.setAttribute(names.outputMessages, outputMessages(this.#text, this.#calls, this.#finish));
    const code = codeOf(how);
    if (code !== undefined) markFailed(span, code);
    span.end();
  }
}

function codeOf(how: AnswerFault | 'stopped' | undefined): string | undefined {
  return how === 'stopped' ? undefined : how?.code;
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
