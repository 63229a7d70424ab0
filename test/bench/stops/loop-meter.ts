import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/**
 * Preloaded into a gateway: the longest stop of its event loop, in computing time of the main thread, which other processes of the machine do not
 * change. A timer is due after every millisecond, so between two of its calls lies one turn of the loop, and at most one millisecond of others.
 *
 * On SIGWINCH it writes `{longestMs}` into `stops-<pid>.json` in the folder above its own, and begins anew.
 */
if (isMainThread) {
  let longestMs = 0;
  let before = cpuMs();

  const note = (): void => {
    const now = cpuMs();
    longestMs = Math.max(longestMs, now - before);
    before = now;
  };
  setInterval(note, 1).unref();
  process.on('SIGWINCH', () => {
    note();
    writeFileSync(`../stops-${process.pid}.json`, JSON.stringify({ longestMs }));
    longestMs = 0;
    before = cpuMs();
  });
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
