import { StopReading } from '../../shared/async/emit.ts';
import { GatewayError } from '../errors.ts';

/** Why a run, or the answer of a model, ended before it was complete. */
export type EndCause =
  | { type: 'error'; error: GatewayError }
  /** Its reader needs no more of it. */
  | { type: 'unread' }
  /** The gateway itself ended it: the client has disconnected, or its session is gone. */
  | { type: 'aborted'; message: string }
  | { type: 'bug' };

/** If the signal is aborted, that is why the work ended, whatever it threw. */
export function endCauseOf(error: unknown, signal: AbortSignal): EndCause {
  const cause = errorThatEnded(error, signal);
  if (cause instanceof GatewayError) return { type: 'error', error: cause };
  if (cause instanceof StopReading) return { type: 'unread' };
  return signal.aborted && cause instanceof DOMException ? { type: 'aborted', message: cause.message } : { type: 'bug' };
}

/** The error behind `endCauseOf`. */
export function errorThatEnded(error: unknown, signal: AbortSignal): unknown {
  return signal.aborted ? signal.reason : error;
}

/** The gateway stops, or needs the memory: the run was neither cancelled nor left. */
export function isEndedByGateway({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof GatewayError && reason.code !== 'run_cancelled';
}
