/** Something that counts how often its fields and elements are read, in whatever depth: shows without a clock that each is read a few times only. */
export function countReads<Value extends object>(value: Value): { counted: Value; reads: () => number } {
  let reads = 0;
  const known = new WeakMap<object, object>();
  const wrap = <One>(one: One): One => {
    if (typeof one !== 'object' || one === null) return one;
    const wrapped =
      known.get(one) ??
      new Proxy<object>(one, {
        get(target, name) {
          reads += 1;
          return wrap(Reflect.get(target, name) as unknown);
        },
      });
    known.set(one, wrapped);
    return wrapped as One;
  };
  return { counted: wrap(value), reads: () => reads };
}
