import type { FastifyReply } from 'fastify';

/** Aborted when the client disconnects, or has received its answer. Fastify's `request.signal` also fires once a body was read. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => controller.abort(new DOMException('The client disconnected', 'AbortError')));
  return controller.signal;
}
