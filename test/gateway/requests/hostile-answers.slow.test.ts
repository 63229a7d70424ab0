import { describe, expect, it } from 'vitest';
import type { AnswerPiece } from '../../../src/chat/parse-tool-calls/answer-pieces.ts';
import { marks } from '../../../src/chat/parse-tool-calls/block-marks.ts';
import { createToolCallParser } from '../../../src/chat/parse-tool-calls/tool-call-parser.ts';
import { countSteps } from '../../_support/count-steps.ts';
import { specOf } from '../../chat/parse-tool-calls/judge-output.ts';

/** Far more than a parser holds back. */
const length = 64 * 1024;
const tools = [specOf('A', { A: { type: 'string' } })];

/** Beginnings of everything, again and again: what makes a careless parser look at the rest of the text each time. */
const repeated = [
  '<tool_call>{"name":"',
  "<tool_call>{'",
  '<tool_call>{/*',
  '<tool_call>A<arg_key>k',
  '<tool_call>A<arg_key>k</arg_key><arg_value>',
  '<function=A><parameter=A>',
  '<function=A><parameter=A>1</parameter>',
  '<invoke name="A"><parameter name="',
  '[TOOL_CALLS]A[ARGS]{"a":"',
  '<|tool_call_begin|>A:0<|tool_call_argument_begin|>{',
  '<｜tool▁call▁begin｜>A<｜tool▁sep｜>{',
  '<|channel|>to=A<|message|>{"a',
  '[A(',
  "[A(A='",
  '[A(A=\t)A(A=,\t\t)',
  '[A(A=[',
  '{"a":[',
  '{"name":"A","arguments":{"A":x y}} ',
  "{'name':'A','arguments':{'A':'x'}} ",
  '{"name":',
  '{',
  '[',
  '[{',
  '"',
  '"{\\"a\\"',
  '`',
  '`{',
  '```json\n{',
  '</think>\n',
  '\nAction: A\nAction Input: {',
  '\nThought',
  ' ',
];
const texts = [
  // All marks go the same few ways: in turn they are as hostile as each alone.
  [
    'all marks',
    marks
      .map((mark) => mark.open)
      .join('')
      .repeat(Math.ceil(length / marks.reduce((sum, mark) => sum + mark.open.length, 0))),
  ] as [string, string],
  ...['<tool_call>', '<think>', '<tools>', '<|channel|>', '[TOOL_CALLS]', '<|end|>', '<tool_response>', 'functools['].map(
    (mark): [string, string] => [mark, mark.repeat(length / mark.length)],
  ),
  ...repeated.map((part): [string, string] => [part, part.repeat(Math.ceil(length / part.length))]),
  ['a list of strings without commas', `[${'"a" "b" '.repeat(length / 8)}`] as [string, string],
  ['a call that never ends', `<tool_call>{"name": "A", "arguments": {"A": "${'x '.repeat(length / 2)}`] as [string, string],
];

describe('hostile text is read without going back to the same words again and again, and nothing of it is given twice', () => {
  it.each(texts)('%j', (_part, text) => {
    for (const options of [{}, { isNative: true, quotes: { isQuoted: () => false } }, { isReact: true }]) {
      const parser = createToolCallParser({ tools, ...options });
      let given = 0;
      const count = (pieces: readonly AnswerPiece[]): void => {
        for (const piece of pieces) given += 'text' in piece ? piece.text.length : 0;
      };
      const steps = countSteps(() => {
        for (let at = 0; at < text.length; at += 64) count(parser.push(text.slice(at, at + 64)));
        count(parser.flush({ isCut: false }));
      });
      // Whoever read the rest of the text at each beginning would take thousands.
      expect(steps / text.length).toBeLessThan(60);
      expect(given).toBeLessThanOrEqual(text.length);
    }
  });
});
