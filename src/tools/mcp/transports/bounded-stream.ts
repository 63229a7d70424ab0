import { setImmediate as nextTurn } from 'node:timers/promises';
import { limits } from '../../../core/limits.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;
const comma = 0x2c;
const bracket = 0x5b;
const backslash = 0x5c;
const brace = 0x7b;
/** `id:` at the beginning of a line. */
const eventId = [0x69, 0x64, 0x3a];

/** What delimits messages in a body: a line (stdio), an event (`text/event-stream`), or the end of the body. */
export type Framing = 'lines' | 'events' | 'body';

/** What is known of an event stream once it has ended. */
export interface StreamEnd {
  /** The server gave its events ids, so that the client can request the rest of a stream that was cut off. */
  isResumable: boolean;
}

export interface BoundedStreamOptions {
  framing: Framing;
  /** Per message. */
  maxBytes?: number;
  /** JSON values per message. */
  maxValues?: number;
  /** Messages passed on per turn of the event loop. */
  messagesPerTurn?: number;
  onEnd?: (end: StreamEnd) => void;
}

/**
 * Passes a body on, and throws when one message exceeds a limit: its reader would otherwise buffer it without end, or block the event loop parsing
 * it. Many small messages are spread over several turns of the event loop.
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
  try {
    for await (const piece of body) yield* slicesOf(piece, meter, { maxBytes, maxValues, messagesPerTurn });
  } finally {
    onEnd?.({ isResumable: meter.isResumable });
  }
}

async function* slicesOf(
  piece: Uint8Array,
  meter: MessageMeter,
  { maxBytes, maxValues, messagesPerTurn }: Required<Pick<BoundedStreamOptions, 'maxBytes' | 'maxValues' | 'messagesPerTurn'>>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (let start = 0; start < piece.length;) {
    if (meter.messages === messagesPerTurn) {
      await nextTurn();
      meter.messages = 0;
    }
    const end = meter.measure(piece, start, messagesPerTurn);
    if (meter.maxMessageBytes > maxBytes) throw new Error(`The server sent a message of more than ${maxBytes} bytes.`);
    if (meter.maxMessageValues > maxValues) throw new Error(`The server sent a message of more than ${maxValues} values.`);
    yield new Uint8Array(piece.subarray(start, end));
    start = end;
  }
}

/** Measures messages byte by byte, independent of how they are split into chunks. */
class MessageMeter {
  /** Bytes of the largest message so far. */
  maxMessageBytes = 0;
  /** The most values of any message so far. */
  maxMessageValues = 0;
  /** Messages that have ended since the caller last reset this. */
  messages = 0;
  isResumable = false;
  readonly #framing: Framing;
  /** Bytes of the current message, like `#values`. */
  #bytes = 0;
  #values = 0;
  #inLine = 0;
  #matchesId = true;
  #isInString = false;
  #isEscaped = false;

  constructor(framing: Framing) {
    this.#framing = framing;
  }

  /** Measures a chunk from `start` until it ends or `maxMessages` is reached, and returns the position reached. */
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
    if (this.#bytes > this.maxMessageBytes) this.maxMessageBytes = this.#bytes;
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
    // A JSON string cannot span lines, and a comment line may hold an unpaired quote.
    this.#isInString = false;
    this.#isEscaped = false;
    return isEnd;
  }

  #count(byte: number): void {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === backslash) this.#isEscaped = true;
      else if (byte === quote) this.#isInString = false;
    } else if (byte === quote) this.#isInString = true;
    else if (byte === comma || byte === bracket || byte === brace) {
      this.#values += 1;
      if (this.#values > this.maxMessageValues) this.maxMessageValues = this.#values;
    }
  }
}
