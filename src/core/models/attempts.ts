import { GatewayError, OutboundError, type ErrorCode } from '../errors.ts';

/** Attempts of one model request, over all addresses of an entry and its fallbacks: each may take as long as a time limit, and people wait. */
const attemptsPerRequest = 3;

/** What is left to try for one model request, over all addresses and models, which share the object. */
export interface Attempts {
  /** Attempts that may follow the current one. */
  further: number;
  /** Whether the request was made again because a server had failed at it; a second failure is likely the request's own doing. */
  hasMovedAfterFailure: boolean;
}

/** Counts what happens at backends with several addresses, or with a limit of concurrent requests. Cheap, and never throws. */
export interface RoutingMetrics {
  /** `refused`: an error that another address would not have spared. */
  countAttempt(backend: string, outcome: ServerFault | 'answered' | 'refused'): void;
  noteQueue(backend: string, waiting: number): void;
}

/** Those of a request that has not been made yet. */
export function newAttempts(): Attempts {
  return { further: attemptsPerRequest - 1, hasMovedAfterFailure: false };
}

/**
 * Why a request may be made elsewhere. `down`: the server cannot answer anybody at the moment. `failed`: it failed at this request, which may be the
 * cause. `missing`: it does not have the model.
 */
export type ServerFault = 'down' | 'failed' | 'missing';

const faults: Partial<Record<ErrorCode, ServerFault>> = {
  upstream_unreachable: 'down',
  upstream_timeout: 'down',
  upstream_rate_limited: 'down',
  // Too many requests wait for the backend.
  overloaded: 'down',
  upstream_error: 'failed',
  upstream_incomplete: 'failed',
  upstream_invalid_response: 'failed',
  model_not_found: 'missing',
};
const downStatuses: ReadonlySet<number | undefined> = new Set([502, 503, 504]);

/** Undefined if another server would say the same, or the fault is not one of a server. */
export function serverFaultOf(error: unknown): ServerFault | undefined {
  if (!(error instanceof GatewayError)) return undefined;
  const { code, status, upstreamStatus, cause } = error;
  if (code === 'upstream_error' && downStatuses.has(upstreamStatus)) return 'down';
  if (code === 'upstream_rejected' && status === 404) return 'missing';
  // The gateway itself has run out of connections.
  if (cause instanceof OutboundError && cause.failure === 'no_files') return undefined;
  return faults[code];
}

/** Takes one of the further attempts. False if there is none for a request that failed so. */
export function takeAttempt(attempts: Attempts, fault: ServerFault): boolean {
  if (attempts.further <= 0 || (fault === 'failed' && attempts.hasMovedAfterFailure)) return false;
  attempts.further -= 1;
  if (fault === 'failed') attempts.hasMovedAfterFailure = true;
  return true;
}
