import { InvalidValue } from './config-error.ts';
import type { Setting } from './setting.ts';
import { flag, httpUrl, listOf, oneOf, text, type ParseValue } from './setting-values.ts';

const exporters = ['otlp', 'none'] as const;
const protocols = ['http/protobuf', 'http/json'] as const;
const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

const protocol: ParseValue<(typeof protocols)[number]> = (value) => {
  if (text(value).toLowerCase() !== 'grpc') return oneOf(protocols)(value);
  throw new InvalidValue('is not supported', "set http/protobuf, and the collector's port for HTTP, mostly 4318");
};

const ratio: ParseValue<number> = (value) => {
  const number = Number(text(value));
  if (text(value) !== '' && number >= 0 && number <= 1) return number;
  throw new InvalidValue('is not a number from 0 to 1', 'set the part of traces to sample, such as 0.1');
};

const endpoint: ParseValue<string> = (value) => httpUrl(text(value));

/** `name=value` pairs, percent-encoded, as W3C Baggage has them. */
const pairs: ParseValue<Record<string, string>> = (value) =>
  Object.fromEntries(
    listOf(',', (entry) => {
      const [name, written] = splitOnce(entry);
      if (name === '' || written === undefined)
        throw new InvalidValue('has an entry without a name or value', 'set name=value, separated by commas', 'the list');
      return [name, decoded(written)] as const;
    })(value),
  );

function splitOnce(entry: string): [name: string, value?: string] {
  const end = entry.indexOf('=');
  return end === -1 ? [entry.trim()] : [entry.slice(0, end).trim(), entry.slice(end + 1).trim()];
}

function decoded(written: string): string {
  try {
    return decodeURIComponent(written);
  } catch {
    throw new InvalidValue('has a value that is not percent-encoded correctly', 'write % as %25', 'the list');
  }
}

/** OpenTelemetry's own variables, as far as the gateway has what they set. */
export const otelSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    parse: endpoint,
    meaning:
      'base URL of an OpenTelemetry collector; turns on [traces](operations.md#traces), sent to `/v1/traces` and `/v1/metrics` below it',
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: { parse: endpoint, meaning: 'whole URL for traces; by itself it turns on traces alone' },
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: { parse: endpoint, meaning: 'whole URL for metrics; by itself it turns on metrics alone' },
  OTEL_EXPORTER_OTLP_HEADERS: {
    parse: pairs,
    isSecret: true,
    meaning: 'headers for the collector, such as a key: `name=value`, separated by commas, percent-encoded',
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    fallback: 'http/protobuf',
    parse: protocol,
    meaning: '`http/protobuf` or `http/json`; gRPC is not supported',
  },
  OTEL_TRACES_EXPORTER: {
    fallback: 'otlp',
    parse: oneOf(exporters),
    meaning: '`none`: no spans are sent, but `traceparent` is still passed on',
  },
  OTEL_METRICS_EXPORTER: {
    fallback: 'otlp',
    parse: oneOf(exporters),
    meaning: '`none`: no metrics are sent, for collectors that take only traces',
  },
  OTEL_TRACES_SAMPLER: {
    fallback: 'parentbased_always_on',
    parse: oneOf(samplers),
    meaning: `which traces are sampled: ${samplers.map((name) => `\`${name}\``).join(', ')}; \`parentbased\`: the client's \`traceparent\` decides if there is one`,
  },
  OTEL_TRACES_SAMPLER_ARG: { fallback: '1', parse: ratio, meaning: 'the part of traces that `traceidratio` samples, 0 to 1' },
  OTEL_SERVICE_NAME: { fallback: 'toolwharf', parse: text, meaning: 'the name of the gateway in traces' },
  OTEL_RESOURCE_ATTRIBUTES: {
    parse: pairs,
    meaning: 'further attributes of the gateway in traces: `name=value`, separated by commas, percent-encoded',
  },
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: {
    fallback: 'false',
    parse: flag,
    meaning: '`true`: spans have what users, models and tools wrote, as text',
  },
  OTEL_SDK_DISABLED: { fallback: 'false', parse: flag, meaning: '`true` turns traces and metrics off' },
} as const satisfies Record<string, Setting<unknown>>;
