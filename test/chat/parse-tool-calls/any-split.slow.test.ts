import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { marks } from '../../../src/chat/parse-tool-calls/block-marks.ts';
import { piecesOf, specOf } from './judge-output.ts';

const tools = [specOf('get_time', { zone: { type: 'string' }, days: { type: 'integer' } }), specOf('f', { a: { type: 'string' }, b: {} })];

/** Pieces of answers, sound and broken; glued together they give what models write, and what they should not. */
const fragments = [
  ...marks.flatMap((mark) => ('enclosure' in mark ? [mark.open, ...mark.enclosure.closes] : [mark.open])),
  '{"name": "get_time", "arguments": {"zone": "UTC"}}',
  "{'name': 'f', 'parameters': {'a': 'it\\'s', 'b': True,}}",
  '{"tool_calls": [{"name": "f", "parameters": {"a": "x"}}]}',
  '{"tool_calls": []}',
  '{"name": "f", "arguments": {"a": ',
  '{"name": "f", "arguments": "{\\"a\\": 1}"}',
  "[f(a='x', b=[1, 2]), get_time()]",
  '[f(a=',
  'f(a="x")',
  '<parameter=a>\n1\n</parameter>',
  '<parameter name="a" string="true">1</parameter>',
  'f>',
  'f">',
  '</function>',
  '</invoke>',
  '</parameter>',
  'get_time\n<arg_key>zone</arg_key>\n<arg_value>UTC</arg_value>\n',
  'f[ARGS]{"a": 1}',
  '[CALL_ID]abc',
  'functions.f:0',
  '<|tool_call_argument_begin|>',
  'call:f{a:<|"|>x<|"|>,b:[1,{c:true}]}',
  'call:f{a:x}',
  '{a:<|"|>',
  '<tool_sep>',
  '<longcat_arg_key>a</longcat_arg_key><longcat_arg_value>1</longcat_arg_value>',
  'f" index="1"<|sep|>',
  '<|open|>argument key="a" type="string"<|sep|>1<|close|>argument<|sep|>',
  '<|close|>call<|sep|>',
  ']<]minimax[>[<a>1]<]minimax[>[</a>',
  ']<]minimax[>[</invoke>',
  '<param name="a"><![CDATA[1]]></param>',
  '<tool_name>f</tool_name><arguments>{"a": "x"}</arguments>',
  'analysisWe ',
  'functions.f json{"a": "x"}',
  '<|tool_call_end|>',
  '<｜tool▁sep｜>',
  '<｜tool▁call▁end｜>',
  'commentary to=functions.f <|constrain|>json<|message|>{"a": 1}',
  'analysis<|message|>',
  'final<|message|>',
  '<|call|>',
  '```json\n',
  '```',
  '`',
  '~~~\n',
  '\n',
  ' ',
  '"',
  "'",
  '{',
  '}',
  '[',
  ']',
  '(',
  ')',
  ',',
  ';',
  ':',
  '\\',
  '/*',
  '//',
  'Thought: ',
  '\nAction: f',
  '\nAction Input: {"a": 1}',
  '\n**Final Answer:** yes',
  '\nObservation: x',
  'Some words. ',
  'tool',
  'null',
  '<',
  '<|',
  '</',
  '</think>\n',
  '\u3000',
  '😀',
  '15:30',
  '-Infinity',
];

const answer = fc
  .array(fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...fragments) }, { weight: 1, arbitrary: fc.string({ maxLength: 6 }) }), {
    maxLength: 14,
  })
  .map((parts) => parts.join(''));

const options = fc.record({
  isRescue: fc.boolean(),
  isReact: fc.boolean(),
  isThinkingOpen: fc.boolean(),
  isCut: fc.boolean(),
  cuts: fc.array(fc.nat({ max: 200 }), { maxLength: 6 }),
});

function chunksOf(text: string, cuts: readonly number[]): string[] {
  const positions = [0, ...cuts.map((cut) => cut % (text.length + 1)).toSorted((left, right) => left - right), text.length];
  return positions.slice(1).map((end, index) => text.slice(positions[index], end));
}

it('the pieces of an answer do not depend on how it arrives', () => {
  fc.assert(
    fc.property(answer, options, (text, { isRescue, isReact, isThinkingOpen, isCut, cuts }) => {
      const reading = { tools, isReact, isThinkingOpen, ...(isRescue ? { isNative: true, quotes: { isQuoted: () => false } } : {}) };
      const whole = piecesOf([text], reading, isCut);
      expect(piecesOf(text.split(''), reading, isCut)).toEqual(whole);
      expect(piecesOf(chunksOf(text, cuts), reading, isCut)).toEqual(whole);
    }),
    { numRuns: 2000 },
  );
});

it.each([
  ['{"name": "f", "arguments": {"a": "x "y" z"}}'],
  [String.raw`{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}`],
  ['{"name": "f", "arguments": {"a": {{"name": "get_time", "arguments": {}}'],
  ['maybe <tool_call>{"name": "f"}</tool_call> no.</think>\n[get_time()]'],
  ['<tool_call>{"name": "f", "arguments": {"b": }}</tool_call> and `{"name": "get_time", "arguments": {}}`'],
])('%s is read alike at every cut', (text) => {
  const whole = piecesOf([text], { tools });
  expect(whole.some((piece) => piece.type === 'call')).toBe(true);
  for (let cut = 1; cut < text.length; cut++) expect(piecesOf([text.slice(0, cut), text.slice(cut)], { tools })).toEqual(whole);
});

it('an answer without brackets comes out as it went in', () => {
  fc.assert(
    fc.property(fc.string(), fc.boolean(), (raw, isRescue) => {
      const text = `x${raw.replaceAll(/[<[{"◁]/g, '')}`;
      const pieces = piecesOf(text.split(''), { tools, ...(isRescue ? { isNative: true, quotes: { isQuoted: () => false } } : {}) });
      expect(pieces).toEqual([{ type: 'text', text }]);
    }),
  );
});

it('every letter of an answer is in some piece, marks and spaces aside', () => {
  const words = fc.array(
    fc.constantFrom(
      'alpha ',
      'beta\n',
      '<tool_call>',
      '{"x": 1}',
      '</tool_call>',
      '[',
      '{',
      '` ',
      // With its line break: a word behind it is the language of a fence, and part of a mark.
      '```\n',
      'f(',
      '<tool>',
      '"q"',
      '{"name": "f"',
    ),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(words, fc.boolean(), (parts, isRescue) => {
      const text = parts.join('');
      const pieces = piecesOf([text], { tools, ...(isRescue ? { isNative: true, quotes: { isQuoted: () => false } } : {}) });
      const given = pieces.map((piece) => ('text' in piece ? piece.text : '')).join('');
      for (const word of ['alpha', 'beta', '"x"']) expect(given.split(word).length).toBe(text.split(word).length);
    }),
  );
});

it('a header within a thought that the template has opened is no call, however it arrives', () => {
  const text = 'to=functions.f <|constrain|>json<|message|>{"a": 1}</think>Done.';
  for (const chunks of [[text], Array.from(text)])
    expect(piecesOf(chunks, { tools, isThinkingOpen: true }).map(({ type }) => type)).toEqual(['reasoning', 'text']);
});
