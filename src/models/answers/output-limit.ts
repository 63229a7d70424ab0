import { GatewayError } from '../../core/errors.ts';

/** All of one streamed answer; images as data URIs fit. */
export const upstreamAnswerBytes = 64 * 1024 * 1024;

const megabyte = 1024 * 1024;

/**
 * Counts the characters of one answer: text, reasoning, refusals, names and arguments of calls, further fields, over all choices. A model in a
 * loop would go on forever, and as each chunk keeps the connection alive, no time limit would end it.
 */
export class OutputLimit {
  readonly #backendName: string;
  readonly #max: number;
  #characters = 0;

  /** `max` is in characters. A text has at most as many characters as bytes, so the byte limit of a whole answer serves for a stream too. */
  constructor(backendName: string, max: number = upstreamAnswerBytes) {
    this.#backendName = backendName;
    this.#max = max;
  }

  /** @throws GatewayError `upstream_invalid_response` once the answer exceeds the limit. */
  add(characters: number): void {
    this.#characters += characters;
    if (this.#characters <= this.#max) return;
    const size = `${Math.round(this.#max / megabyte)} MB`;
    const message = `The model backend "${this.#backendName}" sent more than ${size} in one answer. Set "max_tokens" to end such answers sooner.`;
    throw new GatewayError('upstream_invalid_response', message);
  }
}
