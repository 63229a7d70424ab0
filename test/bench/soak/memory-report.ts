import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/**
 * Preloaded into a gateway that was started with `--expose-gc`: on SIGWINCH it collects garbage and writes `process.memoryUsage()` into
 * `memory-<pid>.json` in the folder above its own.
 */
if (isMainThread) {
  process.on('SIGWINCH', () => {
    globalThis.gc?.();
    writeFileSync(`../memory-${process.pid}.json`, JSON.stringify(process.memoryUsage()));
  });
}
