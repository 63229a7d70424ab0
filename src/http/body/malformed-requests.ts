import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { errorBody, sendError } from '../error-handler.ts';

/** For Fastify's option `frameworkErrors`: addresses that cannot be read, which no route and no hook sees. */
export function refuseMalformedUrl(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  const path = request.url.split('?', 1)[0]?.slice(0, 200) ?? '';
  const message = `The address ${JSON.stringify(path)} cannot be read: write a "%" as "%25", and other characters in percent-encoding.`;
  sendError(new GatewayError('invalid_request', message, { cause: error }), request, reply);
}

/**
 * For Fastify's option `clientErrorHandler`: what Node's parser refuses has no request and no reply, so the answer is written to the socket.
 * The connection ends with it, because nobody knows where the next request would begin.
 */
export function refuseMalformedRequest(this: FastifyInstance, error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const shown = toShown(error.code);
  this.log.info({ code: shown.code, status: shown.status, cause: error.code }, 'request refused');
  endWithError(socket, shown);
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

/**
 * Node keeps the first of two `Host` headers and drops the other one (RFC 9112 section 3.2 wants a 400); a proxy may have looked at the second. A
 * request line with a whole address names a host as well, which goes before the header.
 * @throws GatewayError `invalid_request`
 */
export function refuseTwoHosts({ raw }: FastifyRequest): void {
  const inLine = raw.url?.startsWith('/') === true ? undefined : /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i.exec(raw.url ?? '')?.[1];
  const isOther = inLine !== undefined && inLine.toLowerCase() !== raw.headers.host?.toLowerCase();
  if (isOther || hasTwoHosts(raw.rawHeaders))
    throw new GatewayError('invalid_request', 'The request names its Host twice. Send the header once.');
}

/** Names and values in turn. */
function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1;
}

function toShown(code: string | undefined): GatewayError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new GatewayError(
      'headers_too_large',
      'The headers of the request are too large. Send fewer or smaller ones (cookies, most often).',
    );
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new GatewayError('request_timeout', 'The request took too long to arrive.');
  return new GatewayError('invalid_request', 'The request is not valid HTTP/1.1. Check its first line, its header lines, and its length.');
}
