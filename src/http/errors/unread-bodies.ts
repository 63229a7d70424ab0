import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../../core/limits.ts';

type Headers = FastifyRequest['headers'];

/** Whether the headers announce a large body, or one of unknown size. */
export function hasLargeBody(headers: Headers): boolean {
  if (headers['transfer-encoding'] !== undefined) return true;
  return Number(headers['content-length'] ?? 0) > limits.smallBodyBytes;
}

/**
 * Stops reading a large body after its request was refused, and ends the connection a moment after the answer: closing it with unread bytes resets
 * it, and a client that is still sending would never read the error. Call it before the answer.
 */
export function leaveBodyUnread(request: FastifyRequest, reply: FastifyReply): void {
  const incoming = request.raw;
  if (!hasLargeBody(request.headers) || incoming.complete || reply.sent) return;
  reply.header('connection', 'close');
  // Node reads and discards a body that was never read. Once reading has started and is paused, the rest stays unread.
  incoming.removeAllListeners('data');
  incoming.read(0);
  incoming.pause();
  const { socket } = incoming;
  // Node calls this once the answer is written.
  socket.destroySoon = (): void => {
    socket.end();
    setTimeout(() => socket.destroy(), limits.refusedBodyLingerMs).unref();
  };
}
