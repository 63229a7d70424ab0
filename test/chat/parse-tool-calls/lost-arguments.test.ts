import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { piecesOf } from './judge-output.ts';

/** With optional parameters only, so that a call without any is right, and may do much more than what was meant. */
const parameters = { type: 'object', properties: { before: { type: 'string' }, query: { type: 'string' } } };
const tools = [{ name: 'delete_all', description: 'Deletes messages', parameters }];

function outcomes(text: string): (JsonObject | string)[] {
  return piecesOf([text], { tools, isNative: true }).flatMap((piece): (JsonObject | string)[] => {
    if (piece.type === 'call') return [piece.arguments];
    return piece.type === 'damaged' ? [piece.reason] : [];
  });
}

it.each([
  ['beside the name', '{"name": "delete_all", "before": "2020"}'],
  ['beside the name, of a parameter that might be a word of the model', '{"name": "delete_all", "query": "old"}'],
  ['under a word of its own', '{"name": "delete_all", "args_text": {"before": "2020"}}'],
  ['under a word in another case', '{"name": "delete_all", "Arguments": {"before": "2020"}}'],
  ['beside empty arguments', '{"name": "delete_all", "arguments": {}, "before": "2020"}'],
  ['beside no arguments', '{"name": "delete_all", "arguments": null, "filter": {"before": "2020"}}'],
  ['in the function', '{"type": "function", "function": {"name": "delete_all", "before": "2020"}}'],
  ['beside the function', '{"type": "function", "function": {"name": "delete_all"}, "before": "2020"}'],
  ['behind the call', '{"name": "delete_all"}\n{"before": "2020"}'],
  ['behind a name', 'delete_all {}\n{"before": "2020"}'],
  ['in the next member of a list', '[{"name": "delete_all"}, {"arguments": {"before": "2020"}}]'],
])('no call runs without arguments that stand %s', (_where, call) => {
  expect(outcomes(`<tool_call>${call}</tool_call>`)).toEqual(['malformed']);
});

it('no call runs without arguments that are attributes of its tag', () => {
  expect(outcomes('<invoke name="delete_all" before="2020"></invoke>')).toEqual(['malformed']);
  expect(outcomes('<invoke name="delete_all" id="1"></invoke>')).toEqual([{}]);
});

it('arguments beside a function are those of the call', () => {
  const call = '{"type": "function", "id": "call_1", "function": {"name": "delete_all"}, "arguments": {"before": "2020"}}';
  expect(outcomes(`<tool_call>${call}</tool_call>`)).toEqual([{ before: '2020' }]);
});

it.each([
  ['nothing else', '{"name": "delete_all"}'],
  ['what identifies it', '{"type": "function", "id": "call_1", "index": 0, "name": "delete_all"}'],
  ['a thought', '{"thought": "All of them.", "name": "delete_all"}'],
  ['another word beside empty arguments', '{"name": "delete_all", "arguments": {}, "depends_on": ["a"]}'],
])('a call without arguments runs that has %s', (_what, call) => {
  expect(outcomes(`<tool_call>${call}</tool_call>`)).toEqual([{}]);
});
