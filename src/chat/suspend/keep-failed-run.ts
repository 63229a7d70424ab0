import { warningEvent } from '../../core/chat/caller-warning.ts';
import type { ChatEvent } from '../../core/chat/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Emit } from '../../shared/async/emit.ts';
import type { RunContext } from '../../core/runs/run.ts';
import { asSentence } from '../../shared/text/as-sentence.ts';

/**
 * Answers with a resumed run. If that fails, most likely because of its model, approved calls must neither be lost nor run twice: the run is stored
 * as it was between two rounds, and sending the same decision again continues it. Not stored if the run was cancelled, while calls are running, or
 * after its end was emitted.
 */
export async function keepFailedRun(
  answer: (emit: Emit<ChatEvent>) => Promise<void>,
  { suspension, signal }: RunContext,
  emit: Emit<ChatEvent>,
): Promise<void> {
  let isOver = false;
  try {
    await answer((events) => {
      isOver ||= events.some((event) => event.type === 'run-event' && event.event.type === 'run.end');
      return emit(events);
    });
  } catch (error) {
    const mayKeep = !isOver && !isCancelled(signal) && suspension?.isSuspended !== true;
    if (!mayKeep || !(await suspension?.keepForRetry())) throw error;
    const message = 'The run failed after its calls were decided. Their results are stored: send the same decision again to continue.';
    await emit([warningEvent({ code: 'kept_for_retry', message })]);
    throw signal.aborted ? error : withAdvice(error);
  }
}

/** Cancelled on purpose, as opposed to a client that disconnected. */
export function isCancelled({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof GatewayError && reason.code === 'run_cancelled';
}

function withAdvice(error: unknown): unknown {
  if (!(error instanceof GatewayError)) return error;
  const { code, message, status, param, retryAfter } = error;
  const advice = `${asSentence(message)} No approved call runs twice: send the same decision again to continue.`;
  return new GatewayError(code, advice, {
    status,
    ...(param !== null && { param }),
    ...(retryAfter !== undefined && { retryAfter }),
    cause: error,
  });
}
