import type { ChatEvent } from '../core/chat/chat.ts';
import { endCauseOf } from '../core/runs/end-cause.ts';
import type { RunEnding } from '../core/runs/run-log.ts';
import type { Emit } from '../shared/async/emit.ts';

export interface RunObserver {
  /** Called for every event of the run, thousands of times in a long answer. */
  onEvent(event: ChatEvent): void;
  /** Called before the end of a run that failed, which waits for it. Must not reject. */
  onFailure?(error: unknown): Promise<void> | undefined;
  /** Called once. */
  onEnd(ending: RunEnding): void;
}

/** Runs `run`, and reports its events and its end to the observer. If the run's signal is aborted, its reason is why the run ended. */
export function reportRun(
  run: (emit: Emit<ChatEvent>) => Promise<unknown>,
  { signal, observer, emit }: { signal: AbortSignal; observer: RunObserver; emit: Emit<ChatEvent> },
): Promise<void> {
  const answered = run((events) => {
    for (const event of events) observer.onEvent(event);
    return emit(events);
  });
  return answered.then(
    () => observer.onEnd({ status: 'completed' }),
    (error: unknown) => {
      const end = (): never => {
        observer.onEnd(endingOf(error, signal));
        throw error;
      };
      const slow = observer.onFailure?.(error);
      return slow === undefined ? end() : slow.then(end);
    },
  );
}

/** The ending of a run that did not complete, with the message that its client gets. Internal errors get a generic message. */
export function endingOf(error: unknown, signal: AbortSignal): RunEnding {
  const cause = endCauseOf(error, signal);
  if (cause.type === 'error') {
    const { code, message } = cause.error;
    return { status: code === 'run_cancelled' ? 'cancelled' : 'failed', error: { code, message } };
  }
  if (cause.type === 'bug')
    return {
      status: 'failed',
      error: { code: 'internal_error', message: 'Internal error. The log has details under the id of this run.' },
    };
  const message = cause.type === 'unread' ? 'The answer was not read to its end.' : `${cause.message}.`;
  return { status: 'cancelled', error: { code: 'run_cancelled', message } };
}
