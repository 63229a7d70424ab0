const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

/**
 * Whether JSON text is nested deeper than this, without parsing it: the parser takes seconds for megabytes of brackets. One pass that skips strings
 * with `indexOf` and stops at the first bracket too many. Invalid JSON is left to the parser.
 */
export function isTextDeeperThan(text: string, maxDepth: number): boolean {
  let depth = 0;
  for (let position = 0; position < text.length; position += 1) {
    const code = text.charCodeAt(position);
    if (code === quote) {
      position = endOfString(text, position);
      if (position === -1) return false;
      // `[` and `{`, `]` and `}` differ by one bit.
    } else if ((code | 0x20) === 0x7b) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if ((code | 0x20) === 0x7d) depth -= 1;
  }
  return false;
}

/** Whether JSON text has more values than this, as `valuesIn` counts them. */
export function hasMoreValuesThan(text: string, maxValues: number): boolean {
  // Each value but the first has a character of its own.
  return text.length >= maxValues && valuesIn(text, maxValues) > maxValues;
}

/**
 * The values in JSON text, without parsing it: it counts opening brackets and commas, so empty arrays and objects count once and field names not at
 * all. One pass that stops at the first value beyond `maxValues`.
 */
export function valuesIn(text: string, maxValues: number): number {
  let values = 1;
  for (let position = 0; position < text.length; position += 1) {
    const code = text.charCodeAt(position);
    if (code === quote) {
      position = endOfString(text, position);
      if (position === -1) return values;
    } else if (code === comma || (code | 0x20) === 0x7b) {
      values += 1;
      if (values > maxValues) return values;
    }
  }
  return values;
}

/** The quote that ends the string which begins at `start`, or -1. Each run of backslashes is counted once, so that the whole stays linear. */
export function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

function isEscaped(text: string, position: number): boolean {
  let first = position;
  while (text.charCodeAt(first - 1) === backslash) first -= 1;
  return (position - first) % 2 === 1;
}
