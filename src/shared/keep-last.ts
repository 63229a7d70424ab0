/** Caches what is derived from objects that never change, as long as the object is in use. */
export function keepFor<From extends object, To>(derive: (from: From) => To): (from: From) => To {
  const kept = new WeakMap<From, { to: To }>();
  return (from) => {
    const known = kept.get(from);
    if (known !== undefined) return known.to;
    const to = derive(from);
    kept.set(from, { to });
    return to;
  };
}

/** Caches what is derived from an object that seldom changes: the last object with its result. */
export function keepLast<From extends object, To>(derive: (from: From) => To): (from: From) => To {
  let last: { from: From; to: To } | undefined;
  return (from) => {
    if (last?.from !== from) last = { from, to: derive(from) };
    return last.to;
  };
}
