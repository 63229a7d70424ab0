import { request as requestByHttp } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { OutboundError } from '../../src/core/errors.ts';
import type { OutboundRequest, OutboundResponse, SendOutbound } from '../../src/core/outbound.ts';
import { outboundBody } from './outbound-body.ts';

/**
 * A double of the way out, for tests against local servers: plain `node:http`, no egress rules, the same failures.
 * Connections are not reused, so that a server sees each one close.
 */
export const directSend: SendOutbound = async (outbound) => {
  outbound.signal.throwIfAborted();
  const message = await askForHeaders(outbound);
  const status = message.statusCode ?? 0;
  if (status >= 300 && status < 400) {
    message.destroy();
    throw new OutboundError('redirected', 'Redirects are not followed');
  }
  const headers = Object.fromEntries(Object.entries(message.headers).map(([name, value]) => [name, String(value)]));
  const body = outboundBody(readBody(message, outbound));
  const close = (): void => {
    body.close();
    message.destroy();
  };
  return { status, headers, body: { ...body, close } } satisfies OutboundResponse;
};

function askForHeaders(outbound: OutboundRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { body } = outbound;
  if (body !== undefined && typeof body !== 'string' && !(body instanceof Uint8Array))
    throw new Error('Bodies in pieces are sent by nobody here.');
  const sent = requestByHttp(outbound.url, {
    method: outbound.method,
    headers: { ...outbound.headers, ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }) },
    agent: false,
  });
  const timer = setTimeout(() => sent.destroy(new OutboundError('timeout', 'No headers in time')), outbound.firstByteTimeoutMs);
  const leave = (): void => {
    sent.destroy(outbound.signal.reason);
  };
  outbound.signal.addEventListener('abort', leave, { once: true });
  sent.on('close', () => outbound.signal.removeEventListener('abort', leave));
  sent.on('response', (message) => {
    clearTimeout(timer);
    message.on('error', () => {});
    resolve(message);
  });
  sent.on('error', (error) => {
    clearTimeout(timer);
    if (outbound.signal.aborted || error instanceof OutboundError) reject(outbound.signal.aborted ? outbound.signal.reason : error);
    else reject(new OutboundError('unreachable', 'The peer cannot be reached', error));
  });
  sent.end(outbound.body);
  return promise;
}

async function* readBody(
  message: IncomingMessage,
  { signal, idleTimeoutMs }: OutboundRequest,
): AsyncGenerator<Uint8Array, void, undefined> {
  const timer = setTimeout(() => message.destroy(new OutboundError('timeout', 'The peer fell silent')), idleTimeoutMs);
  try {
    for await (const piece of message as AsyncIterable<Uint8Array>) {
      timer.refresh();
      yield piece;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof OutboundError ? error : new OutboundError('cut', 'The peer broke off', error);
  } finally {
    clearTimeout(timer);
    message.destroy();
  }
}
