/** The memory of an object or a list besides its texts, in characters. */
const objectCharacters = 64;

/** How much memory a value takes, in characters. */
export function weigh(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let weight = 0;
  const found: object[] = [value];
  for (let next = found.pop(); next !== undefined; next = found.pop()) weight += weighOne(next, found);
  return weight;
}

/** Without the objects in it, which are added to `found`. */
function weighOne(value: object, found: object[]): number {
  let weight = objectCharacters;
  if (Array.isArray(value)) {
    for (const child of value as unknown[])
      if (typeof child === 'string') weight += child.length;
      else if (typeof child === 'object' && child !== null) found.push(child);
    return weight;
  }
  // Faster than `Object.values`, and than a call for each value.
  for (const name in value) {
    const child = (value as Record<string, unknown>)[name];
    if (typeof child === 'string') weight += child.length;
    else if (typeof child === 'object' && child !== null) found.push(child);
  }
  return weight;
}
