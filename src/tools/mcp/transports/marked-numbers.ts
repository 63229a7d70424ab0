import { randomUUID } from 'node:crypto';
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { ExactNumber, isJsonNumber, toNumber } from '../../../shared/json/exact-number.ts';
import { isJsonObject } from '../../../shared/json/json.ts';
import { hiddenMember } from '../incoming/hidden-fields.ts';
import { boundedStream, type BoundedStreamOptions } from './bounded-stream.ts';

/** Fields whose numbers keep their digits; those of the protocol itself, such as progress, are JavaScript numbers. */
const exactFields: ReadonlySet<string> = new Set(['structuredContent', 'inputSchema', 'outputSchema', hiddenMember]);

/**
 * The SDK parses messages itself, with `JSON.parse`, and accepts only JSON. So a number that would lose digits passes it as a text with a mark, which no
 * server can know.
 */
export class MarkedNumbers {
  readonly #prefix = `number ${randomUUID()} `;
  #hasMarked = false;

  /** Passes a body on as `boundedStream` does, with marks. */
  pass(body: AsyncIterable<Uint8Array>, options: BoundedStreamOptions): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    return boundedStream(body, { ...options, replaceNumber: (source) => this.#markOf(source) });
  }

  /** Must see every incoming message before the SDK does: marks that do not have to pass it become JavaScript numbers. */
  unmarkProtocol(message: JSONRPCMessage): JSONRPCMessage {
    return this.#hasMarked ? (this.#replaceMarks(message, Number, exactFields) as JSONRPCMessage) : message;
  }

  /** What the SDK gave, with an `ExactNumber` for each mark. */
  unmark<Value>(value: Value): Value {
    return this.#hasMarked ? (this.#replaceMarks(value, (source) => new ExactNumber(source)) as Value) : value;
  }

  #markOf(number: string): string | undefined {
    if (!isJsonNumber(number) || !(toNumber(number) instanceof ExactNumber)) return undefined;
    this.#hasMarked = true;
    return `"${this.#prefix}${number}"`;
  }

  /** A server that has learned the prefix might put it in front of anything. */
  #isMark(text: string): boolean {
    return text.startsWith(this.#prefix) && isJsonNumber(text.slice(this.#prefix.length));
  }

  #replaceMarks(value: unknown, replace: (source: string) => unknown, kept?: ReadonlySet<string>): unknown {
    if (typeof value === 'string') return this.#isMark(value) ? replace(value.slice(this.#prefix.length)) : value;
    if (Array.isArray(value)) return value.map((entry) => this.#replaceMarks(entry, replace, kept));
    if (!isJsonObject(value)) return value;
    const entries = Object.entries(value).map(([key, child]) => [
      key,
      kept?.has(key) === true ? child : this.#replaceMarks(child, replace, kept),
    ]);
    return Object.fromEntries(entries);
  }
}
