import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { ExactNumber, isJsonNumber, toNumber } from '../../../shared/exact-number.ts';
import { endOfString } from '../../../shared/json-depth.ts';
import { isJsonObject } from '../../../shared/json.ts';
import { losesDigits } from '../../../shared/parse-exactly.ts';
import { boundedStream } from './bounded-stream.ts';
import type { BoundedStreamOptions, Framing } from './bounded-stream.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
/** As much as Node reads from a socket at once, in sixteen of its turns. */
const bytesPerTurn = 1024 * 1024;
/** As JSON delimits them: an event stream may also have addresses, whose ids may look like numbers (`4e567`). */
const numbers = /(?<=^|[\s:,[])-?\d[\d.]*(?:[eE][+-]?\d+)?(?=[\s,\]}]|$)/g;
/** Fields whose numbers keep their digits; those of the protocol itself, such as progress, are JavaScript numbers. */
const exactFields: ReadonlySet<string> = new Set(['structuredContent', 'inputSchema', 'outputSchema']);

/**
 * The SDK parses messages itself, with `JSON.parse`, and accepts only JSON. So a number that would lose digits passes it as a text with a mark, which no
 * server can know.
 */
export class MarkedNumbers {
  readonly #prefix = `number ${randomUUID()} `;
  #hasMarked = false;

  /** Passes a body on as `boundedStream` does, and marks its numbers line by line. JSON breaks no line within a number or a text. */
  async *pass(body: AsyncIterable<Uint8Array>, options: BoundedStreamOptions): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    /** The incomplete last line. */
    let waiting: Uint8Array<ArrayBuffer>[] = [];
    let hasLongNumber = false;
    for await (const piece of boundedStream(body, { ...options, onLongNumber: () => (hasLongNumber = true) })) {
      const end = Math.max(piece.lastIndexOf(lineFeed), piece.lastIndexOf(carriageReturn)) + 1;
      if (end === 0) {
        waiting.push(piece);
        continue;
      }
      yield* this.#passLines([...waiting, piece.subarray(0, end)], options.framing, hasLongNumber);
      waiting = end < piece.length ? [piece.subarray(end)] : [];
      // It may be in the line that has begun.
      hasLongNumber &&= waiting.length > 0;
    }
    yield* this.#passLines(waiting, options.framing, hasLongNumber);
  }

  /** Most messages have no such number: they are passed on as they came, a large one over several turns of the event loop. */
  async *#passLines(
    pieces: readonly Uint8Array<ArrayBuffer>[],
    framing: Framing,
    hasLongNumber: boolean,
  ): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    if (hasLongNumber) return yield this.#markLines(Buffer.concat(pieces), framing);
    let inTurn = 0;
    for (const piece of pieces) {
      yield piece;
      inTurn += piece.length;
      if (inTurn < bytesPerTurn) continue;
      inTurn = 0;
      await nextTurn();
    }
  }

  /** Must see every incoming message before the SDK does: marks that do not have to pass it become JavaScript numbers. */
  unmarkProtocol(message: JSONRPCMessage): JSONRPCMessage {
    return this.#hasMarked ? (this.#replaceMarks(message, Number, exactFields) as JSONRPCMessage) : message;
  }

  /** What the SDK gave, with an `ExactNumber` for each mark. */
  unmark<Value>(value: Value): Value {
    return this.#hasMarked ? (this.#replaceMarks(value, (source) => new ExactNumber(source)) as Value) : value;
  }

  #markLines(bytes: Buffer<ArrayBuffer>, framing: Framing): Uint8Array<ArrayBuffer> {
    // As Latin-1 each byte is a character, and in UTF-8 no other byte looks like one of ASCII.
    const text = bytes.toString('latin1');
    const lines = framing === 'body' ? [text] : text.split(/(?<=[\r\n])/);
    return Buffer.from(lines.map((line) => this.#markLine(line, framing)).join(''), 'latin1');
  }

  /** Only what is outside of strings is looked at closely: they may hold megabytes of numbers. */
  #markLine(line: string, framing: Framing): string {
    if (framing === 'events' && !line.startsWith('data:')) return line;
    return outsideStrings(line, (text) => (losesDigits(text) ? text.replaceAll(numbers, (number) => this.#markNumber(number)) : text));
  }

  #markNumber(number: string): string {
    if (!isJsonNumber(number) || !(toNumber(number) instanceof ExactNumber)) return number;
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

function outsideStrings(text: string, change: (text: string) => string): string {
  const parts: string[] = [];
  for (let position = 0; position < text.length;) {
    const start = text.indexOf('"', position);
    if (start === -1) return parts.join('') + change(text.slice(position));
    const close = endOfString(text, start);
    const end = close === -1 ? text.length : close + 1;
    parts.push(change(text.slice(position, start)), text.slice(start, end));
    position = end;
  }
  return parts.join('');
}
