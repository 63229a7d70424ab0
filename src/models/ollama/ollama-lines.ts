import { setImmediate as nextTurn } from 'node:timers/promises';
import { GatewayError } from '../../core/errors.ts';
import { isDeeperThan, isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { hasMoreValuesThan } from '../../shared/json-depth.ts';
import { limits } from '../../core/limits.ts';
import type { SecretMask } from '../../shared/secrets/secret-mask.ts';
import { reportedFault } from '../upstream-errors.ts';

/** Reads a stream of JSON lines and lets only whole, sound ones through. */
export class NdjsonReader {
  /** True once a line said `done`. */
  isDone = false;
  readonly #name: string;
  readonly #mask: SecretMask;
  #rest = '';

  constructor(name: string, mask: SecretMask) {
    this.#name = name;
    this.#mask = mask;
  }

  /**
   * The same lines, checked, in chunks as they came. After the line with `done` the rest of the body is read and dropped.
   * @throws GatewayError `upstream_line_too_long`, `upstream_invalid_response`, `upstream_incomplete`, and what an `error` line says.
   */
  async *read(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    const decoder = new TextDecoder();
    for await (const piece of body) {
      if (this.isDone) continue;
      yield* this.#take(decoder.decode(piece.subarray(0, limits.upstreamSliceBytes), { stream: true }));
      if (piece.byteLength > limits.upstreamSliceBytes) yield* this.#takeRest(piece, decoder);
    }
    if (!this.isDone) yield* this.#take(`${decoder.decode()}\n`);
    if (!this.isDone)
      throw new GatewayError('upstream_incomplete', `The model backend "${this.#name}" ended its answer before it was complete.`);
  }

  /** What of a large piece lies behind its first slice, with everybody else between two slices. */
  async *#takeRest(piece: Uint8Array, decoder: InstanceType<typeof TextDecoder>): AsyncGenerator<Uint8Array, void, undefined> {
    for (let start: number = limits.upstreamSliceBytes; start < piece.byteLength && !this.isDone; start += limits.upstreamSliceBytes) {
      await nextTurn();
      yield* this.#take(decoder.decode(piece.subarray(start, start + limits.upstreamSliceBytes), { stream: true }));
    }
  }

  *#take(text: string): Generator<Uint8Array, void, undefined> {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    const sound: string[] = [];
    let fault: unknown;
    try {
      for (const line of lines) {
        if (this.isDone || line.trim() === '') continue;
        this.#check(line);
        sound.push(line);
      }
      this.#checkLength(this.#rest);
    } catch (error) {
      fault = error;
    }
    // What came before a fault was said and is passed on.
    if (sound.length > 0) yield new TextEncoder().encode(`${sound.join('\n')}\n`);
    if (fault !== undefined) throw fault;
  }

  #check(line: string): void {
    this.#checkLength(line);
    const value = parseObject(line, this.#name, this.#mask);
    this.isDone = value['done'] === true;
  }

  #checkLength(line: string): void {
    if (line.length <= limits.upstreamLineBytes) return;
    const message = `The model backend "${this.#name}" sent a line of more than ${limits.upstreamLineBytes} bytes.`;
    throw new GatewayError('upstream_line_too_long', message);
  }
}

/**
 * One JSON object of Ollama.
 * @throws GatewayError `upstream_invalid_response`; for `{"error": "…"}` what it says.
 */
function parseObject(text: string, name: string, mask: SecretMask): JsonObject {
  const isHeavy = text.length > limits.smallBodyBytes && hasMoreValuesThan(text, limits.upstreamLineValues);
  if (isHeavy)
    throw new GatewayError(
      'upstream_invalid_response',
      `The model backend "${name}" sent a line of more than ${limits.upstreamLineValues} values.`,
    );
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    throw new GatewayError('upstream_invalid_response', `The model backend "${name}" sent something that is not JSON.`, { cause: error });
  }
  return requireAnswer(value, name, mask);
}

/** @throws GatewayError `upstream_invalid_response` for what is no object; for `{"error": "…"}` what it says. */
export function requireAnswer(value: JsonValue, name: string, mask: SecretMask): JsonObject {
  if (!isJsonObject(value) || isDeeperThan(value, limits.jsonDepth)) {
    throw new GatewayError('upstream_invalid_response', `The model backend "${name}" sent JSON that is not an answer.`);
  }
  const error = ownValue(value, 'error');
  if (error === undefined || error === null) return value;
  throw reportedFault(value, name, mask);
}
