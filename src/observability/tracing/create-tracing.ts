import { SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import {
  JsonMetricsSerializer,
  JsonTraceSerializer,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
} from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes, type Resource } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader, type ResourceMetrics } from '@opentelemetry/sdk-metrics';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type ReadableSpan,
  type Sampler,
} from '@opentelemetry/sdk-trace';
import type { SendOutbound } from '../../core/outbound.ts';
import type { Tracing } from '../../core/runs/trace.ts';
import { waitAtMost } from '../../shared/async/wait-for.ts';
import { CallSpan } from './call-span.ts';
import { ModelMeter } from './model-meter.ts';
import { names } from './names.ts';
import { OtlpDelivery } from './otlp-delivery.ts';
import { createRunTrace } from './run-trace.ts';
import { contextOf, headersBelow } from './trace-context.ts';
import type { OtlpTarget, TracingSettings } from './tracing-settings.ts';

interface TracingParts {
  settings: TracingSettings;
  version: string;
  send: SendOutbound;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
  logger: { warn(fields: object, message: string): void };
}

/** Further spans are dropped while the collector is away: some megabytes. */
const queuedSpans = 4_096;
const batchSpans = 512;
const exportDelayMs = 2_000;
const metricsIntervalMs = 60_000;
/** How long a shutdown waits for a collector. */
const closingMs = 3_000;

/** Traces and GenAI metrics over OTLP. Only imported if a collector is configured. */
export function createTracing({ settings, version, send, elapsed, logger }: TracingParts): Tracing {
  const resource = resourceFromAttributes({ 'service.version': version, ...settings.resource });
  const delivery = new OtlpDelivery(send, (fault) =>
    logger.warn(
      fault,
      'the OpenTelemetry collector cannot be reached or refuses what it gets; spans and metrics are dropped until it works',
    ),
  );
  const provider = new TracerProvider({
    resource,
    sampler: samplerOf(settings),
    spanProcessors: settings.traces === undefined ? [] : [spanProcessor(settings.traces, delivery)],
  });
  const meter = settings.metrics && new ModelMeter(version);
  const meters = meter && settings.metrics && meterProvider(settings.metrics, { resource, meter, delivery });
  const tracer = provider.getTracer('toolwharf', version);
  const { isParentBased, hasContents } = settings;
  const services = { tracer, meter, isParentBased, hasContents, elapsed };
  return {
    beginRequest: (request) => beginRequest(tracer, request),
    beginRun: (run) => createRunTrace(run, services),
    beginCall: (call) => new CallSpan(call, tracer),
    async close() {
      const closed = Promise.allSettled([provider.shutdown(), meters?.shutdown()]).then(() => delivery.whenDelivered());
      await waitAtMost(closingMs, closed, () => undefined);
      delivery.end();
    },
  };
}

function spanProcessor(target: OtlpTarget, delivery: OtlpDelivery): BatchSpanProcessor {
  const serializer = isJson(target) ? JsonTraceSerializer : ProtobufTraceSerializer;
  const exporter = delivery.exporterTo<ReadableSpan[]>(target, (spans) => serializer.serializeRequest(spans));
  return new BatchSpanProcessor({
    exporter,
    maxQueueSize: queuedSpans,
    maxExportBatchSize: batchSpans,
    scheduledDelayMillis: exportDelayMs,
  });
}

function meterProvider(
  target: OtlpTarget,
  { resource, meter, delivery }: { resource: Resource; meter: ModelMeter; delivery: OtlpDelivery },
): MeterProvider {
  const serializer = isJson(target) ? JsonMetricsSerializer : ProtobufMetricsSerializer;
  const exporter = delivery.exporterTo<ResourceMetrics>(target, (metrics) => serializer.serializeRequest(metrics));
  const intervals = { exportIntervalMillis: metricsIntervalMs, exportTimeoutMillis: metricsIntervalMs };
  return new MeterProvider({
    resource,
    readers: [new PeriodicExportingMetricReader({ exporter, metricProducers: [meter], ...intervals })],
  });
}

function isJson({ contentType }: OtlpTarget): boolean {
  return contentType === 'application/json';
}

function samplerOf({ sampler, isParentBased, ratio }: TracingSettings): Sampler {
  const root =
    sampler === 'traceidratio'
      ? new TraceIdRatioBasedSampler(ratio)
      : sampler === 'always_on'
        ? new AlwaysOnSampler()
        : new AlwaysOffSampler();
  return isParentBased ? new ParentBasedSampler({ root }) : root;
}

function beginRequest(
  tracer: Tracer,
  { method, path, route, readHeader }: Parameters<Tracing['beginRequest']>[0],
): ReturnType<Tracing['beginRequest']> {
  const name = route === undefined ? method : `${method} ${route}`;
  const span = tracer.startSpan(name, { kind: SpanKind.SERVER }, contextOf(readHeader));
  if (span.isRecording()) span.setAttributes({ [names.requestMethod]: method, [names.path]: path });
  return {
    headers: headersBelow(span),
    end({ route: matched, status }) {
      if (!span.isRecording()) return;
      span.setAttribute(names.statusCode, status);
      if (matched !== undefined) span.setAttribute(names.route, matched);
      if (status >= 500) span.setAttribute(names.errorType, String(status)).setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}
