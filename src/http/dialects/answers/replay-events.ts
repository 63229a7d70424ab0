import type { FastifyReply } from 'fastify';
import type { Emit } from '../../../shared/async/emit.ts';
import { limits } from '../../../core/limits.ts';
import { serverSentEvents } from './server-sent-events.ts';
import { streamReply } from './stream-reply.ts';

/** Streams server-sent events that are written already. A client that disconnects ends nothing but this stream. */
export function replayEvents(
  reply: FastifyReply,
  follow: (emit: Emit<string>, signal: AbortSignal) => Promise<void>,
  stallMs: number,
): Promise<FastifyReply> {
  const controller = new AbortController();
  reply.raw.once('close', () => controller.abort(new DOMException('The client disconnected', 'AbortError')));
  return streamReply(reply, (emit) => follow(emit, controller.signal), {
    encoder: {
      ...serverSentEvents,
      encode: (text: string) => text,
      end: () => '',
    },
    failure: () => '',
    stallMs,
    // Nothing fails here that would have a status, and nothing new may come for minutes.
    headersMs: 0,
    keepAliveMs: limits.keepAliveMs,
    controller,
  });
}
