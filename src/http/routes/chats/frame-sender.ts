import type { WebSocket } from '@fastify/websocket';

interface FrameSenderOptions {
  /** Aborted when the socket is closed. */
  signal: AbortSignal;
  stallMs: number;
  /** Called when the client has read nothing for `stallMs`. */
  onStall: () => void;
}

/** With more bytes unsent than this, the run waits for the client. */
const unsentBytes = 64 * 1024;

/** Sends the events of a stream as frames, as fast as the client reads. */
export class FrameSender {
  readonly #socket: WebSocket;
  readonly #options: FrameSenderOptions;

  constructor(socket: WebSocket, options: FrameSenderOptions) {
    this.#socket = socket;
    this.#options = options;
  }

  /** Undefined where the client reads fast enough; otherwise resolves when it has read, or the socket is closed. */
  send(serverSentEvents: string): Promise<void> | undefined {
    return this.sendFrames(dataIn(serverSentEvents));
  }

  sendFrames(frames: readonly string[]): Promise<void> | undefined {
    const socket = this.#socket;
    if (frames.length === 0 || this.#options.signal.aborted) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    for (const [index, frame] of frames.entries()) socket.send(frame, index === frames.length - 1 ? () => resolve() : undefined);
    return socket.bufferedAmount > unsentBytes ? this.#whenSent(promise) : undefined;
  }

  async #whenSent(sent: Promise<void>): Promise<void> {
    const { signal, stallMs, onStall } = this.#options;
    // A slow client has not stalled: only a whole interval without any bytes counts.
    let unsent = this.#socket.bufferedAmount;
    const timer = setInterval(() => {
      const now = this.#socket.bufferedAmount;
      if (now < unsent) unsent = now;
      else onStall();
    }, stallMs);
    const closed = Promise.withResolvers<void>();
    const onClosed = (): void => closed.resolve();
    signal.addEventListener('abort', onClosed, { once: true });
    try {
      await Promise.race([sent, closed.promise]);
    } finally {
      clearInterval(timer);
      signal.removeEventListener('abort', onClosed);
    }
  }
}

/** The data of server-sent events, each on one line; comments have none. */
function dataIn(serverSentEvents: string): string[] {
  return serverSentEvents.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice('data: '.length)] : []));
}
