import { setImmediate as nextTurn } from 'node:timers/promises';
import { limits } from '../../core/limits.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;
const comma = 0x2c;
const bracket = 0x5b;
const backslash = 0x5c;
const brace = 0x7b;
/** `id:` at the beginning of a line. */
const eventId = [0x69, 0x64, 0x3a];

/** Where a message of a body ends: with a line (stdio), with an event (`text/event-stream`), or with the body. */
export type Framing = 'lines' | 'events' | 'body';

/** What a stream of events was like, once it has ended. */
export interface StreamEnd {
  /** The server gave its events ids, so that what was cut off can be asked for again. */
  isResumable: boolean;
}

export interface BoundedStreamOptions {
  framing: Framing;
  /** Of one message. */
  maxBytes?: number;
  /** Values in it. */
  maxValues?: number;
  /** Messages that are passed on in one turn of the event loop. */
  messagesPerTurn?: number;
  onEnd?: (end: StreamEnd) => void;
}

/**
 * Passes a body on and throws where one message of it grows beyond a limit: its reader would collect all of it in memory until an end that
 * never comes, or block the event loop over it. Many small messages are passed on in several turns of the event loop.
 */
export async function* boundedStream(
  body: AsyncIterable<Uint8Array>,
  {
    framing,
    maxBytes = limits.mcpMessageBytes,
    maxValues = limits.mcpMessageValues,
    messagesPerTurn = limits.mcpMessagesPerTurn,
    onEnd,
  }: BoundedStreamOptions,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const meter = new MessageMeter(framing);
  async function* slicesOf(piece: Uint8Array): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    for (let start = 0; start < piece.length;) {
      if (meter.messages === messagesPerTurn) {
        await nextTurn();
        meter.messages = 0;
      }
      const end = meter.measure(piece, start, messagesPerTurn);
      if (meter.mostBytes > maxBytes) throw new Error(`The server sent a message of more than ${maxBytes} bytes.`);
      if (meter.mostValues > maxValues) throw new Error(`The server sent a message of more than ${maxValues} values.`);
      yield new Uint8Array(piece.subarray(start, end));
      start = end;
    }
  }

  try {
    for await (const piece of body) yield* slicesOf(piece);
  } finally {
    onEnd?.({ isResumable: meter.isResumable });
  }
}

/** Measures messages byte by byte, wherever they were cut. */
class MessageMeter {
  /** Of the largest message. */
  mostBytes = 0;
  /** Of the message that had the most. */
  mostValues = 0;
  /** Ends of messages since this was set to 0. */
  messages = 0;
  isResumable = false;
  readonly #framing: Framing;
  /** Of the message that is being received, as `#values`. */
  #bytes = 0;
  #values = 0;
  #inLine = 0;
  #matchesId = true;
  #isInText = false;
  #isEscaped = false;

  constructor(framing: Framing) {
    this.#framing = framing;
  }

  /** Measures a piece from `start` to its end, or to where there are so many messages, and gives that position. */
  measure(piece: Uint8Array, start: number, maxMessages: number): number {
    for (let position = start; position < piece.length; position += 1) {
      if (this.#endsWith(piece[position] ?? 0)) this.messages += 1;
      if (this.messages === maxMessages) return position + 1;
    }
    return piece.length;
  }

  /** Whether a message ends with this byte. */
  #endsWith(byte: number): boolean {
    this.#bytes += 1;
    if (this.#bytes > this.mostBytes) this.mostBytes = this.#bytes;
    if (byte === lineFeed) return this.#endLine();
    if (byte === carriageReturn) return false;
    const inLine = this.#inLine;
    this.#matchesId &&= inLine >= eventId.length || byte === eventId[inLine];
    this.#inLine = inLine + 1;
    if (this.#matchesId && inLine + 1 === eventId.length) this.isResumable = true;
    this.#count(byte);
    return false;
  }

  #endLine(): boolean {
    const isEnd = this.#framing === 'lines' || (this.#framing === 'events' && this.#inLine === 0);
    if (isEnd) {
      this.#bytes = 0;
      this.#values = 0;
    }
    this.#inLine = 0;
    this.#matchesId = true;
    // No text of JSON goes over a line, and a comment may hold half a quotation.
    this.#isInText = false;
    this.#isEscaped = false;
    return isEnd;
  }

  #count(byte: number): void {
    if (this.#isInText) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === backslash) this.#isEscaped = true;
      else if (byte === quote) this.#isInText = false;
    } else if (byte === quote) this.#isInText = true;
    else if (byte === comma || byte === bracket || byte === brace) {
      this.#values += 1;
      if (this.#values > this.mostValues) this.mostValues = this.#values;
    }
  }
}
