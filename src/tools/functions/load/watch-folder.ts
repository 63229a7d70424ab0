import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';

/** Editors write in several steps, and a checkout changes many files. */
const settleMs = 100;
/** Where changes are not told: below the folder, in mounts of containers, on network drives, in a folder that was made anew. */
const pollMs = 3_000;

/**
 * Calls `look` a moment after something has changed in the folder (`isTold`), and every few seconds in case nothing tells. Gives the way to end that.
 * Not recursively: on Linux Node then watches single files, and loses those that an editor replaces.
 */
export function watchFolder(folder: string, look: (isTold: boolean) => void): () => void {
  let settling: NodeJS.Timeout | undefined;
  let watcher = startWatching();

  function startWatching(): FSWatcher | undefined {
    try {
      const started = watch(folder, { persistent: false }, () => {
        clearTimeout(settling);
        settling = setTimeout(() => look(true), settleMs);
        settling.unref();
      });
      // A folder that is gone, or no more watches to be had: polling goes on.
      started.on('error', () => {
        started.close();
        if (watcher === started) watcher = undefined;
      });
      return started;
    } catch {
      return undefined;
    }
  }

  const polling = setInterval(() => {
    watcher ??= startWatching();
    look(false);
  }, pollMs);
  polling.unref();
  return () => {
    clearInterval(polling);
    clearTimeout(settling);
    watcher?.close();
    watcher = undefined;
  };
}
