export interface ByteBudget {
  /** Takes bytes, and says how many milliseconds to wait until they are earned; 0 while there are enough. */
  take(bytes: number): number;
}

/** Bytes that may be used at once, and how many of them come back in a second. `now` in milliseconds. */
export function createByteBudget({ perSecond, burst }: { perSecond: number; burst: number }, now = () => performance.now()): ByteBudget {
  let left = burst;
  let countedAt = now();
  return {
    take(bytes) {
      const at = now();
      left = Math.min(burst, left + ((at - countedAt) * perSecond) / 1_000) - bytes;
      countedAt = at;
      return left >= 0 ? 0 : (-left * 1_000) / perSecond;
    },
  };
}
