import type { WebSocket } from '@fastify/websocket';
import { limits } from '../../../core/limits.ts';
import { createByteBudget, type ByteBudget } from './byte-budget.ts';

/** Frames from one socket; a browser that runs many tools at once stays far below. */
export const socketFramesPerSecond = 400;
/** Bytes that one socket may send: rate and burst. A socket that sends more is read more slowly. */
const socketBytesPerSecond = 1024 * 1024;
export const socketBurstBytes = 4 * 1024 * 1024;

/** After this many unanswered pings in a row the peer counts as gone, even if the TCP connection is open. */
const missedPings = 2;

interface SocketPace {
  /** Counts a frame. Too many frames in a second close the socket; too many bytes slow down reading. `ofCaller` is the budget of all sockets of the caller. */
  countFrame(bytes: number, ofCaller?: ByteBudget): void;
  /** Pauses reading from the socket until `release` was called as often as `hold`. */
  hold(): void;
  release(): void;
  stop(): void;
}

/** Slows down the reading of a socket that sends too much, and detects one that is half open, floods, or does not read. `onFailure` gets the close code and its reason. */
export function paceSocket(
  socket: WebSocket,
  options: { pingIntervalMs: number; onFailure: (code: number, reason: string) => void },
): SocketPace {
  let unanswered = 0;
  let windowStart = performance.now();
  let frames = 0;
  let holds = 0;
  const budget = createByteBudget({ perSecond: socketBytesPerSecond, burst: socketBurstBytes });

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
  // After a protocol error or a frame that is too large, `ws` closes the socket itself and emits `close`.
  socket.on('error', () => undefined);
  socket.on('ping', (data: Buffer) => countFrame(data.length));
  socket.on('pong', (data: Buffer) => countFrame(data.length));
  const timer = setInterval(() => {
    if (unanswered >= missedPings) {
      options.onFailure(1001, 'The browser does not answer pings.');
      socket.terminate();
      return;
    }
    // Pings are queued behind the unread frames, so check the queue here too.
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
    if (frames > socketFramesPerSecond) options.onFailure(1008, 'Too many frames.');
  }

  return {
    hold,
    release,
    countFrame,
    stop: () => clearInterval(timer),
  };
}
