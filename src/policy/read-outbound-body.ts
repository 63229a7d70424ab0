import type { Readable } from 'node:stream';

import { OutboundError } from '../core/errors.ts';
import { explainCutBody } from './explain-outbound-failure.ts';

export interface BodyReading {
  signal: AbortSignal;
  origin: string;
  idleTimeoutMs: number;
}

/**
 * The pieces of a response's body, taken from the peer as they are asked for. Leaving the loop, or the signal, closes the connection.
 * The idle limit counts only while somebody waits for a piece, so a slow reader of ours never looks like a slow peer. An answer that nobody
 * starts to read within the same time is dropped, for its connection would stay open for ever.
 * @throws OutboundError `cut` or `timeout`; the signal's reason.
 */
export function readOutboundBody(body: Readable, reading: BodyReading): AsyncIterable<Uint8Array> {
  const { signal, origin, idleTimeoutMs } = reading;
  let state: 'unread' | 'waiting' | 'busy' = 'unread';
  const timer = setTimeout(() => {
    if (state === 'busy') return;
    const seconds = `${idleTimeoutMs / 1000} s`;
    const message = state === 'unread' ? `Nobody read the answer of ${origin} for ${seconds}.` : `${origin} sent nothing for ${seconds}.`;
    body.destroy(new OutboundError('timeout', message));
  }, idleTimeoutMs).unref();
  body.once('close', () => clearTimeout(timer));

  async function* pieces(): AsyncGenerator<Uint8Array, void, undefined> {
    const iterator: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]();
    try {
      for (;;) {
        signal.throwIfAborted();
        state = 'waiting';
        // One timer for the whole body: a refresh costs less than a new one for each piece, and brings back one that has run out.
        if (!body.closed) timer.refresh();
        const next = await iterator.next();
        state = 'busy';
        if (next.done === true) return;
        yield next.value;
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw explainCutBody(error, origin);
    } finally {
      body.destroy();
    }
  }
  return pieces();
}
