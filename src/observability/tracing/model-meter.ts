import { ValueType, type Attributes, type HrTime } from '@opentelemetry/api';
import { hrTime } from '@opentelemetry/core';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  DataPointType,
  type CollectionResult,
  type HistogramMetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { Usage } from '../../core/chat/chat.ts';
import { metrics, names } from './names.ts';

/** Combinations of model, provider and error code; further ones count together. */
const maxSeries = 500;
const other = { model: 'other', provider: undefined, code: undefined };

interface Series {
  duration: Counts;
  input: Counts;
  output: Counts;
}

interface MeasuredModel {
  model: string;
  provider: string | undefined;
  /** Undefined for success. */
  code: string | undefined;
}

/**
 * The GenAI client metrics of model requests. The SDK's own instruments build a text of all attributes for each value, which is a twentieth of what a short
 * chat allocates; here the values of a model are added to numbers that are found by its name.
 */
export class ModelMeter implements MetricProducer {
  readonly #version: string;
  readonly #began: HrTime = hrTime();
  readonly #series = new Map<string, Series>();

  constructor(version: string) {
    this.#version = version;
  }

  record({ seconds, usage, ...measured }: MeasuredModel & { seconds: number; usage: Usage | undefined }): void {
    const { duration, input, output } = this.#seriesOf(measured);
    duration.add(seconds);
    if (usage === undefined) return;
    input.add(usage.prompt_tokens);
    output.add(usage.completion_tokens);
  }

  async collect(): Promise<CollectionResult> {
    const all = [...this.#series.values()];
    const scope = { name: 'toolwharf', version: this.#version };
    const data = [
      this.#dataOf(
        metrics.duration,
        all.map(({ duration }) => duration),
      ),
      this.#dataOf(
        metrics.tokens,
        all.flatMap(({ input, output }) => [input, output]),
      ),
    ];
    const scopeMetrics = all.length === 0 ? [] : [{ scope, metrics: data.filter(({ dataPoints }) => dataPoints.length > 0) }];
    return { resourceMetrics: { resource: emptyResource(), scopeMetrics }, errors: [] };
  }

  #seriesOf(measured: MeasuredModel): Series {
    const { model, provider = '', code = '' } = measured;
    const key = code === '' ? model : `${model}\n${code}`;
    const known = this.#series.get(`${provider}\n${key}`);
    if (known !== undefined) return known;
    if (this.#series.size >= maxSeries && measured !== other) return this.#seriesOf(other);
    const attributes = modelAttributes(model, measured.provider);
    const made = {
      duration: new Counts(metrics.duration.bounds, code === '' ? attributes : { ...attributes, [names.errorType]: code }),
      input: new Counts(metrics.tokens.bounds, { ...attributes, [names.tokenType]: 'input' }),
      output: new Counts(metrics.tokens.bounds, { ...attributes, [names.tokenType]: 'output' }),
    };
    this.#series.set(`${provider}\n${key}`, made);
    return made;
  }

  #dataOf({ name, unit, description }: (typeof metrics)[keyof typeof metrics], counts: readonly Counts[]): HistogramMetricData {
    const endTime = hrTime();
    return {
      descriptor: { name, unit, description, valueType: ValueType.DOUBLE },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
      dataPointType: DataPointType.HISTOGRAM,
      dataPoints: counts.flatMap((each) =>
        each.count === 0 ? [] : [{ startTime: this.#began, endTime, attributes: each.attributes, value: each.value() }],
      ),
    };
  }
}

/** One histogram. */
class Counts {
  readonly attributes: Attributes;
  count = 0;
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;
  #min = Infinity;
  #max = -Infinity;

  constructor(bounds: readonly number[], attributes: Attributes) {
    this.attributes = attributes;
    this.#bounds = bounds;
    this.#counts = [...bounds.map(() => 0), 0];
  }

  /** Numbers of tokens come from backends. */
  add(value: number): void {
    if (!Number.isFinite(value) || value < 0) return;
    let index = 0;
    while (index < this.#bounds.length && value > (this.#bounds[index] ?? Infinity)) index += 1;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.count += 1;
    this.#sum += value;
    this.#min = Math.min(this.#min, value);
    this.#max = Math.max(this.#max, value);
  }

  value(): HistogramMetricData['dataPoints'][number]['value'] {
    const buckets = { boundaries: [...this.#bounds], counts: [...this.#counts] };
    return { buckets, count: this.count, sum: this.#sum, min: this.#min, max: this.#max };
  }
}

export function modelAttributes(model: string, provider = 'unknown'): Attributes {
  return { [names.operation]: 'chat', [names.provider]: provider, [names.requestModel]: model };
}
