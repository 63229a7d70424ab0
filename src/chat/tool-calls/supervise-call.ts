/** Why a call is ended from outside. */
export type Ending = { type: 'cancelled' } | { type: 'left' } | { type: 'timeout'; limitMs: number };

/** Watches over one call: its time limits, its critical sections, and what is to end it. */
export interface Supervision {
  /** For the tool; aborted when the call is ended. */
  readonly signal: AbortSignal;
  /** Resolves when the call is ended; never when it comes to a result. */
  readonly ended: Promise<Ending>;
  /** It was ended, or has settled. */
  readonly isOver: boolean;
  /** The first ending counts. It takes effect at once, or when the critical sections are done. */
  end(ending: Ending): void;
  /**
   * The call runs from now on. `idleMs` without a sign of progress end it, `totalMs` in any case: even a critical section must not hold a run for
   * ever.
   */
  startLimits(limits: { idleMs: number; totalMs: number }): void;
  /** A sign of progress: the idle time begins anew. */
  touch(): void;
  critical<Value>(work: () => Promise<Value> | Value): Promise<Value>;
  /** Time that a human takes is no time of the call: none of its limits runs until what this gives is called, as often as it was paused. */
  pause(): () => void;
  [Symbol.dispose](): void;
}

export function superviseCall(): Supervision {
  const abort = new AbortController();
  const { promise: ended, resolve } = Promise.withResolvers<Ending>();
  let ending: Ending | undefined;
  let isOver = false;
  let criticalSections = 0;

  function takeEffect(why: Ending): void {
    abort.abort(reasonOf(why));
    resolve(why);
  }
  function end(why: Ending): void {
    if (ending !== undefined) return;
    ending = why;
    if (criticalSections === 0) takeEffect(why);
  }
  let idleLimitMs = Number.POSITIVE_INFINITY;
  let totalLimitMs = Number.POSITIVE_INFINITY;
  let totalLeftMs = Number.POSITIVE_INFINITY;
  let startedAt = 0;
  let pauses = 0;
  let idle: NodeJS.Timeout | undefined;
  let total: NodeJS.Timeout | undefined;
  function start(): void {
    startedAt = performance.now();
    idle = setTimeout(() => end({ type: 'timeout', limitMs: idleLimitMs }), idleLimitMs);
    total = setTimeout(() => {
      ending ??= { type: 'timeout', limitMs: totalLimitMs };
      takeEffect(ending);
    }, totalLeftMs);
  }
  function stop(): void {
    clearTimeout(idle);
    clearTimeout(total);
    totalLeftMs = Math.max(0, totalLeftMs - (performance.now() - startedAt));
  }

  return {
    signal: abort.signal,
    ended,
    get isOver() {
      return isOver || abort.signal.aborted;
    },
    end,
    startLimits({ idleMs, totalMs }) {
      idleLimitMs = Math.min(idleMs, totalMs);
      totalLimitMs = totalMs;
      totalLeftMs = totalMs;
      start();
    },
    touch() {
      if (pauses === 0) idle?.refresh();
    },
    pause() {
      if (pauses++ === 0) stop();
      let isPaused = true;
      return () => {
        if (!isPaused) return;
        isPaused = false;
        if (--pauses === 0 && !abort.signal.aborted) start();
      };
    },
    async critical(work) {
      if (ending !== undefined && criticalSections === 0) throw reasonOf(ending);
      criticalSections++;
      try {
        return await work();
      } finally {
        criticalSections--;
        // A function that returns right after its critical section has a result, and that is what happened: it goes first.
        setImmediate(() => {
          if (ending !== undefined && criticalSections === 0) takeEffect(ending);
        });
      }
    },
    [Symbol.dispose]() {
      isOver = true;
      // Whoever has paused it may call later; nothing begins again then.
      pauses = Number.POSITIVE_INFINITY;
      clearTimeout(idle);
      clearTimeout(total);
    },
  };
}

function reasonOf(ending: Ending): DOMException {
  if (ending.type === 'timeout') return new DOMException('The tool took too long', 'TimeoutError');
  return new DOMException(ending.type === 'left' ? 'The run has ended' : 'The call was cancelled', 'AbortError');
}
