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
import { modelAttributes } from './model-meter.ts';
import { markFailed, MeasuredAnswer, requestAttributes, TracedAnswer, usageAttributes, type Measuring } from './model-request-trace.ts';
import { names } from './names.ts';
import { contextBelow, contextOf, headersBelow, unsampledHeaders } from './trace-context.ts';

export interface TraceServices extends Measuring {
  tracer: Tracer;
  /** Whether the trace of a request decides if its run is sampled. */
  isParentBased: boolean;
  hasContents: boolean;
}

export function createRunTrace(run: TracedRun, services: TraceServices): RunTrace {
  const unsampled = services.isParentBased ? unsampledHeaders(run.readHeader) : undefined;
  if (unsampled !== undefined) return new UnsampledRun(unsampled, services);
  const span = services.tracer.startSpan(`invoke_agent ${gateway}`, { kind: SpanKind.INTERNAL }, contextOf(run.readHeader));
  return span.isRecording() ? new RunSpans(span, run, services) : new UnsampledRun(headersBelow(span), services);
}

/** Passes the trace of the request on. */
class UnsampledRun implements RunTrace {
  readonly #headers: TraceHeaders;
  readonly #measuring: Measuring;

  constructor(headers: TraceHeaders, measuring: Measuring) {
    this.#headers = headers;
    this.#measuring = measuring;
  }

  note(): void {
    // Nothing is recorded.
  }

  tracing(log: ModelRequestLog | undefined): ModelRequestLog {
    return {
      begin: (data, sent, provider) =>
        new MeasuredAnswer(this.#measuring, {
          trace: this.#headers,
          model: sent.model,
          provider,
          log: log?.begin(data, sent, provider),
        }),
    };
  }

  headersOf(): TraceHeaders {
    return this.#headers;
  }

  end(): void {
    // Nothing was begun.
  }
}

/** A call that runs. A preset that is called as a tool is an agent within it. */
interface OpenCall {
  span: Span;
  agent: Span | undefined;
}

/** The agent that answers where no preset does. */
const gateway = 'toolwharf';
const presetServer = /^preset:(.*)$/;

/** The spans of one run: the agent, its model requests, its calls, and those of presets that it calls as tools. */
class RunSpans implements RunTrace {
  readonly #services: TraceServices;
  readonly #span: Span;
  readonly #calls = new Map<string, OpenCall>();
  #agent: string | undefined;
  #usage: Usage | undefined;

  constructor(span: Span, run: TracedRun, services: TraceServices) {
    this.#span = span;
    this.#services = services;
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
    if (type === 'tool.call') this.#beginCall(data);
    else if (type === 'tool.result') this.#endCall(data);
  }

  tracing(log: ModelRequestLog | undefined): ModelRequestLog {
    const onUsage = (usage: Usage): void => void (this.#usage = addUsage(this.#usage, usage));
    return {
      begin: (data, sent, provider) => {
        const answer = log?.begin(data, sent, provider);
        const span = this.#beginRequest({ data, sent, provider });
        const measured = { trace: headersBelow(span), model: sent.model, provider, log: answer };
        return new TracedAnswer(this.#services, measured, { span, hasContents: this.#services.hasContents, onUsage });
      },
    };
  }

  headersOf(callId: string, protocol?: 'mcp'): TraceHeaders {
    const call = this.#calls.get(callId);
    if (call === undefined) return headersBelow(this.#span);
    if (protocol === 'mcp') call.span.setAttribute(names.mcpMethod, 'tools/call');
    return headersBelow(call.span);
  }

  end(ending: RunEnding): void {
    for (const callId of this.#calls.keys()) this.#close(callId, undefined);
    this.#span.setAttribute(names.runStatus, ending.status);
    if (this.#usage !== undefined) this.#span.setAttributes(usageAttributes(this.#usage));
    if ('error' in ending) markFailed(this.#span, ending.error.code);
    this.#span.end();
  }

  #beginRequest({ data, sent, provider }: ModelRequestStart): Span {
    if (typeof data['preset'] === 'string' && data['within'] === undefined) this.#nameAgent(data['preset']);
    const { tracer, hasContents } = this.#services;
    const attributes = { ...modelAttributes(sent.model, provider), ...requestAttributes(sent, data, hasContents) };
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
