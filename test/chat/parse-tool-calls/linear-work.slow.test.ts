import { describe, expect, it } from 'vitest';
import { parseSelection } from '../../../src/chat/parse-tool-calls/selection/parse-selection.ts';
import { marks } from '../../../src/chat/parse-tool-calls/block-marks.ts';
import { createToolCallParser } from '../../../src/chat/parse-tool-calls/tool-call-parser.ts';
import { countSteps } from '../../_support/count-steps.ts';
import { specOf } from './judge-output.ts';

const tools = [specOf('A', { A: { type: 'string' } })];
const length = 32 * 1024;

/** What a text consists of, over and over: sound calls, and beginnings of everything. */
const repeated = [
  'Some words. ',
  '<',
  '{',
  '[',
  '{"',
  '[{',
  '"',
  '\\"',
  '`',
  '```json\n{',
  '~~~\n',
  '```python\n',
  '#\n```python\n',
  '~~~python\nA(A=1)\n```python\n',
  '<tool_call>',
  '<tool_call>{"name": "A", "arguments": {"A": "x"}}</tool_call>\n',
  '<tool_call>{"name":"',
  '<tool_call>{/*',
  '<tool_call>{"name": "A", "arguments": {"A": }}</tool_call>',
  '<tool_call>A<arg_key>k</arg_key><arg_value>',
  '<function=A><parameter=A>\nx\n</parameter></function>',
  '<function=A><parameter=A>',
  '[TOOL_CALLS]A[ARGS]{"A": "x"}',
  '[TOOL_CALLS]A[ARGS]{"a":"',
  '<|tool_call_begin|>A:0<|tool_call_argument_begin|>{',
  '<|channel|>commentary to=A<|message|>{"A": "x"}<|call|>',
  '<|tool_call>call:A{A:<|"|>x<|"|>}<tool_call|>',
  '<|tool_call>call:A{A:',
  '<|tool_call>call:A{A:[',
  '\ncall:A{A:<|"|>',
  '<|open|>call tool="A" index="1"<|sep|><|open|>argument key="A" type="string"<|sep|>',
  ']<]minimax[>[<invoke name="A">]<]minimax[>[<A>x]<]minimax[>[</A>]<]minimax[>[</invoke>',
  ']<]minimax[>[<invoke name="A">]<]minimax[>[<A>',
  ']<]minimax[>[<A>',
  '<tool_calls><tool_call>',
  '<use_mcp_tool><tool_name>A</tool_name><arguments>',
  '<function name="A"><param name="A"><![CDATA[',
  'x<|end|>',
  '<|end|>',
  "[A(A='x')] ",
  '[A(A=[',
  "{'name':'A','arguments':{'A':'x'}} ",
  '{"name":"A","arguments":{"A":x y}} ',
  '<think>a</think>\n',
  '</think>\n',
  marks.map((mark) => mark.open).join(''),
];
/** What opens once and never ends. */
const open: [string, string][] = [
  ['<tool_call>{"name": "A", "arguments": {"A": "', 'x '],
  ['<tool_call>{"name": "A", "arguments": {"A": "', '\\"'],
  ['<tool_call>{"name": "A", "arguments": {"A": [', '1, '],
  ['<tool_call>{"name": "A", "arguments": {"A": [', '{}, '],
  ['<function=A><parameter=A>', '<b>'],
  ['<|tool_call>call:A{A:<|"|>', 'x <|'],
  ['<|tool_call>call:A{A:[', '1,'],
  ['<|tool_call>call:A{A:[', '<|"|>x<|"|>,'],
  [']<]minimax[>[<invoke name="A">', ']<]minimax[>[<A>x]<]minimax[>[</A>'],
  [']<]minimax[>[<invoke name="A">', ']<]minimax[>[<A>'],
  ['x<|end|>', '<|end|>'],
  ['[A(A="', "x'"],
  ['[A(A=[', '1, '],
  ['<think>', 'a < b </thin'],
  ['<tool_response>', '</tool_'],
  ['```json\n', ' '],
  ['{', ' '],
];
const texts = [
  ...repeated.map((part): [string, (size: number) => string] => [part, (size) => part.repeat(Math.ceil(size / part.length))]),
  ...open.map(([beginning, part]): [string, (size: number) => string] => [
    `${beginning} and ${part} without end`,
    (size) => beginning + part.repeat(Math.ceil(size / part.length)),
  ]),
];

function stepsFor(text: string, isRescue: boolean, size: number): number {
  const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, index) => text.slice(index * size, (index + 1) * size));
  const parser = createToolCallParser({ tools, ...(isRescue ? { isNative: true, quotes: { isQuoted: () => false } } : {}) });
  return countSteps(() => {
    for (const chunk of chunks) parser.push(chunk);
    parser.flush({ isCut: false });
  });
}

describe.each([
  ['a prompt', false],
  ['a native model', true],
])('twice the text is twice the work in an answer to %s', (_what, isRescue) => {
  it.each(texts)('%j', (_part, make) => {
    const size = 7;
    const once = stepsFor(make(length), isRescue, size);
    const twice = stepsFor(make(2 * length), isRescue, size);
    // An answer that is held back to its end is read in one piece, which costs next to nothing.
    expect(twice / Math.max(once, 10 * length)).toBeLessThan(2.5);
    expect(twice / (2 * length)).toBeLessThan(60);
  });
});

/** What a long answer may hold in which a fence opens and nothing closes it. */
const openFences = [
  '`',
  '~',
  '```python\n',
  '~~~json\n',
  '````\n```python\n',
  '````python\n```\n',
  '#\n```python\n',
  '````python\n#\n',
  '````python\nA(A=1)\n',
  '````python\nA(A=1)\n#\n',
  '````json\n```json\n{',
  '```python\nA(A=1)\n```\n',
];

describe.each([
  ['a prompt', {}],
  ['a prompt with labels', { isReact: true }],
  ['a native model', { isNative: true, quotes: { isQuoted: () => false } }],
])('a fence that is never closed does not hold back an answer to %s', (_what, options) => {
  it.each(openFences)('%j', (part) => {
    // What a single mark holds back has a limit of its own, beside which short pieces are too short to show the difference.
    const slice = (part === '`' ? 16 : 4) * 1024;
    const text = part.repeat(Math.ceil((64 * slice) / part.length));
    const parser = createToolCallParser({ tools, ...options });
    const steps: number[] = [];
    for (let start = 0; start < text.length; start += slice)
      steps.push(countSteps(() => void parser.push(text.slice(start, start + slice))));
    steps.push(countSteps(() => void parser.flush({ isCut: false })));
    // The turn with most work. False starts may be read again up to eight times the slice; a whole answer would be sixty-four slices.
    expect(Math.max(...steps)).toBeLessThan(100 * slice);
  });
});

it.each([
  "A(A='x') ",
  "A(A='x')\n",
  "[A(A='x')] does not say\n",
  '{"name": "A", "arguments": {"A": "x"}}\nKann es nicht: ',
  '{"tool_calls": [{"name": "A", "parameters": {"A": "x"}}]}\nwords ',
  '{"tool_calls": []}\nwords ',
  "n'n'n'n'n'n'n'n'n'n'n'n'n'n'n'n'n'n'n'n'n'n'n'n'n'n'n'n'n'n'n'[A(A='x')]\n",
])('a selection that repeats %j costs no more for each character the longer it is', (part) => {
  const steps = (size: number): number => {
    const text = part.repeat(Math.ceil(size / part.length));
    return countSteps(() => void parseSelection(text, { tools }));
  };
  // As much as may be read of an answer; the first calls cost most, because of what was said before them.
  expect(steps(256 * 1024)).toBeLessThan(60 * 256 * 1024);
  expect(steps(256 * 1024) / steps(64 * 1024)).toBeLessThan(5);
});

it('white space at the beginning of an answer is passed on while it arrives', () => {
  const parser = createToolCallParser({ tools, isReact: true });
  let passed = 0;
  for (let part = 0; part < 100; part += 1)
    for (const piece of parser.push('\n'.repeat(1_000))) passed += (piece.type === 'text' ? piece.text : '').length;
  expect(passed).toBeGreaterThan(50_000);
});

it.each(['<|tool_calls_section_begin|>', '<tool_call>', '```json\n'])(
  'white space behind %j is passed on while it arrives, once there is too much of it for a call',
  (mark) => {
    const parser = createToolCallParser({ tools, isReact: true });
    let passed = 0;
    for (let part = 0; part < 400; part += 1)
      for (const piece of parser.push((part === 0 ? mark : '') + '\n'.repeat(1_000)))
        passed += (piece.type === 'text' ? piece.text : '').length;
    expect(passed).toBeGreaterThan(300_000);
  },
);

it.each([
  ['\n', 10],
  ['\nfinal answe', 45],
  [`\n${' '.repeat(39)}`, 10],
])('lines of %j are searched for labels in few steps', (line, most) => {
  const text = `{${line.repeat(64_000 / line.length)}`;
  const parser = createToolCallParser({ tools, isReact: true });
  const steps = countSteps(() => {
    parser.push(text);
    parser.flush({ isCut: false });
  });
  expect(steps / text.length).toBeLessThan(most);
});

it.each([
  ['tokens of templates behind a call', '{"name": "A", "arguments": {"A": "x"}}', '<|end|>'],
  ['calls in a block', '<tool_call>', 'A()\n'],
])('%s may be as many as an answer holds', (_what, beginning, part) => {
  const parser = createToolCallParser({ tools, isNative: true, quotes: { isQuoted: () => false } });
  const pieces = [...parser.push(beginning + part.repeat(250_000)), ...parser.flush({ isCut: false })];
  expect(pieces[0]).toMatchObject({ type: 'call', name: 'A' });
});
