import { LRUCache } from 'lru-cache';
import { derivedNames, derivedParameters } from '../../core/chat/derived-parameters.ts';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { ModelRequest } from '../../core/models/model.ts';
import type { JsonObject } from '../../shared/json.ts';

type Asked = Pick<ModelRequest, 'model' | 'parameters'>;

/** How a backend says that it does not take a parameter; others are not left out. */
const refusals: Readonly<Record<string, RegExp>> = {
  // OpenAI's newer models want the longer limit under another name.
  max_tokens: /max_completion_tokens/,
  reasoning_effort: /reasoning[._]effort/,
};

/** Remembers which of the derived parameters (`core/chat/derived-parameters.ts`) a backend's models refuse. One instance per backend. */
export class RefusedParameters {
  readonly #byModel = new LRUCache<string, ReadonlySet<string>>({ max: limits.outputForms, ttl: limits.outputFormMemoryMs });

  /** The parameters for the backend. */
  fit({ model, parameters }: Asked): JsonObject {
    if (parameters[derivedParameters] === undefined) return parameters;
    const { [derivedParameters]: _names, ...fitting } = parameters;
    for (const name of this.#refusedOf(model, parameters)) {
      const { [name]: value } = fitting;
      delete fitting[name];
      if (name === 'max_tokens') fitting['max_completion_tokens'] ??= value;
    }
    return fitting;
  }

  /** Whether a failure is about one that was sent; then the request is worth repeating. */
  learn(error: unknown, { model, parameters }: Asked): boolean {
    if (!(error instanceof GatewayError) || (error.status !== 400 && error.status !== 422)) return false;
    const words = `${error.param ?? ''} ${error.message}`;
    const known = this.#byModel.get(model) ?? new Set();
    const refused = derivedNames(parameters).find((name) => !known.has(name) && refusals[name]?.test(words) === true);
    if (refused === undefined) return false;
    this.#byModel.set(model, new Set([...known, refused]));
    return true;
  }

  #refusedOf(model: string, parameters: JsonObject): string[] {
    const refused = this.#byModel.get(model);
    return refused === undefined ? [] : derivedNames(parameters).filter((name) => refused.has(name));
  }
}
