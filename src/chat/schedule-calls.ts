import pLimit from 'p-limit';
import { limits } from '../core/limits.ts';

/** A piece of a round's work. */
export interface Scheduled {
  /** Never beside another one, and in its place of the order. */
  isAlone: boolean;
  /** What it waits for without holding a place. Must not reject, like `work`. */
  ready: Promise<void>;
  work: () => Promise<void>;
}

/** Starts all as early as their order allows, at most `limits.parallelToolCalls` at once. Resolves when all are done. */
export async function scheduleCalls(all: readonly Scheduled[]): Promise<void> {
  const gate = pLimit(limits.parallelToolCalls);
  let together: Promise<void>[] = [];
  for (const { isAlone, ready, work } of all) {
    if (isAlone) {
      await Promise.all(together);
      together = [];
      await ready;
      await work();
    } else together.push(ready.then(() => gate(work)));
  }
  await Promise.all(together);
}
