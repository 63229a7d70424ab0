import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { watchStops } from './watch-stops.ts';

/**
 * Preloaded into a gateway: on SIGWINCH it writes the longest stop of the event loop since the last time, as `{longestMs}`, into `stops-<pid>.json` in
 * the folder above its own.
 */
if (isMainThread) {
  const stops = watchStops();
  process.on('SIGWINCH', () => writeFileSync(`../stops-${process.pid}.json`, JSON.stringify({ longestMs: stops.takeLongestMs() })));
}
