import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';

/** What Fastify would send, for an answer that is written without it: CORS, ids. */
export function headersOf(reply: FastifyReply): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(reply.getHeaders()).map(([name, value]) => [name, Array.isArray(value) ? value : String(value)]),
  );
}

/** Resolves when the buffer has drained, or the connection is closed. Disconnects a client that reads nothing for `stallMs`, after `onStall`. */
export async function whenDrained(
  raw: ServerResponse,
  { stallMs, onStall }: { stallMs: number; onStall?: (reason: DOMException) => void },
): Promise<void> {
  const settled = new AbortController();
  // A slow client has not stalled: only a whole interval without any bytes counts.
  let written = raw.socket?.bytesWritten;
  const timer = setInterval(() => {
    const now = raw.socket?.bytesWritten;
    if (now !== written) {
      written = now;
      return;
    }
    onStall?.(new DOMException('The client stopped reading', 'AbortError'));
    raw.destroy();
  }, stallMs);
  try {
    await Promise.race([once(raw, 'drain', { signal: settled.signal }), once(raw, 'close', { signal: settled.signal })]);
  } finally {
    // Removes the listener of the other event as well: with a slow client this runs thousands of times.
    settled.abort();
    clearInterval(timer);
  }
}
