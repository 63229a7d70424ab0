import { describe, expect, it } from 'vitest';
import { createToolCallParser } from '../../../src/chat/parse-tool-calls/tool-call-parser.ts';
import { judge, piecesOf, specOf } from './judge-output.ts';

const tools = [
  specOf('get_time', { zone: { type: 'string' } }),
  specOf('add', { a: { type: 'integer' }, b: { type: 'integer' }, note: { type: 'string' } }),
  specOf('store', { key: { type: 'string' }, value: {} }),
];
const time = { name: 'get_time', arguments: { zone: 'UTC' } };
const sum = { name: 'add', arguments: { a: 1, b: 2 } };
const json = '{"name": "get_time", "arguments": {"zone": "UTC"}}';
const sumJson = '{"name": "add", "arguments": {"a": 1, "b": 2}}';
const noQuotes = { isQuoted: () => false };

const forms: [family: string, text: string, calls: unknown[]][] = [
  ['Hermes', `<tool_call>\n${json}\n</tool_call>`, [time]],
  ['Hermes, two blocks', `<tool_call>${json}</tool_call><tool_call>${sumJson}</tool_call>`, [time, sum]],
  ['Hermes, two calls in a block', `<tool_call>${json}\n${sumJson}</tool_call>`, [time, sum]],
  [
    'Qwen coder',
    '<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n<parameter=b>\n2\n</parameter>\n</function>\n</tool_call>',
    [sum],
  ],
  ['Qwen coder without its outer tag', '<function=get_time>\n<parameter=zone>\nUTC\n</parameter>\n</function>', [time]],
  [
    'Qwen coder with a forgotten closing tag',
    '<tool_call><function=add>\n<parameter=a>\n1\n<parameter=b>\n2\n</parameter>\n</function></tool_call>',
    [sum],
  ],
  ['Mistral', `[TOOL_CALLS] [${json}, ${sumJson}]`, [time, sum]],
  ['Mistral, name first', '[TOOL_CALLS]get_time{"zone": "UTC"}[TOOL_CALLS]add{"a": 1, "b": 2}', [time, sum]],
  ['Mistral with marks', '[TOOL_CALLS]get_time[CALL_ID]abcdefghi[ARGS]{"zone": "UTC"}', [time]],
  ['Llama', `<|python_tag|>{"name": "get_time", "parameters": {"zone": "UTC"}}<|eom_id|>`, [time]],
  ['Llama, built in', '<|python_tag|>get_time.call(zone="UTC")', [time]],
  ['Llama, pythonic', "<|python_start|>[get_time(zone='UTC'), add(a=1, b=2)]<|python_end|>", [time, sum]],
  ['functionary', '<function=get_time>{"zone": "UTC"}</function>', [time]],
  ['Llama, an unended tag', '<function=get_time={"zone": "UTC"}</function>', [time]],
  ['Llama, an unended tag with brackets', '<function=get_time({"zone": "UTC"})</function>', [time]],
  ['Llama, an unended tag with spaces', '<function=get_time {"zone": "UTC"} </function>', [time]],
  ['Llama, a tag that ends late', '<function=get_time,{"zone": "UTC"}></function>', [time]],
  ['Nova', '<__function=get_time>\n<__parameter=zone>UTC</__parameter>\n</__function>', [time]],
  ["LM Studio's prompt", `[TOOL_REQUEST]${json}[END_TOOL_REQUEST]`, [time]],
  ['square brackets', `[TOOL_CALL]${json}[/TOOL_CALL]`, [time]],
  ['capitals', `<TOOL_CALL>${json}</TOOL_CALL>`, [time]],
  ['a hyphen', `<tool-call>${json}</tool-call>`, [time]],
  ['tool_use', '<tool_use>{"name": "get_time", "input": {"zone": "UTC"}}</tool_use>', [time]],
  ["Cherry Studio's prompt", '<tool_use>\n  <name>get_time</name>\n  <arguments>{"zone": "UTC"}</arguments>\n</tool_use>', [time]],
  ['functionary, named', '<function name="get_time">{"zone": "UTC"}</function>', [time]],
  [
    'DeepSeek R1',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_time\n```json\n{"zone": "UTC"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    [time],
  ],
  [
    'DeepSeek V3.1',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_time<｜tool▁sep｜>{"zone": "UTC"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    [time],
  ],
  [
    'DeepSeek DSML',
    '<｜DSML｜tool_calls><｜DSML｜invoke name="add"><｜DSML｜parameter name="a" string="false">1</｜DSML｜parameter><｜DSML｜parameter name="b" string="false">2</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>',
    [sum],
  ],
  [
    'Kimi',
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.get_time:0<|tool_call_argument_begin|>{"zone": "UTC"}<|tool_call_end|><|tool_calls_section_end|>',
    [time],
  ],
  [
    'GLM',
    '<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n<arg_key>b</arg_key>\n<arg_value>2</arg_value>\n</tool_call>',
    [sum],
  ],
  ['MiniMax', '<minimax:tool_call><invoke name="get_time"><parameter name="zone">UTC</parameter></invoke></minimax:tool_call>', [time]],
  [
    'harmony',
    '<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.get_time <|constrain|>json<|message|>{"zone": "UTC"}<|call|>',
    [time],
  ],
  ['Granite', `<|tool_call|>[${json}]`, [time]],
  ['Apertus', '<|tools_prefix|>[{"get_time": {"zone": "UTC"}}]<|tools_suffix|>', [time]],
  ['Nemotron', `<TOOLCALL>[${json}]</TOOLCALL>`, [time]],
  ['LFM2', "<|tool_call_start|>[get_time(zone='UTC')]<|tool_call_end|>", [time]],
  ['Command R', '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "get_time", "parameters": {"zone": "UTC"}}]<|END_ACTION|>', [time]],
  ['InternLM', `<|action_start|><|plugin|>${json}<|action_end|>`, [time]],
  ['Phi', `functools[${json}]`, [time]],
  ['Jamba', `<tool_calls>[${json}]</tool_calls>`, [time]],
  ['Seed', '<seed:tool_call><function=get_time><parameter=zone>UTC</parameter></function></seed:tool_call>', [time]],
  ['bare JSON', json, [time]],
  ['bare JSON, several', `${json}; ${sumJson}`, [time, sum]],
  ['xLAM', `[${json}, ${sumJson}]`, [time, sum]],
  ['a fence', `\`\`\`json\n${json}\n\`\`\``, [time]],
  ['pythonic', "[get_time(zone='UTC'), add(a=1, b=2)]", [time, sum]],
];

describe('a call is read in the form of', () => {
  it.each(forms)('%s', (_family, text, calls) => {
    expect(judge(piecesOf([text], { tools }), tools)).toMatchObject({ calls, refused: [], content: '' });
    expect(judge(piecesOf([text], { tools, isNative: true, quotes: noQuotes }), tools)).toMatchObject({ calls, refused: [], content: '' });
  });

  const promptForms: typeof forms = [
    ['Open WebUI', `{"tool_calls": [${json}]}`, [time]],
    ['OpenAI', '{"tool_calls": [{"type": "function", "function": {"name": "get_time", "arguments": "{\\"zone\\": \\"UTC\\"}"}}]}', [time]],
    ['a whole answer in a string', JSON.stringify(json), [time]],
    ['tags of other models', `<tools>${json}</tools>`, [time]],
    ['a fence with a plain call', "```tool_code\nget_time(zone='UTC')\n```", [time]],
    [
      'single quotes and constants of Python',
      "{'name': 'store', 'arguments': {'key': 'k', 'value': {'x': None, 'y': True,}}}",
      [{ name: 'store', arguments: { key: 'k', value: { x: null, y: true } } }],
    ],
    [
      'quotes inside a string',
      '{"name": "get_time", "arguments": {"zone": "the "old" one"}}',
      [{ name: 'get_time', arguments: { zone: 'the "old" one' } }],
    ],
    ['LangChain', '```json\n{"action": "get_time", "action_input": {"zone": "UTC"}}\n```', [time]],
  ];
  it.each(promptForms)('%s (prompt)', (_family, text, calls) => {
    expect(judge(piecesOf([text], { tools }), tools)).toMatchObject({ calls, refused: [] });
  });
});

it.each([
  ['1', { type: 'string' }, '1'],
  ['1', { type: 'integer' }, 1],
  ['1', {}, 1],
  ['null', { type: ['string', 'null'] }, null],
  ['12', { type: ['string', 'null'] }, '12'],
  ['{"x": [true]}', {}, { x: [true] }],
  ["{'x': True}", { type: 'object' }, { x: true }],
  ['(1, 2)', {}, [1, 2]],
  ['1e999', {}, '1e999'],
  ['FALSE', { type: 'boolean' }, false],
  ['a < b && c', {}, 'a < b && c'],
])('the text %s between tags is typed by the schema %j', (text, schema, value) => {
  const specs = [specOf('f', { v: schema })];
  const pieces = piecesOf([`<function=f><parameter=v>${text}</parameter></function>`], { tools: specs });
  expect(pieces).toMatchObject([{ type: 'call', arguments: { v: value } }]);
});

describe('a damaged call', () => {
  it.each([
    ['<tool_call>{"name": "get_time", "arguments": {"zone": }}</tool_call>', 'malformed'],
    ['<tool_call>{"name": "get_time", "arguments": "hello"}</tool_call>', 'malformed'],
    ['<tool_call>{"name": "get_time", "arguments": {"zone": NaN}}</tool_call>', 'malformed'],
    ['<tool_call>{"name": "get_time", "arguments": {"days": -}}</tool_call>', 'malformed'],
    ['<tool_call>{"name": "get_time", "arguments": {"days": 1e}}</tool_call>', 'malformed'],
    ['<tool_call>{"name": "get_time", "arguments": {"zone": "U', 'truncated'],
    ['<function=get_time><parameter=zone>U', 'truncated'],
    ['[TOOL_CALLS]get_time[ARGS]{invalid}', 'malformed'],
    ['<tool_call>get_time<arg_key>zone</arg_key><arg_value>U', 'truncated'],
    ['{"name": "get_time", "parameters": {"zone": "a"}, "arguments": {"zone": "b"}}', 'ambiguous'],
  ])('does not run: %s', (text, reason) => {
    const pieces = piecesOf([text], { tools });
    expect(pieces).toContainEqual(expect.objectContaining({ type: 'damaged', reason, name: 'get_time' }));
    expect(judge(pieces, tools).calls).toEqual([]);
  });

  it.each([
    [`<tool_call>{"name": "add", "arguments": {"note": "open}</tool_call><tool_call>${json}</tool_call>`],
    [`[{"name": "add", "arguments": {"a": 15:30}}, ${json}]`],
    [`<tool_call>{"name": "add", "arguments": }</tool_call>${json}`],
    ["[get_time(zone='UTC'), add(a=1+1)]"],
    [`<tool_call>{"name": "add", "arguments": {"a": \n<tool_call>${json}</tool_call>`],
    [`[TOOL_CALLS]get_time{"zone": "UTC"}[TOOL_CALLS]add{"a": oops oops}[/TOOL_CALLS]`],
    [`<function=add>{"a": </function><function=get_time>{"zone": "UTC"}</function>`],
    [`<tool_call>${json}</tool_call><tool_call>{"name": "add", "argum`],
  ])('takes no good one with it: %s', (text) => {
    expect(judge(piecesOf([text], { tools }), tools).calls).toEqual([time]);
  });

  it.each([['```note {"name": "get_time", "argum'], ['<tool_call>{"name": "get_time", "arguments": }</tool_call>']])(
    'holds all of its text, marks too: %s',
    (text) => {
      expect(piecesOf([text], { tools })).toMatchObject([{ type: 'damaged', text }]);
    },
  );

  it('is truncated where a list was cut by the token limit, and its whole members run where the model stopped', () => {
    const text = `[${json}, {"name": "add", "arg`;
    expect(judge(piecesOf([text], { tools }, true), tools).calls).toEqual([]);
    expect(judge(piecesOf([text], { tools }), tools).calls).toEqual([time]);
  });
});

it.each([
  [String.raw`\d+\s*\(`, String.raw`\d+\s*\(`],
  [String.raw`C:\Users\me`, String.raw`C:\Users\me`],
  [String.raw`C:\users \u00e9`, 'C:\\users é'],
  [String.raw`it\'s \"so\"\\ \n \/ é`, 'it\'s "so"\\ \n / é'],
])('a backslash that begins no escape stays: %s', (written, zone) => {
  const text = `<tool_call>{"name": "get_time", "arguments": {"zone": "${written}",}}</tool_call>`;
  expect(piecesOf([text], { tools })).toMatchObject([{ type: 'call', arguments: { zone } }]);
});

it('a block that follows another without an end is read for itself', () => {
  const text = `[TOOL_CALLS]get_time{"zone": "UTC"}[TOOL_CALLS][${sumJson}][/TOOL_CALLS]`;
  expect(judge(piecesOf([text], { tools }), tools)).toMatchObject({ calls: [time, sum], refused: [], content: '' });
});

it('what was mended is reported', () => {
  const text = "{'name': 'get_time', arguments: {'zone': 'UTC',}}";
  expect(piecesOf([text], { tools })).toMatchObject([{ type: 'call', repairs: ['single quotes', 'unquoted key', 'trailing comma'] }]);
});

describe('thinking', () => {
  it.each([
    [`<think>${json}</think>no`, json, 'no'],
    [`<think>a</think>b<|im_end|>`, 'a', 'b<|im_end|>'],
    ['the <think> tag', '', 'the <think> tag'],
    [`<tool_response>${json}</tool_response>`, '', `<tool_response>${json}</tool_response>`],
  ])('%s', (text, reasoning, content) => {
    expect(judge(piecesOf([text], { tools }), tools)).toEqual({ calls: [], refused: [], reasoning, content });
  });

  it('that the template opened takes back the calls in it', () => {
    const pieces = piecesOf([`maybe <tool_call>${sumJson}</tool_call> no.</think>\n${json}`], { tools });
    expect(pieces.filter((piece) => piece.type !== 'text').map((piece) => piece.type)).toEqual(['call', 'retraction', 'call']);
    expect(judge(pieces, tools).calls).toEqual([time]);
  });
});

it('text is held back only while it may be a mark or a call', () => {
  const parser = createToolCallParser({ tools, isNative: true, quotes: noQuotes });
  const said = (text: string): string =>
    parser
      .push(text)
      .map((piece) => ('text' in piece ? piece.text : ''))
      .join('');
  expect(said('one <to')).toBe('one ');
  expect(said('ad> two')).toBe('<toad> two');
  expect(said(' {"name": "get_time"')).toBe(' {"name": "get_time"');
  expect(said(' <tool_call> is it')).toBe(' <tool_call> is it');
  expect(said(` <tool_call>${json}</tool_ca`)).toBe(' ');
  expect(parser.push('ll> end').map((piece) => piece.type)).toEqual(['call', 'text']);
});
