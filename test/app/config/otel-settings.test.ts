import { expect, it } from 'vitest';
import { ConfigError, readConfig } from '../../../src/app/config/config.ts';
import type { Config } from '../../../src/app/config/config.ts';

const read = (environment: NodeJS.ProcessEnv): Config['tracing'] => readConfig(environment, () => undefined).tracing;
const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

it('traces nothing without a collector, or if OpenTelemetry is turned off', () => {
  expect(read({ OTEL_SERVICE_NAME: 'gateway' })).toBeUndefined();
  expect(read({ ...endpoint, OTEL_SDK_DISABLED: 'true' })).toBeUndefined();
});

it('sends traces and metrics below the base URL, and to the whole URLs as they are', () => {
  expect(read(endpoint)).toMatchObject({
    traces: { url: 'http://127.0.0.1:4318/v1/traces', contentType: 'application/x-protobuf' },
    metrics: { url: 'http://127.0.0.1:4318/v1/metrics' },
    sampler: 'always_on',
    isParentBased: true,
    resource: { 'service.name': 'toolwharf' },
    hasContents: false,
  });
  expect(read({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:4318/in' })).toMatchObject({
    traces: { url: 'http://127.0.0.1:4318/in' },
    metrics: undefined,
  });
});

it('reads samplers, headers and attributes', () => {
  const settings = {
    ...endpoint,
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.1',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20x, x-team = a=b',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=ignored',
    OTEL_SERVICE_NAME: 'front-door',
  };
  expect(read(settings)).toMatchObject({
    traces: { headers: { authorization: 'Bearer x', 'x-team': 'a=b' } },
    metrics: undefined,
    sampler: 'traceidratio',
    isParentBased: true,
    ratio: 0.1,
    resource: { 'deployment.environment.name': 'test', 'service.name': 'front-door' },
  });
});

it.each([
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /^OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" is not supported; set http\/protobuf.*4318/],
  [{ OTEL_TRACES_SAMPLER: 'jaeger_remote' }, /^OTEL_TRACES_SAMPLER: "jaeger_remote" .*set always_on, always_off, traceidratio/],
  [{ OTEL_TRACES_SAMPLER_ARG: '10%' }, /^OTEL_TRACES_SAMPLER_ARG: "10%" is not a number from 0 to 1; set the part of traces/],
  [{ OTEL_TRACES_EXPORTER: 'zipkin' }, /^OTEL_TRACES_EXPORTER: "zipkin" .*set otlp, none/],
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'secret' }, /^OTEL_EXPORTER_OTLP_HEADERS: its value has an entry without a name or value/],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a:b@127.0.0.1:4318' }, /^OTEL_EXPORTER_OTLP_ENDPOINT: .*contains a user name or password/],
])('refuses %j with the reason', (settings, message) => {
  let problem: unknown;
  try {
    read({ ...endpoint, ...settings });
  } catch (error) {
    problem = error;
  }
  expect(problem).toBeInstanceOf(ConfigError);
  expect((problem as ConfigError).message).toMatch(message);
});
