/** Loads a value once for all who wait for it, and again when it is older than `maxAgeMs`. A failure is not kept. `now`: in milliseconds. */
export function keptFor<Value>(maxAgeMs: number, now: () => number, load: () => Promise<Value>): () => Promise<Value> {
  let known: { value: Promise<Value>; at: number } | undefined;
  return () => {
    if (known !== undefined && now() - known.at < maxAgeMs) return known.value;
    const loading = { value: load(), at: now() };
    known = loading;
    loading.value.catch(() => {
      if (known === loading) known = undefined;
    });
    return loading.value;
  };
}
