import type { TracingSettings } from '../../observability/tracing/tracing-settings.ts';
import type { SettingsReader } from './read-settings.ts';

/** Undefined: nothing is traced, and nothing of OpenTelemetry is loaded. @throws ConfigError */
export function readTracing(settings: SettingsReader): TracingSettings | undefined {
  const base = settings.read('OTEL_EXPORTER_OTLP_ENDPOINT');
  const tracesUrl = settings.read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') ?? (base && `${base}/v1/traces`);
  const metricsUrl = settings.read('OTEL_EXPORTER_OTLP_METRICS_ENDPOINT') ?? (base && `${base}/v1/metrics`);
  if ((tracesUrl ?? metricsUrl) === undefined || settings.read('OTEL_SDK_DISABLED')) return undefined;
  const isJson = settings.read('OTEL_EXPORTER_OTLP_PROTOCOL') === 'http/json';
  const headers = settings.read('OTEL_EXPORTER_OTLP_HEADERS') ?? {};
  const target = { headers, contentType: isJson ? 'application/json' : 'application/x-protobuf' } as const;
  const hasTraces = tracesUrl !== undefined && settings.read('OTEL_TRACES_EXPORTER') === 'otlp';
  const hasMetrics = metricsUrl !== undefined && settings.read('OTEL_METRICS_EXPORTER') === 'otlp';
  const sampler = settings.read('OTEL_TRACES_SAMPLER');
  return {
    traces: hasTraces ? { ...target, url: tracesUrl } : undefined,
    metrics: hasMetrics ? { ...target, url: metricsUrl } : undefined,
    sampler: hasTraces ? withoutParent(sampler) : 'always_off',
    isParentBased: hasTraces && sampler.startsWith('parentbased_'),
    ratio: settings.read('OTEL_TRACES_SAMPLER_ARG'),
    resource: { ...settings.read('OTEL_RESOURCE_ATTRIBUTES'), 'service.name': settings.read('OTEL_SERVICE_NAME') },
    hasContents: settings.read('OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'),
  };
}

type Sampler = ReturnType<SettingsReader['read']> & string;

function withoutParent(sampler: Sampler): TracingSettings['sampler'] {
  const name = sampler.replace('parentbased_', '');
  return name === 'traceidratio' || name === 'always_off' ? name : 'always_on';
}
