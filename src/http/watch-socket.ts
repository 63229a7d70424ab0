import type { WebSocket } from '@fastify/websocket';
import { limits } from '../core/limits.ts';

/** A peer that misses so many pings in a row is gone, whatever TCP says. */
const missedPings = 2;

export interface SocketWatch {
  /** Counts a frame: too many in a second are a flood. */
  countFrame(): void;
  stop(): void;
}

/** Looks after a socket that may be half open, flooding, or not reading. `onFailure` gets the close code and its reason. */
export function watchSocket(
  socket: WebSocket,
  options: { pingIntervalMs: number; onFailure: (code: number, reason: string) => void },
): SocketWatch {
  let unanswered = 0;
  let windowStart = performance.now();
  let frames = 0;

  const isAlive = (): void => {
    unanswered = 0;
  };
  // Protocol errors, a frame that is too large: the socket has already been told, and its `close` follows.
  socket.on('error', () => undefined);
  socket.on('pong', isAlive);
  const timer = setInterval(() => {
    if (unanswered >= missedPings) {
      options.onFailure(1001, 'The browser does not answer pings.');
      socket.terminate();
      return;
    }
    // Pings and their pongs wait in the same queue.
    if (socket.bufferedAmount > limits.socketBufferBytes) options.onFailure(1013, 'The browser does not read.');
    unanswered += 1;
    socket.ping();
  }, options.pingIntervalMs);
  timer.unref();

  return {
    countFrame() {
      isAlive();
      const now = performance.now();
      if (now - windowStart > 1_000) {
        windowStart = now;
        frames = 0;
      }
      frames += 1;
      if (frames > limits.socketFramesPerSecond) options.onFailure(1008, 'Too many frames.');
    },
    stop: () => clearInterval(timer),
  };
}
