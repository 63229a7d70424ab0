import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../core/errors.ts';
import type { JsonObject } from '../shared/json.ts';
import { notFoundHint, tidyPath } from './not-found-hints.ts';
import { leaveBodyUnread } from './body/unread-bodies.ts';

/** OpenAI's error body, beside which may stand what was done before. */
export interface ErrorBody extends JsonObject {
  error: { message: string; type: string; param: string | null; code: string };
}

/** Only a GatewayError's own words reach a client; anything else is ours to read in the log. */
export function errorBody(error: GatewayError): ErrorBody {
  return { error: { message: error.message, type: error.type, param: error.param, code: error.code }, ...error.progress };
}

/** Any error as one that may be shown. `requestId` lets a user name the log line. */
export function toGatewayError(error: unknown, requestId: string): GatewayError {
  if (error instanceof GatewayError) return error;
  return (
    fromFastify(error) ??
    new GatewayError('internal_error', `Internal error. The log names it under request ${requestId}.`, { cause: error })
  );
}

function fromFastify(error: unknown): GatewayError | undefined {
  const { code, statusCode, message } = error as Partial<FastifyError>;
  if (typeof statusCode !== 'number' || statusCode >= 500) return undefined;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new GatewayError('payload_too_large', 'The request body is too large. Send less, or raise BODY_LIMIT_BYTES.');
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new GatewayError('unsupported_media_type', 'The body must be sent as content-type: application/json.');
  if (statusCode === 408) return new GatewayError('request_timeout', 'The request took too long to arrive.');
  return new GatewayError('invalid_request', message === undefined ? 'The request is malformed.' : `The request is malformed: ${message}`, {
    status: statusCode,
  });
}

/**
 * OpenAI's SDKs send a request again, twice unless told otherwise, after a 409, a 429 and every 5xx. Where a tool was called this would call it again:
 * a second payment for a model that was busy with its words on the first. They obey this header.
 */
export function forbidRetry(reply: FastifyReply): void {
  reply.header('x-should-retry', 'false');
}

/** The one place where an error becomes an HTTP answer. */
export function installErrorHandling(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply));
  app.setNotFoundHandler((request, reply) => sendNothingHere(app, request, reply));
}

/** What no route answers: 405 where another method would be, else 404. */
export function sendNothingHere(app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const path = tidyPath(request.url.split('?', 1)[0] ?? '/');
  const allowed = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => app.findRoute({ url: path, method }) !== null);
  if (allowed.length > 0) {
    reply.header('allow', allowed.join(', '));
    return sendError(
      new GatewayError('method_not_allowed', `${request.method} is not possible here; ${allowed.join(' or ')} is.`),
      request,
      reply,
    );
  }
  const shown = path.slice(0, 200);
  return sendError(new GatewayError('not_found', `There is nothing at ${request.method} ${shown}.${notFoundHint(shown)}`), request, reply);
}

export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const shown = toGatewayError(error, request.id);
  reply.header('x-request-id', request.id);
  if (isAfterLeave(error, reply)) request.log.debug({ code: shown.code }, 'the client left before the answer');
  else logError(request, error, shown);
  // A run that somebody ended must not begin again by itself.
  if (shown.code === 'run_cancelled') forbidRetry(reply);
  leaveBodyUnread(request, reply);
  if (shown.retryAfter !== undefined) reply.header('retry-after', shown.retryAfter);
  return reply.code(shown.status).type('application/json; charset=utf-8').send(errorBody(shown));
}

const withOwnLine = new WeakSet<FastifyRequest>();

/** What becomes of this request is told by a line of its own, at its end. */
export function leaveToOwnLine(request: FastifyRequest): void {
  withOwnLine.add(request);
}

/** Logs, once, why a request got an error for an answer. */
export function logError(request: FastifyRequest, error: unknown, shown: GatewayError): void {
  if (logOwnFault(request.log, error, shown) || withOwnLine.has(request)) return;
  const facts = { code: shown.code, status: shown.status, error: shown.message, ...causeOf(error) };
  if (shown.status >= 500) request.log.warn(facts, 'request failed');
  else request.log.info(facts, 'request refused');
}

/** Only a fault of the gateway itself has a stack that somebody could use. False for what others did. */
export function logOwnFault(log: FastifyRequest['log'], error: unknown, shown: GatewayError): boolean {
  if (shown.code !== 'internal_error') return false;
  log.error({ err: error, code: shown.code }, 'request failed');
  return true;
}

/** What a client is not told: an address, an error number. */
function causeOf(error: unknown): { cause?: string } {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error ? { cause: cause.message } : {};
}

/** Whoever stops a chat early leaves an aborted run behind, which is no fault of the gateway. */
function isAfterLeave(error: unknown, reply: FastifyReply): boolean {
  return reply.raw.destroyed && error instanceof Error && error.name === 'AbortError';
}
