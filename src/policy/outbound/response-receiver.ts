import type { Socket } from 'node:net';
import { OutboundError } from '../../core/errors.ts';
import type { EndOfBody, OutboundBody } from '../../core/outbound.ts';
import { explainCutBody } from './explain-failure.ts';

export interface ResponseHead {
  status: number;
  headers: Record<string, string | string[] | undefined>;
}

interface ReceiverOptions {
  signal: AbortSignal;
  /** For messages. */
  origin: string;
  idleTimeoutMs: number;
  /** Bytes that are buffered before the connection is paused. */
  bufferedBytes: number;
  /** Called when undici is done with the request, and its connection is free or closed. */
  onDone: () => void;
}

/** undici's controller of one response. */
interface ResponseController {
  readonly paused: boolean;
  abort(reason: Error): void;
  pause(): void;
  resume(): void;
}

type Ending = { type: 'whole' } | { type: 'left' } | { type: 'failed'; error: unknown };

/** Whoever reads the body. */
interface Reader {
  /** A promise while it cannot take more. What it throws ends the reading. */
  take(piece: Uint8Array): Promise<void> | undefined;
  end(ending: EndOfBody): void;
  fail(error: unknown): void;
}

/** A piece is handed on without a copy if the memory that it keeps is at most this many times its size. */
const mostlyBody = 4;

const finished: IteratorResult<Uint8Array, undefined> = { done: true, value: undefined };

/**
 * Receives one response: its head as a promise, its body for one reader, which gets everything that has arrived in a tick of the event loop at once.
 * It is a handler of undici's dispatcher, because the stream of `request` would cost more than the rest of a short call.
 *
 * Leaving the loop, or aborting the signal, closes the connection; bytes that arrived before a failure are still read first. The idle limit applies
 * only while the reader waits, so that a slow reader is never taken for a slow peer. An answer that is not read at all within the
 * same time is dropped, because its connection would otherwise stay open for ever.
 */
export class ResponseReceiver implements OutboundBody, AsyncIterableIterator<Uint8Array, undefined> {
  /** Rejects with the error that ended the request before the head; with the signal's reason if it was aborted. */
  readonly head: Promise<ResponseHead>;
  /** The connection of the response; undefined until the request is dispatched on one. */
  connection: { socket?: Pick<Socket, 'destroy'> } | undefined;

  /** Whether it waits for a connection because all are in use. */
  get isWaiting(): boolean {
    return this.connection === undefined && this.#ending === undefined;
  }
  readonly #options: ReceiverOptions;
  readonly #headSettled: Pick<PromiseWithResolvers<ResponseHead>, 'resolve' | 'reject'>;
  #hasHead = false;
  #controller: ResponseController | undefined;
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  /** Bytes of the memory that the pieces keep: whole reads of the connection, with everything that is not the body. */
  #keptBytes = 0;
  #ending: Ending | undefined;
  #reader: Reader | undefined;
  #isReaderSlow = false;
  #isHandOverPlanned = false;
  #isUnread = true;
  #isServerError = false;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(options: ReceiverOptions) {
    this.#options = options;
    const { promise, resolve, reject } = Promise.withResolvers<ResponseHead>();
    this.head = promise;
    this.#headSettled = { resolve, reject };
    options.signal.addEventListener('abort', this.#leaveBySignal, { once: true });
  }

  /** Ends the request with an error and closes its connection; does nothing if it has ended already. */
  fail(error: unknown): void {
    if (this.#ending !== undefined) return;
    this.#end({ type: 'failed', error });
    this.#pieces = [];
    this.#controller?.abort(error instanceof Error ? error : new Error('The call was ended'));
  }

  onRequestStart(controller: ResponseController): void {
    this.#controller = controller;
    // The request was aborted before it had a connection; undici can be notified only now.
    if (this.#ending !== undefined) controller.abort(new Error('The request was aborted'));
  }

  onResponseStart(_controller: ResponseController, status: number, headers: ResponseHead['headers']): void {
    // Skip interim responses (RFC 9110 section 15.2).
    if (status < 200) return;
    this.#hasHead = true;
    this.#isServerError = status >= 500;
    this.#headSettled.resolve({ status, headers });
    this.#planHandOver();
  }

  onResponseData(controller: ResponseController, piece: Buffer): void {
    if (this.#ending !== undefined) return;
    if (this.#pieces.at(-1)?.buffer !== piece.buffer) this.#keptBytes += piece.buffer.byteLength;
    this.#pieces.push(piece);
    this.#pieceBytes += piece.byteLength;
    if (this.#isReaderWaiting()) this.#planHandOver();
    else if (this.#keptBytes >= this.#options.bufferedBytes) controller.pause();
  }

  onResponseEnd(): void {
    // Many servers silently close the connection after a server error, so do not reuse it.
    if (this.#isServerError) this.connection?.socket?.destroy();
    this.#end({ type: 'whole' });
    this.#options.onDone();
  }

  onResponseError(_controller: ResponseController | null, error: unknown): void {
    this.#end({ type: 'failed', error });
    this.#options.onDone();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<Uint8Array, undefined>>();
    this.#readBy({
      take: (piece) => {
        this.#reader = undefined;
        resolve({ done: false, value: piece });
        return undefined;
      },
      end: ({ failure }) => (failure === undefined ? resolve(finished) : reject(failure)),
      fail: reject,
    });
    return promise;
  }

  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.close();
    return Promise.resolve(finished);
  }

  readEach(take: Reader['take']): Promise<EndOfBody> {
    const { promise, resolve, reject } = Promise.withResolvers<EndOfBody>();
    this.#readBy({ take, end: resolve, fail: reject });
    return promise;
  }

  close(): void {
    this.#pieces = [];
    if (this.#ending === undefined) {
      this.#end({ type: 'left' });
      this.#controller?.abort(new Error('The reader left'));
    }
    this.#ending = { type: 'left' };
  }

  #readBy(reader: Reader): void {
    this.#isUnread = false;
    this.#reader = reader;
    this.#handOver();
  }

  #isReaderWaiting(): boolean {
    return this.#reader !== undefined && !this.#isReaderSlow;
  }

  /** Not at once: what else has arrived with it comes in the same turn, and undici must not be called back from its own call. */
  #planHandOver(): void {
    if (this.#isHandOverPlanned) return;
    this.#isHandOverPlanned = true;
    process.nextTick(this.#handOverPlanned);
  }

  readonly #handOverPlanned = (): void => {
    this.#isHandOverPlanned = false;
    // Short answers are complete by now, and need no timer.
    if (this.#ending === undefined) this.#idleTimer ??= setTimeout(this.#stopIdle, this.#options.idleTimeoutMs).unref();
    this.#handOver();
  };

  /** Gives the reader what has arrived, and then the end. */
  #handOver(): void {
    while (this.#pieces.length > 0 && this.#isReaderWaiting()) this.#give();
    if (!this.#isReaderWaiting()) return;
    // One timer for the whole body: refreshing it is cheaper than creating one for each read, and restarts it if it has fired.
    if (this.#ending === undefined) this.#idleTimer?.refresh();
    else this.#reportEnding(this.#ending);
  }

  #give(): void {
    try {
      const slow = this.#reader?.take(this.#takePieces());
      if (slow === undefined) return;
      this.#isReaderSlow = true;
      slow.then(
        () => {
          this.#isReaderSlow = false;
          this.#handOver();
        },
        (error: unknown) => this.#dropReader(error),
      );
    } catch (error) {
      this.#dropReader(error);
    }
  }

  #dropReader(error: unknown): void {
    const reader = this.#reader;
    this.#reader = undefined;
    this.close();
    reader?.fail(error);
  }

  #reportEnding(ending: Ending): void {
    const reader = this.#reader;
    this.#reader = undefined;
    if (ending.type !== 'failed') {
      reader?.end({});
      return;
    }
    // Reported once; afterwards the body is at its end, like a generator.
    this.#ending = { type: 'left' };
    const { signal, origin } = this.#options;
    reader?.end({ failure: signal.aborted && ending.error === signal.reason ? ending.error : explainCutBody(ending.error, origin) });
  }

  #takePieces(): Buffer {
    const [first] = this.#pieces;
    // A chunk of one byte may come with an extension of 64 kB, in the same memory: whoever keeps the byte must not keep that.
    const isWhole = first !== undefined && this.#pieces.length === 1 && this.#keptBytes <= this.#pieceBytes * mostlyBody;
    const taken = isWhole ? first : Buffer.concat(this.#pieces, this.#pieceBytes);
    this.#pieces = [];
    this.#pieceBytes = 0;
    this.#keptBytes = 0;
    if (this.#controller?.paused === true) this.#controller.resume();
    return taken;
  }

  #end(ending: Ending): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    clearTimeout(this.#idleTimer);
    this.#options.signal.removeEventListener('abort', this.#leaveBySignal);
    if (!this.#hasHead) this.#headSettled.reject(ending.type === 'failed' ? ending.error : new Error('The answer ended before it began'));
    this.#planHandOver();
  }

  readonly #leaveBySignal = (): void => this.fail(this.#options.signal.reason);

  readonly #stopIdle = (): void => {
    const { origin, idleTimeoutMs } = this.#options;
    const seconds = `${idleTimeoutMs / 1000} s`;
    if (this.#isUnread) this.fail(new OutboundError('timeout', `The answer of ${origin} was not read for ${seconds}.`));
    else if (this.#isReaderWaiting()) this.fail(new OutboundError('timeout', `${origin} sent nothing for ${seconds}.`));
  };
}
