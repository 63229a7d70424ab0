/** Why a call is ended from outside. */
export type Ending = { type: 'cancelled' } | { type: 'left' } | { type: 'timeout'; limitMs: number };

/** Watches over one running call: its time limits, its critical sections, and what is to end it. */
export interface Supervision {
  /** For the tool; aborted when the call is ended. */
  readonly signal: AbortSignal;
  /** Resolves when the call is ended; never when it comes to a result of its own. */
  readonly ended: Promise<Ending>;
  /** The first ending stands. It takes effect at once, or when the critical sections are done. */
  end(ending: Ending): void;
  /** A sign of progress: the idle time begins anew. */
  touch(): void;
  critical<Value>(work: () => Promise<Value> | Value): Promise<Value>;
  [Symbol.dispose](): void;
}

/** `idleMs` without a sign of progress end a call, `totalMs` in any case: even a critical section must not hold a run for ever. */
export function superviseCall({ idleMs, totalMs }: { idleMs: number; totalMs: number }): Supervision {
  const abort = new AbortController();
  const { promise: ended, resolve } = Promise.withResolvers<Ending>();
  let ending: Ending | undefined;
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
  const idleLimitMs = Math.min(idleMs, totalMs);
  const idle = setTimeout(() => end({ type: 'timeout', limitMs: idleLimitMs }), idleLimitMs);
  const total = setTimeout(() => {
    ending ??= { type: 'timeout', limitMs: totalMs };
    takeEffect(ending);
  }, totalMs);

  return {
    signal: abort.signal,
    ended,
    end,
    touch: () => void idle.refresh(),
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
      clearTimeout(idle);
      clearTimeout(total);
    },
  };
}

function reasonOf(ending: Ending): DOMException {
  if (ending.type === 'timeout') return new DOMException('The tool took too long', 'TimeoutError');
  return new DOMException(ending.type === 'left' ? 'The run has ended' : 'The call was cancelled', 'AbortError');
}
