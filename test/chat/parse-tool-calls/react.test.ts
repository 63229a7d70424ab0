import { expect, it } from 'vitest';
import { judge, piecesOf, specOf } from './judge-output.ts';

const tools = [specOf('get_time', { zone: { type: 'string' } }), specOf('refresh')];
const time = { name: 'get_time', arguments: { zone: 'UTC' } };

function read(text: string, isCut = false): ReturnType<typeof judge> {
  const { content, reasoning, ...rest } = judge(piecesOf(text.split(''), { tools, isReact: true }, isCut), tools);
  return { ...rest, content: content.trim(), reasoning: reasoning.trim() };
}

it.each([
  ['Thought: hm\nAction: get_time\nAction Input: {"zone": "UTC"}', 'hm'],
  ['Thought: hm\n\nAction: `get_time`\n\nAction Input:\n```json\n{"zone": "UTC"}\n```', 'hm'],
  ["**Thought:** hm\n**Action:** get_time\n**Action Input:** {'zone': 'UTC'}", 'hm'],
  ['Thought 1: hm\nAction 1: [get_time]\nAction Input 1: "{\\"zone\\": \\"UTC\\"}"', 'hm'],
  ['Thought: hm\nAction: get_time(zone="UTC")', 'hm'],
  ['Thought: hm\nAction:\n```json\n{"action": "get_time", "action_input": {"zone": "UTC"}}\n```', 'hm'],
  ['<think>hm</think>\nThought: so\nAction: get_time\nAction Input: {"zone": "UTC"}', 'hmso'],
])('a call is read from %j', (text, reasoning) => {
  const found = read(text);
  expect(found).toMatchObject({ calls: [time], refused: [], content: '' });
  expect(found.reasoning.replaceAll(/\s/g, '')).toBe(reasoning);
});

it.each([
  ['Action: refresh', [{ name: 'refresh', arguments: {} }]],
  ['Action: refresh\nAction Input: None\n', [{ name: 'refresh', arguments: {} }]],
  ['Action: None\nFinal Answer: yes', []],
  ['Thought: done\nFinal Answer: {"name": "get_time", "arguments": {"zone": "UTC"}}\nAction: refresh', []],
  [
    'Action: get_time\nAction Input: {"zone": "UTC"}\nObservation: 12\nAction: refresh\nAction Input: {}',
    [time, { name: 'refresh', arguments: {} }],
  ],
])('the calls of %j', (text, calls) => {
  expect(read(text).calls).toEqual(calls);
});

it.each([
  ['Action: get_time\nAction Input: {"zone": "U', true],
  ['Action: ref', true],
  ['Action: get_time\nAction Input: in Berlin', false],
])('%j must not run', (text, isCut) => {
  expect(read(text, isCut)).toMatchObject({ calls: [], refused: [{}] });
});

it('an answer without labels is text, and one with other forms is still understood', () => {
  expect(read('Hello!\nHow are you: fine?')).toEqual({ calls: [], refused: [], content: 'Hello!\nHow are you: fine?', reasoning: '' });
  expect(read('<tool_call>{"name": "refresh"}</tool_call>').calls).toEqual([{ name: 'refresh', arguments: {} }]);
});
