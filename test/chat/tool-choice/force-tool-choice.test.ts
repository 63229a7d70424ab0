import { expect, it } from 'vitest';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import { collect, eventsOf, textOfEvents, toolMap, toolNamed } from '../../_support/tools.ts';
import { loop, numbered } from '../loop-fixture.ts';

const tools = [toolNamed('a', 1), toolNamed('b', 2, numbered)];
const named = (name: string) => ({ type: 'function', function: { name } });

it.each([['required'], [named('a')]])('requests a backend that ignores %o once more, and withholds its text', async (toolChoice) => {
  const model = new ScriptedModel(says('I would rather talk.'), calls(['a', {}]), says('Done.'));
  const events = await collect(loop(model, tools, { toolChoice }));
  expect(model.requests.map((request) => request.toolChoice)).toEqual([toolChoice, toolChoice, undefined]);
  expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'user', content: expect.stringMatching(/^Answer by a call of /) });
  // What it was asked in between is no part of the conversation.
  expect(model.requests[2]?.messages.map((message) => message.role)).toEqual(['user', 'assistant', 'tool']);
  expect(textOfEvents(events)).toBe('Done.');
});

it('answers with text and a warning when the model makes no call even then', async () => {
  const model = new ScriptedModel(says('No.'), says('Still no.'));
  const events = await collect(loop(model, tools, { toolChoice: 'required' }));
  expect(textOfEvents(events)).toBe('Still no.');
  expect(eventsOf(events, 'warning')).toMatchObject([{ code: 'tool_choice_not_honoured' }]);
  expect(events.at(-1)).toEqual({ type: 'finish', reason: 'stop' });
});

it('keeps the text before a forced call', async () => {
  const model = new ScriptedModel([{ type: 'text', text: 'Let me see.' }, ...calls(['a', {}])], says('Done.'));
  expect(textOfEvents(await collect(loop(model, tools, { toolChoice: 'required' })))).toBe('Let me see.\n\nDone.');
});

it('runs no other function beside the demanded one', async () => {
  const model = new ScriptedModel(calls(['b', {}], ['a', {}]), calls(['b', {}]), says('Done.'));
  const events = await collect(loop(model, tools, { toolChoice: named('a') }));
  expect(eventsOf(events, 'tool.call').map((data) => data['tool'])).toEqual(['a', 'b']);
  expect(eventsOf(events, 'tool.result')[0]).toMatchObject({ tool: 'b', error: { code: 'tool_disabled' } });
});

it('runs no calls when there are only others, and answers without tools', async () => {
  const model = new ScriptedModel(calls(['b', {}]), calls(['b', {}]), says('Sorry.'));
  const events = await collect(loop(model, tools, { toolChoice: named('a') }));
  expect(eventsOf(events, 'tool.call')).toEqual([]);
  expect(model.requests[2]?.tools).toEqual([]);
  expect(textOfEvents(events)).toBe('Sorry.');
});

it('forces a choice until a call could run, and then resets it', async () => {
  const model = new ScriptedModel(calls(['b', { n: 'x' }]), calls(['b', { n: 1 }]), says('Done.'));
  await collect(loop(model, tools, { toolChoice: 'required' }));
  expect(model.requests.map((request) => request.toolChoice)).toEqual(['required', 'required', undefined]);
});

it('does not request a truncated answer again', async () => {
  const cut = [
    { type: 'text' as const, text: 'Once upon' },
    { type: 'finish' as const, reason: 'length' as const },
  ];
  const events = await collect(loop(new ScriptedModel(cut), tools, { toolChoice: 'required' }));
  expect(textOfEvents(events)).toBe('Once upon');
  expect(events.at(-1)).toEqual({ type: 'finish', reason: 'length' });
});

it('requests text with tool_choice none when the model only makes calls', async () => {
  const model = new ScriptedModel(calls(['a', {}]), says('In words.'));
  const events = await collect(loop(model, tools, { toolChoice: 'none' }));
  expect(eventsOf(events, 'tool.call')).toEqual([]);
  expect(eventsOf(events, 'tool.result')).toMatchObject([{ error: { code: 'tool_disabled' } }]);
  expect(textOfEvents(events)).toBe('In words.');
});

it('offers a demanded function that was deferred', async () => {
  const model = new ScriptedModel(calls(['kept', {}]), says('Done.'));
  const finder = { tool: toolNamed('find_tools', []), deferred: new Map([['kept', toolNamed('kept', 7)]]) };
  const events = await collect(
    loop(model, tools, { toolChoice: named('kept'), offer: { tools: toolMap(...tools), warnings: [], finder } }),
  );
  expect(model.requests[0]?.tools.map((spec) => spec.name)).toEqual(['a', 'b', 'find_tools', 'kept']);
  expect(eventsOf(events, 'tool.result')).toMatchObject([{ tool: 'kept', response: 7 }]);
});
