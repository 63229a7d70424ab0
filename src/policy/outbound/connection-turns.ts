import { FairQueue } from '../../shared/fairness/fair-queue.ts';
import { groupOf } from '../../shared/fairness/fair-shares.ts';

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

/** The part of the connections that no single key may take: 16 of the usual 1,024. Of less than 64 none, which a gateway with one key would miss. */
const sharedPart = 1 / 64;

/**
 * Limits the requests that run at a time to one origin. Those beyond it wait, and callers take turns: undici's own queue would make a caller with one
 * request wait for all that another one has sent. Where there are many connections, no key has all of them, as requests may run for minutes.
 */
export class ConnectionTurns {
  readonly #options: TurnsOptions;
  readonly #waiting = new FairQueue<() => void>();
  /** Requests that run, by key. */
  readonly #running = new Map<string, number>();
  #total = 0;
  readonly #mostOfKey: number;

  constructor(options: TurnsOptions) {
    this.#options = options;
    const { limit } = options;
    this.#mostOfKey = limit - Math.floor(limit * sharedPart);
  }

  /** Undefined when the request may be sent at once. Once it may, `free` has to be called when it has ended. */
  take(caller: string): ConnectionWait | undefined {
    const key = groupOf(caller);
    if (this.#total < this.#options.limit && this.#mayServe(key)) {
      this.#count(key, 1);
      return undefined;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const begin = (): void => {
      this.#count(key, 1);
      resolve();
    };
    this.#waiting.push(caller, begin);
    this.#options.onWait();
    return {
      turn: promise,
      leave: () => {
        if (!this.#waiting.remove(caller, begin)) this.free(caller);
      },
    };
  }

  free(caller: string): void {
    this.#count(groupOf(caller), -1);
    this.#waiting.shift((key) => this.#mayServe(key))?.();
    if (this.#total === 0) this.#options.onUnused();
  }

  #mayServe(key: string): boolean {
    return (this.#running.get(key) ?? 0) < this.#mostOfKey;
  }

  #count(key: string, change: 1 | -1): void {
    this.#total += change;
    const running = (this.#running.get(key) ?? 0) + change;
    if (running === 0) this.#running.delete(key);
    else this.#running.set(key, running);
  }
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
