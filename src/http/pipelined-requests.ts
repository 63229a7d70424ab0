import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTick } from 'node:timers/promises';
import { addressOwner } from './auth/address-owner.ts';
import { createRequestTurns } from './request-turns.ts';

/** Requests of one connection that wait for the answer before them; clients that send ahead at all have some dozens on their way. */
const maxWaiting = 256;

interface RequestOrder {
  /** Undefined when the request may begin at once; otherwise a promise that resolves when it may, and never if its client is gone. */
  take(request: { socket: Socket }, answer: ServerResponse): Promise<void> | undefined;
}

/**
 * One request of a connection at a time. A client may send requests ahead (RFC 9112, section 9.3.2), and has to get their answers in order: Node begins all of
 * them, and holds the later answers in memory. A thousand requests fit into what is read at once, and a client that reads nothing has all of them held.
 */
export function createRequestOrder(): RequestOrder {
  const connections = new WeakMap<Socket, { last: ServerResponse; waiting: number }>();
  // Closing takes a millisecond for every thirty requests that wait, because Node makes an error for each.
  const turns = createRequestTurns(1);

  async function close(socket: Socket): Promise<void> {
    socket.pause();
    // Node is still handing over the requests that it has read.
    await nextTick();
    await turns.take(addressOwner(socket.remoteAddress ?? ''));
    socket.destroy();
  }

  return {
    take({ socket }, answer) {
      const connection = connections.get(socket);
      if (connection === undefined) {
        connections.set(socket, { last: answer, waiting: 0 });
        return undefined;
      }
      const before = connection.last;
      connection.last = answer;
      if (before.writableFinished || before.destroyed) return undefined;
      if (connection.waiting === maxWaiting) return new Promise(() => undefined);
      connection.waiting += 1;
      if (connection.waiting === maxWaiting) void close(socket);
      return new Promise((resolve) => {
        before.once('close', () => {
          connection.waiting -= 1;
          if (socket.destroyed) return;
          // That of the answer before, which Node lifts only where no request waits.
          socket.setTimeout(0);
          resolve();
        });
      });
    },
  };
}
