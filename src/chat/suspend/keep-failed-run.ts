import type { ChatEvent } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Emit } from '../../shared/emit.ts';
import type { RunContext } from '../../core/run.ts';
import { asSentence } from '../loop/as-sentence.ts';

/**
 * Answers with a run that goes on after decisions. Where it fails, most likely because its model does, what was approved must neither be lost nor be
 * done twice: the run is stored as it is between two rounds, and who sends the same decision again goes on with it. Not where somebody has
 * cancelled it, not amid calls, and not once its end was emitted.
 */
export async function keepFailedRun(
  answer: (emit: Emit<ChatEvent>) => Promise<void>,
  { wait, signal }: RunContext,
  emit: Emit<ChatEvent>,
): Promise<void> {
  let isOver = false;
  try {
    await answer((events) => {
      isOver ||= events.some((event) => event.type === 'run-event' && event.event.type === 'run.end');
      return emit(events);
    });
  } catch (error) {
    const mayKeep = !isOver && !isCancelled(signal) && wait?.isSuspended !== true;
    if (!mayKeep || !(await wait?.keepForRetry())) throw error;
    const message = 'The run failed after its calls were decided. What they gave is kept: send the same decision again to go on.';
    await emit([{ type: 'run-event', event: { type: 'warning', data: { code: 'kept_for_retry', message } } }]);
    throw signal.aborted ? error : withCure(error);
  }
}

/** By somebody who wants it ended, in other words than those of a client that has gone. */
export function isCancelled({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof GatewayError && reason.code === 'run_cancelled';
}

function withCure(error: unknown): unknown {
  if (!(error instanceof GatewayError)) return error;
  const { code, message, status, param, retryAfter } = error;
  const instead = `${asSentence(message)} Nothing that was approved runs twice: send the same decision once more to go on.`;
  return new GatewayError(code, instead, {
    status,
    ...(param !== null && { param }),
    ...(retryAfter !== undefined && { retryAfter }),
    cause: error,
  });
}
