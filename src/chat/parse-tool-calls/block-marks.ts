import { isUnmistakable, reasoningTags, type ReasoningTag } from '../../shared/reasoning-tags.ts';
import type { AnswerText } from './answer-text.ts';
import { bareOpenings, keyOpenings, kimiNamespace, namedOpenings } from './forms/named-calls.ts';
import { MarkTable, patternOf } from './mark-table.ts';
import type { Enclosure } from './read-context.ts';
import { tagOpenings } from './forms/tag-calls.ts';

/** What a mark in an answer begins. */
export type Mark = { open: string } & (
  | /** A block of calls between unmistakable marks. `keeps`: characters of the mark that belong to the first call. */
    { kind: 'block'; enclosure: Enclosure; keeps: number }
  /** A tag that may also enclose things other than calls. */
  | { kind: 'wrapper'; enclosure: Enclosure }
  /** A tag around code, which counts as calls if it is nothing else. */
  | { kind: 'code'; enclosure: Enclosure }
  /** Begins a call of Gemma or Kimi whose marks are lost. */
  | { kind: 'prefix'; enclosure: Enclosure }
  /** Stands between the name and the arguments of a call whose opening tag is lost. */
  | { kind: 'key'; enclosure: Enclosure }
  /** Markdown's mark of bold text, which may stand around calls and around their marks. */
  | { kind: 'emphasis' }
  /** Encloses text of another role, such as a tool result. Calls in it must not run. */
  | { kind: 'foreign'; close: string }
  | { kind: 'thought'; close: string; isToken: boolean }
  | { kind: 'thought-end'; isToken: boolean }
  | { kind: 'harmony' }
  /** A token of a template that has no meaning after a call. */
  | { kind: 'noise' }
);

export interface BlockMark {
  open: string;
  closes: readonly string[];
}

/** Both spellings of DeepSeek's marks: full-width bars, and the ASCII ones of distilled models. */
function bothBars(mark: string): string[] {
  return [mark, mark.replaceAll('｜', '|')];
}

const deepSeekEnds = bothBars('<｜tool▁calls▁end｜>');
const stepEnds = ['<｜tool_calls_end｜>'];
const gemmaEnds = ['<tool_call|>', '<end_function_call>', '<turn|>', '<end_of_turn>'];
const miniMax = ']<]minimax[>[';

/** Marks around calls. One block may stand in another. */
const blocks: BlockMark[] = [
  ...['tool_call', 'tool_calls', 'tool_call:opensource', 'tool_calls:opensource'].map(tagBlock),
  ...['function_call', 'function_calls', 'longcat_tool_call', 'TOOLCALL', 'TOOL_CALL', 'tool-call', 'tool_use', 'use_mcp_tool'].map(
    tagBlock,
  ),
  ...['seed:tool_call', 'minimax:tool_call', 'atem:function_calls', 'antml:function_calls'].map(tagBlock),
  ...['function_calls', 'tool_calls'].flatMap((name) => bothBars(`｜DSML｜${name}`).map(tagBlock)),
  { open: '<functioncall>', closes: ['</functioncall>', '<|endoftext|>'] },
  { open: '<|tool_call|>', closes: ['<|/tool_call|>', '</|tool_call|>', '</tool_call>'] },
  { open: '<|tool_call_start|>', closes: ['<|tool_call_end|>'] },
  { open: '<|tools_prefix|>', closes: ['<|tools_suffix|>'] },
  { open: '<|START_ACTION|>', closes: ['<|END_ACTION|>'] },
  { open: '<|action_start|><|plugin|>', closes: ['<|action_end|>'] },
  { open: '<|python_tag|>', closes: ['<|eom_id|>', '<|eot_id|>'] },
  { open: '<|python_start|>', closes: ['<|python_end|>'] },
  { open: '<|tool_calls_section_begin|>', closes: ['<|tool_calls_section_end|>'] },
  { open: '<|tool_calls|>', closes: ['<|calls|>'] },
  { open: '[TOOL_CALL]', closes: ['[/TOOL_CALL]'] },
  { open: '[TOOL_REQUEST]', closes: ['[END_TOOL_REQUEST]'] },
  { open: '[TOOL_CALLS]', closes: ['[/TOOL_CALLS]', '</s>'] },
  ...['<｜tool▁calls▁begin｜>', '<｜tool▁calls｜>'].flatMap(bothBars).map((open) => ({ open, closes: deepSeekEnds })),
  { open: '<｜tool_calls_begin｜>', closes: stepEnds },
  { open: '<｜tool_call_begin｜>', closes: ['<｜tool_call_end｜>'] },
  { open: 'function<｜tool_sep｜>', closes: [] },
  { open: '<|tool_call>', closes: gemmaEnds },
  { open: '<start_function_call>', closes: gemmaEnds },
  { open: '<|open|>tools<|sep|>', closes: ['<|close|>tools<|sep|>'] },
  { open: `${miniMax}<tool_call>`, closes: [`${miniMax}</tool_call>`] },
  { open: '<|function_call|>', closes: ['<|message_sep|>', '</s>'] },
  { open: 'function call<|role_sep|>', closes: ['<|message_sep|>', '</s>'] },
  { open: '<|message_sep|>', closes: [] },
  { open: '[unused11]', closes: ['[unused12]'] },
  { open: '-> tool/function_call', closes: ['<|im_end|>', '<|stop|>', '<|endofturn|>'] },
];

/** Found at a position within another block. */
export const innerBlocks = new MarkTable(blocks);

function tagBlock(name: string): BlockMark {
  return { open: `<${name}>`, closes: [`</${name}>`] };
}

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
  ['<|tool_response>', '<tool_response|>'],
  ['<start_function_response>', '<end_function_response>'],
  ['<longcat_tool_response>', '</longcat_tool_response>'],
  ['<|turn>user', '<turn|>'],
  ['<|open|>message role="tool"', '<|close|>message<|sep|>'],
  ['<|open|>message role="user"', '<|close|>message<|sep|>'],
  ['function result<|role_sep|>', '<|message_sep|>'],
  ['<|start|>tool', '<|eot|>'],
  ['✿RESULT✿', '✿RETURN✿'],
];

const thoughts: readonly ReasoningTag[] = [
  ...reasoningTags,
  ...['Think', 'Thinking', 'Thought'].map((name) => ({ open: `<${name}>`, close: `</${name}>` })),
  { open: '<longcat_think>', close: '</longcat_think>' },
  { open: '<|START_THINKING|>', close: '<|END_THINKING|>' },
  { open: '<|channel>thought', close: '<channel|>' },
  { open: '<|open|>think<|sep|>', close: '<|close|>think<|sep|>' },
  { open: '[unused16]', close: '[unused17]' },
];

export const emphasis = '**';

/** Tokens of templates that may stand after a call or a thought, or end a block that has ended already. */
const noise = [
  '<|end|>',
  '<|return|>',
  '<|call|>',
  '<|im_end|>',
  '<|im_start|>assistant',
  '<|eot_id|>',
  '<|eom_id|>',
  '<|eot|>',
  '<|eom|>',
  '<|endoftext|>',
  '<|end_of_text|>',
  '<|end_of_msg|>',
  '<|observation|>',
  '<|begin|>assistant',
  '<|content|>',
  '<|flush|>',
  '<|open|>response<|sep|>',
  '<|close|>response<|sep|>',
  '<|close|>message<|sep|>',
  '[unused10]',
  'assistantfinal',
  ...bothBars('<｜end▁of▁sentence｜>'),
  ...blocks.flatMap(({ closes }) => closes),
];

const noiseMarks = new MarkTable(noise.map((open) => ({ open })));

export const thoughtEnds = thoughts.map(({ close }) => close);

/** Marks within which a call does not count. */
export const hidingMarks: readonly string[] = [...foreign.flat(), ...thoughts.flatMap(({ open, close }) => [open, close])];

const marked: Enclosure = { isMarked: true, closes: [], allowsPythonicCalls: true };
const code: Enclosure = { ...marked, closes: ['</tool_code>'], allowsComments: true, allowsPrint: true };
const keyed: Enclosure = { ...marked, closes: ['tool_call', 'longcat_tool_call', 'tool_call:opensource'].map((tag) => `</${tag}>`) };

export const marks: Mark[] = [
  ...blocks.map(({ open, closes }): Mark => ({ kind: 'block', open, enclosure: { ...marked, open, closes }, keeps: 0 })),
  { kind: 'code', open: '<tool_code>', enclosure: code },
  { kind: 'block', open: 'functools[', enclosure: marked, keeps: 1 },
  ...[...tagOpenings, ...namedOpenings, ...bareOpenings].map((open): Mark => ({
    kind: 'block',
    open,
    enclosure: marked,
    keeps: open.length,
  })),
  { kind: 'prefix', open: 'call:', enclosure: { ...marked, closes: gemmaEnds } },
  { kind: 'prefix', open: kimiNamespace, enclosure: { ...marked, closes: ['<|tool_call_end|>', '<|tool_calls_section_end|>'] } },
  ...keyOpenings.map((open): Mark => ({ kind: 'key', open, enclosure: keyed })),
  { kind: 'emphasis', open: emphasis },
  ...wrappers.map((name): Mark => ({ kind: 'wrapper', open: `<${name}>`, enclosure: { isMarked: false, closes: [`</${name}>`] } })),
  ...foreign.map(([open, close]): Mark => ({ kind: 'foreign', open, close })),
  ...thoughts.map((tag): Mark => ({ kind: 'thought', ...tag, isToken: isUnmistakable(tag) })),
  // Solar. Elsewhere the end of its thought ends any message.
  { kind: 'thought', open: '<|think|>', close: '<|end|>', isToken: true },
  ...thoughts.map((tag): Mark => ({ kind: 'thought-end', open: tag.close, isToken: isUnmistakable(tag) })),
  { kind: 'harmony', open: '<|channel|>' },
  { kind: 'harmony', open: '<|start|>assistant' },
  ...noise.map((open): Mark => ({ kind: 'noise', open })),
];

export const marksByOpen: ReadonlyMap<string, Mark> = new Map(marks.toReversed().map((mark) => [mark.open, mark]));
const longestMark = Math.max(...marks.map(({ open }) => open.length));
const markStarts = new RegExp(`(?:${patternOf([...new Set(marks.map(({ open }) => open.charAt(0)))])})`, 'g');
/** All proper prefixes of marks: text that ends with one may continue as a mark. */
const markBeginnings = new Set(marks.flatMap(({ open }) => Array.from(open, (_, index) => open.slice(0, index)).slice(1)));

const anyMark = patternOf(marks.map(({ open }) => open));
/** What may begin a call, besides marks and fences. */
const beginnings = {
  /** Calls without marks count nowhere. */
  marked: new RegExp(`${anyMark}|[\`~]`, 'g'),
  bare: new RegExp(`${anyMark}|[[{"\`~]`, 'g'),
  labelled: new RegExp(`${anyMark}|[[{"\`~\n]`, 'g'),
};

/**
 * Finds the first possible beginning at or after `from`: a mark, a fence, also a bracket or quote (`bare`) or line break (`labelled`). If there is none,
 * `open` is empty and `at` is the end of the text, or the start of a possible incomplete mark at its end.
 */
export function findBeginning({ text, isEnded }: AnswerText, from: number, kind: keyof typeof beginnings): { at: number; open: string } {
  const pattern = beginnings[kind];
  pattern.lastIndex = from;
  const match = pattern.exec(text);
  const found = match?.index ?? text.length;
  const undecided = isEnded || found < text.length - longestMark ? text.length : undecidedFrom(text, from);
  return match === null || found >= undecided ? { at: undecided, open: '' } : { at: found, open: match[0] };
}

/** Where the end of a text may be the beginning of a mark. */
function undecidedFrom(text: string, from: number): number {
  markStarts.lastIndex = Math.max(from, text.length - longestMark);
  for (let match = markStarts.exec(text); match !== null; match = markStarts.exec(text))
    if (markBeginnings.has(text.slice(match.index))) return match.index;
  return text.length;
}

/** The position after template tokens and white space; `most`: of that many tokens. */
export function skipNoise(input: AnswerText, from: number, most = Number.POSITIVE_INFINITY): number {
  let position = input.skipSpace(from);
  for (let tokens = 0; tokens < most; tokens += 1) {
    const mark = noiseMarks.at(input, position);
    if (mark === undefined) break;
    position = input.skipSpace(position + mark.open.length);
  }
  return position;
}
