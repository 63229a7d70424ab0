import { ROOT_CONTEXT, trace, type Context, type Span } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { ReadRequestHeader } from '../../core/chat/request-headers.ts';
import type { TraceHeaders } from '../../core/outbound.ts';

const propagator = new W3CTraceContextPropagator();
const headers = { keys: () => [], get: (read: ReadRequestHeader, name: string) => read(name) };

/** The context of a request by its W3C headers; the root if it has none, or none that can be read. */
export function contextOf(readHeader: ReadRequestHeader | undefined): Context {
  return readHeader?.('traceparent') === undefined ? ROOT_CONTEXT : propagator.extract(ROOT_CONTEXT, readHeader, headers);
}

export function contextBelow(span: Span): Context {
  return trace.setSpan(ROOT_CONTEXT, span);
}

/** What a request is sent with so that its work is traced below this span, also if it is not sampled. */
export function headersBelow(span: Span): TraceHeaders {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const tracestate = traceState?.serialize() ?? '';
  const traceparent = `00-${traceId}-${spanId}-0${traceFlags & 1}`;
  return tracestate === '' ? { traceparent } : { traceparent, tracestate };
}

/** What a request is sent with, if its trace is not sampled; undefined if it is, or if there is none. */
export function unsampledHeaders(readHeader: ReadRequestHeader | undefined): TraceHeaders | undefined {
  const traceparent = readHeader?.('traceparent');
  if (traceparent === undefined || !unsampled.test(traceparent)) return undefined;
  const tracestate = readHeader?.('tracestate');
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}

const unsampled = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f][02468ace]$/;
