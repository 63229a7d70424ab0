import { setImmediate as nextTurn } from 'node:timers/promises';
import { limits } from '../../../core/limits.ts';
import type { Framing } from '../incoming/normalise-stream.ts';

/** Characters of one number: that of 10,000 factorial has 36,000, and reading so many digits takes a millisecond. */
export const mcpNumberCharacters = 64 * 1024;

/** Values in one message, which the SDK parses and validates synchronously: a list of a thousand tools with thirty values each. */
export const mcpMessageValues = 40_000;
/** Messages that the SDK handles in one turn of the event loop, up to 0.1 ms each. */
export const mcpMessagesPerTurn = 100;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const [space, tab] = [0x20, 0x09] as const;
const [zero, nine, point, plus, minus, letterE] = [0x30, 0x39, 0x2e, 0x2b, 0x2d, 0x65] as const;
/** Makes a letter small. */
const lowerCase = 0x20;
/** Characters of a number, and digits of its exponent, from which on it may lose some as a JavaScript number (`losesDigits`). */
const [longNumber, longExponent] = [16, 3] as const;
/** `id:` and `data:` at the beginning of a line. */
const eventId = [0x69, 0x64, 0x3a];
const eventData = [0x64, 0x61, 0x74, 0x61, 0x3a];

/** Fields of a message itself, of which the protocol has four. The SDK describes each that it does not know, which takes 4 µs. */
const maxFields = 100;

/** Facts about an event stream that has ended. */
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
  /** Nested objects and lists per message. */
  maxDepth?: number;
  /** Messages passed on per turn of the event loop. */
  messagesPerTurn?: number;
  onEnd?: (end: StreamEnd) => void;
  /** What is passed on instead of a number that is so long that JavaScript may have none with its value; undefined: the number itself. */
  replaceNumber?: (source: string) => string | undefined;
}

/**
 * Passes a body on. An object or list that is nested deeper than `maxDepth` is passed on empty, so that recursive code can read the message. Throws
 * when one message exceeds another limit: its reader would otherwise buffer it without end, or block the event loop parsing it. Many small messages
 * are spread over several turns of the event loop.
 */
export async function* boundedStream(
  body: AsyncIterable<Uint8Array>,
  {
    framing,
    maxBytes = limits.mcpMessageBytes,
    maxValues = mcpMessageValues,
    maxDepth = limits.bodyDepth,
    messagesPerTurn = mcpMessagesPerTurn,
    onEnd,
    replaceNumber,
  }: BoundedStreamOptions,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const meter = new MessageMeter(framing, maxDepth, replaceNumber);
  try {
    for await (const piece of body) yield* slicesOf(piece, meter, { maxBytes, maxValues, messagesPerTurn });
    const rest = meter.finish();
    if (rest.length > 0) yield rest;
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
    const { end, kept } = meter.measure(piece, start, messagesPerTurn);
    if (meter.maxMessageBytes > maxBytes) throw new Error(`The server sent a message of more than ${maxBytes} bytes.`);
    if (meter.maxMessageValues > maxValues) throw new Error(`The server sent a message of more than ${maxValues} values.`);
    if (meter.maxMessageFields > maxFields) throw new Error(`The server sent a message of more than ${maxFields} fields.`);
    if (meter.maxNumberCharacters > mcpNumberCharacters)
      throw new Error(`The server sent a number of more than ${mcpNumberCharacters} characters.`);
    yield new Uint8Array(Buffer.concat(kept));
    start = end;
  }
}

/** A part of a chunk. */
interface Measured {
  /** Where it ends. */
  end: number;
  /** What of it is passed on. */
  kept: Uint8Array[];
}

/** Measures messages byte by byte, independent of how they are split into chunks. */
class MessageMeter {
  /** Bytes of the largest message so far. */
  maxMessageBytes = 0;
  /** The most values that were passed on of any message so far. */
  maxMessageValues = 0;
  /** The most fields that any message so far had outside of its fields. */
  maxMessageFields = 0;
  /** The most characters of any number so far that might have been replaced. */
  maxNumberCharacters = 0;
  /** Messages that have ended since the caller last reset this. */
  messages = 0;
  isResumable = false;
  readonly #framing: Framing;
  readonly #maxDepth: number;
  /** Of the current message, like `#values` and `#depth`. */
  #bytes = 0;
  #values = 0;
  #depth = 0;
  #fields = 0;
  /** Where the fields of the message are, or of each message of a batch. */
  #fieldDepth = 1;
  /** Bytes of the current line of an event stream. */
  #inLine = 0;
  #matchesId = true;
  #matchesData = true;
  /** It may begin with byte order marks, so unless it is a comment it counts as data. */
  #isFirstLine = true;
  #isAfterReturn = false;
  #isInString = false;
  #isEscaped = false;
  /** Whether a number may begin with the next byte. */
  #mayBeginNumber = true;
  #isInNumber = false;
  /** The beginning of the current number, from earlier chunks, which has not been passed on. */
  #held = '';
  #exponentDigits = 0;
  #isInExponent = false;
  /** Of the current message. */
  #replaced = 0;
  readonly #replaceNumber: ((source: string) => string | undefined) | undefined;

  constructor(framing: Framing, maxDepth: number, replaceNumber: ((source: string) => string | undefined) | undefined) {
    this.#framing = framing;
    this.#maxDepth = maxDepth;
    this.#replaceNumber = replaceNumber;
  }

  /** Measures a chunk from `start` until it ends or `maxMessages` is reached. */
  measure(piece: Uint8Array, start: number, maxMessages: number): Measured {
    const kept: Uint8Array[] = [];
    let from = start;
    let numberAt = start;
    let isKeeping = this.#depth <= this.#maxDepth;
    let position = start;
    while (position < piece.length && this.messages < maxMessages) {
      const wasInNumber = this.#isInNumber;
      const byte = piece[position] ?? 0;
      const isKept = this.#read(byte);
      if (wasInNumber && !this.#isInNumber) {
        const passedOn = this.#endNumber(piece.subarray(numberAt, position), byte);
        if (passedOn !== undefined) {
          kept.push(piece.subarray(from, numberAt), Buffer.from(passedOn, 'latin1'));
          from = position;
        }
      }
      if (isKeeping && !isKept) kept.push(piece.subarray(from, position));
      if (!isKeeping && isKept) from = position;
      if (this.#isInNumber && !wasInNumber) numberAt = position;
      isKeeping = isKept;
      position += 1;
      if (this.#isInString && !this.#isEscaped) position += this.#skip(piece, position);
    }
    if (isKeeping) kept.push(piece.subarray(from, this.#isInNumber ? numberAt : position));
    if (this.#isInNumber) this.#hold(asciiOf(piece.subarray(numberAt, position)));
    return { end: position, kept };
  }

  /** What is left to pass on when the body has ended. */
  finish(): Uint8Array<ArrayBuffer> {
    const passedOn = this.#isInNumber ? this.#endNumber(new Uint8Array(), lineFeed) : undefined;
    return new Uint8Array(Buffer.from(passedOn ?? '', 'latin1'));
  }

  /** Passes over what ends neither a text nor a line: most bytes of large messages. */
  #skip(piece: Uint8Array, start: number): number {
    let position = start;
    for (; position < piece.length; position += 1) {
      const byte = piece[position];
      if (byte === quote || byte === backslash || byte === lineFeed || byte === carriageReturn) break;
    }
    const skipped = position - start;
    this.#addBytes(skipped);
    this.#inLine += skipped;
    return skipped;
  }

  /** Whether this byte is passed on. */
  #read(byte: number): boolean {
    this.#addBytes(1);
    const isAfterReturn = this.#isAfterReturn;
    this.#isAfterReturn = byte === carriageReturn && this.#framing === 'events';
    if (byte === lineFeed || this.#isAfterReturn) {
      if (!isAfterReturn || byte !== lineFeed) this.#endLine();
      return true;
    }
    const isContent = this.#framing !== 'events' || this.#readField(byte);
    return !isContent || this.#readContent(byte);
  }

  #addBytes(count: number): void {
    this.#bytes += count;
    if (this.#bytes > this.maxMessageBytes) this.maxMessageBytes = this.#bytes;
  }

  #endLine(): void {
    const isEnd = this.#framing === 'lines' || (this.#framing === 'events' && this.#inLine === 0);
    if (isEnd) {
      this.#bytes = 0;
      this.#values = 0;
      this.#replaced = 0;
      this.#depth = 0;
      this.messages += 1;
    }
    this.#inLine = 0;
    this.#matchesId = true;
    this.#matchesData = true;
    this.#isFirstLine = false;
    // A JSON string cannot span lines, nor can a number.
    this.#isInNumber = false;
    this.#mayBeginNumber = true;
    this.#isInString = false;
    this.#isEscaped = false;
  }

  /** Whether this byte of an event stream belongs to a message. Brackets of comments and other fields must not count as its own. */
  #readField(byte: number): boolean {
    const inLine = this.#inLine;
    this.#inLine = inLine + 1;
    if (inLine === 0 && byte === colon) this.#isFirstLine = false;
    this.#matchesId &&= inLine >= eventId.length || byte === eventId[inLine];
    if (this.#matchesId && inLine + 1 === eventId.length) this.isResumable = true;
    this.#matchesData &&= inLine >= eventData.length || byte === eventData[inLine];
    return this.#isFirstLine || (this.#matchesData && inLine >= eventData.length);
  }

  /** Whether this byte of a message is passed on. Brackets belong to the value around them. */
  #readContent(byte: number): boolean {
    const isKept = this.#depth <= this.#maxDepth;
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === backslash) this.#isEscaped = true;
      else if (byte === quote) this.#isInString = false;
      return isKept;
    }
    if (isKept) this.#readNumber(byte);
    switch (byte) {
      case quote:
        this.#isInString = true;
        return isKept;
      case comma:
        this.#addValue(isKept);
        if (this.#depth === this.#fieldDepth) this.#addField();
        return isKept;
      case openBracket:
      case openBrace:
        this.#addValue(isKept);
        if (this.#depth === 0) this.#fieldDepth = byte === openBracket ? 2 : 1;
        this.#depth += 1;
        if (this.#depth === this.#fieldDepth) this.#fields = 0;
        return isKept;
      case closeBracket:
      case closeBrace:
        this.#depth = Math.max(0, this.#depth - 1);
        return this.#depth <= this.#maxDepth;
      default:
        return isKept;
    }
  }

  #readNumber(byte: number): void {
    const mayBegin = this.#mayBeginNumber;
    this.#mayBeginNumber = byte === colon || byte === comma || byte === openBracket || isSpace(byte);
    const isDigit = byte >= zero && byte <= nine;
    if (!this.#isInNumber) {
      this.#isInNumber = mayBegin && (isDigit || byte === minus) && this.#mayReplace();
      this.#exponentDigits = 0;
      this.#isInExponent = false;
      return;
    }
    if ((byte | lowerCase) === letterE) this.#isInExponent = true;
    else if (isDigit && this.#isInExponent) this.#exponentDigits += 1;
    else this.#isInNumber = isDigit || byte === point || byte === plus || byte === minus;
  }

  /** Not the addresses and ids in other fields of an event stream. */
  #mayReplace(): boolean {
    return this.#replaceNumber !== undefined && (this.#framing !== 'events' || this.#matchesData);
  }

  #hold(source: string): void {
    this.#held += source;
    this.#noteLength(this.#held.length);
  }

  #noteLength(characters: number): void {
    if (characters > this.maxNumberCharacters) this.maxNumberCharacters = characters;
  }

  /** What to pass on for a number that has ended with `bytes`, before the byte `next`; undefined: these bytes. */
  #endNumber(bytes: Uint8Array, next: number): string | undefined {
    const held = this.#held;
    this.#held = '';
    const length = held.length + bytes.length;
    this.#noteLength(length);
    const isLong = length >= longNumber || this.#exponentDigits >= longExponent;
    const isWhole = next === comma || next === closeBracket || next === closeBrace || isSpace(next);
    // Each number of valid JSON belongs to a value of its own. Whatever has more numbers is not parsed anyway.
    if (isLong && isWhole && length <= mcpNumberCharacters && this.#replaced < this.#values) {
      const replacement = this.#replaceNumber?.(held + asciiOf(bytes));
      if (replacement !== undefined) {
        this.#replaced += 1;
        return replacement;
      }
    }
    return held === '' ? undefined : held + asciiOf(bytes);
  }

  #addField(): void {
    this.#fields += 1;
    if (this.#fields >= this.maxMessageFields) this.maxMessageFields = this.#fields + 1;
  }

  /** What is left out costs its reader nothing. */
  #addValue(isKept: boolean): void {
    if (!isKept) return;
    this.#values += 1;
    if (this.#values > this.maxMessageValues) this.maxMessageValues = this.#values;
  }
}

function isSpace(byte: number): boolean {
  return byte === space || byte === tab || byte === lineFeed || byte === carriageReturn;
}

function asciiOf({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1');
}
