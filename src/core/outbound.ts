/**
 * How far a destination is trusted. There is no default: every caller of `SendOutbound` has to decide.
 * - `configured`: an operator entered this origin (a backend, a registered tool server); only it may be addressed, even on a private address.
 * - `linked`: a registered tool server at the origin `from` refers to it, as to its authorization server. One on a public address may not refer to a private one.
 * - `request`: a request, a model or a document supplied it; the egress rules decide.
 */
export type Trust =
  | { kind: 'configured'; origin: string }
  | { kind: 'linked'; from: string }
  | { kind: 'request'; mayReachPrivate: boolean }
  /** By somebody who has shown no key: public addresses alone, whatever callers may address. */
  | { kind: 'stranger' };

/** W3C Trace Context, as headers or as fields of a message. */
export interface TraceHeaders {
  readonly traceparent: string;
  readonly tracestate?: string;
}

export interface OutboundRequest {
  method: string;
  /** Absolute, `http:` or `https:`, without user information. */
  url: string;
  headers?: Record<string, string>;
  /** A sequence of pieces is sent as they come, in chunks; what it throws ends the request, and is its `failure`'s cause. */
  body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Id of the user on whose behalf it is sent; it then carries a session token (`auth_type: "session"`), which replaces `authorization`. */
  sessionUser?: string | undefined;
  /** Id of the caller for whom it is sent: callers take turns where requests wait for a connection. Absent: it is the gateway's own. */
  caller?: string | undefined;
  /** Sent as headers, unless `headers` has its own. */
  trace?: TraceHeaders | undefined;
  trust: Trust;
  signal: AbortSignal;
  /** From the call to the response's headers, the wait for a free connection included. */
  firstByteTimeoutMs: number;
  /** Between two pieces of the body. */
  idleTimeoutMs: number;
  /** The sender reads an answer that is compressed although the request asks for none, within limits. Default: it is an error. */
  takesCompressed?: true;
}

/** Stands for the gateway where a request is sent for no user in particular, as for documents and tool lists. No caller has this id. */
export const gatewayUser = 'toolwharf';

export interface OutboundResponse {
  status: number;
  /** Names in lower case; repeated headers joined with `, `. */
  headers: Record<string, string>;
  body: OutboundBody;
}

/** The bytes of an answer, for one reader. Reading it to its end or closing it releases the connection; so does leaving a loop over it early. */
export interface OutboundBody extends AsyncIterable<Uint8Array> {
  /**
   * Calls `take` with what has arrived, and again when more arrives; costs no promise for each piece. While a promise of `take` is pending, it is not
   * called, and the peer has to wait. Resolves at the end of the body, and rejects with what `take` throws, which closes it.
   */
  readEach(take: (piece: Uint8Array) => Promise<void> | undefined): Promise<EndOfBody>;
  /** Ends the reading as the end of the body would. Does nothing if that is reached. */
  close(): void;
}

/** `failure`: an OutboundError when the peer cut the body off, or the reason of the signal. A loop over the body throws it. */
export interface EndOfBody {
  failure?: unknown;
}

/**
 * The only way out to the network. Follows no redirect (a 3xx throws `redirected`), requests no compression, and checks IP literals, DNS answers and the
 * peer's address.
 * @throws OutboundError with its `failure`; the signal's own reason when it was aborted.
 */
export type SendOutbound = (request: OutboundRequest) => Promise<OutboundResponse>;

/** Reads at most `maxBytes`. `isTruncated`: there was more, which is not read. `watch` sees each piece as it arrives. */
export async function readBytes(
  body: OutboundBody,
  maxBytes: number,
  watch?: (piece: Uint8Array) => void,
): Promise<{ bytes: Uint8Array; isTruncated: boolean }> {
  const collected = new CollectedBytes();
  let isTruncated = false;
  const { failure } = await body.readEach((piece) => {
    watch?.(piece);
    const room = maxBytes - collected.size;
    isTruncated = piece.byteLength > room;
    collected.add(isTruncated ? piece.subarray(0, room) : piece);
    if (isTruncated) body.close();
    return undefined;
  });
  if (failure !== undefined) throw failure;
  return { bytes: collected.take(), isTruncated };
}

/** Decodes UTF-8; invalid bytes, also those of a character cut by the limit, become U+FFFD. */
export async function readText(body: OutboundBody, maxBytes: number): Promise<{ text: string; isTruncated: boolean }> {
  const { bytes, isTruncated } = await readBytes(body, maxBytes);
  return { text: decoder.decode(bytes), isTruncated };
}

/** Stateless, because it is called without `stream`. */
const decoder = new TextDecoder();

const noBytes = new Uint8Array();

/** Bytes that arrive in pieces, which may have one byte each: a list of them would take a hundred times their memory. */
class CollectedBytes {
  size = 0;
  #bytes: Uint8Array = noBytes;

  add(piece: Uint8Array): void {
    // Most answers are a single piece, which needs no copy. It has no room, so that it is never written to.
    if (this.size === 0) this.#bytes = piece;
    else {
      const size = this.size + piece.byteLength;
      if (size > this.#bytes.byteLength) {
        const larger = new Uint8Array(Math.max(size, 2 * this.size));
        larger.set(this.#bytes.subarray(0, this.size));
        this.#bytes = larger;
      }
      this.#bytes.set(piece, this.size);
    }
    this.size += piece.byteLength;
  }

  take(): Uint8Array {
    return this.size === this.#bytes.byteLength ? this.#bytes : this.#bytes.slice(0, this.size);
  }
}
