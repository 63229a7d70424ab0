import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { judge, piecesOf, specOf } from './judge-output.ts';

const tools = [specOf('get_time', { zone: { type: 'string' } }), specOf('store', { key: { type: 'string' }, value: { type: 'string' } })];

/** What is hard to carry: ends of blocks, fences, template tokens, line breaks of both kinds, characters of two units, brackets and quotes. */
const hardValues = [
  'UTC',
  '</tool_call>',
  '[/TOOL_CALLS] <|tool_call_end|>',
  '```json\n{"name": "get_time"}\n```',
  '<|im_start|>user\r\nhi<|im_end|>',
  '😀👩‍👩‍👧 \u{10ffff}',
  'a\\b "c" \'d\'',
  '{[(',
  ')]}',
  '<think>no</think>',
  'Action: store',
];
/** Bare text between tags has no escapes, so it cannot hold its own end. */
const plainValues = ['UTC', '😀', 'a < b && "c"', '{[(', "it's"];

interface Segment {
  text: string;
  calls: { name: string; arguments: unknown }[];
  reasoning: string;
}

function called(value: string, text: string): Segment {
  return { text, calls: [{ name: 'store', arguments: { key: 'k', value } }], reasoning: '' };
}

const jsonFamilies: ((value: string) => string)[] = [
  (value) => `<tool_call>\n${callIn(value, 'arguments')}\n</tool_call>`,
  (value) => `<tool_call>\r\n${callIn(value, 'parameters')}\r\n</tool_call>`,
  (value) => `[TOOL_CALLS] [${callIn(value, 'arguments')}][/TOOL_CALLS]`,
  (value) => `[TOOL_CALLS]store[ARGS]${argumentsOf(value)}</s>`,
  (value) => `<function=store>${argumentsOf(value)}</function>`,
  (value) => `<|python_tag|>${callIn(value, 'parameters')}<|eom_id|>`,
  (value) => `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>store<｜tool▁sep｜>${argumentsOf(value)}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
  (value) =>
    `<|tool_calls_section_begin|><|tool_call_begin|>functions.store:0<|tool_call_argument_begin|>${argumentsOf(value)}<|tool_call_end|><|tool_calls_section_end|>`,
  (value) => `<TOOLCALL>[${callIn(value, 'arguments')}]</TOOLCALL>`,
  (value) => `<|python_start|>[store(key='k', value=${JSON.stringify(value)})]<|python_end|>`,
];
const tagFamilies: ((value: string) => string)[] = [
  (value) =>
    `<tool_call>\n<function=store>\n<parameter=key>\nk\n</parameter>\n<parameter=value>\n${value}\n</parameter>\n</function>\n</tool_call>`,
  (value) =>
    `<minimax:tool_call><invoke name="store"><parameter name="key">k</parameter><parameter name="value">${value}</parameter></invoke></minimax:tool_call>`,
  (value) =>
    `<tool_call>store\n<arg_key>key</arg_key>\n<arg_value>k</arg_value>\n<arg_key>value</arg_key>\n<arg_value>${value}</arg_value>\n</tool_call>`,
];

function argumentsOf(value: string): string {
  return JSON.stringify({ key: 'k', value });
}

function callIn(value: string, key: string): string {
  return `{"name": "store", "${key}": ${argumentsOf(value)}}`;
}

/** As some servers write everything that is not ASCII. */
function escaped(json: string): string {
  return json.replaceAll(/[^\0-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const segment: fc.Arbitrary<Segment> = fc.oneof(
  fc
    .tuple(fc.constantFrom(...jsonFamilies), fc.oneof(fc.constantFrom(...hardValues), fc.string({ unit: 'grapheme', maxLength: 12 })))
    .map(([family, value]) => called(value, family(value))),
  fc.constantFrom(...hardValues).map((value) => called(value, `<tool_call>${escaped(callIn(value, 'arguments'))}</tool_call>`)),
  fc.tuple(fc.constantFrom(...tagFamilies), fc.constantFrom(...plainValues)).map(([family, value]) => called(value, family(value))),
  fc
    .constantFrom('hm', `<tool_call>${callIn('x', 'arguments')}</tool_call>`, '[TOOL_CALLS]', '{"a": 1}', '😀\r\n')
    .map((thought) => ({ text: `<think>${thought}</think>`, calls: [], reasoning: thought })),
  fc
    .constantFrom(
      '<tool_call>{"name": "store", "arguments": {"key": }}</tool_call>',
      '<tool_call>{"name": "store", "arguments": [1]}</tool_call>',
    )
    .map((text) => ({ text, calls: [], reasoning: '' })),
);
const words = fc.constantFrom('So it is.', 'One [two] (three) < four.', '1. é\r\n2. 😀', 'A `b` and {c}.', '"Quoted," she said.');

const answer = fc.array(fc.tuple(words, segment), { minLength: 1, maxLength: 6 });
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 });

/** Pieces of the given sizes in turn, without regard for characters of two units. */
function cutInto(text: string, lengths: readonly number[]): string[] {
  const chunks: string[] = [];
  for (let at = 0; at < text.length;) {
    const length = lengths[chunks.length % lengths.length] ?? 1;
    chunks.push(text.slice(at, at + length));
    at += length;
  }
  return chunks;
}

it.each([
  ['answers to a prompt', {}],
  ['native answers', { isNative: true, quotes: { isQuoted: () => false } }],
])('calls of all families, thoughts and prose are all found, however they arrive: %s', (_what, options) => {
  fc.assert(
    fc.property(answer, sizes, (parts, lengths) => {
      const text = parts.map(([prose, { text: written }]) => `${prose}\n${written}\n`).join('');
      const whole = piecesOf([text], { tools, ...options });
      expect(piecesOf(cutInto(text, lengths), { tools, ...options })).toEqual(whole);

      const read = judge(whole, tools);
      expect(read.calls).toEqual(parts.flatMap(([, { calls }]) => calls));
      expect(read.reasoning).toBe(parts.map(([, { reasoning }]) => reasoning).join(''));
      expect(read.content.replaceAll(/\s/g, '')).toBe(parts.map(([prose]) => prose.replaceAll(/\s/g, '')).join(''));
    }),
    { numRuns: 500 },
  );
});

it('an answer that ends anywhere never runs a call that is not whole', () => {
  fc.assert(
    fc.property(answer, fc.double({ min: 0, max: 1, noNaN: true }), (parts, share) => {
      const text = parts.map(([prose, { text: written }]) => `${prose}\n${written}\n`).join('');
      const calls = parts.flatMap(([, segmentOf]) => segmentOf.calls);
      const read = judge(piecesOf([text.slice(0, Math.floor(share * text.length))], { tools }, true), tools);
      expect(read.calls).toEqual(calls.slice(0, read.calls.length));
    }),
    { numRuns: 500 },
  );
});
