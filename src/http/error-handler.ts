import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { JsonObject } from '../shared/json.ts';
import { notFoundHint, tidyPath } from './not-found-hints.ts';
import { leaveBodyUnread } from './body/unread-bodies.ts';

/** OpenAI's error body, with what was done before the error beside it. */
export interface ErrorBody extends JsonObject {
  error: { message: string; type: string; param: string | null; code: string };
}

/** Only the message of a GatewayError reaches a client; any other one is for the log alone. */
export function errorBody(error: GatewayError): ErrorBody {
  return { error: { message: error.message, type: error.type, param: error.param, code: error.code }, ...error.progress };
}

const tooSlow = 'The request took too long to arrive.';

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
  if (statusCode === 408) return new GatewayError('request_timeout', tooSlow);
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

/** The one place where an error becomes an HTTP answer. The codes and their statuses stand in `core/errors.ts`. */
export function installErrorHandling(app: FastifyInstance): void {
  app.setErrorHandler(sendError);
  app.setNotFoundHandler((request, reply) => sendNotFound(app, request, reply));
}

/** What no route answers: 405 where another method has a route, else 404. */
export function sendNotFound(app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const path = tidyPath(request.url.split('?', 1)[0] ?? '/');
  const allowed = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => app.findRoute({ url: path, method }) !== null);
  const shown = path.slice(0, 200);
  if (allowed.length === 0)
    return sendError(
      new GatewayError('not_found', `There is nothing at ${request.method} ${shown}.${notFoundHint(shown)}`),
      request,
      reply,
    );
  reply.header('allow', allowed.join(', '));
  const message = `${request.method} is not possible here; ${allowed.join(' or ')} is.`;
  return sendError(new GatewayError('method_not_allowed', message), request, reply);
}

export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const shown = toGatewayError(error, request.id);
  reply.header('x-request-id', request.id);
  logError(error, shown, { request, reply });
  // A run that somebody ended must not begin again by itself.
  if (shown.code === 'run_cancelled') forbidRetry(reply);
  leaveBodyUnread(request, reply);
  if (shown.retryAfter !== undefined) reply.header('retry-after', shown.retryAfter);
  return reply.code(shown.status).type('application/json; charset=utf-8').send(errorBody(shown));
}

/** For Fastify's option `frameworkErrors`: addresses that cannot be read, which no route and no hook sees. */
export function sendMalformedUrl(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  const path = request.url.split('?', 1)[0]?.slice(0, 200) ?? '';
  const message = `The address ${JSON.stringify(path)} cannot be read: write a "%" as "%25", and other characters in percent-encoding.`;
  sendError(new GatewayError('invalid_request', message, { cause: error }), request, reply);
}

/**
 * For Fastify's option `clientErrorHandler`: what Node's parser refuses has no request and no reply, so the answer is written to the socket.
 * The connection ends with it, because nobody knows where the next request would begin.
 */
export function sendMalformedRequest(this: FastifyInstance, error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const shown = fromParser(error.code);
  this.log.info({ code: shown.code, status: shown.status, cause: error.code }, 'request refused');
  endWithError(socket, shown);
}

function fromParser(code: string | undefined): GatewayError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new GatewayError(
      'headers_too_large',
      'The headers of the request are too large. Send fewer or smaller ones (cookies, most often).',
    );
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new GatewayError('request_timeout', tooSlow);
  return new GatewayError('invalid_request', 'The request is not valid HTTP/1.1. Check its first line, its header lines, and its length.');
}

/** Answers without a reply, in the middle of a request, and ends the connection. */
export function endWithError(socket: Socket, shown: GatewayError): void {
  const body = JSON.stringify(errorBody(shown));
  const head = [
    `HTTP/1.1 ${shown.status} ${STATUS_CODES[shown.status] ?? ''}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    ...(shown.retryAfter === undefined ? [] : [`retry-after: ${shown.retryAfter}`]),
  ];
  if (socket.writable) socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  // Closed with unread bytes it would be reset, and a client that still sends would never read why.
  setTimeout(() => socket.destroy(), limits.refusedBodyLingerMs).unref();
}

const withRunLine = new WeakSet<FastifyRequest>();

/** The line that is logged at the end of a run says what became of this request. */
export function leaveToOwnLine(request: FastifyRequest): void {
  withRunLine.add(request);
}

/** Logs, once, why a request got an error for an answer. */
export function logError(error: unknown, shown: GatewayError, { request, reply }: { request: FastifyRequest; reply: FastifyReply }): void {
  const { code, status, message } = shown;
  // A client that stops early leaves aborted work behind, which is no fault of the gateway.
  if (reply.raw.destroyed && error instanceof Error && error.name === 'AbortError') {
    request.log.debug({ code }, 'the client left before the answer');
    return;
  }
  if (logOwnFault(request.log, error, shown) || withRunLine.has(request)) return;
  const facts = { code, status, error: message, ...causeOf(error) };
  if (status >= 500) request.log.warn(facts, 'request failed');
  else request.log.info(facts, 'request refused');
}

/** Only a fault of the gateway itself has a stack that somebody could use. False for what others did. */
export function logOwnFault(log: FastifyRequest['log'], error: unknown, shown: GatewayError): boolean {
  if (shown.code !== 'internal_error') return false;
  log.error({ err: error, code: shown.code }, 'request failed');
  return true;
}

/** What clients are not shown: an address, an error number. */
function causeOf(error: unknown): { cause?: string } {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error ? { cause: cause.message } : {};
}
