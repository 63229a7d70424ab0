import { randomUUID } from 'node:crypto';
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { ExactNumber, toNumber } from '../../../shared/exact-number.ts';
import { endOfString } from '../../../shared/json-depth.ts';
import { isJsonObject } from '../../../shared/json.ts';
import { losesDigits } from '../../../shared/parse-exactly.ts';
import type { Framing } from './bounded-stream.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const numbers = /-?\d[\d.]*(?:[eE][+-]?\d+)?/g;
/** Fields whose numbers keep their digits; those of the protocol itself, such as progress, are JavaScript numbers. */
const exactFields: ReadonlySet<string> = new Set(['structuredContent', 'inputSchema', 'outputSchema']);

/**
 * The SDK parses messages itself, with `JSON.parse`, and accepts only JSON. So a number that would lose digits passes it as a text with a mark, which no
 * server can know.
 */
export class MarkedNumbers {
  readonly #prefix = `number ${randomUUID()} `;
  #hasMarked = false;

  /** Passes a body on, line by line. JSON breaks no line within a number or a text. */
  async *mark(pieces: AsyncIterable<Uint8Array<ArrayBuffer>>, framing: Framing): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    /** The incomplete last line. */
    let waiting: Uint8Array[] = [];
    for await (const piece of pieces) {
      const end = Math.max(piece.lastIndexOf(lineFeed), piece.lastIndexOf(carriageReturn)) + 1;
      if (end === 0) {
        waiting.push(piece);
        continue;
      }
      yield this.#markLines(Buffer.concat([...waiting, piece.subarray(0, end)]), framing);
      waiting = end < piece.length ? [piece.subarray(end)] : [];
    }
    if (waiting.length > 0) yield this.#markLines(Buffer.concat(waiting), framing);
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
    if (!losesDigits(text)) return bytes;
    const lines = text.split(/(?<=[\r\n])/).map((line) => this.#markLine(line, framing));
    return Buffer.from(lines.join(''), 'latin1');
  }

  #markLine(line: string, framing: Framing): string {
    if ((framing === 'events' && !line.startsWith('data:')) || !losesDigits(line)) return line;
    return outsideStrings(line, (text) => text.replaceAll(numbers, (number) => this.#markNumber(number)));
  }

  #markNumber(number: string): string {
    if (!(toNumber(number) instanceof ExactNumber)) return number;
    this.#hasMarked = true;
    return `"${this.#prefix}${number}"`;
  }

  #replaceMarks(value: unknown, replace: (source: string) => unknown, kept?: ReadonlySet<string>): unknown {
    if (typeof value === 'string') return value.startsWith(this.#prefix) ? replace(value.slice(this.#prefix.length)) : value;
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
