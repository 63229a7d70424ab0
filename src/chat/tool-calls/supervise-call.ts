/** Why a call is ended before it has a result. */
export type Ending = { type: 'cancelled' } | { type: 'left' } | { type: 'timeout'; limitMs: number };

/** The time limits of a call. */
interface CallLimits {
  idleMs: number;
  totalMs: number;
}

/** Controls one call: its time limits, its critical sections, and its early end. */
export class Supervision {
  /** Resolves when the call is ended early; never if it has a result. */
  readonly ended: Promise<Ending>;
  readonly #abort = new AbortController();
  readonly #resolveEnded: (ending: Ending) => void;
  #ending: Ending | undefined;
  #isSettled = false;
  #criticalSections = 0;
  #pauses = 0;
  /** Undefined until the limits are started. */
  #limits: CallLimits | undefined;
  #totalLeftMs = 0;
  #startedAt = 0;
  #idle: NodeJS.Timeout | undefined;
  #total: NodeJS.Timeout | undefined;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<Ending>();
    this.ended = promise;
    this.#resolveEnded = resolve;
  }

  /** The signal for the tool; aborts when the call is ended. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** It was ended early or has settled. */
  isOver(): boolean {
    return this.#isSettled || this.signal.aborted;
  }

  /** Ends the call, at once or after its critical sections. The first ending counts. */
  end(ending: Ending): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    if (this.#criticalSections === 0) this.#takeEffect(ending);
  }

  /**
   * Starts the time limits, anew if the call is run a second time. The call is ended after `idleMs` without progress, and after `totalMs` in any case:
   * not even a critical section may block a run forever.
   */
  startLimits({ idleMs, totalMs }: CallLimits): void {
    this.#stop();
    this.#limits = { idleMs: Math.min(idleMs, totalMs), totalMs };
    this.#totalLeftMs = totalMs;
    this.#start();
  }

  /** Reports progress, which restarts the idle time. */
  touch(): void {
    if (this.#pauses === 0) this.#idle?.refresh();
  }

  /** Stops all time limits while a person is asked, until the returned function has been called; pauses may be nested. */
  pause(): () => void {
    if (this.#pauses++ === 0) this.#stop();
    let isPaused = true;
    return () => {
      if (!isPaused) return;
      isPaused = false;
      if (--this.#pauses === 0 && !this.signal.aborted) this.#start();
    };
  }

  async critical<Value>(work: () => Promise<Value> | Value): Promise<Value> {
    if (this.#ending !== undefined && this.#criticalSections === 0) throw reasonOf(this.#ending);
    this.#criticalSections++;
    try {
      return await work();
    } finally {
      this.#criticalSections--;
      // Deferred, so that a function that returns right after its critical section still delivers its result.
      setImmediate(() => {
        if (this.#ending !== undefined && this.#criticalSections === 0) this.#takeEffect(this.#ending);
      });
    }
  }

  [Symbol.dispose](): void {
    this.#isSettled = true;
    // A later call of a resume function must not restart the limits.
    this.#pauses = Number.POSITIVE_INFINITY;
    clearTimeout(this.#idle);
    clearTimeout(this.#total);
  }

  #start(): void {
    if (this.#limits === undefined) return;
    const { idleMs, totalMs } = this.#limits;
    this.#startedAt = performance.now();
    this.#idle = setTimeout(() => this.end({ type: 'timeout', limitMs: idleMs }), idleMs);
    this.#total = setTimeout(() => {
      this.#ending ??= { type: 'timeout', limitMs: totalMs };
      this.#takeEffect(this.#ending);
    }, this.#totalLeftMs);
  }

  #stop(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#total);
    this.#totalLeftMs = Math.max(0, this.#totalLeftMs - (performance.now() - this.#startedAt));
  }

  #takeEffect(ending: Ending): void {
    this.#abort.abort(reasonOf(ending));
    this.#resolveEnded(ending);
  }
}

function reasonOf(ending: Ending): DOMException {
  if (ending.type === 'timeout') return new DOMException('The tool took too long', 'TimeoutError');
  return new DOMException(ending.type === 'left' ? 'The run has ended' : 'The call was cancelled', 'AbortError');
}
