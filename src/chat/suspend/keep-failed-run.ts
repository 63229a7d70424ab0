import type { ChatEvent } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { RunContext } from '../../core/run.ts';
import { asSentence } from '../loop/as-sentence.ts';

/**
 * The events of a run that goes on after decisions. Where it fails, most likely because its model does, what was approved must neither be lost nor be
 * done twice: the run is kept as it stands between two rounds, and whoever sends the same decision again goes on with it. Not where somebody has
 * cancelled it, and not amid calls.
 */
export async function* keepFailedRun(events: AsyncGenerator<ChatEvent>, { wait, signal }: RunContext): AsyncGenerator<ChatEvent> {
  const mayKeep = (): boolean => !isCancelled(signal) && wait?.isSuspended !== true;
  let isOver = false;
  try {
    for await (const event of events) {
      isOver = event.type === 'run-event' && event.event.type === 'run.end';
      yield event;
    }
    isOver = true;
  } catch (error) {
    isOver = true;
    if (!mayKeep() || !(await wait?.keepForRetry())) throw error;
    const message = 'The run failed after its calls were decided. What they gave is kept: send the same decision again to go on.';
    yield { type: 'run-event', event: { type: 'warning', data: { code: 'kept_for_retry', message } } };
    throw signal.aborted ? error : withCure(error);
  } finally {
    // Whoever reads no further has not read the answer.
    if (!isOver && mayKeep()) await wait?.keepForRetry();
  }
}

/** By somebody who wants it ended, in other words than those of a client that has gone. */
export function isCancelled({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof GatewayError && reason.code === 'run_cancelled';
}

function withCure(error: unknown): unknown {
  if (!(error instanceof GatewayError)) return error;
  const { code, message, status, param, retryAfter } = error;
  const words = `${asSentence(message)} Nothing that was approved runs twice: send the same decision once more to go on.`;
  return new GatewayError(code, words, {
    status,
    ...(param !== null && { param }),
    ...(retryAfter !== undefined && { retryAfter }),
    cause: error,
  });
}
