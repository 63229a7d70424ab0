/** Freezes a value of plain objects and arrays, all the way down, and returns it. Stops at what is frozen already, so cycles end. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) deepFreeze(child);
  return value;
}
