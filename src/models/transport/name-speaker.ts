import { GatewayError } from '../../core/errors.ts';
import type { ModelBackend } from '../../core/models/model.ts';

/**
 * Errors of a backend that failed or is busy have its own words, in which remedies recognise what to change. Whoever reads them in the end could take
 * them for the gateway's, so they say then whose they are. Goes around everything that reads the words.
 */
export function withSpeaker(backend: ModelBackend): ModelBackend {
  return { provider: backend.provider, answer: (request, emit) => namingSpeaker(() => backend.answer(request, emit)) };
}

export async function namingSpeaker<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw nameSpeaker(error);
  }
}

function nameSpeaker(error: unknown): unknown {
  if (!(error instanceof GatewayError) || error.saidBy === undefined) return error;
  const { code, message, saidBy, status, upstreamStatus, param, retryAfter, progress, cause } = error;
  const how = upstreamStatus === undefined ? 'reports' : `answered with HTTP ${upstreamStatus}`;
  return new GatewayError(code, `The model backend "${saidBy}" ${how}: ${message}`, {
    status,
    ...(upstreamStatus !== undefined && { upstreamStatus }),
    ...(param !== null && { param }),
    ...(retryAfter !== undefined && { retryAfter }),
    ...(progress !== undefined && { progress }),
    ...(cause !== undefined && { cause }),
  });
}
