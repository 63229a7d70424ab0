import type { JsonValue } from '../../shared/json.ts';

const field = 'data:';
const keyOfText = '"content":';
const eventEnd = '\n\n';
const [lineFeed, space, quote, backslash] = [0x0a, 0x20, 0x22, 0x5c];
/** Learning a form costs as much as parsing a few chunks, so each has to serve this many. */
const worthwhileChunks = 8;
/** How many forms may fail to. The first chunk of an answer often has a form of its own. */
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
  #form: Form | undefined;
  #credit = freeForms * worthwhileChunks;

  /**
   * Remembers the form of the last event of a piece that ends with it; `isWhole`: the piece begins with an event. `textIn` gives the text of a payload
   * that has nothing else.
   */
  learn(piece: Buffer, isWhole: boolean, textIn: (payload: JsonValue) => string | undefined): void {
    if (this.#credit < worthwhileChunks) return;
    const before = piece.lastIndexOf(eventEnd, -eventEnd.length - 1);
    if (before === -1 && !isWhole) return;
    this.#credit -= worthwhileChunks;
    const form = formOf(Buffer.from(piece.subarray(before === -1 ? 0 : before + eventEnd.length)));
    if (form !== undefined && standsFor(form, textIn)) this.#form = form;
  }

  /** The text of the chunk that begins at this position, and where the chunk ends; undefined if it has another form, or has not arrived as a whole. */
  readAt(piece: Buffer, start: number): { text: string; end: number } | undefined {
    if (this.#form === undefined) return undefined;
    const { chunk, textStart, textEnd } = this.#form;
    const literalStart = start + textStart;
    if (literalStart > piece.length || chunk.compare(piece, start, literalStart, 0, textStart) !== 0) return undefined;
    const literalEnd = endOfLiteral(piece, literalStart);
    const end = literalEnd + chunk.length - textEnd;
    if (end > piece.length || chunk.compare(piece, literalEnd, end, textEnd) !== 0) return undefined;
    const text = textOf(piece.toString('utf8', literalStart, literalEnd));
    if (text === undefined) return undefined;
    this.#credit = Math.min(this.#credit + 1, freeForms * worthwhileChunks);
    return { text, end };
  }
}

export function endsEvent(bytes: Uint8Array): boolean {
  return bytes[bytes.length - 1] === lineFeed && bytes[bytes.length - 2] === lineFeed;
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
