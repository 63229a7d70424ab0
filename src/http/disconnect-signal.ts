import type { FastifyReply } from 'fastify';

/** Aborts when the client is gone, or has its answer. Fastify's `request.signal` would not do: it also fires once a body was read. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const leave = new AbortController();
  reply.raw.once('close', () => leave.abort(new DOMException('The client left', 'AbortError')));
  return leave.signal;
}
