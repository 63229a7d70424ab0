/**
 * `JSON.parse`, but a whole number with more digits than a JavaScript number keeps becomes a text, which the gateway reads as the number again. In
 * browsers that do not tell how a number was written (Chrome before 114, Firefox before 135, Safari before 18.4) it stays the nearest number.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  return /\d{16}/.test(text) ? JSON.parse(text, withDigits) : JSON.parse(text);
}

function withDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  return typeof value === 'number' && source !== undefined && isLongWhole(source) ? source : value;
}

/** Whether a text is a whole number beyond those that JavaScript tells apart. */
export function isLongWhole(text: string): boolean {
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text));
}
