import type { Attributes, Histogram, Meter } from '@opentelemetry/api';
import type { Usage } from '../../core/chat/chat.ts';
import { metrics, names } from './names.ts';

/** Models whose attributes are kept, because making them anew costs more than counting. */
const keptModels = 100;

interface ModelAttributes {
  all: Attributes;
  input: Attributes;
  output: Attributes;
}

/** The GenAI client metrics of model requests. */
export class ModelMeter {
  readonly #tokens: Histogram;
  readonly #duration: Histogram;
  readonly #attributes = new Map<string, ModelAttributes>();

  constructor(meter: Meter) {
    const { tokens, duration } = metrics;
    this.#tokens = meter.createHistogram(tokens.name, { unit: tokens.unit, description: 'Number of input and output tokens used' });
    this.#duration = meter.createHistogram(duration.name, { unit: duration.unit, description: 'GenAI operation duration' });
  }

  /** `code`: undefined for success. */
  record(request: {
    model: string;
    provider: string | undefined;
    seconds: number;
    usage: Usage | undefined;
    code: string | undefined;
  }): void {
    const { model, provider, seconds, usage, code } = request;
    const { all, input, output } = this.#attributesOf(model, provider);
    this.#duration.record(seconds, code === undefined ? all : { ...all, [names.errorType]: code });
    if (usage === undefined) return;
    this.#tokens.record(usage.prompt_tokens, input);
    this.#tokens.record(usage.completion_tokens, output);
  }

  #attributesOf(model: string, provider: string | undefined): ModelAttributes {
    const known = this.#attributes.get(model);
    if (known !== undefined && known.all[names.provider] === provider) return known;
    const all = modelAttributes(model, provider);
    const made = { all, input: { ...all, [names.tokenType]: 'input' }, output: { ...all, [names.tokenType]: 'output' } };
    if (this.#attributes.size < keptModels) this.#attributes.set(model, made);
    return made;
  }
}

export function modelAttributes(model: string, provider = 'unknown'): Attributes {
  return { [names.operation]: 'chat', [names.provider]: provider, [names.requestModel]: model };
}
