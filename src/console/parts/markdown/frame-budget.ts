/**
 * Characters of Markdown that are read anew within one frame of the screen, by all texts of the page together: some milliseconds of work. A long
 * chat that is opened, and an answer that comes at once, appear over some frames instead of holding up the page.
 */
const perFrame = 4_000;

let left = perFrame;
let isCounting = false;
const waiting = new Set<() => void>();

/** How many of the characters may be read in this frame. */
export function takeCharacters(wanted: number): number {
  const given = Math.min(wanted, left);
  left -= given;
  if (given > 0) countFrame();
  return given;
}

/** Calls back once in the next frame. @returns what takes it back */
export function inNextFrame(callback: () => void): () => void {
  waiting.add(callback);
  countFrame();
  return () => void waiting.delete(callback);
}

function countFrame(): void {
  if (isCounting) return;
  isCounting = true;
  requestAnimationFrame(() => {
    isCounting = false;
    left = perFrame;
    const ready = [...waiting];
    waiting.clear();
    for (const callback of ready) callback();
  });
}
