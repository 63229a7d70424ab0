import { LRUCache } from 'lru-cache';
import { GatewayError } from '../core/errors.ts';

/** Keys that were deleted while this process ran; a request that began with one of them may still be sending its body. */
const maxRemembered = 10_000;
/** Time for what was ended to send its last words. */
const lastWordsMs = 500;

/** Lets work in until a shutdown, waits then for what is under way, and ends the rest. */
export class Drain {
  readonly #countRunning: () => number;
  readonly #endRest: (reason: GatewayError) => void;
  readonly #gone = new LRUCache<string, true>({ max: maxRemembered });
  #isDraining = false;
  #becomeIdle: (() => void) | undefined;

  /** `endRest` must not throw. */
  constructor(countRunning: () => number, endRest: (reason: GatewayError) => void) {
    this.#countRunning = countRunning;
    this.#endRest = endRest;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** @throws GatewayError `server_shutting_down`, `invalid_api_key` when the key was deleted. */
  requireOpen(callerId: string): void {
    if (this.#isDraining)
      throw new GatewayError('server_shutting_down', 'This gateway is shutting down. Try again in a moment.', { retryAfter: '5' });
    if (this.#gone.has(callerId)) throw new GatewayError('invalid_api_key', 'The key was deleted.');
  }

  /** Nothing of this key begins any more. */
  closeTo(callerId: string): void {
    this.#gone.set(callerId, true);
  }

  /** To be told after each end. */
  noteEnd(): void {
    if (this.#countRunning() === 0) this.#becomeIdle?.();
  }

  /** Nothing begins any more; resolves when all has ended, at the latest after `timeoutMs`, and then ends the rest for this reason. */
  async run(timeoutMs: number, message: string): Promise<void> {
    this.#isDraining = true;
    if (this.#countRunning() === 0) return;
    const { promise: idle, resolve } = Promise.withResolvers<void>();
    this.#becomeIdle = resolve;
    const timer = setTimeout(() => {
      this.#endRest(new GatewayError('server_shutting_down', message));
      // What ignores its signal must not keep the process alive.
      setTimeout(resolve, lastWordsMs).unref();
    }, timeoutMs);
    await idle;
    clearTimeout(timer);
  }
}
