export interface OtlpTarget {
  /** The whole URL, with `/v1/traces` or `/v1/metrics`. */
  url: string;
  headers: Readonly<Record<string, string>>;
  contentType: 'application/x-protobuf' | 'application/json';
}

export interface TracingSettings {
  /** Undefined: no spans are sent, but the trace of a request is passed on. */
  traces: OtlpTarget | undefined;
  /** Undefined: no metrics are sent. */
  metrics: OtlpTarget | undefined;
  sampler: 'always_on' | 'always_off' | 'traceidratio';
  /** Whether the client's trace decides, where there is one. */
  isParentBased: boolean;
  /** The part of traces that `traceidratio` samples: 0 to 1. */
  ratio: number;
  /** `service.name` among them. */
  resource: Readonly<Record<string, string>>;
  /** Whether spans have what users, models and tools wrote. */
  hasContents: boolean;
}
