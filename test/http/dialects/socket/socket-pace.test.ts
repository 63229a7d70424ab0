import { EventEmitter } from 'node:events';
import type { WebSocket } from '@fastify/websocket';
import { expect, it, onTestFinished, vi } from 'vitest';
import { limits } from '../../../../src/core/limits.ts';
import { createByteBudget } from '../../../../src/http/dialects/socket/byte-budget.ts';
import { paceSocket, socketFramesPerSecond, socketBurstBytes } from '../../../../src/http/dialects/socket/socket-pace.ts';

it('bytes may be used at once up to a sum, and come back with time', () => {
  let now = 0;
  const budget = createByteBudget({ perSecond: 1_000, burst: 2_000 }, () => now);
  expect([budget.take(1_500), budget.take(500), budget.take(100)]).toEqual([0, 0, 100]);
  now = 1_100;
  expect([budget.take(1_000), budget.take(1_000)]).toEqual([0, 1_000]);
  now = 1_000_000;
  expect([budget.take(2_000), budget.take(1)]).toEqual([0, 1]);
});

/** Notes whether it is read. */
class ReadSocket extends EventEmitter {
  isPaused = false;
  pause = (): void => void (this.isPaused = true);
  resume = (): void => void (this.isPaused = false);
}

function paced() {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const socket = new ReadSocket();
  const failures: number[] = [];
  const pace = paceSocket(socket as unknown as WebSocket, { pingIntervalMs: 1e9, onFailure: (code) => failures.push(code) });
  onTestFinished(() => pace.stop());
  return { socket, pace, failures };
}

it('a socket that sends more bytes than it may is not read until they are earned', () => {
  const { socket, pace, failures } = paced();
  for (let frame = 0; frame < 4; frame += 1) pace.countFrame(limits.socketFrameBytes);
  expect(socket.isPaused).toBe(false);
  pace.countFrame(limits.socketFrameBytes);
  expect(socket.isPaused).toBe(true);
  vi.advanceTimersByTime(1_100);
  expect(socket.isPaused).toBe(false);
  expect(failures).toEqual([]);
});

it.each(['ping', 'pong'])('a flood of %s frames ends a socket like one of messages', (type) => {
  const { socket, failures } = paced();
  for (let frame = 0; frame < socketFramesPerSecond; frame += 1) socket.emit(type, Buffer.alloc(0));
  expect(failures).toEqual([]);
  socket.emit(type, Buffer.alloc(0));
  expect(failures).toEqual([1008]);
});

it('sockets of one caller share what the caller may send', () => {
  const ofCaller = createByteBudget({ perSecond: 1_000, burst: 1_000 }, () => 0);
  const [first, second] = [paced(), paced()];
  first.pace.countFrame(1_000, ofCaller);
  expect(first.socket.isPaused).toBe(false);
  second.pace.countFrame(1_000, ofCaller);
  expect(second.socket.isPaused).toBe(true);
});

it('it stays unread while anybody holds it', () => {
  const { socket, pace } = paced();
  pace.hold();
  pace.countFrame(socketBurstBytes + 1);
  vi.advanceTimersByTime(1_000);
  expect(socket.isPaused).toBe(true);
  pace.release();
  expect(socket.isPaused).toBe(false);
});
