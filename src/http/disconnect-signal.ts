import type { FastifyReply } from 'fastify';

/** Aborted when the client disconnects, or has received its answer. Fastify's `request.signal` also fires once a body was read. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const leave = (): void => controller.abort(new DOMException('The client disconnected', 'AbortError'));
  // It may have left before its run began.
  if (reply.raw.destroyed) leave();
  else reply.raw.once('close', leave);
  return controller.signal;
}
