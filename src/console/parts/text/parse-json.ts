/**
 * `JSON.parse`, but an integer that JavaScript cannot represent becomes a string, which the gateway reads as a number again. Browsers without access to the
 * source text (Chrome before 114, Firefox before 135, Safari before 18.4) use the nearest number.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  return /\d{16}/.test(text) ? JSON.parse(text, withDigits) : JSON.parse(text);
}

function withDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  return typeof value === 'number' && source !== undefined && isLongWhole(source) ? source : value;
}

/** Whether a text is an integer that JavaScript cannot represent. */
export function isLongWhole(text: string): boolean {
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text));
}
