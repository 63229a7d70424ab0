export interface ByteBudget {
  /** Takes bytes, and returns how many milliseconds to wait before the next ones; 0 while the budget is not overdrawn. */
  take(bytes: number): number;
}

/** A token bucket: `burst` bytes at once, refilled by `perSecond`. `now` is in milliseconds. */
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
