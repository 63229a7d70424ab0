import type { ChatEvent } from '../core/chat.ts';
import { GatewayError } from '../core/errors.ts';
import type { RunEnding } from '../core/run-log.ts';

export interface RunWatcher {
  /** Called for every event of the run, thousands of times in a long answer. */
  onEvent(event: ChatEvent): void;
  /** Called once. */
  onEnd(ending: RunEnding): void;
}

/**
 * The same events, watched. No generator of its own: each layer of those costs every event of every chat.
 * The signal is the run's: where it is aborted, its reason is why the run ended.
 */
export function watchRun(events: AsyncGenerator<ChatEvent, void>, signal: AbortSignal, watcher: RunWatcher): AsyncGenerator<ChatEvent> {
  let hasEnded = false;
  function end(ending: RunEnding): void {
    if (hasEnded) return;
    hasEnded = true;
    watcher.onEnd(ending);
  }
  async function settle(step: Promise<IteratorResult<ChatEvent, void>>): Promise<IteratorResult<ChatEvent>> {
    let settled: IteratorResult<ChatEvent, void>;
    try {
      settled = await step;
    } catch (error) {
      end(endingOf(error, signal));
      throw error;
    }
    if (settled.done === true) end({ status: 'completed' });
    else watcher.onEvent(settled.value);
    return settled;
  }

  const watched: AsyncGenerator<ChatEvent> = {
    next: () => settle(events.next()),
    async return(value: unknown) {
      try {
        await events.return();
        return { done: true, value };
      } finally {
        end(endingOf(unread, signal));
      }
    },
    throw: (error) => settle(events.throw(error)),
    [Symbol.asyncIterator]: () => watched,
    async [Symbol.asyncDispose]() {
      await watched.return(undefined);
    },
  };
  return watched;
}

const unread = new GatewayError('run_cancelled', 'The answer was not read to its end.');

/** Why a run ended before its end, in the words that its client gets; ours alone for a fault of our own. */
export function endingOf(error: unknown, signal: AbortSignal): RunEnding {
  const cause: unknown = signal.aborted ? signal.reason : error;
  if (cause instanceof GatewayError) {
    const { code, message } = cause;
    return { status: code === 'run_cancelled' ? 'cancelled' : 'failed', error: { code, message } };
  }
  // The words of an abort are ours as well: a client that left, that stopped reading, whose session is gone.
  if (signal.aborted && cause instanceof DOMException)
    return { status: 'cancelled', error: { code: 'run_cancelled', message: `${cause.message}.` } };
  return { status: 'failed', error: { code: 'internal_error', message: 'Internal error. The log names it under this run.' } };
}
