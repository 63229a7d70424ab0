import { SpanKind, type Span, type Tracer } from '@opentelemetry/api';
import type { TraceHeaders } from '../../core/outbound.ts';
import type { CallTrace, TracedCall } from '../../core/runs/trace.ts';
import { markFailed } from './model-request-trace.ts';
import { names } from './names.ts';
import { callAttributes } from './run-trace.ts';
import { contextOf, headersBelow } from './trace-context.ts';

/** The span of a call outside of a run. */
export class CallSpan implements CallTrace {
  readonly #span: Span;

  constructor(call: TracedCall, tracer: Tracer) {
    const attributes = callAttributes(call);
    this.#span = tracer.startSpan(`execute_tool ${call.tool}`, { kind: SpanKind.INTERNAL, attributes }, contextOf(call.readHeader));
  }

  headersOf(_callId: string, protocol?: 'mcp'): TraceHeaders {
    if (protocol === 'mcp') this.#span.setAttribute(names.mcpMethod, 'tools/call');
    return headersBelow(this.#span);
  }

  end(code: string | undefined): void {
    if (code !== undefined) markFailed(this.#span, code);
    this.#span.end();
  }
}
