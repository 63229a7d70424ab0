import type { ChatEvent } from '../core/chat.ts';
import { GatewayError } from '../core/errors.ts';
import type { RunEnding } from '../core/run-log.ts';
import { StopReading } from '../shared/emit.ts';
import type { Emit } from '../shared/emit.ts';

export interface RunWatcher {
  /** Called for every event of the run, thousands of times in a long answer. */
  onEvent(event: ChatEvent): void;
  /** Called once. */
  onEnd(ending: RunEnding): void;
}

/** Runs, and reports its events and its end. The signal is the run's: where it is aborted, its reason is why the run ended. */
export async function watchRun(
  run: (emit: Emit<ChatEvent>) => Promise<unknown>,
  { signal, watcher, emit }: { signal: AbortSignal; watcher: RunWatcher; emit: Emit<ChatEvent> },
): Promise<void> {
  try {
    await run((events) => {
      for (const event of events) watcher.onEvent(event);
      return emit(events);
    });
  } catch (error) {
    watcher.onEnd(endingOf(error, signal));
    throw error;
  }
  watcher.onEnd({ status: 'completed' });
}

/** Why a run ended before its end, in the words that its client gets; ours alone for a fault of our own. */
export function endingOf(error: unknown, signal: AbortSignal): RunEnding {
  const cause: unknown = signal.aborted ? signal.reason : error;
  if (cause instanceof GatewayError) {
    const { code, message } = cause;
    return { status: code === 'run_cancelled' ? 'cancelled' : 'failed', error: { code, message } };
  }
  if (cause instanceof StopReading)
    return { status: 'cancelled', error: { code: 'run_cancelled', message: 'The answer was not read to its end.' } };
  // The words of an abort are ours as well: a client that left, that stopped reading, whose session is gone.
  if (signal.aborted && cause instanceof DOMException)
    return { status: 'cancelled', error: { code: 'run_cancelled', message: `${cause.message}.` } };
  return { status: 'failed', error: { code: 'internal_error', message: 'Internal error. The log names it under this run.' } };
}
