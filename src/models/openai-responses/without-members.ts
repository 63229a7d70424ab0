import { endOfString } from '../../shared/json/json-depth.ts';

const [quote, colon, comma] = [0x22, 0x3a, 0x2c] as const;

/**
 * Replaces the values of these members, in objects at this depth (1: the outermost), by null, without parsing the text: a response repeats all
 * functions on offer, which may be tens of thousands of values. Invalid JSON stays invalid.
 */
export function withoutMembers(text: string, names: ReadonlySet<string>, atDepth: number): string {
  const pieces: string[] = [];
  let start = 0;
  let depth = 0;
  for (let position = 0; position < text.length; position += 1) {
    const code = text.charCodeAt(position);
    if (isOpening(code)) depth += 1;
    else if (isClosing(code)) depth -= 1;
    if (code !== quote) continue;
    const end = endOfString(text, position);
    if (end === -1) break;
    const name = depth === atDepth ? text.slice(position + 1, end) : undefined;
    position = end;
    const afterName = skipSpace(text, end + 1);
    if (name === undefined || !names.has(name) || text.charCodeAt(afterName) !== colon) continue;
    const endOfMember = endOfValue(text, skipSpace(text, afterName + 1));
    pieces.push(text.slice(start, afterName + 1), 'null');
    start = endOfMember;
    position = endOfMember - 1;
  }
  return start === 0 ? text : pieces.join('') + text.slice(start);
}

function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let position = start; position < text.length; position += 1) {
    const code = text.charCodeAt(position);
    if (code === quote) {
      const end = endOfString(text, position);
      if (end === -1) return text.length;
      position = end;
      if (depth === 0) return end + 1;
    } else if (isOpening(code)) depth += 1;
    else if (isClosing(code)) {
      // The end of the surrounding object ends a number or a literal.
      if (depth === 0) return position;
      depth -= 1;
      if (depth === 0) return position + 1;
    } else if (code === comma && depth === 0) return position;
  }
  return text.length;
}

function skipSpace(text: string, start: number): number {
  let position = start;
  while (' \t\r\n'.includes(text.charAt(position)) && position < text.length) position += 1;
  return position;
}

/** `[` and `{`, `]` and `}` differ by one bit. */
function isOpening(code: number): boolean {
  return (code | 0x20) === 0x7b;
}

function isClosing(code: number): boolean {
  return (code | 0x20) === 0x7d;
}
