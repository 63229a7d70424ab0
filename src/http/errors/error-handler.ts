import type { Socket } from 'node:net';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { statusPhrases } from '../../shared/status-phrases.ts';
import { loggedPath } from '../logged-path.ts';
import { notFoundHint, tidyPath } from './not-found-hints.ts';
import { leaveBodyUnread } from './unread-bodies.ts';

/** OpenAI's error body; further fields say what a run did before the error. */
interface ErrorBody extends JsonObject {
  error: { message: string; type: string; param: string | null; code: string };
}

/** Clients see only messages of a GatewayError; all others go to the log. */
export function errorBody(error: GatewayError): ErrorBody {
  return { error: { message: error.message, type: error.type, param: error.param, code: error.code }, ...error.progress };
}

/** How a route writes errors before the first byte of its answer. */
export interface ErrorFormat {
  body(error: GatewayError, request: FastifyRequest): JsonObject;
  /** Absent: `error.status`. */
  status?(error: GatewayError): number;
  /** Further headers, of other answers of the dialect too. */
  headers?(request: FastifyRequest): Record<string, string>;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Default: OpenAI's error body. */
    errors?: ErrorFormat;
    /** Further parameters of the `WWW-Authenticate` header. */
    challenge?: string;
  }
}

const openAiErrors: ErrorFormat = { body: errorBody };

const tooSlow = 'The request took too long to arrive.';

/** Turns any error into one that clients may see. With `requestId` a user can name the log line. */
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
 * OpenAI's SDKs retry a request, twice by default, after a 408, 409, 429 and every 5xx. If the run has called a tool, a retry would call it again,
 * such as a second payment because the model failed after the first. The SDKs obey this header.
 */
export function forbidRetry(reply: FastifyReply): void {
  reply.header('x-should-retry', 'false');
}

/**
 * In seconds. A longer `Retry-After` is ignored by OpenAI's SDK for Node, which then retries at once, and slept through by Anthropic's SDKs, for hours
 * where the tokens of a day are used up.
 */
const longestRetrySeconds = 60;

function isTooLongToWait(retryAfter: string): boolean {
  const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1_000;
  return seconds > longestRetrySeconds;
}

/** Turns errors into HTTP answers. The codes and their statuses are in `core/errors.ts`. */
export function installErrorHandling(app: FastifyInstance): void {
  app.setErrorHandler(sendError);
  app.setNotFoundHandler((request, reply) => sendNotFound(app, request, reply));
}

/** Answers a request without a route: 405 if the path has routes for other methods, otherwise 404. */
export function sendNotFound(app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const path = tidyPath(request.url.split('?', 1)[0] ?? '/');
  const allowed = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => app.findRoute({ url: path, method }) !== null);
  const shown = loggedPath(path);
  const hint = notFoundHint(shown);
  // A path with a hint is not meant as an id, even where ids have routes.
  if (allowed.length === 0 || hint !== '')
    return sendError(new GatewayError('not_found', `There is nothing at ${request.method} ${shown}.${hint}`), request, reply);
  // With this status agents such as Codex fall back to HTTP at once, while others try again first.
  if (request.headers.upgrade?.toLowerCase() === 'websocket') {
    const message = `${shown} is served over HTTP only. Send ${allowed.join(' or ')} requests, or turn websockets off in the settings of your program.`;
    return sendError(new GatewayError('invalid_request', message, { status: 426 }), request, reply);
  }
  reply.header('allow', allowed.join(', '));
  const message = `${request.method} is not allowed here. Use ${allowed.join(' or ')}.`;
  return sendError(new GatewayError('method_not_allowed', message), request, reply);
}

function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const shown = toGatewayError(error, request.id);
  reply.header('x-request-id', request.id);
  logError(error, shown, { request, reply });
  // A retry by the SDK would start a run again that somebody has cancelled.
  if (shown.code === 'run_cancelled') forbidRetry(reply);
  leaveBodyUnread(request, reply);
  if (shown.retryAfter !== undefined) {
    reply.header('retry-after', shown.retryAfter);
    if (isTooLongToWait(shown.retryAfter)) forbidRetry(reply);
  }
  if (shown.status === 401) reply.header('www-authenticate', challengeFor(request));
  const format = request.routeOptions.config.errors ?? openAiErrors;
  if (format.headers !== undefined) reply.headers(format.headers(request));
  return reply
    .code(format.status?.(shown) ?? shown.status)
    .type('application/json; charset=utf-8')
    .send(format.body(shown, request));
}

/** Set where errors are sent, so that every 401 has one (RFC 9110, section 11.6.1). OAuth clients fetch a new token if theirs was rejected. */
export function challengeFor({ headers, routeOptions }: FastifyRequest): string {
  const wasSent = headers.authorization !== undefined || headers['x-api-key'] !== undefined;
  const { challenge } = routeOptions.config;
  return `Bearer realm="toolwharf"${wasSent ? ', error="invalid_token"' : ''}${challenge === undefined ? '' : `, ${challenge}`}`;
}

/** For Fastify's option `frameworkErrors`: malformed URLs, which reach no route and no hook. */
export function sendMalformedUrl(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  const path = loggedPath(request.url);
  reply.header(...noSniffing);
  const message = `The path ${JSON.stringify(path)} is malformed: write "%" as "%25", and percent-encode other special characters.`;
  sendError(new GatewayError('invalid_request', message, { cause: error }), request, reply);
}

/**
 * For Fastify's option `clientErrorHandler`: what Node's HTTP parser refuses has no request and no reply, so the answer is written to the socket.
 * Then the connection ends, because the start of the next request is unknown.
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
      'The headers of the request are too large. Send fewer or smaller ones; most often cookies are the cause.',
    );
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new GatewayError('request_timeout', tooSlow);
  return new GatewayError('invalid_request', 'The request is not valid HTTP/1.1. Check its request line, its headers, and its length.');
}

/** A header of every answer; where Fastify's hooks do not run it is set by hand. */
export const noSniffing = ['x-content-type-options', 'nosniff'] as const;

/** Writes an error to the socket in the middle of a request, without a `reply`, and ends the connection. */
export function endWithError(socket: Socket, shown: GatewayError): void {
  const body = JSON.stringify(errorBody(shown));
  const head = [
    `HTTP/1.1 ${shown.status} ${statusPhrases[shown.status] ?? ''}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    noSniffing.join(': '),
    'connection: close',
    ...(shown.retryAfter === undefined ? [] : [`retry-after: ${shown.retryAfter}`]),
  ];
  if (socket.writable) socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  // Closing it at once with unread bytes would reset it, and a client that is still sending would never read the error.
  setTimeout(() => socket.destroy(), limits.refusedBodyLingerMs).unref();
}

const suppressed = new WeakSet<FastifyRequest>();

/** Suppresses the log line for an error of this request, because the run logs one at its end. */
export function suppressErrorLine(request: FastifyRequest): void {
  suppressed.add(request);
}

/** Logs why a request was answered with an error, in one line. */
export function logError(error: unknown, shown: GatewayError, { request, reply }: { request: FastifyRequest; reply: FastifyReply }): void {
  const { code, status, message } = shown;
  // The client disconnected and its work was aborted, which is not an error.
  if (reply.raw.destroyed && error instanceof Error && error.name === 'AbortError') {
    request.log.debug({ code }, 'client disconnected before the answer');
    return;
  }
  if (logInternalError(request.log, error, shown) || suppressed.has(request)) return;
  const facts = { code, status, error: message, ...causeOf(error) };
  if (status >= 500) request.log.warn(facts, 'request failed');
  else request.log.info(facts, 'request refused');
}

/** Logs an internal error with its stack, which is of no use for other errors. False for those. */
export function logInternalError(log: { error(fields: object, message: string): void }, error: unknown, shown: GatewayError): boolean {
  if (shown.code !== 'internal_error') return false;
  log.error({ err: error, code: shown.code }, 'request failed');
  return true;
}

/** The cause for the log only, such as an address or an error number. */
function causeOf(error: unknown): { cause?: string } {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error ? { cause: cause.message } : {};
}
