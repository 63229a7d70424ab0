import { isJsonObject } from '../../../shared/json/json.ts';

/** A place in a list that goes through several servers. */
export interface ContentsPosition {
  server: string;
  /** The server's own cursor of its page; undefined: its first one. */
  cursor?: string;
  /** Entries of that page that were passed on. */
  offset: number;
  /** Pages of this server before that one. */
  pages: number;
}

/** A server's cursor goes to the client and back; no known one is half as long. */
const maxCursorCharacters = 4_096;

/** Undefined if the server's own cursor is too long to be passed on. */
export function writeCursor(position: ContentsPosition): string | undefined {
  if ((position.cursor?.length ?? 0) > maxCursorCharacters) return undefined;
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/** Undefined for what `writeCursor` has not made. */
export function readCursor(text: string): ContentsPosition | undefined {
  if (text.length > 4 * maxCursorCharacters) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (!isJsonObject(value)) return undefined;
    const { server, cursor, offset, pages } = value;
    if (typeof server !== 'string' || !isCount(offset) || !isCount(pages)) return undefined;
    return { server, offset, pages, ...(typeof cursor === 'string' && { cursor }) };
  } catch {
    return undefined;
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
