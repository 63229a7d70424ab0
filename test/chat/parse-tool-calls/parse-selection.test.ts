import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { findOfferedName } from '../../../src/chat/fit-calls/find-offered-name.ts';
import { findSelection, parseSelection } from '../../../src/chat/parse-tool-calls/selection/parse-selection.ts';
import { quotesOf } from '../../../src/chat/parse-tool-calls/quotes/quoted-calls.ts';
import { specOf } from './judge-output.ts';
import { countSteps } from '../../_support/count-steps.ts';
import { describeUnless, missingVariable } from '../../_support/missing.ts';

const call = { name: 'get_time', arguments: { zone: 'UTC' } };
const json = '{"name": "get_time", "parameters": {"zone": "UTC"}}';

it.each([
  ['the asked form', `{"tool_calls": [${json}]}`],
  ['a single call', json],
  ['an array of calls', `[${json}]`],
  ['a fence', `\`\`\`json\n{"tool_calls": [${json}]}\n\`\`\``],
  ['prose around it', `Sure {not json}, here you are: {"tool_calls": [${json}]} I hope {this} helps.`],
  ['thinking before it', `<think>maybe {"tool_calls": [{"name": "other", "parameters": {}}]}</think>{"tool_calls": [${json}]}`],
  ['thinking whose opening tag is missing', `I could use {"name": "other", "parameters": {}} but no.</think>\n${json}`],
  ['arguments as a JSON string', '{"tool_calls": [{"name": "get_time", "arguments": "{\\"zone\\": \\"UTC\\"}"}]}'],
  ['the OpenAI form', '{"tool_calls": [{"type": "function", "function": {"name": "get_time", "arguments": "{\\"zone\\": \\"UTC\\"}"}}]}'],
  ['single quotes and a trailing comma', "{'tool_calls': [{'name': 'get_time', 'parameters': {'zone': 'UTC',}}]}"],
  ['the arguments before the name', '{"parameters": {"zone": "UTC"}, "name": "get_time"}'],
  ['a brace inside a string before it', `Note "{" : ${json}`],
])('a call is read from %s', (_form, text) => {
  expect(parseSelection(text).calls).toEqual([call]);
});

it('several calls are read in order, and equal ones of a list are all meant', () => {
  const other = '{"name": "b", "parameters": {}}';
  const names = (answer: string): string[] => parseSelection(answer).calls.map((found) => found.name);
  expect(names(`${json}\n${other}\n${json}`)).toEqual(['get_time', 'b', 'get_time']);
  expect(names(`{"tool_calls": [${json}, ${other}, ${json}, ${json}]}`)).toEqual(['get_time', 'b', 'get_time', 'get_time']);
});

it.each([
  `{"execute": false, "tool_calls": [${json}]}`,
  `{"tool_calls": [${json}], "needs_confirmation": true}`,
  `{"tool_calls": [${json}], "reason": "This should not be called yet."}`,
  `{"tool_calls": [{"name": "get_time", "parameters": {"zone": "UTC"}, "dry_run": true}]}`,
  `{"name": "get_time", "parameters": {"zone": "UTC"}, "status": "rejected"}`,
  `<del>{"tool_calls": [${json}]}</del>`,
  `<untrusted>${json}</untrusted>`,
  `Nope.\n{"tool_calls": [${json}]}`,
  `Pending user approval.\n{"tool_calls": [${json}]}`,
  `The user has cancelled the request.\n{"tool_calls": [${json}]}`,
])('what is said within or around the object leaves open whether the call is meant: %s', (answer) => {
  expect(parseSelection(answer)).toMatchObject({ calls: [call], wordsAround: 'open' });
});

it.each([
  `{"thought": "The user wants the time in UTC.", "tool_calls": [${json}]}`,
  `{"role": "assistant", "content": null, "tool_calls": [{"id": "1", "index": 0, "type": "function", "function": ${json}}]}`,
  `<function_calls>{"tool_calls": [${json}]}</function_calls></s>`,
  `<answer>{"tool_calls": [${json}]}</answer><|im_end|>`,
  `The user is somewhere in Europe today.\n{"tool_calls": [${json}]}`,
])('reasons and the form of an API leave nothing open: %s', (answer) => {
  expect(parseSelection(answer)).toMatchObject({ calls: [call], wordsAround: 'harmless' });
});

it.each([
  ['behind words', `[${json}, ${json}]\nSo the calls are:\n[${json}, ${json}]`, 2],
  ['as a whole', `{"tool_calls": [${json}]}\n{"tool_calls": [${json}]}`, 1],
])('a selection that is stated once more %s is one selection, and says so', (_place, answer, count) => {
  const selection = parseSelection(answer);
  expect(selection.calls).toEqual(Array.from({ length: count }, () => call));
  expect(selection.restated).toEqual(Array.from({ length: count }, () => 'get_time'));
});

it.each([
  ['an explicit nothing', '{"tool_calls": []}', true],
  ['prose', 'No tool is needed here.', false],
  ['a truncated call', '{"tool_calls": [{"name": "get_time", "parameters": {"zone": "U', false],
  ['data with a name', '{"name": "Alice", "age": 7}', false],
  ['a call inside thinking that never ends', `<think>${json}`, false],
  ['empty text', '', false],
  ['a broken sibling without a name', '[{"parameters": {}}]', false],
])('nothing is called for %s', (_form, text, isReadable) => {
  expect(parseSelection(text)).toMatchObject({ calls: [], isReadable });
});

it('what stands in the conversation is a quotation amid words, and a choice by itself or where the model says so', () => {
  const isQuoted = quotesOf([`What does ${json} do?`]);
  expect(parseSelection(`The user asks about ${json} here.`, { isQuoted })).toMatchObject({ calls: [], examples: ['get_time'] });
  for (const words of [' appears in the document.', '\n\nI found this in the page.'])
    expect(parseSelection(`{"tool_calls": [${json}]}${words}`, { isQuoted: () => true })).toMatchObject({
      calls: [],
      examples: ['get_time'],
    });
  expect(parseSelection(`{"tool_calls": [${json}]}\nI will call it.`, { isQuoted: () => true }).calls).toEqual([call]);
  expect(parseSelection(`{"tool_calls": [${json}]} .`, { isQuoted: () => true }).calls).toEqual([call]);
  expect(parseSelection(`The user asks about the time: ${json}`, { isQuoted: () => false }).calls).toEqual([call]);
  expect(parseSelection(json, { isQuoted }).calls).toEqual([call]);
  expect(parseSelection(`I will call it: ${json}`, { isQuoted }).calls).toEqual([call]);
});

it.each([
  ['', ' hope that helps', true],
  ['Here it is: ', ' hope that helps', true],
  ['Some words.\n', '\nnot this one', true],
  ['', ' is what you need', true],
  ['', '\nShall I run it?', true],
  ['The form is ', ' hope that helps', false],
  ['> ', ' hope that helps', false],
  ['If you confirm, I will run ', '', false],
])('the object that the prompt demands is chosen whatever words follow: %j … %j [S4-29]', (before, after, isChosen) => {
  for (const list of [json, `${json}, ${json}`]) {
    const { calls, examples } = parseSelection(`${before}{"tool_calls": [${list}]}${after}`);
    const count = list === json ? 1 : 2;
    // A list is chosen as a whole, or not at all.
    expect([calls.length, examples.length]).toEqual(isChosen ? [count, 0] : [0, count]);
  }
});

const selection = `{"tool_calls": [${json}]}`;

it.each([
  '',
  '\n```',
  '}',
  '<|im_end|>',
  ' hope that helps',
  '\nThis should do it.',
  ', which tells the time',
  ' Does that help?',
  '\n\nThis call gets the time in UTC, as the user asked.',
  '\nThe function get_time returns the current time for the zone UTC.',
  '\nDo you want anything else?',
  '\nIs there anything else I can help with?',
  '\nNo other tools are needed.',
  '\nThanks! Let me know if you need anything else.',
  '\nThanks.\nUser: cancel it',
])('words that thank or explain a call are harmless: %j', (words) => {
  expect(parseSelection(`${selection}${words}`)).toMatchObject({ calls: [call], wordsAround: 'harmless' });
});

it.each([
  '\nWait, no, do not get the time.',
  ' Shall I run this?',
  ' do not run it',
  '\nNote: this is only an example.',
  '\nActually, ignore that.',
  '\nPlease confirm before I run this.',
  '\nDies ist nur ein Beispiel.',
  '\nSoll ich das ausführen?',
  '\n不要执行。',
  '\nThis gets the time.\nShall I run it?',
  ' (not executed)',
  '\nLet me know if you agree.',
  '\nNon, pas ceci.',
  `\n\`\`\`json\n${selection}\n\`\`\`\nNo, wait.`,
])('words that speak against a call are contrary: %j', (words) => {
  expect(parseSelection(`${selection}${words}`)).toMatchObject({ calls: [call], wordsAround: 'contrary' });
  expect(parseSelection(`<tool_call>${json}</tool_call>${words}`)).toMatchObject({ calls: [call], wordsAround: 'contrary' });
});

it.each([
  '\nOn reflection, better leave it.',
  '\nLieber später.',
  '\nЭто делать рано.',
  '\nThe other functions should not be called.',
  '~~',
  '-->',
  '\nThis is the time.\n'.repeat(40),
  '\n<think>Better later.</think>',
  `\nOr rather this:\n{"tool_calls": []}`.replace('{"tool_calls": []}', '[]'),
])('any other words leave open whether a call is meant: %j', (words) => {
  expect(parseSelection(`${selection}${words}`)).toMatchObject({ calls: [call], wordsAround: 'open' });
});

it.each([
  'The plan for tomorrow is this:\n',
  'What the user pasted:\n',
  'Here is the command from the e-mail:\n',
  'Pending approval:\n',
  'Der Text im Dokument lautet:\n',
  'It is tempting to call:\n```json\n',
])('words before a call may plan or quote it: %j', (words) => {
  expect(parseSelection(`${words}${selection}`)).toMatchObject({ calls: [call], wordsAround: 'open' });
  expect(parseSelection(`${words}<tool_call>${json}</tool_call>`)).toMatchObject({ calls: [call], wordsAround: 'harmless' });
});

it.each([
  'Sure! Here is the JSON object:\n',
  'One moment, please. ',
  'I think it is late. Clocks of other zones may differ.\n',
  "The user wants to see a clock.\nI'll look that up:\n```json\n",
  'This function gets the time in UTC:\n\n',
  'Ich rufe jetzt die passende Funktion auf:\n',
  '我需要呼叫以下工具:\n',
])('words before a call that announce it are harmless: %j', (words) => {
  expect(parseSelection(`${words}${selection}`)).toMatchObject({ calls: [call], wordsAround: 'harmless' });
});

it('words of a call explain it, unless they take something back', () => {
  const cancels = '{"tool_calls": [{"name": "cancel_order", "parameters": {"order": "for ann@example.org"}}]}';
  expect(parseSelection(`${cancels}\nThe order for ann@example.org is here.`).wordsAround).toBe('harmless');
  expect(parseSelection(`${cancels}\nCancel that.`).wordsAround).toBe('contrary');
});

it('words behind an action in labels count up to its observation', () => {
  const action = 'Thought: hm\nAction: get_time\nAction Input: {"zone": "UTC"}\n';
  const tools = [{ name: 'get_time', description: '', parameters: { type: 'object', properties: { zone: { type: 'string' } } } }];
  const read = (words: string) => findSelection({ answer: `${action}${words}`, tools, isCut: false, earlierTexts: [] });
  expect(read('Observation: not now')).toMatchObject({ calls: [call], wordsAround: 'harmless' });
  expect(read('Wait, no.\nObservation: 12')).toMatchObject({ calls: [call], wordsAround: 'contrary' });
});

it.each(['Actually:', 'Sorry, the corrected selection is:', 'Or instead:'])(
  'a list that replaces another one is the only one that is chosen: %s',
  (words) => {
    const other = { name: 'other', arguments: {} };
    const { calls, examples } = parseSelection(
      `{"tool_calls": [${json}]}\n${words}\n\`\`\`json\n{"tool_calls": [{"name": "other", "parameters": {}}]}\n\`\`\``,
    );
    expect(calls).toEqual([other]);
    expect(examples).toEqual([call.name]);
  },
);

it('a bad call does not take a good sibling with it', () => {
  expect(parseSelection(`{"tool_calls": [{"parameters": 7}, ${json}]}`).calls).toEqual([call]);
});

it('a comment behind a call ends with its line, however many marks of comments it has and however long it is', () => {
  const comment = `${'#'.repeat(12)} ${'x'.repeat(5_000)} # ${'y'.repeat(5_000)}`;
  expect(
    parseSelection(`get_time(zone="UTC") ${comment}\nget_time(zone="UTC")`, { tools: [specOf('get_time', { zone: { type: 'string' } })] })
      .calls,
  ).toEqual([call, call]);
});

it('a megabyte of brackets is given up in bounded time', () => {
  const text = '{"a":['.repeat(200_000);
  expect(countSteps(() => expect(parseSelection(text).calls).toEqual([]))).toBeLessThan(60 * text.length);
});

interface OutputCase {
  id: string;
  family: string;
  policy: string;
  tools: { name: string }[];
  text: string;
  finish_reason: string;
  expect: { calls: { name: string; arguments: unknown }[]; forbid?: string[]; loose?: string[] };
}
const families = new Set(['openwebui-json', 'bare-json', 'fenced', 'think-wrapped', 'shortened-name', 'irrelevance', 'parallel']);
const file = process.env['MODEL_OUTPUTS'];

describeUnless(missingVariable('MODEL_OUTPUTS'), 'recorded model outputs (MODEL_OUTPUTS)', () => {
  const cases = (file === undefined ? '' : readFileSync(file, 'utf8'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as OutputCase)
    .filter(
      ({ family, policy, text }) => families.has(family) && policy === 'prompt' && /^[^<]*\{/su.test(text) && !text.includes('<tool'),
    );

  it('there are cases to read', () => expect(cases.length).toBeGreaterThan(20));

  it.each(cases)('$family $id', ({ tools, text, finish_reason: reason, expect: expected }) => {
    const names = tools.map((tool) => tool.name);
    const found = reason === 'length' ? [] : parseSelection(text).calls;
    const matched = found.flatMap(({ name }) => {
      const match = findOfferedName(name, names);
      return match.type === 'unknown' ? [] : [match.name];
    });
    for (const name of expected.forbid ?? []) expect(matched).not.toContain(name);
    const isLoose = expected.loose?.includes('calls') === true;
    expect(matched).toEqual(isLoose ? matched : expected.calls.map((wanted) => wanted.name));
  });
});
