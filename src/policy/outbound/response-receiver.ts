import type { Socket } from 'node:net';
import { OutboundError } from '../../core/errors.ts';
import { explainCutBody } from './explain-failure.ts';

export interface ResponseHead {
  status: number;
  headers: Record<string, string | string[] | undefined>;
}

export interface ReceiverOptions {
  signal: AbortSignal;
  /** For messages. */
  origin: string;
  idleTimeoutMs: number;
  /** Bytes that are buffered before the connection is paused. */
  bufferedBytes: number;
}

/** What undici gives its handlers to control one response. */
interface ResponseController {
  readonly paused: boolean;
  abort(reason: Error): void;
  pause(): void;
  resume(): void;
}

type Ending = { type: 'whole' } | { type: 'left' } | { type: 'failed'; error: unknown };
type Reading = Pick<PromiseWithResolvers<IteratorResult<Uint8Array>>, 'resolve' | 'reject'>;

const finished: IteratorResult<Uint8Array> = { done: true, value: undefined };

/**
 * Receives one response: its head as a promise, its body as an iterator that gives together what has arrived meanwhile, for one reader.
 * It uses undici's dispatcher directly, because the stream that `request` adds costs more than all the rest of a short call.
 *
 * Leaving the loop, or the signal, closes the connection; what has arrived before a failure of the peer is read first. The idle limit counts
 * only while somebody waits for a piece, so a slow reader never looks like a slow peer. An answer that nobody starts to read within the
 * same time is dropped, because its connection would stay open for ever.
 */
export class ResponseReceiver implements AsyncIterableIterator<Uint8Array, undefined> {
  /** Rejects with what ended the call before the head; the signal's reason when that was it. */
  readonly head: Promise<ResponseHead>;
  /** On which the answer comes. Known once a connection has taken the request. */
  connection: { socket?: Pick<Socket, 'destroy'> } | undefined;
  readonly #options: ReceiverOptions;
  readonly #headSettled: Pick<PromiseWithResolvers<ResponseHead>, 'resolve' | 'reject'>;
  #hasHead = false;
  #controller: ResponseController | undefined;
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #ending: Ending | undefined;
  #reading: Reading | undefined;
  #isUnread = true;
  #isServerError = false;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(options: ReceiverOptions) {
    this.#options = options;
    const { promise, resolve, reject } = Promise.withResolvers<ResponseHead>();
    this.head = promise;
    // Where the caller has left already, the rejection must not count as unhandled.
    promise.catch(() => undefined);
    this.#headSettled = { resolve, reject };
    options.signal.addEventListener('abort', this.#leaveBySignal, { once: true });
  }

  /** Ends the call with an error of ours and closes its connection; nothing happens to one that has ended. */
  fail(error: unknown): void {
    if (this.#ending !== undefined) return;
    this.#end({ type: 'failed', error });
    this.#pieces = [];
    this.#controller?.abort(error instanceof Error ? error : new Error('The call was ended'));
  }

  onRequestStart(controller: ResponseController): void {
    this.#controller = controller;
    // The caller left before there was a connection: undici can be told only now.
    if (this.#ending !== undefined) controller.abort(new Error('Nobody waits for the answer'));
  }

  onResponseStart(_controller: ResponseController, status: number, headers: ResponseHead['headers']): void {
    // An interim answer (RFC 9110 section 15.2) comes before the one that counts.
    if (status < 200) return;
    this.#idleTimer = setTimeout(this.#stopIdle, this.#options.idleTimeoutMs).unref();
    this.#hasHead = true;
    this.#isServerError = status >= 500;
    this.#headSettled.resolve({ status, headers });
  }

  onResponseData(controller: ResponseController, piece: Buffer): void {
    if (this.#ending !== undefined) return;
    const reading = this.#reading;
    if (reading !== undefined) {
      this.#reading = undefined;
      reading.resolve({ done: false, value: piece });
      return;
    }
    this.#pieces.push(piece);
    this.#pieceBytes += piece.byteLength;
    if (this.#pieceBytes >= this.#options.bufferedBytes) controller.pause();
  }

  onResponseEnd(): void {
    // Many servers silently close the connection after such an error: the next request would be lost on it.
    if (this.#isServerError) this.connection?.socket?.destroy();
    this.#end({ type: 'whole' });
  }

  onResponseError(_controller: ResponseController, error: Error): void {
    this.#end({ type: 'failed', error });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#isUnread = false;
    if (this.#pieces.length > 0) return Promise.resolve({ done: false, value: this.#takePieces() });
    if (this.#ending !== undefined) return this.#toResult(this.#ending);
    // One timer for the whole body: a refresh costs less than a new one for each piece, and brings back one that has run out.
    this.#idleTimer?.refresh();
    const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<Uint8Array, undefined>>();
    this.#reading = { resolve, reject };
    return promise;
  }

  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#pieces = [];
    if (this.#ending === undefined) {
      this.#end({ type: 'left' });
      this.#controller?.abort(new Error('The reader left'));
    }
    this.#ending = { type: 'left' };
    return Promise.resolve(finished);
  }

  #takePieces(): Buffer {
    const [first, ...others] = this.#pieces;
    const taken = first === undefined || others.length > 0 ? Buffer.concat(this.#pieces, this.#pieceBytes) : first;
    this.#pieces = [];
    this.#pieceBytes = 0;
    if (this.#controller?.paused === true) this.#controller.resume();
    return taken;
  }

  #end(ending: Ending): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    clearTimeout(this.#idleTimer);
    this.#options.signal.removeEventListener('abort', this.#leaveBySignal);
    if (!this.#hasHead) this.#headSettled.reject(ending.type === 'failed' ? ending.error : new Error('The answer ended before it began'));
    const reading = this.#reading;
    this.#reading = undefined;
    if (reading !== undefined) this.#toResult(ending).then(reading.resolve, reading.reject);
  }

  #toResult(ending: Ending): Promise<IteratorResult<Uint8Array, undefined>> {
    if (ending.type !== 'failed') return Promise.resolve(finished);
    // Thrown once: after that the body is over, as a generator's is.
    this.#ending = { type: 'left' };
    const { signal, origin } = this.#options;
    return Promise.reject(signal.aborted && ending.error === signal.reason ? ending.error : explainCutBody(ending.error, origin));
  }

  readonly #leaveBySignal = (): void => this.fail(this.#options.signal.reason);

  readonly #stopIdle = (): void => {
    const { origin, idleTimeoutMs } = this.#options;
    const seconds = `${idleTimeoutMs / 1000} s`;
    if (this.#isUnread) this.fail(new OutboundError('timeout', `Nobody read the answer of ${origin} for ${seconds}.`));
    else if (this.#reading !== undefined) this.fail(new OutboundError('timeout', `${origin} sent nothing for ${seconds}.`));
  };
}
