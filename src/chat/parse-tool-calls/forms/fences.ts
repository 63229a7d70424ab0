import type { AnswerText } from '../answer-text.ts';

const longestFence = 16;

export interface Fence {
  /** The run of backticks or tildes; the same run closes it. */
  mark: string;
  /** Where the contents begin, after the name of the language. */
  start: number;
  /** Calls may stand in it. */
  mayHoldCalls: boolean;
  /** It is tagged with a programming language: its contents are calls only if it holds nothing but calls. */
  isProgram: boolean;
  /** Gemma's fence for calls. */
  isToolCode: boolean;
}

/** Language tags under which models write calls as data. All others count as programming languages. */
const dataLanguages = new Set(
  ' json jsonc json5 jsonl xml text txt plaintext tool_code tool_call tool_calls function_call tool yaml'.split(' '),
);

/** The fence or inline code that opens at `at`. */
export function fenceAt(input: AnswerText, at: number): Fence | undefined {
  const character = input.at(at);
  let end = at;
  while (end - at < longestFence && input.at(end) === character) end += 1;
  const mark = input.text.slice(at, end);
  if (mark.length >= 3) {
    const languageEnd = input.nameEnd(end);
    const language = input.text.slice(end, languageEnd).toLowerCase();
    const start = input.skipSpace(languageEnd);
    return { mark, start, mayHoldCalls: true, isProgram: !dataLanguages.has(language), isToolCode: language === 'tool_code' };
  }
  if (character === '~') return undefined;
  return { mark, start: end, mayHoldCalls: ['{', '['].includes(input.at(end)), isProgram: false, isToolCode: false };
}
