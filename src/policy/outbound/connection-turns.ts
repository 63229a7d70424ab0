import { FairQueue } from '../../shared/fair-queue.ts';

/** A request that waits for a connection. */
export interface ConnectionWait {
  /** Resolves when a connection is the request's. */
  turn: Promise<void>;
  /** Called when the request ends before it is sent: its turn goes to the next one. */
  leave(): void;
}

interface TurnsOptions {
  limit: number;
  onWait: () => void;
  onUnused: () => void;
}

/**
 * Limits the requests that run at a time to one origin. Those beyond it wait, and callers take turns: undici's own queue would make a caller with one
 * request wait for all that another one has sent.
 */
export class ConnectionTurns {
  readonly #options: TurnsOptions;
  readonly #waiting = new FairQueue<() => void>();
  #running = 0;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /** Undefined when the request may be sent at once. Once it may, `free` has to be called when it has ended. */
  take(caller: string): ConnectionWait | undefined {
    if (this.#running < this.#options.limit) {
      this.#running += 1;
      return undefined;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(caller, resolve);
    this.#options.onWait();
    return {
      turn: promise,
      leave: () => {
        if (!this.#waiting.remove(caller, resolve)) this.free();
      },
    };
  }

  readonly free = (): void => {
    const begin = this.#waiting.shift();
    if (begin !== undefined) return begin();
    this.#running -= 1;
    if (this.#running === 0) this.#options.onUnused();
  };
}

/** Finds the turns of an origin. Those of unused origins are forgotten: requests may name any. */
export function createTurnsByOrigin(limit: number, onWait: (origin: string) => void): (origin: string) => ConnectionTurns {
  const turns = new Map<string, ConnectionTurns>();
  return (origin) => {
    const known = turns.get(origin);
    if (known !== undefined) return known;
    const created = new ConnectionTurns({ limit, onWait: () => onWait(origin), onUnused: () => turns.delete(origin) });
    turns.set(origin, created);
    return created;
  };
}
