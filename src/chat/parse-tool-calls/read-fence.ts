import type { Scan } from './call-pieces.ts';
import type { ReadContext } from './read-context.ts';
import { readName, skipSpace } from './run-ends.ts';

const longestFence = 16;

export interface Fence {
  /** The run of backticks or tildes; the same run closes it. */
  mark: string;
  /** Where the contents begin, behind the name of the language. */
  start: number;
  /** Calls may stand in it. */
  isCode: boolean;
  /** Its language is one that programs are written in: what stands there is a call only if nothing else stands there. */
  isProgram: boolean;
  /** Gemma's fence for calls. */
  isToolCode: boolean;
}

/** Languages of fences in which models write calls as data. All others are taken for programs. */
const dataLanguages = new Set([
  '',
  'json',
  'jsonc',
  'json5',
  'jsonl',
  'xml',
  'text',
  'txt',
  'plaintext',
  'tool_code',
  'tool_call',
  'tool_calls',
  'function_call',
  'tool',
  'yaml',
]);

/** The fence or inline code that opens at `at`. */
export function* readFence({ input }: ReadContext, at: number): Scan<Fence | undefined> {
  const character = input.text.charAt(at);
  let end = at;
  while (end - at < longestFence) {
    while (input.lacks(end)) yield;
    if (input.text[end] !== character) break;
    end++;
  }
  const mark = input.text.slice(at, end);
  if (mark.length >= 3) {
    const languageEnd = yield* readName(input, end);
    const language = input.text.slice(end, languageEnd).toLowerCase();
    const start = yield* skipSpace(input, languageEnd);
    return { mark, start, isCode: true, isProgram: !dataLanguages.has(language), isToolCode: language === 'tool_code' };
  }
  if (character === '~') return undefined;
  while (input.lacks(end)) yield;
  return { mark, start: end, isCode: input.text[end] === '{' || input.text[end] === '[', isProgram: false, isToolCode: false };
}
