import { endOfString } from '../../../shared/json-depth.ts';

/** Whole numbers of so many digits that a double may not hold them; what has a point or an exponent is no id. */
const longNumber = /(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/**
 * JSON text in which whole numbers that a double cannot hold are texts: ids of 64 bits lose their last digits as numbers, and the next call would
 * name something else. A reviver would do the same and take a microsecond for each value of the text.
 */
export function quoteLongNumbers(text: string): string {
  const parts: string[] = [];
  let position = 0;
  while (position < text.length) {
    const start = text.indexOf('"', position);
    const end = start === -1 ? text.length : start;
    parts.push(text.slice(position, end).replaceAll(longNumber, quoted));
    if (start === -1) break;
    const close = endOfString(text, start);
    position = close === -1 ? text.length : close + 1;
    parts.push(text.slice(start, position));
  }
  return parts.join('');
}

function quoted(digits: string): string {
  return Number.isSafeInteger(Number(digits)) ? digits : `"${digits}"`;
}
