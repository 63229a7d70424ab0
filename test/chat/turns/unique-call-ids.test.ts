import { expect, it } from 'vitest';
import type { ChatEvent, ModelEvent } from '../../../src/core/chat/chat.ts';
import { makeCallId } from '../../../src/shared/text/call-ids.ts';
import { finderOf, says, ScriptedModel, type ScriptStep } from '../../_support/scripted-model.ts';
import { chatRequest, collect, eventsOf, offering, runContext, toolNamed } from '../../_support/tools.ts';
import { answerIn } from '../chat-services.ts';

function turn(...made: [id: string, name: string][]): ScriptStep[] {
  const calls = made.map(([id, name], n): ModelEvent => ({ type: 'tool-call', call: { id, name, arguments: `{"n":${n}}` } }));
  return [...calls, { type: 'finish', reason: 'tool_calls' }];
}

const add = toolNamed('add', 'added', { parameters: { type: 'object', properties: { n: { type: 'integer' } } } });
const withOwn = { callerFunctions: [{ name: 'show', wire: { type: 'function', function: { name: 'show' } } }] };

function returnedBy(events: readonly ChatEvent[]): string[] {
  return events.flatMap((event) => (event.type === 'tool-call' ? [event.call.id] : []));
}

it.each([
  ['counts', 'call_0', 'call_0'],
  ['counts of one function', 'functions.add:0', 'functions.add:0'],
  ['ids that come again', 'chatcmpl-tool-3f2a1b0c9d8e', 'chatcmpl-tool-3f2a1b0c9d8e'],
])('gives calls of one run different ids where the backend has %s', async (_what, first, second) => {
  const model = new ScriptedModel(turn([first, 'add']), turn([second, 'add']), says('Done.'));
  const events = await collect(answerIn(chatRequest(), runContext(), { models: finderOf({ model }), tools: offering(add) }));
  const shown = eventsOf(events, 'tool.call').map(({ id }) => id);
  expect(new Set(shown).size).toBe(2);
  const history = model.requests[2]?.messages ?? [];
  const made = history.flatMap((message) => (message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : []));
  expect(made).toEqual(shown);
  expect(history.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []))).toEqual(shown);
});

it('returns the same count under another id in each conversation, with functions of the gateway and without', async () => {
  const model = new ScriptedModel(turn(['call_0', 'show']), turn(['call_0', 'show']), turn(['call_0', 'show']));
  const models = finderOf({ model });
  const ids: string[] = [];
  for (const tools of [offering(add), offering(add), offering()])
    ids.push(...returnedBy(await collect(answerIn(chatRequest(withOwn), runContext(), { models, tools, newCallId: makeCallId }))));
  expect(ids).toHaveLength(3);
  expect(new Set(ids).size).toBe(3);
});

it('keeps an id that is unique, because it may mean something to the backend', async () => {
  const model = new ScriptedModel(turn(['toolu_01A09q90qw90lq917835lq9', 'show']));
  const events = await collect(answerIn(chatRequest(withOwn), runContext(), { models: finderOf({ model }), tools: offering(add) }));
  expect(returnedBy(events)).toEqual(['toolu_01A09q90qw90lq917835lq9']);
});
