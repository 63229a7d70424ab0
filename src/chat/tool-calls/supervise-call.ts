/** Why a call is ended before it has a result. */
export type Ending = { type: 'cancelled' } | { type: 'left' } | { type: 'timeout'; limitMs: number };

/** Controls one call: its time limits, its critical sections, and its early end. */
export interface Supervision {
  /** The signal for the tool; aborts when the call is ended. */
  readonly signal: AbortSignal;
  /** Resolves when the call is ended early; never if it has a result. */
  readonly ended: Promise<Ending>;
  /** It was ended early or has settled. */
  isOver(): boolean;
  /** Ends the call, at once or after its critical sections. The first ending counts. */
  end(ending: Ending): void;
  /**
   * Starts the time limits, anew if the call is run a second time. The call is ended after `idleMs` without progress, and after `totalMs` in any case: not even a critical section may block
   * a run forever.
   */
  startLimits(limits: { idleMs: number; totalMs: number }): void;
  /** Reports progress, which restarts the idle time. */
  touch(): void;
  critical<Value>(work: () => Promise<Value> | Value): Promise<Value>;
  /** Stops all time limits while a human is asked, until the returned function has been called; pauses may be nested. */
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
  let areLimitsSet = false;
  let idleLimitMs = 0;
  let totalLimitMs = 0;
  let totalLeftMs = 0;
  let startedAt = 0;
  let pauses = 0;
  let idle: NodeJS.Timeout | undefined;
  let total: NodeJS.Timeout | undefined;
  function start(): void {
    if (!areLimitsSet) return;
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
    isOver: () => isOver || abort.signal.aborted,
    end,
    startLimits({ idleMs, totalMs }) {
      stop();
      areLimitsSet = true;
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
        // Deferred, so that a function that returns right after its critical section still delivers its result.
        setImmediate(() => {
          if (ending !== undefined && criticalSections === 0) takeEffect(ending);
        });
      }
    },
    [Symbol.dispose]() {
      isOver = true;
      // A later call of a resume function must not restart the limits.
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
