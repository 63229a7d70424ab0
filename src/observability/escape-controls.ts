import { escapeCharacters } from '../shared/text/visible-text.ts';

/** DEL and C1 control characters, which JSON does not escape, Unicode line separators, and characters that change the text direction. */
const controlCharacter = /[\u007F-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069]/;
const controlCharacters = new RegExp(controlCharacter, 'g');

/** Foreign text must not control the terminal that shows the log. The line stays valid JSON. */
export function escapeControls(line: string): string {
  return controlCharacter.test(line) ? line.replaceAll(controlCharacters, escapeCharacters) : line;
}
