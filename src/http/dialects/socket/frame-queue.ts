import { limits } from '../../../core/limits.ts';
import { readSocketFrame, type ParsedFrame } from './parse-socket-frame.ts';

/** Frames that are queued while a session is being opened or an earlier frame is being parsed; more than this is a flood. */
const queuedFrames = 256;
/** Bytes of all queued frames, which may come from an unauthenticated client. */
const queuedBytes = limits.socketFrameBytes;
/** The largest frame of an unauthenticated client: an auth frame has only a key and the id of a session. */
const authFrameBytes = 8_192;

interface FrameQueueOptions {
  /** Undefined until the socket is authenticated. */
  callerId: () => string | undefined;
  /** Pauses and resumes the reading of the socket, while a frame is parsed in a worker. */
  pace: { hold(): void; release(): void };
  onFrame: (frame: ParsedFrame) => void;
  /** Called with a close code and its reason. */
  onFailure: (code: number, reason: string) => void;
  /** Aborted when the socket is closed. */
  signal: AbortSignal;
}

/** Parses the frames of one socket in their order. A frame that is parsed in a worker holds back those behind it. */
export class FrameQueue {
  readonly #options: FrameQueueOptions;
  /** `undefined` is a binary frame. */
  readonly #queued: (Buffer | undefined)[] = [];
  #queuedBytes = 0;
  #isPaused = false;
  #isParsing = false;

  constructor(options: FrameQueueOptions) {
    this.#options = options;
    options.signal.addEventListener('abort', () => void this.#queued.splice(0), { once: true });
  }

  /** Queues further frames until `resume` is called. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#readQueued();
  }

  /** `undefined` for a binary frame. */
  receive(frame: Buffer | undefined): void {
    if (this.#options.signal.aborted) return;
    if (this.#mayRead() && this.#queued.length === 0) return this.#read(frame);
    this.#queued.push(frame);
    this.#queuedBytes += frame?.byteLength ?? 0;
    if (this.#queued.length > queuedFrames || this.#queuedBytes > queuedBytes) this.#options.onFailure(1008, 'Too many frames at once.');
  }

  #mayRead(): boolean {
    return !this.#isPaused && !this.#isParsing && !this.#options.signal.aborted;
  }

  #readQueued(): void {
    while (this.#queued.length > 0 && this.#mayRead()) {
      const frame = this.#queued.shift();
      this.#queuedBytes -= frame?.byteLength ?? 0;
      this.#read(frame);
    }
  }

  #read(frame: Buffer | undefined): void {
    const { callerId, onFrame, onFailure, signal } = this.#options;
    const caller = callerId();
    if (caller === undefined && (frame?.byteLength ?? 0) > authFrameBytes)
      return onFailure(4401, 'The first frame is too large for an auth frame.');
    if (frame === undefined) return onFrame({ type: 'invalid', message: 'Frames are text, not binary.' });
    const parsed = readSocketFrame(frame, { caller: caller ?? '', signal });
    if (parsed instanceof Promise) void this.#handleLater(parsed);
    else onFrame(parsed);
  }

  async #handleLater(parsing: Promise<ParsedFrame>): Promise<void> {
    const { pace, onFrame, signal } = this.#options;
    this.#isParsing = true;
    pace.hold();
    const parsed = await parsing;
    pace.release();
    this.#isParsing = false;
    if (signal.aborted) return;
    onFrame(parsed);
    this.#readQueued();
  }
}
