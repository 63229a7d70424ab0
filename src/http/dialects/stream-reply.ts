import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { ChatEvent } from '../../core/chat.ts';
import type { Emit } from '../../shared/emit.ts';
import type { StreamEncoder } from './answer-format.ts';

export interface StreamOptions {
  encoder: StreamEncoder;
  /** Sees every event before it is encoded. */
  watch: (event: ChatEvent) => void;
  /** The last words of a stream that fails after its head. */
  failure: (error: unknown) => string;
  /** A client that reads nothing for this long is cut off. */
  stallMs: number;
  /** The head goes out at the latest after this time. */
  headersMs: number;
  keepAliveMs: number;
  /** Aborts the run when the client stalls. */
  leave: AbortController;
}

/** Text beyond this is written at once instead of at the end of the turn of the event loop. */
const flushAtCharacters = 64 * 1024;

/**
 * Streams a run. The head goes out with the first words, so that an earlier failure is thrown and keeps its HTTP status; after a while it goes out
 * all the same. What arrives in one turn of the event loop is written once; a full socket makes the run wait until it drains.
 */
export async function streamReply(
  reply: FastifyReply,
  run: (emit: Emit<ChatEvent>) => Promise<void>,
  options: StreamOptions,
): Promise<FastifyReply> {
  const { raw } = reply;
  const { encoder, watch, leave } = options;
  let opening = '';
  let writer: StreamWriter | undefined;
  const open = (): StreamWriter => {
    clearTimeout(late);
    reply.hijack();
    raw.writeHead(200, {
      ...flatHeaders(reply),
      'content-type': encoder.contentType,
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    writer = new StreamWriter(raw, options);
    writer.write(opening === '' ? encoder.keepAlive : opening);
    return writer;
  };
  const late = setTimeout(() => {
    if (!raw.destroyed) open();
  }, options.headersMs);

  function emit(events: readonly ChatEvent[]): Promise<void> | undefined {
    let text = '';
    let isOpening = false;
    for (const event of events) {
      watch(event);
      text += encoder.encode(event);
      isOpening ||= (opening !== '' || text !== '') && !isBeforeModel(event);
    }
    if (writer !== undefined) writer.write(text);
    else {
      opening += text;
      if (!isOpening || raw.destroyed) return undefined;
      writer = open();
    }
    return writer.isFull() ? writer.drained() : undefined;
  }

  try {
    await run(emit);
    (writer ?? open()).write(encoder.end());
  } catch (error) {
    if (writer === undefined) throw error;
    if (!leave.signal.aborted || isDeliberate(leave.signal)) writer.write(options.failure(error));
  } finally {
    clearTimeout(late);
    await writer?.end();
  }
  return reply;
}

/** A run that the gateway itself cancelled still owes its client a word; a client that left does not wait for one. */
function isDeliberate(signal: AbortSignal): boolean {
  return !(signal.reason instanceof DOMException);
}

/** What the gateway reports before the model is requested: it waits, so that a refusal of the model keeps its HTTP status. */
function isBeforeModel(event: ChatEvent): boolean {
  return event.type === 'run-event' && (event.event.type === 'run.start' || event.event.type === 'warning');
}

function flatHeaders(reply: FastifyReply): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(reply.getHeaders()).map(([name, value]) => [name, Array.isArray(value) ? value : String(value)]),
  );
}

/** Writes what arrives in one turn of the event loop at once, and something to keep the connection alive where nothing arrives. */
class StreamWriter {
  readonly #raw: ServerResponse;
  readonly #options: StreamOptions;
  readonly #keepAlive: NodeJS.Timeout;
  #waiting = '';
  #isScheduled = false;
  #hasWritten = false;

  constructor(raw: ServerResponse, options: StreamOptions) {
    this.#raw = raw;
    this.#options = options;
    this.#keepAlive = setInterval(() => {
      if (!this.#hasWritten && !raw.writableNeedDrain && !raw.destroyed) raw.write(options.encoder.keepAlive);
      this.#hasWritten = false;
    }, options.keepAliveMs);
    this.#keepAlive.unref();
    raw.once('close', () => clearInterval(this.#keepAlive));
  }

  write(text: string): void {
    this.#waiting += text;
    if (this.#waiting.length >= flushAtCharacters) this.#flush();
    else if (!this.#isScheduled && text !== '') {
      this.#isScheduled = true;
      setImmediate(this.#flush);
    }
  }

  /** Asked of the socket each time: it may have drained meanwhile. */
  isFull(): boolean {
    return this.#raw.writableNeedDrain && !this.#raw.destroyed;
  }

  /** Resolves when the client has read; cuts it off when it does not in time. */
  async drained(): Promise<void> {
    const raw = this.#raw;
    const { leave, stallMs } = this.#options;
    const settled = new AbortController();
    // A slow reader is no stalled one: only a whole period in which nothing was taken counts.
    let taken = raw.socket?.bytesWritten;
    const timer = setInterval(() => {
      const now = raw.socket?.bytesWritten;
      if (now !== taken) {
        taken = now;
        return;
      }
      leave.abort(new DOMException('The client stopped reading', 'AbortError'));
      raw.destroy();
    }, stallMs);
    try {
      await Promise.race([once(raw, 'drain', { signal: settled.signal }), once(raw, 'close', { signal: settled.signal })]);
    } finally {
      // Also takes the listeners of the other event away: a slow reader drains thousands of times.
      settled.abort();
      clearInterval(timer);
    }
    leave.signal.throwIfAborted();
  }

  async end(): Promise<void> {
    clearInterval(this.#keepAlive);
    this.#flush();
    if (this.#raw.destroyed) return;
    if (this.#raw.writableNeedDrain) await this.drained().catch(() => undefined);
    this.#raw.end();
  }

  readonly #flush = (): void => {
    this.#isScheduled = false;
    if (this.#waiting === '' || this.#raw.destroyed) return;
    const text = this.#waiting;
    this.#waiting = '';
    this.#hasWritten = true;
    this.#raw.write(text);
  };
}
