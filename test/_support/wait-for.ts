import { vi } from 'vitest';

/** Ends what never comes. A busy machine must not reach it: by default Vitest waits for one second. */
const longestMs = 45_000;
const intervalMs = 20;

/** Repeats the check until it throws nothing. */
export const waitFor = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: longestMs, interval: intervalMs });

/** Repeats the reading until it gives something. */
export const waitUntil = <T>(read: () => T | Promise<T>): ReturnType<typeof vi.waitUntil<T>> =>
  vi.waitUntil(read, { timeout: longestMs, interval: intervalMs });
