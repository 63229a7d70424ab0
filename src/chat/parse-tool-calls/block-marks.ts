import { isUnmistakable, reasoningTags, type ReasoningTag } from '../../shared/reasoning-tags.ts';
import type { AnswerText } from './answer-text.ts';
import { namedOpenings } from './forms/named-calls.ts';
import type { Enclosure } from './read-context.ts';
import { tagOpenings } from './forms/tag-calls.ts';

/** What a mark in an answer begins. */
export type Mark = { open: string } & (
  | /** A block of calls between unmistakable marks. `keeps`: characters of the mark that belong to the first call. */
    { kind: 'block'; enclosure: Enclosure; keeps: number }
  /** A tag that may also enclose things other than calls. */
  | { kind: 'wrapper'; enclosure: Enclosure }
  /** Encloses text of another role, such as a tool result. Calls in it must not run. */
  | { kind: 'foreign'; close: string }
  | { kind: 'thought'; close: string; isToken: boolean }
  | { kind: 'thought-end' }
  | { kind: 'harmony' }
  /** A token of a template that has no meaning after a call. */
  | { kind: 'noise' }
);

/** Both spellings of DeepSeek's marks: full-width bars, and the ASCII ones of distilled models. */
function bothBars(mark: string): string[] {
  return [mark, mark.replaceAll('｜', '|')];
}

const deepSeekEnds = bothBars('<｜tool▁calls▁end｜>');
const dsmlEnds = ['function_calls', 'tool_calls'].flatMap((name) => bothBars(`</｜DSML｜${name}>`));

const blocks: [open: string, closes: string[]][] = [
  ['<tool_call>', ['</tool_call>']],
  ['<tool_calls>', ['</tool_calls>']],
  ['<function_call>', ['</function_call>']],
  ['<function_calls>', ['</function_calls>']],
  ['<functioncall>', ['</functioncall>', '<|endoftext|>']],
  ['<TOOLCALL>', ['</TOOLCALL>']],
  ['<seed:tool_call>', ['</seed:tool_call>']],
  ['<minimax:tool_call>', ['</minimax:tool_call>']],
  ['<|tool_call|>', ['<|/tool_call|>', '</|tool_call|>', '</tool_call>']],
  ['<|tool_call_start|>', ['<|tool_call_end|>']],
  ['<|tools_prefix|>', ['<|tools_suffix|>']],
  ['<|START_ACTION|>', ['<|END_ACTION|>']],
  ['<|action_start|><|plugin|>', ['<|action_end|>']],
  ['<|python_tag|>', ['<|eom_id|>', '<|eot_id|>']],
  ['<|python_start|>', ['<|python_end|>']],
  ['<|tool_calls_section_begin|>', ['<|tool_calls_section_end|>']],
  ['[TOOL_CALLS]', ['[/TOOL_CALLS]', '</s>']],
  ...['<｜tool▁calls▁begin｜>', '<｜tool▁calls｜>'].flatMap(bothBars).map((open): [string, string[]] => [open, deepSeekEnds]),
  ...['<｜DSML｜function_calls>', '<｜DSML｜tool_calls>'].flatMap(bothBars).map((open): [string, string[]] => [open, dsmlEnds]),
];

const wrappers = ['tools', 'tool', 'response', 'json', 'JSON', 'xml'];
const foreign: [string, string][] = [
  ['<tool_response>', '</tool_response>'],
  ['<tool_output>', '</tool_output>'],
  ['<tool_result>', '</tool_result>'],
  ...['function_response', 'function_result', 'function_results', 'tool_results'].map((name): [string, string] => [
    `<${name}>`,
    `</${name}>`,
  ]),
  ['[TOOL_RESULTS]', '[/TOOL_RESULTS]'],
  ['[AVAILABLE_TOOLS]', '[/AVAILABLE_TOOLS]'],
  ['<|START_TOOL_RESULT|>', '<|END_TOOL_RESULT|>'],
  ['<|start|>functions.', '<|end|>'],
  ['<|im_start|>tool', '<|im_end|>'],
  ['<|im_start|>user', '<|im_end|>'],
  ['<|start_header_id|>ipython', '<|eot_id|>'],
  ['<|start_header_id|>user', '<|eot_id|>'],
  // Thoughts that a reader may have asked to see.
  ...['reflection', 'analysis', 'scratchpad', 'scratch_pad'].map((name): [string, string] => [`<${name}>`, `</${name}>`]),
  ['<details type="reasoning"', '</details>'],
  ['<｜tool▁outputs▁begin｜>', '<｜tool▁outputs▁end｜>'],
];

const thoughts: readonly ReasoningTag[] = [
  ...reasoningTags,
  ...['Think', 'Thinking', 'Thought'].map((name) => ({ open: `<${name}>`, close: `</${name}>` })),
  { open: '<|START_THINKING|>', close: '<|END_THINKING|>' },
];

/** Tokens of templates that may stand after a call. */
const noise = [
  '<|end|>',
  '<|return|>',
  '<|call|>',
  '<|im_end|>',
  '<|eot_id|>',
  '<|eom_id|>',
  '<|eot|>',
  '<end_of_turn>',
  '<|endoftext|>',
  '<|end_of_text|>',
  '<|observation|>',
  '</s>',
  ...bothBars('<｜end▁of▁sentence｜>'),
  ...deepSeekEnds,
  '<|tool_calls_section_end|>',
];

export const thoughtEnds = thoughts.map(({ close }) => close);

/** Marks within which a call does not count. */
export const hidingMarks: readonly string[] = [...foreign.flat(), ...thoughts.flatMap(({ open, close }) => [open, close])];

const marked: Enclosure = { isMarked: true, closes: [], allowsPythonicCalls: true };

export const marks: Mark[] = [
  ...blocks.map(([open, closes]): Mark => ({ kind: 'block', open, enclosure: { ...marked, open, closes }, keeps: 0 })),
  { kind: 'block', open: 'functools[', enclosure: marked, keeps: 1 },
  ...[...tagOpenings, ...namedOpenings].map((open): Mark => ({ kind: 'block', open, enclosure: marked, keeps: open.length })),
  ...wrappers.map((name): Mark => ({ kind: 'wrapper', open: `<${name}>`, enclosure: { isMarked: false, closes: [`</${name}>`] } })),
  ...foreign.map(([open, close]): Mark => ({ kind: 'foreign', open, close })),
  ...thoughts.map((tag): Mark => ({ kind: 'thought', ...tag, isToken: isUnmistakable(tag) })),
  ...thoughts.map(({ close }): Mark => ({ kind: 'thought-end', open: close })),
  { kind: 'harmony', open: '<|channel|>' },
  { kind: 'harmony', open: '<|start|>assistant' },
  ...noise.map((open): Mark => ({ kind: 'noise', open })),
];

export const marksByOpen: ReadonlyMap<string, Mark> = new Map(marks.toReversed().map((mark) => [mark.open, mark]));
const longestMark = Math.max(...marks.map(({ open }) => open.length));
const markStarts = new Set(marks.map(({ open }) => open.charAt(0)));
/** All proper prefixes of marks: text that ends with one may continue as a mark. */
const markBeginnings = new Set(marks.flatMap(({ open }) => Array.from(open, (_, index) => open.slice(0, index)).slice(1)));

const anyMark = marks.map(({ open }) => open.replaceAll(/[[|\].?*+(){}^$/]/g, String.raw`\$&`)).join('|');
const beginnings = new RegExp(`${anyMark}|[[{"\`~]`, 'g');
const beginningsAndLines = new RegExp(`${anyMark}|[[{"\`~\n]`, 'g');

/**
 * Finds the first possible beginning at or after `from`: a mark, bracket, quote, fence or (with labels) line break. If there is none, `open` is empty
 * and `at` is the end of the text, or the start of a possible incomplete mark at its end.
 */
export function findBeginning({ text, isEnded }: AnswerText, from: number, hasLabels: boolean): { at: number; open: string } {
  const pattern = hasLabels ? beginningsAndLines : beginnings;
  pattern.lastIndex = from;
  const match = pattern.exec(text);
  const found = match?.index ?? text.length;
  const undecided = isEnded || found < text.length - longestMark ? text.length : undecidedFrom(text, from);
  return match === null || found >= undecided ? { at: undecided, open: '' } : { at: found, open: match[0] };
}

/** Where the end of a text may be the beginning of a mark. */
function undecidedFrom(text: string, from: number): number {
  for (let at = Math.max(from, text.length - longestMark); at < text.length; at += 1)
    if (markStarts.has(text.charAt(at)) && markBeginnings.has(text.slice(at))) return at;
  return text.length;
}

/** The position after template tokens and white space. */
export function skipNoise(input: AnswerText, from: number): number {
  let position = from;
  for (;;) {
    position = input.skipSpace(position);
    const mark = input.firstOf(noise, position);
    if (mark === undefined) return position;
    position += mark.length;
  }
}
