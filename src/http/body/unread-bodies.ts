import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../../core/limits.ts';

type Headers = FastifyRequest['headers'];

/** Whether a body is announced that is worth counting, or one of unknown size. */
export function hasLargeBody(headers: Headers): boolean {
  if (headers['transfer-encoding'] !== undefined) return true;
  return Number(headers['content-length'] ?? 0) > limits.smallBodyBytes;
}

/**
 * After a refusal the rest of a large body is not read, and the connection ends. It ends a
 * moment later, because closing it with unread bytes resets it, and a client that still sends would never see why. To be called before the answer.
 */
export function leaveBodyUnread(request: FastifyRequest, reply: FastifyReply): void {
  const incoming = request.raw;
  if (!hasLargeBody(request.headers) || incoming.complete || reply.sent) return;
  reply.header('connection', 'close');
  // Node reads what nobody has begun to read to its end, and drops it. Begun and paused, it stays with the client.
  incoming.removeAllListeners('data');
  incoming.read(0);
  incoming.pause();
  const { socket } = incoming;
  // Called by Node once the answer is written.
  socket.destroySoon = (): void => {
    socket.end();
    setTimeout(() => socket.destroy(), limits.refusedBodyLingerMs).unref();
  };
}
