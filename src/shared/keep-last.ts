/** Derives something of an object that seldom changes: for the same object as the last time the same result. */
export function keepLast<From extends object, To>(derive: (from: From) => To): (from: From) => To {
  let last: { from: From; to: To } | undefined;
  return (from) => {
    if (last?.from !== from) last = { from, to: derive(from) };
    return last.to;
  };
}
