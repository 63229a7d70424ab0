/** Where a text stops being JSON, in code units from its start, and what is wrong there, in the words of Python's `json`. */
export interface JsonFault {
  position: number;
  error: string;
}

const literal = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/y;
const blanks = /[ \t\n\r]*/y;
/** JSON forbids the control characters below U+0020 only; `Cc` has those from U+007F as well. */
const plainCharacters = /(?:[^"\\\p{Cc}]|[\u007f-\u009f])*/uy;
const escapeSequence = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/**
 * Finds the fault of a text that `JSON.parse` has refused; the engine's own message names no position for most of them.
 * One pass without recursion, so that nesting costs no stack.
 */
export function findJsonFault(text: string): JsonFault {
  const closers: ('}' | ']')[] = [];
  let position = 0;
  let next: 'value' | 'value or ]' | 'key' | 'key or }' | 'separator' = 'value';
  for (;;) {
    position = skip(blanks, text, position);
    const character = text[position] ?? '';
    const closer = closers.at(-1);
    if (next === 'separator' && closer === undefined) return { position, error: 'Extra data' };
    const mayClose = next === 'separator' || next === 'value or ]' || next === 'key or }';
    if (mayClose && character === closer) {
      closers.pop();
      position += 1;
      next = 'separator';
    } else if (next === 'separator') {
      if (character !== ',') return { position, error: "Expecting ',' delimiter" };
      position += 1;
      next = closer === '}' ? 'key' : 'value';
    } else if (next === 'key' || next === 'key or }') {
      if (character !== '"') return { position, error: 'Expecting property name enclosed in double quotes' };
      const end = readString(text, position);
      if (typeof end !== 'number') return end;
      position = skip(blanks, text, end);
      if (text[position] !== ':') return { position, error: "Expecting ':' delimiter" };
      position += 1;
      next = 'value';
    } else if (character === '{' || character === '[') {
      closers.push(character === '{' ? '}' : ']');
      position += 1;
      next = character === '{' ? 'key or }' : 'value or ]';
    } else {
      const end = character === '"' ? readString(text, position) : skip(literal, text, position);
      if (typeof end !== 'number') return end;
      if (end === position) return { position, error: 'Expecting value' };
      position = end;
      next = 'separator';
    }
  }
}

/** The position after the string that begins at `start`. */
function readString(text: string, start: number): number | JsonFault {
  let position = start + 1;
  for (;;) {
    position = skip(plainCharacters, text, position);
    const rest = text.slice(position, position + 2);
    if (rest === '' || rest === '\\') return { position: start, error: 'Unterminated string starting at' };
    if (rest.startsWith('"')) return position + 1;
    if (!rest.startsWith('\\')) return { position, error: 'Invalid control character at' };
    const end = skip(escapeSequence, text, position);
    if (end === position)
      return rest === '\\u' ? { position: position + 1, error: 'Invalid \\uXXXX escape' } : { position, error: 'Invalid \\escape' };
    position = end;
  }
}

function skip(pattern: RegExp, text: string, position: number): number {
  pattern.lastIndex = position;
  return pattern.test(text) ? pattern.lastIndex : position;
}
