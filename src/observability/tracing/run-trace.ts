import { SpanKind, type Context, type Span, type Tracer } from '@opentelemetry/api';
import type { Usage } from '../../core/chat/chat.ts';
import type { DataOf, RunEvent } from '../../core/chat/run-event.ts';
import { addUsage } from '../../core/chat/usage.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import type { ModelRequestLog, SentPrompt } from '../../core/models/model-request-log.ts';
import type { TraceHeaders } from '../../core/outbound.ts';
import type { LoggedEvent, RunEnding } from '../../core/runs/run-log.ts';
import type { RunTrace, TracedRun } from '../../core/runs/trace.ts';
import { inputMessages, short } from './contents.ts';
import {
  markFailed,
  modelAttributes,
  ModelRequestTrace,
  requestAttributes,
  usageAttributes,
  type ModelMetrics,
} from './model-request-trace.ts';
import { names } from './names.ts';
import { contextBelow, contextOf, headersBelow } from './trace-context.ts';

export interface TraceServices {
  tracer: Tracer;
  metrics: ModelMetrics | undefined;
  hasContents: boolean;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
}

/** A call that runs. A preset that is called as a tool is an agent within it. */
interface OpenCall {
  span: Span;
  agent: Span | undefined;
}

/** The agent that answers where no preset does. */
const gateway = 'toolwharf';
const presetServer = /^preset:(.*)$/;

/**
 * The spans of one run: the agent, its model requests, its calls, and those of presets that it calls as tools. A run that is not sampled has none, and
 * costs little; its requests are sent with its trace nevertheless. A class, because one is made for each chat.
 */
export class RunSpans implements RunTrace {
  readonly #services: TraceServices;
  readonly #span: Span;
  readonly #headers: TraceHeaders;
  readonly #isSampled: boolean;
  readonly #calls = new Map<string, OpenCall>();
  #agent: string | undefined;
  #usage: Usage | undefined;

  constructor(run: TracedRun, services: TraceServices) {
    this.#services = services;
    this.#span = services.tracer.startSpan(`invoke_agent ${gateway}`, { kind: SpanKind.INTERNAL }, contextOf(run.readHeader));
    this.#headers = headersBelow(this.#span);
    this.#isSampled = this.#span.isRecording();
    if (!this.#isSampled) return;
    this.#span.setAttributes({
      [names.operation]: 'invoke_agent',
      [names.agent]: gateway,
      [names.requestModel]: run.model,
      [names.run]: run.runId,
      ...(run.chatId !== undefined && { [names.conversation]: run.chatId }),
      ...(services.hasContents && { [names.inputMessages]: inputMessages(run.messages) }),
    });
    for (const event of openCalls(run.earlier ?? [])) this.#beginCall(event);
  }

  note({ type, data }: RunEvent): void {
    if (!this.#isSampled) return;
    if (type === 'tool.call') this.#beginCall(data);
    else if (type === 'tool.result') this.#endCall(data);
  }

  tracing(log: ModelRequestLog | undefined): ModelRequestLog {
    return {
      begin: (data, sent, provider) => {
        const { tracer, metrics, hasContents, elapsed } = this.#services;
        const answer = log?.begin(data, sent, provider);
        const span = this.#isSampled ? this.#beginRequest(tracer, { data, sent, provider }) : this.#span;
        const trace = this.#isSampled ? headersBelow(span) : this.#headers;
        const onUsage = (usage: Usage): void => void (this.#usage = addUsage(this.#usage, usage));
        const keepsContents = hasContents && this.#isSampled;
        return new ModelRequestTrace({ span, trace, metrics, sent, provider, hasContents: keepsContents, elapsed, onUsage }, answer);
      },
    };
  }

  headersOf(callId: string, protocol?: 'mcp'): TraceHeaders {
    const call = this.#calls.get(callId);
    if (call === undefined) return this.#headers;
    if (protocol === 'mcp') call.span.setAttribute(names.mcpMethod, 'tools/call');
    return headersBelow(call.span);
  }

  end(ending: RunEnding): void {
    if (!this.#isSampled) return;
    for (const callId of this.#calls.keys()) this.#close(callId, undefined);
    this.#span.setAttribute(names.runStatus, ending.status);
    if (this.#usage !== undefined) this.#span.setAttributes(usageAttributes(this.#usage));
    if ('error' in ending) markFailed(this.#span, ending.error.code);
    this.#span.end();
  }

  #beginRequest(tracer: Tracer, { data, sent, provider }: ModelRequestStart): Span {
    if (typeof data['preset'] === 'string' && data['within'] === undefined) this.#nameAgent(data['preset']);
    const attributes = { ...modelAttributes(sent, provider), ...requestAttributes(sent, data, this.#services.hasContents) };
    return tracer.startSpan(`chat ${sent.model}`, { kind: SpanKind.CLIENT, attributes }, this.#contextWithin(data['within']));
  }

  /** Which preset answers is known when it first asks a model. */
  #nameAgent(preset: string): void {
    if (this.#agent !== undefined) return;
    this.#agent = preset;
    this.#span.updateName(`invoke_agent ${preset}`).setAttribute(names.agent, preset);
  }

  #beginCall({ id, tool, server, args, within }: DataOf<'tool.call'>): void {
    const { tracer, hasContents } = this.#services;
    const span = tracer.startSpan(`execute_tool ${tool}`, { kind: SpanKind.INTERNAL }, this.#contextWithin(within));
    span.setAttributes(callAttributes({ callId: id, tool, server: server ?? '' }));
    if (hasContents) span.setAttribute(names.toolArguments, short(args));
    const preset = presetServer.exec(server ?? '')?.[1];
    this.#calls.set(id, { span, agent: preset === undefined ? undefined : this.#beginInner(preset, span) });
  }

  #beginInner(preset: string, outer: Span): Span {
    const attributes = { [names.operation]: 'invoke_agent', [names.agent]: preset };
    return this.#services.tracer.startSpan(`invoke_agent ${preset}`, { kind: SpanKind.INTERNAL, attributes }, contextBelow(outer));
  }

  #endCall({ id, response, error }: DataOf<'tool.result'>): void {
    if (this.#services.hasContents && response !== undefined) this.#calls.get(id)?.span.setAttribute(names.toolResult, short(response));
    this.#close(id, error?.code);
  }

  #close(callId: string, code: string | undefined): void {
    const call = this.#calls.get(callId);
    if (call === undefined) return;
    this.#calls.delete(callId);
    for (const span of [call.agent, call.span]) {
      if (span === undefined) continue;
      if (code !== undefined) markFailed(span, code);
      span.end();
    }
  }

  /** `within`: the id of the preset's call. */
  #contextWithin(within: unknown): Context {
    const outer = typeof within === 'string' ? this.#calls.get(within) : undefined;
    return contextBelow(outer?.agent ?? outer?.span ?? this.#span);
  }
}

interface ModelRequestStart {
  data: JsonObject;
  sent: SentPrompt;
  provider: string | undefined;
}

export function callAttributes({ callId, tool, server }: { callId: string; tool: string; server: string }): Record<string, string> {
  return {
    [names.operation]: 'execute_tool',
    [names.tool]: tool,
    [names.toolType]: 'function',
    [names.toolCall]: callId,
    [names.server]: server,
  };
}

/** The calls of a suspended run that have no result yet. */
function openCalls(events: readonly LoggedEvent[]): DataOf<'tool.call'>[] {
  const open = new Map<unknown, DataOf<'tool.call'>>();
  for (const { type, data } of events) {
    if (type === 'tool.call') open.set(data['id'], data as DataOf<'tool.call'>);
    else if (type === 'tool.result') open.delete(data['id']);
  }
  return [...open.values()];
}
