import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { ChatEvent } from '../../../core/chat/chat.ts';
import type { Emit } from '../../../shared/async/emit.ts';
import { headersOf, whenDrained } from '../../raw-answer.ts';
import type { StreamEncoder } from './answer-format.ts';

interface StreamOptions<Event> {
  encoder: Omit<StreamEncoder, 'encode' | 'failure'> & { encode(event: Event): string };
  /** Sees every event before it is encoded. */
  watch?: (event: Event) => void;
  /** Events that do not open the stream, so that an error after them can still have an HTTP status. */
  isBeforeContent?: (event: Event) => boolean;
  /** The end of a stream that fails after its headers were sent. */
  failure: (error: unknown) => string;
  /** A client that reads nothing for this long is disconnected. */
  stallMs: number;
  /** The headers are sent after this time at the latest. */
  headersMs: number;
  keepAliveMs: number;
  /** Aborts the run when the client stalls. */
  controller: AbortController;
}

/** With more text than this, write at once instead of at the end of the tick. */
const flushAtCharacters = 64 * 1024;

/**
 * Streams a run. The headers are sent with the first content, so that an earlier failure can still have an HTTP status, or after `headersMs`. Everything
 * emitted in one turn of the event loop is written at once; when the socket's buffer is full, the run waits until it drains.
 */
export async function streamReply<Event>(
  reply: FastifyReply,
  run: (emit: Emit<Event>) => Promise<void>,
  options: StreamOptions<Event>,
): Promise<FastifyReply> {
  const { raw } = reply;
  const { encoder, watch, isBeforeContent, controller } = options;
  let opening = '';
  let writer: StreamWriter | undefined;
  const open = (): StreamWriter => {
    clearTimeout(late);
    reply.hijack();
    raw.writeHead(200, {
      ...headersOf(reply),
      'content-type': encoder.contentType,
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    writer = new StreamWriter(raw, options);
    writer.write(opening === '' ? encoder.keepAlive() : opening);
    return writer;
  };
  const late = setTimeout(() => {
    if (!raw.destroyed) open();
  }, options.headersMs);

  function emit(events: readonly Event[]): Promise<void> | undefined {
    let text = '';
    let isOpening = false;
    for (const event of events) {
      watch?.(event);
      text += encoder.encode(event);
      isOpening ||= (opening !== '' || text !== '') && isBeforeContent?.(event) !== true;
    }
    const due = encoder.afterBatch?.() ?? '';
    isOpening ||= due !== '';
    text += due;
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
    if (!controller.signal.aborted || isDeliberate(controller.signal)) writer.write(options.failure(error));
  } finally {
    clearTimeout(late);
    await writer?.end();
  }
  return reply;
}

/** Whether the gateway cancelled the run, so that its client has to learn of it; an abort by the client has a `DOMException` as its reason. */
function isDeliberate(signal: AbortSignal): boolean {
  return !(signal.reason instanceof DOMException);
}

/** Events before the first model request. They are buffered, so that a refusal by the model can still have an HTTP status. */
export function isBeforeModel(event: ChatEvent): boolean {
  if (event.type === 'selecting' || event.type === 'tool-list') return true;
  return event.type === 'run-event' && (event.event.type === 'run.start' || event.event.type === 'warning');
}

type WriterOptions = Pick<StreamOptions<unknown>, 'stallMs' | 'keepAliveMs' | 'controller'> & { encoder: Pick<StreamEncoder, 'keepAlive'> };

/** Writes once per tick of the event loop, and a keep-alive when nothing else was written for a while. */
class StreamWriter {
  readonly #raw: ServerResponse;
  readonly #options: WriterOptions;
  readonly #keepAlive: NodeJS.Timeout;
  #waiting = '';
  #isScheduled = false;
  #hasWritten = false;

  constructor(raw: ServerResponse, options: WriterOptions) {
    this.#raw = raw;
    this.#options = options;
    this.#keepAlive = setInterval(() => {
      if (!this.#hasWritten && !raw.writableNeedDrain && !raw.destroyed) raw.write(options.encoder.keepAlive());
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

  /** Not cached, because the socket may have drained meanwhile. */
  isFull(): boolean {
    return this.#raw.writableNeedDrain && !this.#raw.destroyed;
  }

  /** Resolves when the buffer has drained; ends the run of a client that reads nothing for `stallMs`. */
  async drained(): Promise<void> {
    const { controller, stallMs } = this.#options;
    await whenDrained(this.#raw, { stallMs, onStall: (reason) => controller.abort(reason) });
    controller.signal.throwIfAborted();
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
