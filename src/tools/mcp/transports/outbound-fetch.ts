import { ReadableStream } from 'node:stream/web';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FetchLike } from '@modelcontextprotocol/client';
import { limits } from '../../../core/limits.ts';
import type { OutboundRequest, OutboundResponse, SendOutbound, Trust } from '../../../core/outbound.ts';
import { recordingSend, type Recording } from '../../outgoing/record-requests.ts';
import { ServerUnavailable } from '../explain-mcp-failure.ts';
import { isJsonObject } from '../../../shared/json/json.ts';
import { normaliseStream } from '../incoming/normalise-stream.ts';
import { boundedStream, type StreamEnd } from './bounded-stream.ts';
import type { MarkedNumbers } from './marked-numbers.ts';
import { laterLimit } from '../../../shared/async/timer-limits.ts';

/** Each of two steps: connecting to an MCP server, and agreeing on a protocol version. */
export const mcpConnectTimeoutMs = 10_000;

/** A stream of notifications may be silent for long; after this it is opened anew. */
const mcpStreamIdleMs = 60 * 60 * 1000;

/** The longest `Retry-After` that is waited for: a server that restarts takes seconds, and each step of connecting has `mcpConnectTimeoutMs`. */
export const mcpRetryAfterMs = 5_000;

/** Statuses for which a `Response` must not have a body. */
const withoutBody = new Set([204, 205, 304]);

const eventStreamType = 'text/event-stream';

export interface OutboundFetchOptions {
  send: SendOutbound;
  trust: Trust;
  /** Aborts running requests when the connection is dropped. */
  signal: AbortSignal;
  /** Credentials and headers of the connection for the current call; they replace headers of the same name. */
  headers(method: string): Record<string, string>;
  /** Keeps the digits of numbers in messages. */
  numbers: MarkedNumbers;
  /** Query parameters that carry a key. */
  query(): Record<string, string>;
  /** The user for whom a session token is sent. */
  sessionUser(method: string): string | undefined;
  /** The id of the one for whom the current call is made. */
  caller(method: string): string | undefined;
  /** Aborts when the answer to this message of the current call is not read any more. */
  lostSignal?(body: string): AbortSignal | undefined;
  /** Where the current call records its requests; undefined: nowhere. */
  recording?(): Recording | undefined;
  /** Called when the response to a POST is an event stream. The returned function is called when the stream has ended. */
  watchAnswer?(body: string): ((end: StreamEnd) => void) | undefined;
}

/** `fetch` for the SDK's transports, over the gateway's only way out: redirects are not followed, and every body is limited. */
export function createOutboundFetch(options: OutboundFetchOptions): FetchLike {
  return async (address, init = {}) => {
    const method = init.method ?? 'GET';
    const lost = typeof init.body === 'string' ? options.lostSignal?.(init.body) : undefined;
    const signals = [options.signal, ...(init.signal ? [init.signal] : []), ...(lost ? [lost] : [])];
    const recording = options.recording?.();
    const send = recording === undefined ? options.send : recordingSend(options.send, recording);
    const { status, headers, body } = await sendPatiently(send, {
      method,
      url: withQuery(address, options.query()),
      headers: { ...Object.fromEntries(new Headers(init.headers)), ...options.headers(method) },
      ...(typeof init.body === 'string' && { body: init.body }),
      sessionUser: options.sessionUser(method),
      caller: options.caller(method),
      trust: options.trust,
      signal: AbortSignal.any(signals),
      // Only a request takes time to answer. Whatever else is posted is accepted at once.
      firstByteTimeoutMs: laterLimit(isRequest(init.body) ? limits.mcpAnswerMs : mcpConnectTimeoutMs),
      idleTimeoutMs: mcpStreamIdleMs,
    });
    if (withoutBody.has(status)) {
      // Leaving the loop releases the connection.
      for await (const _piece of body) break;
      return new Response(null, { status, headers });
    }
    // The SDK reads the answer to any GET as an event stream.
    const isEventStream = method === 'GET' || mediaTypeOf(headers['content-type']) === eventStreamType;
    const onEnd = isEventStream && typeof init.body === 'string' ? options.watchAnswer?.(init.body) : undefined;
    const framing = isEventStream ? 'events' : 'body';
    const bounds = { framing, ...(onEnd && { onEnd }) } as const;
    const isMessage = status < 300 && (isEventStream || headers['content-type']?.includes('json') === true);
    const pieces = isMessage ? normaliseStream(options.numbers.pass(body, bounds), framing) : boundedStream(body, bounds);
    // The types of the browser, which the console needs, know no `from`.
    return new Response(ReadableStream.from(pieces) as unknown as BodyInit, { status, headers });
  };
}

/**
 * Sends a request once more after the time that a server that is starting or overloaded names: it has not begun with the request.
 * @throws ServerUnavailable if it is still unavailable then, or names a longer time
 */
async function sendPatiently(send: SendOutbound, request: OutboundRequest): Promise<OutboundResponse> {
  for (let hasWaited = false; ; hasWaited = true) {
    const response = await send(request);
    const retryAfter = response.status === 503 ? response.headers['retry-after'] : undefined;
    if (retryAfter === undefined) return response;
    // Leaving the loop releases the connection.
    for await (const _piece of response.body) break;
    const waitMs = retryDelayMs(retryAfter, Date.now());
    if (hasWaited || waitMs > mcpRetryAfterMs) throw new ServerUnavailable(waitMs);
    await sleep(waitMs, undefined, { signal: request.signal });
  }
}

/** Milliseconds that a `Retry-After` names, in seconds or as a date (RFC 9110, section 10.2.3); 0 for anything else. */
export function retryDelayMs(retryAfter: string, now: number): number {
  const ms = /^\s*\d+\s*$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - now;
  return ms > 0 ? ms : 0;
}

function isRequest(body: unknown): boolean {
  const message: unknown = typeof body === 'string' ? JSON.parse(body) : undefined;
  return isJsonObject(message) && 'method' in message && 'id' in message;
}

/** As the SDK reads it: what it takes for an event stream has to be measured as one. */
function mediaTypeOf(contentType = ''): string {
  return (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
}

function withQuery(address: string | URL, query: Record<string, string>): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
}
