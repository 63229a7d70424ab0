import type { WebSocket } from '@fastify/websocket';
import { limits } from '../../../core/limits.ts';
import { createByteBudget } from '../../body/byte-budget.ts';
import type { ByteBudget } from '../../body/byte-budget.ts';

/** A peer that misses so many pings in a row is gone, whatever TCP says. */
const missedPings = 2;

export interface SocketWatch {
  /** Counts a frame: too many in a second are a flood, and too many bytes are read more slowly. `ofCaller` counts those of all its sockets. */
  countFrame(bytes: number, ofCaller?: ByteBudget): void;
  /** Reads nothing more from the socket until it is released as often as it was held. */
  hold(): void;
  release(): void;
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
  let holds = 0;
  const budget = createByteBudget({ perSecond: limits.socketBytesPerSecond, burst: limits.socketBurstBytes });

  function hold(): void {
    holds += 1;
    socket.pause();
  }

  function release(): void {
    holds -= 1;
    if (holds === 0) socket.resume();
  }

  const isAlive = (): void => {
    unanswered = 0;
  };
  // Protocol errors, a frame that is too large: the socket closes by itself, and its `close` follows.
  socket.on('error', () => undefined);
  socket.on('ping', (data: Buffer) => countFrame(data.length));
  socket.on('pong', (data: Buffer) => countFrame(data.length));
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

  function countFrame(bytes: number, ofCaller?: ByteBudget): void {
    isAlive();
    const waitMs = Math.max(budget.take(bytes), ofCaller?.take(bytes) ?? 0);
    if (waitMs > 0) {
      hold();
      setTimeout(release, waitMs).unref();
    }
    const now = performance.now();
    if (now - windowStart > 1_000) {
      windowStart = now;
      frames = 0;
    }
    frames += 1;
    if (frames > limits.socketFramesPerSecond) options.onFailure(1008, 'Too many frames.');
  }

  return {
    hold,
    release,
    countFrame,
    stop: () => clearInterval(timer),
  };
}
