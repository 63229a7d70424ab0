/**
 * Characters of Markdown that all texts of the page may parse in one frame of the screen, which takes some milliseconds. A long chat, and an answer that arrives
 * at once, appear over several frames instead of blocking the page.
 */
const perFrame = 4_000;

let left = perFrame;
let isCounting = false;
const waiting = new Set<() => void>();

/** Returns how many of the characters may be parsed in this frame. */
export function takeCharacters(wanted: number): number {
  const given = Math.min(wanted, left);
  left -= given;
  if (given > 0) countFrame();
  return given;
}

/** Calls back once in the next frame. @returns a function that cancels the callback */
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
