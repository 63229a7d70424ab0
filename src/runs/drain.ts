import { LRUCache } from 'lru-cache';
import { GatewayError } from '../core/errors.ts';
import { keyIdOf } from '../core/callers/people.ts';

/** How many deleted keys are remembered: a request that was authenticated before the deletion may still be sending its body. */
const maxRemembered = 10_000;
/** Time for aborted work to send its last events. */
const finalEventsMs = 500;

/** Admits work until a shutdown, then waits for active work to end, and aborts the rest. */
export class Drain {
  readonly #countRunning: () => number;
  readonly #endRest: (reason: GatewayError) => void;
  // By `max` the cache would set up room for all of them at once.
  readonly #deletedKeys = new LRUCache<string, true>({ maxSize: maxRemembered, sizeCalculation: () => 1 });
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
    if (this.isClosedTo(callerId)) throw new GatewayError('invalid_api_key', 'The key was deleted. Use another one.');
  }

  /** Admits no more work of this key, or of this person. */
  closeTo(callerId: string): void {
    this.#deletedKeys.set(callerId, true);
  }

  isClosedTo(callerId: string): boolean {
    return this.#deletedKeys.size > 0 && (this.#deletedKeys.has(callerId) || this.#deletedKeys.has(keyIdOf(callerId)));
  }

  /** To be called whenever some work has ended. */
  noteEnd(): void {
    if (this.#countRunning() === 0) this.#becomeIdle?.();
  }

  /** Admits no more work, and resolves when all has ended. After `timeoutMs` the rest is ended with an error that has this message. */
  async run(timeoutMs: number, message: string): Promise<void> {
    this.#isDraining = true;
    if (this.#countRunning() === 0) return;
    const { promise: idle, resolve } = Promise.withResolvers<void>();
    this.#becomeIdle = resolve;
    const timer = setTimeout(() => {
      this.#endRest(new GatewayError('server_shutting_down', message));
      // Work that ignores its signal must not keep the process alive.
      setTimeout(resolve, finalEventsMs).unref();
    }, timeoutMs);
    await idle;
    clearTimeout(timer);
  }
}
