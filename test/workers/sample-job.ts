import { setTimeout as pause } from 'node:timers/promises';
import { threadId, type MessagePort } from 'node:worker_threads';

export function double(value: number): number {
  return value * 2;
}

export function whichThread(): number {
  return threadId;
}

export function spinForever(): never {
  for (;;);
}

export function fillMemory(): never {
  const kept: unknown[] = [];
  for (;;) kept.push(Array.from({ length: 1_000 }, (_, index) => ({ index })));
}

export async function sleep(ms: number): Promise<number> {
  await pause(ms);
  return ms;
}

export function fail(message: string): never {
  throw new TypeError(message);
}

/** Asks for one number after the other and gives their sum. */
export async function addUp({ port, count }: { port: MessagePort; count: number }): Promise<number> {
  let sum = 0;
  for (let index = 0; index < count; index += 1) {
    const { promise, resolve } = Promise.withResolvers<number>();
    port.once('message', resolve);
    // eslint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
    port.postMessage(index);
    sum += await promise;
  }
  port.close();
  return sum;
}

/** Holds its thread until it is told to end; says that it has begun. */
export async function hold({ port, label }: { port: MessagePort; label: string }): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<void>();
  port.once('message', () => resolve());
  // eslint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
  port.postMessage(label);
  await promise;
  port.close();
  return label;
}
