/** Derives something of objects that never change: for the same object the same result, as long as the object is used. */
export function keepFor<From extends object, To>(derive: (from: From) => To): (from: From) => To {
  const kept = new WeakMap<From, { to: To }>();
  return (from) => {
    const known = kept.get(from) ?? { to: derive(from) };
    kept.set(from, known);
    return known.to;
  };
}

/** Derives something of an object that seldom changes: for the same object as the last time the same result. */
export function keepLast<From extends object, To>(derive: (from: From) => To): (from: From) => To {
  let last: { from: From; to: To } | undefined;
  return (from) => {
    if (last?.from !== from) last = { from, to: derive(from) };
    return last.to;
  };
}
