import type { ChatRequest } from '../../core/chat/chat.ts';
import type { FailedRun, WaitingBounds, WaitingRunStore } from '../../core/runs/suspended-run.ts';
import type { RepeatKeys } from './repeat-keys.ts';

/** How long after its end a failed run can be continued: agents repeat a request within seconds, some after a minute. */
export const failedRunMs = 2 * 60 * 1000;

interface FailedRunsOptions {
  store: Pick<WaitingRunStore, 'save' | 'claimFailed' | 'callersWithFailed' | 'prune'>;
  keyOf: RepeatKeys;
  bounds: WaitingBounds;
  /** Milliseconds since 1970. */
  now: () => number;
  onFault: (error: unknown) => void;
}

/**
 * Runs that failed by their backend's fault behind calls that write. Agents repeat a failed request, and would have these calls made again. Who has
 * such runs is in memory, so that the requests of all others are neither hashed nor looked up. No method rejects.
 */
export class FailedRuns {
  readonly #options: FailedRunsOptions;
  /** When the last failed run of a caller expires. */
  readonly #expiries = new Map<string, number>();

  constructor(options: FailedRunsOptions) {
    this.#options = options;
  }

  /** To be called once, before any request: failed runs of an earlier process. */
  async load(): Promise<void> {
    const { store, now, onFault } = this.#options;
    const found = await store.callersWithFailed(now()).catch((error: unknown) => {
      onFault(error);
      return [];
    });
    for (const { callerId, expires } of found) this.#expiries.set(callerId, expires);
  }

  keyOf(callerId: string, request: ChatRequest): Promise<string> {
    return this.#options.keyOf(callerId, request);
  }

  /** The time at which a run expires that fails now. */
  nextExpiry(): number {
    return this.#options.now() + failedRunMs;
  }

  async keep(run: FailedRun): Promise<void> {
    const { store, bounds, now, onFault } = this.#options;
    try {
      await store.prune(now());
      if ((await store.save(run, bounds)).type !== 'saved') return;
    } catch (error) {
      onFault(error);
      return;
    }
    for (const [callerId, expires] of this.#expiries) if (expires <= now()) this.#expiries.delete(callerId);
    this.#expiries.set(run.callerId, Math.max(run.expires, this.#expiries.get(run.callerId) ?? 0));
  }

  mayHave(callerId: string): boolean {
    const expires = this.#expiries.get(callerId);
    return expires !== undefined && expires > this.#options.now();
  }

  async claim(key: string): Promise<FailedRun | undefined> {
    const { store, now, onFault } = this.#options;
    return store.claimFailed(key, now()).catch((error: unknown) => {
      onFault(error);
      return undefined;
    });
  }
}
