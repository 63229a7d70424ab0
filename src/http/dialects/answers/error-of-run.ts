import { errorThatEnded } from '../../../core/runs/end-cause.ts';
import type { GatewayError } from '../../../core/errors.ts';
import { logInternalError, toGatewayError } from '../../errors/error-handler.ts';

/** The error that the client of a failed run gets. An internal error is logged, and its message names the `id`. */
export function errorOfRun(
  error: unknown,
  signal: AbortSignal,
  { id, log }: { id: string; log: Parameters<typeof logInternalError>[0] },
): GatewayError {
  const shown = toGatewayError(errorThatEnded(error, signal), id);
  logInternalError(log, error, shown);
  return shown;
}
