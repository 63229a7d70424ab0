import type { JsonValue } from '../../shared/json/json.ts';

const field = 'data:';
const keyOfText = '"content":';
const eventEnd = '\n\n';
const [lineFeed, space, quote, backslash] = [0x0a, 0x20, 0x22, 0x5c];
/** Trusting a form costs as much as parsing a few chunks, so each has to serve this many. */
const worthwhileChunks = 8;
/** How many forms may fail to. */
const freeForms = 4;

/** A chunk, and where the string literal of its text stands in it, without the quotes. */
interface Form {
  chunk: Buffer;
  textStart: number;
  textEnd: number;
}

/**
 * The form of a stream's chunks: most differ from the one before in their text alone. So what stands around the text is compared by bytes, and only
 * the text is decoded and parsed.
 */
export class RepeatedForm {
  readonly #textIn: (payload: JsonValue) => string | undefined;
  #form: Form | undefined;
  /** Of the last chunk; trusted only once another chunk has it, because the first and the last of an answer have forms of their own. */
  #candidate: Form | undefined;
  #credit = freeForms * worthwhileChunks;

  /** `textIn` gives the text of a payload that has nothing else. */
  constructor(textIn: (payload: JsonValue) => string | undefined) {
    this.#textIn = textIn;
  }

  /** Notes the last event of a piece that ends with it, and has been read; `isWhole`: the piece begins with an event. */
  note(piece: Buffer, isWhole: boolean): void {
    const before = piece.lastIndexOf(eventEnd, -eventEnd.length - 1);
    if (before === -1 && !isWhole) return;
    this.#candidate = formOf(piece.subarray(before === -1 ? 0 : before + eventEnd.length));
  }

  /** The text of the chunk that begins at this position, and where the chunk ends; undefined if it has another form, or has not arrived as a whole. */
  readAt(piece: Buffer, start: number): { text: string; end: number } | undefined {
    const read = this.#form && readAs(this.#form, piece, start);
    if (read !== undefined) {
      this.#credit = Math.min(this.#credit + 1, freeForms * worthwhileChunks);
      return read;
    }
    const other = this.#candidate && readAs(this.#candidate, piece, start);
    return other !== undefined && this.#trustsCandidate() ? other : undefined;
  }

  #trustsCandidate(): boolean {
    const candidate = this.#candidate;
    this.#candidate = undefined;
    if (candidate === undefined || this.#credit < worthwhileChunks) return false;
    this.#credit -= worthwhileChunks;
    if (!standsFor(candidate, this.#textIn)) return false;
    // The piece may be a part of something large.
    this.#form = { ...candidate, chunk: Buffer.from(candidate.chunk) };
    return true;
  }
}

export function endsEvent(bytes: Uint8Array): boolean {
  return bytes[bytes.length - 1] === lineFeed && bytes[bytes.length - 2] === lineFeed;
}

function readAs({ chunk, textStart, textEnd }: Form, piece: Buffer, start: number): { text: string; end: number } | undefined {
  const literalStart = start + textStart;
  if (literalStart > piece.length || chunk.compare(piece, start, literalStart, 0, textStart) !== 0) return undefined;
  const literalEnd = endOfLiteral(piece, literalStart);
  const end = literalEnd + chunk.length - textEnd;
  if (end > piece.length || chunk.compare(piece, literalEnd, end, textEnd) !== 0) return undefined;
  const text = textOf(piece.toString('utf8', literalStart, literalEnd));
  return text === undefined ? undefined : { text, end };
}

function formOf(chunk: Buffer): Form | undefined {
  const key = chunk.indexOf(keyOfText);
  if (key === -1 || chunk.toString('latin1', 0, field.length) !== field) return undefined;
  const opening = key + keyOfText.length + (chunk[key + keyOfText.length] === space ? 1 : 0);
  if (chunk[opening] !== quote) return undefined;
  const textEnd = endOfLiteral(chunk, opening + 1);
  return textEnd === chunk.length ? undefined : { chunk, textStart: opening + 1, textEnd };
}

/** Whether what looks like the text is it: another one in its place must become the text of the payload. */
function standsFor({ chunk, textStart, textEnd }: Form, textIn: (payload: JsonValue) => string | undefined): boolean {
  const other = `${chunk.toString('utf8', textStart, textEnd)}.`;
  try {
    const payload = `${chunk.toString('utf8', field.length, textStart)}${other}${chunk.toString('utf8', textEnd)}`;
    return textIn(JSON.parse(payload) as JsonValue) === textOf(other);
  } catch {
    return false;
  }
}

/** Where a string literal ends; the end of the bytes if it does not, or if it holds control characters, which JSON does not allow there. */
function endOfLiteral(bytes: Uint8Array, start: number): number {
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === quote) return at;
    if (byte < space) return bytes.length;
    if (byte === backslash) at += 1;
  }
  return bytes.length;
}

/** Undefined for an escape that JSON does not know. */
function textOf(literal: string): string | undefined {
  if (!literal.includes('\\')) return literal;
  try {
    return JSON.parse(`"${literal}"`) as string;
  } catch {
    return undefined;
  }
}
