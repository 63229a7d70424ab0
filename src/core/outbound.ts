/**
 * How far a destination is trusted. There is no default: every caller of `SendOutbound` has to decide.
 * - `configured`: an operator entered this origin (a backend, a registered tool server); only it may be addressed, even on a private address.
 * - `request`: a request, a model or a document supplied it; the egress rules decide.
 */
export type Trust = { kind: 'configured'; origin: string } | { kind: 'request'; mayReachPrivate: boolean };

export interface OutboundRequest {
  method: string;
  /** Absolute, `http:` or `https:`, without user information. */
  url: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** Id of the user on whose behalf it is sent; it then carries a session token (`auth_type: "session"`), which replaces `authorization`. */
  sessionUser?: string | undefined;
  trust: Trust;
  signal: AbortSignal;
  /** From the call to the response's headers, the wait for a free connection included. */
  firstByteTimeoutMs: number;
  /** Between two pieces of the body. */
  idleTimeoutMs: number;
}

/** The `sessionUser` of requests for documents and tool lists, which are loaded once for all users. No caller has this id. */
export const gatewayUser = 'toolwharf';

export interface OutboundResponse {
  status: number;
  /** Names in lower case; repeated headers joined with `, `. */
  headers: Record<string, string>;
  /** Reading it to its end or leaving the loop early releases the connection. Throws `OutboundError` when the peer cuts it off. */
  body: AsyncIterable<Uint8Array>;
}

/**
 * The only way out to the network. Follows no redirect (a 3xx throws `redirected`), requests no compression, and checks IP literals, DNS answers and the
 * peer's address.
 * @throws OutboundError with its `failure`; the signal's own reason when it was aborted.
 */
export type SendOutbound = (request: OutboundRequest) => Promise<OutboundResponse>;

/** Reads at most `maxBytes`. `isTruncated`: there was more, which is not read. */
export async function readBytes(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<{ bytes: Uint8Array; isTruncated: boolean }> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  let isTruncated = false;
  for await (const piece of body) {
    const room = maxBytes - size;
    isTruncated = piece.byteLength > room;
    pieces.push(isTruncated ? piece.subarray(0, room) : piece);
    size += Math.min(piece.byteLength, room);
    if (isTruncated) break;
  }
  return { bytes: concatenate(pieces, size), isTruncated };
}

/** Decodes UTF-8; invalid bytes, also those of a character cut by the limit, become U+FFFD. */
export async function readText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<{ text: string; isTruncated: boolean }> {
  const { bytes, isTruncated } = await readBytes(body, maxBytes);
  return { text: decoder.decode(bytes), isTruncated };
}

/** Stateless, because it is called without `stream`. */
const decoder = new TextDecoder();

function concatenate(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return first;
  const whole = new Uint8Array(size);
  let offset = 0;
  for (const piece of pieces) {
    whole.set(piece, offset);
    offset += piece.byteLength;
  }
  return whole;
}
