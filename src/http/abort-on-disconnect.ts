import type { FastifyReply } from 'fastify';

/**
 * Runs work whose answer nobody waits for once the client is gone: its signal is aborted then, and the reply is given up.
 * Not by the request's own signal, which also fires once a body was read.
 */
export async function abortOnDisconnect(reply: FastifyReply, work: (signal: AbortSignal) => Promise<unknown>): Promise<unknown> {
  const leave = new AbortController();
  reply.raw.once('close', () => leave.abort(new DOMException('The client left', 'AbortError')));
  try {
    return await work(leave.signal);
  } catch (error) {
    if (leave.signal.aborted && reply.raw.destroyed) return reply.hijack();
    throw error;
  }
}
