import { expect, it } from 'vitest';
import { answerOf } from '../chat-services.ts';
import type { ChatServices } from '../../../src/chat/loop/prepared-chat.ts';
import { memoryContinuations } from '../../_support/continuations.ts';
import { memorySeals } from '../../_support/memory-stores.ts';
import { memoryTranscripts } from '../../_support/transcripts.ts';
import { defaultSelectionTemplate } from '../../../src/chat/modes/prompt/selection-prompt.ts';
import { defaultContextTemplate } from '../../../src/chat/messages/inject-file-context.ts';
import type { ChatEvent } from '../../../src/core/chat/chat.ts';
import type { ChatRequest } from '../../../src/core/chat/chat.ts';
import { GatewayError } from '../../../src/core/errors.ts';
import { calls, finderOf, says, ScriptedModel } from '../../_support/scripted-model.ts';
import { chatRequest, collect, eventsOf, offering, runContext, textOfEvents, toolNamed } from '../../_support/tools.ts';

function services(overrides: Partial<Omit<ChatServices, 'settings'>> & { settings?: Partial<ChatServices['settings']> }): ChatServices {
  let id = 0;
  return {
    models: finderOf({}),
    tools: offering(),
    continuations: memoryContinuations(),
    thoughtSeals: memorySeals(),
    transcripts: memoryTranscripts(),
    newCallId: () => `call_${++id}`,
    now: () => 0,
    ...overrides,
    settings: {
      taskModel: undefined,
      taskModelExternal: undefined,
      selectionTemplate: defaultSelectionTemplate,
      contextTemplate: defaultContextTemplate,
      functionCalling: 'auto',
      maxToolRounds: 10,
      toolTimeoutMs: 1_000,
      ...overrides.settings,
    },
  };
}
const clock = toolNamed('get_time', { time: '12:00' });
const selection = (name: string, parameters: unknown = {}) => says(JSON.stringify({ tool_calls: [{ name, parameters }] }));

it('offers the functions in native mode, runs the call, and answers with its source', async () => {
  const model = new ScriptedModel(calls(['get_time', {}]), says('It is noon.'));
  const events = await collect(answerOf(chatRequest(), runContext(), services({ models: finderOf({ model }), tools: offering(clock) })));
  expect(model.requests[0]?.tools.map((spec) => spec.name)).toEqual(['get_time']);
  expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: '{\n  "time": "12:00"\n}' });
  expect(textOfEvents(events)).toBe('It is noon.');
  expect(events.filter((event) => event.type === 'source')).toEqual([
    {
      type: 'source',
      source: {
        source: { name: 'TOOL:server/get_time' },
        document: ['{\n  "time": "12:00"\n}'],
        metadata: [{ source: 'TOOL:server/get_time', parameters: {} }],
        tool_result: true,
      },
    },
  ]);
});

it('answers from the results, without another call, when a backend refuses functions after their results', async () => {
  const refusal = new GatewayError('tools_unsupported', 'does not support tools');
  const model = new ScriptedModel(calls(['get_time', {}]), [refusal], says('Noon.'));
  const models = finderOf({ model });
  const events = await collect(answerOf(chatRequest(), runContext(), services({ models, tools: offering(clock) })));
  expect(eventsOf(events, 'tool.call')).toHaveLength(1);
  expect(model.requests[2]?.tools).toEqual([]);
  expect(model.requests[2]?.messages.at(-1)).toMatchObject({ role: 'user', content: expect.stringContaining('12:00') });
  // The earlier calls may be why.
  expect([textOfEvents(events), models.forgotten]).toEqual(['Noon.', []]);
});

it.each<[string, Partial<ChatRequest>]>([
  ['a parameter', { parameters: { reasoning_effort: 'This model does not support tools' } }],
  ['a key of a parameter', { parameters: { 'x does not support tools': 1 } }],
  ['a message', { messages: [{ role: 'user', content: 'Say: it does not support tools.' }] }],
  [
    'a function of the caller',
    { callerFunctions: [{ name: 'own', wire: { function: { parameters: { type: 'does not support tools' } } } }] },
  ],
])('learns nothing about the model from a refusal of tools that repeats %s of the request', async (_name, fields) => {
  const refusal = new GatewayError('tools_unsupported', "Invalid value: 'This model does not support tools'.");
  const model = new ScriptedModel([refusal], selection('get_time'), says('Noon.'));
  const models = finderOf({ model });
  const events = await collect(answerOf(chatRequest(fields), runContext(), services({ models, tools: offering(clock) })));
  expect([textOfEvents(events), models.forgotten]).toEqual(['Noon.', []]);
});

it('ends the run without another call when a backend refuses functions in the middle of the answer from their results', async () => {
  const refusal = new GatewayError('tools_unsupported', 'does not support tools');
  const model = new ScriptedModel(
    calls(['get_time', {}]),
    [{ type: 'text', text: 'It is' }, refusal],
    selection('get_time'),
    says('Noon.'),
  );
  const answer = answerOf(chatRequest(), runContext(), services({ models: finderOf({ model }), tools: offering(clock) }));
  const events: ChatEvent[] = [];
  const reading = async (): Promise<void> => {
    for await (const event of answer) events.push(event);
  };
  await expect(reading()).rejects.toMatchObject({ code: 'upstream_rejected', message: 'does not support tools' });
  expect(eventsOf(events, 'tool.call')).toHaveLength(1);
});

it('requests a selection in default mode, appends the result to the user message, and lets the model answer [S0-18]', async () => {
  const model = new ScriptedModel(selection('get_time'), says('Noon.'));
  const request = chatRequest({
    mode: 'default',
    messages: [
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'What time is it?' },
    ],
  });
  const events = await collect(answerOf(request, runContext(), services({ models: finderOf({ model }), tools: offering(clock) })));
  expect(model.requests).toHaveLength(2);
  expect(model.requests[0]).toMatchObject({ tools: [], stream: false });
  expect(model.requests[0]?.messages.at(-1)?.content).toBe('Query: History:\nQuery: What time is it?');
  expect(model.requests[1]?.tools).toEqual([]);
  expect(model.requests[1]?.messages).toEqual([
    { role: 'system', content: 'Be short.' },
    { role: 'user', content: 'What time is it?\n\nTool `server/get_time` Output: {\n  "time": "12:00"\n}' },
  ]);
  expect(textOfEvents(events)).toBe('Noon.');
  const asked = { query: 'What time is it?', functions: 1, questions: 1 };
  expect(eventsOf(events, 'selection')).toEqual([{ model: 'model', asked, found: ['get_time'], dropped: [], repaired: [] }]);
});

it('emits a source before the text that it supports [S4-41]', async () => {
  for (const mode of ['native', 'default']) {
    const first = mode === 'native' ? calls(['get_time', {}]) : selection('get_time');
    const model = new ScriptedModel(first, says('Noon.'));
    const events = await collect(
      answerOf(chatRequest({ mode }), runContext(), services({ models: finderOf({ model }), tools: offering(clock) })),
    );
    const types = events.map((event) => event.type);
    expect(types.indexOf('source')).toBeLessThan(types.indexOf('text'));
    expect(types.indexOf('source')).toBeGreaterThan(-1);
  }
});

it('requests the answer at once when nothing was selected', async () => {
  const model = new ScriptedModel(says('{"tool_calls": []}'), says('Hello.'));
  const events = await collect(
    answerOf(chatRequest({ mode: 'default' }), runContext(), services({ models: finderOf({ model }), tools: offering(clock) })),
  );
  expect(textOfEvents(events)).toBe('Hello.');
  expect(eventsOf(events, 'tool.call')).toEqual([]);
});

it('answers without tools and with a warning when the selection fails', async () => {
  const model = new ScriptedModel([new GatewayError('upstream_timeout', 'The backend was silent.')], says('Hello.'));
  const events = await collect(
    answerOf(chatRequest({ mode: 'default' }), runContext(), services({ models: finderOf({ model }), tools: offering(clock) })),
  );
  expect(textOfEvents(events)).toBe('Hello.');
  expect(eventsOf(events, 'selection')[0]).toMatchObject({ error: { code: 'upstream_timeout' } });
});

it('runs nothing after a selection that was cut off by the token limit', async () => {
  const cut = [
    { type: 'text' as const, text: '{"tool_calls":[{"name":"get_time","parameters":{}}]}' },
    { type: 'finish' as const, reason: 'length' as const },
  ];
  const model = new ScriptedModel(cut, says('Hello.'));
  const events = await collect(
    answerOf(chatRequest({ mode: 'default' }), runContext(), services({ models: finderOf({ model }), tools: offering(clock) })),
  );
  expect(eventsOf(events, 'tool.call')).toEqual([]);
});

it.each([
  { isLocal: true, asked: 'small' },
  { isLocal: false, asked: 'remote-small' },
])('lets the configured task model choose for a chat model (local: $isLocal)', async ({ isLocal, asked }) => {
  const chat = new ScriptedModel(says('Noon.'));
  const tasks: Record<string, ScriptedModel> = {
    small: new ScriptedModel(selection('get_time')),
    'remote-small': new ScriptedModel(selection('get_time')),
  };
  const models = finderOf({ model: chat, ...tasks }, { isLocal });
  const settings = { taskModel: 'small', taskModelExternal: 'remote-small' };
  await collect(answerOf(chatRequest({ mode: 'default' }), runContext(), services({ models, tools: offering(clock), settings })));
  expect(tasks[asked]?.requests).toHaveLength(1);
  expect(chat.requests).toHaveLength(1);
});

it('lets the chat model choose when the task model is not available', async () => {
  const model = new ScriptedModel(selection('get_time'), says('Noon.'));
  const events = await collect(
    answerOf(
      chatRequest({ mode: 'default' }),
      runContext(),
      services({ models: finderOf({ model }), tools: offering(clock), settings: { taskModelExternal: 'gone' } }),
    ),
  );
  expect(textOfEvents(events)).toBe('Noon.');
  expect(eventsOf(events, 'warning')[0]).toMatchObject({ code: 'task_model_unavailable' });
});

it('chooses native calls in auto mode unless the capabilities of the model exclude them', async () => {
  const able = new ScriptedModel(says('Hello.'));
  await collect(answerOf(chatRequest(), runContext(), services({ models: finderOf({ model: able }), tools: offering(clock) })));
  expect(able.requests[0]?.tools).toHaveLength(1);
  const unable = new ScriptedModel(says('{"tool_calls":[]}'), says('Hello.'));
  await collect(
    answerOf(chatRequest(), runContext(), services({ models: finderOf({ model: unable }, { nativeTools: 'no' }), tools: offering(clock) })),
  );
  expect(unable.requests[0]?.tools).toEqual([]);
});

it('remembers in auto mode that a backend refuses tools, and answers the same request by prompt', async () => {
  const model = new ScriptedModel([new GatewayError('tools_unsupported', 'does not support tools')], selection('get_time'), says('Noon.'));
  const models = finderOf({ model });
  const events = await collect(answerOf(chatRequest(), runContext(), services({ models, tools: offering(clock) })));
  expect(textOfEvents(events)).toBe('Noon.');
  expect(models.forgotten).toEqual(['model']);
});

it('reports the refusal of a backend without tools as an error in native mode', async () => {
  const model = new ScriptedModel([new GatewayError('tools_unsupported', 'does not support tools')]);
  const run = collect(
    answerOf(chatRequest({ mode: 'native' }), runContext(), services({ models: finderOf({ model }), tools: offering(clock) })),
  );
  await expect(run).rejects.toMatchObject({ code: 'tools_unsupported' });
});

it('rejects an unknown mode and names the known ones', async () => {
  const run = collect(
    answerOf(chatRequest({ mode: 'magic' }), runContext(), services({ models: finderOf({ model: new ScriptedModel() }) })),
  );
  await expect(run).rejects.toMatchObject({ code: 'unknown_mode', status: 400, message: expect.stringContaining('native') });
});

it('runs one call in simple mode and then answers', async () => {
  const model = new ScriptedModel(calls(['get_time', {}], ['get_time', {}]), says('Noon.'));
  const events = await collect(
    answerOf(chatRequest({ mode: 'simple' }), runContext(), services({ models: finderOf({ model }), tools: offering(clock) })),
  );
  expect(eventsOf(events, 'tool.call')).toHaveLength(1);
  expect(model.requests[1]?.tools).toEqual([]);
  expect(textOfEvents(events)).toBe('Noon.');
});

it('passes a request without tools of the gateway on unchanged, including the caller’s functions and several choices', async () => {
  const wire = { type: 'function', function: { name: 'mine', parameters: {} } };
  const model = new ScriptedModel([
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b', choice: 1 },
    { type: 'finish', reason: 'stop' },
  ]);
  const request = chatRequest({ callerFunctions: [{ name: 'mine', wire }], parameters: { n: 2, temperature: 0 }, toolChoice: 'auto' });
  await collect(answerOf(request, runContext(), services({ models: finderOf({ model }) })));
  expect(model.requests[0]).toMatchObject({ callerTools: [wire], toolChoice: 'auto', parameters: { n: 2, temperature: 0 } });
});

it('rejects several choices together with tools of the gateway', async () => {
  const run = collect(
    answerOf(
      chatRequest({ parameters: { n: 2 } }),
      runContext(),
      services({ models: finderOf({ model: new ScriptedModel() }), tools: offering(clock) }),
    ),
  );
  await expect(run).rejects.toMatchObject({ status: 400, param: 'n' });
});

it('ends the round with a call of the caller’s function, and restores the gateway’s calls when the caller returns its result', async () => {
  const wire = { type: 'function', function: { name: 'mine', parameters: {} } };
  const model = new ScriptedModel(calls(['get_time', {}], ['mine', { a: 1 }]), says('Done.'));
  const shared = services({ models: finderOf({ model }), tools: offering(clock) });
  const request = chatRequest({ callerFunctions: [{ name: 'mine', wire }] });
  const events = await collect(answerOf(request, runContext(), shared));
  const returned = events.flatMap((event) => (event.type === 'tool-call' ? [event.call] : []));
  expect(returned).toMatchObject([{ name: 'mine', arguments: '{"a":1}' }]);
  expect(events.at(-2)).toEqual({ type: 'finish', reason: 'tool_calls' });

  const own = returned[0] ?? { id: '', name: '', arguments: '' };
  const answered = chatRequest({
    callerFunctions: [{ name: 'mine', wire }],
    messages: [
      { role: 'user', content: 'What time is it?' },
      { role: 'assistant', content: null, toolCalls: [own] },
      { role: 'tool', toolCallId: own.id, content: 'mine says 1' },
    ],
  });
  await collect(answerOf(answered, runContext(), shared));
  const history = model.requests[1]?.messages ?? [];
  expect(history.map((message) => message.role)).toEqual(['user', 'assistant', 'tool', 'tool']);
  expect(history[1]).toMatchObject({ toolCalls: [{ name: 'get_time' }, { name: 'mine' }] });
});

it.each([
  ['{"a": 1}</tool_call>', '{"a":1}'],
  ["{'a': True}", '{"a":true}'],
  ['{"a": 1.50}', '{"a": 1.50}'],
  ['{"a": ', '{"a": '],
])('returns the arguments %s of the caller’s function as %s', async (written, returned) => {
  const wire = { type: 'function', function: { name: 'mine', parameters: {} } };
  const model = new ScriptedModel([
    { type: 'tool-call', call: { id: 'a', name: 'mine', arguments: written } },
    { type: 'finish', reason: 'tool_calls' },
  ]);
  const request = chatRequest({ callerFunctions: [{ name: 'mine', wire }] });
  const events = await collect(answerOf(request, runContext(), services({ models: finderOf({ model }), tools: offering(clock) })));
  expect(events).toContainEqual(expect.objectContaining({ call: expect.objectContaining({ arguments: returned }) as unknown }));
});

it('reads the arguments of earlier calls of the caller’s function, even without tools of the gateway', async () => {
  const wire = { type: 'function', function: { name: 'mine', parameters: {} } };
  const model = new ScriptedModel(says('Done.'));
  const request = chatRequest({
    callerFunctions: [{ name: 'mine', wire }],
    messages: [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: null, toolCalls: [{ id: '1', name: 'mine', arguments: '{"a": 1}<|im_end|>' }] },
      { role: 'tool', toolCallId: '1', content: 'one' },
    ],
  });
  await collect(answerOf(request, runContext(), services({ models: finderOf({ model }) })));
  expect(model.requests[0]?.messages[1]).toMatchObject({ toolCalls: [{ arguments: '{"a":1}' }] });
});

it('offers the caller’s functions to a selection, too', async () => {
  const wire = {
    type: 'function',
    function: { name: 'mine', description: 'Mine', parameters: { type: 'object', properties: { a: { type: 'number' } } } },
  };
  const model = new ScriptedModel(selection('mine', { a: 1 }));
  const request = chatRequest({ mode: 'default', callerFunctions: [{ name: 'mine', wire }] });
  const events = await collect(answerOf(request, runContext(), services({ models: finderOf({ model }), tools: offering(clock) })));
  expect(JSON.stringify(model.requests[0]?.messages[0])).toContain('mine');
  expect(events.flatMap((event) => (event.type === 'tool-call' ? [event.call] : []))).toMatchObject([
    { name: 'mine', arguments: '{"a":1}' },
  ]);
});

it('expands variables in system prompts once, and not in the messages of users [S4-11]', async () => {
  const model = new ScriptedModel(says('Hello.'));
  const request = chatRequest({
    variables: { '{{USER_NAME}}': 'Ada {{CURRENT_DATE}}', '{{CURRENT_DATE}}': '2026-01-01' },
    messages: [
      { role: 'system', content: 'You talk to {{USER_NAME}} on {{CURRENT_DATE}}; {{OTHER}} stays.' },
      { role: 'user', content: 'I am {{USER_NAME}}' },
    ],
  });
  await collect(answerOf(request, runContext(), services({ models: finderOf({ model }) })));
  expect(model.requests[0]?.messages.map((message) => message.content)).toEqual([
    'You talk to Ada {{CURRENT_DATE}} on 2026-01-01; {{OTHER}} stays.',
    'I am {{USER_NAME}}',
  ]);
});

it.each([
  { owner: 'ollama', place: 'user' },
  { owner: 'openai', place: 'system' },
])('emits an inline file as a source and adds it to the $place message for $owner', async ({ owner, place }) => {
  const model = new ScriptedModel(says('Hello.'));
  const request = chatRequest({ files: [{ name: 'notes.txt', content: 'The <b>code</b> is 7. {{QUERY}}' }] });
  const events = await collect(answerOf(request, runContext(), services({ models: finderOf({ model }, { owner }) })));
  expect(events.find((event) => event.type === 'source')).toMatchObject({ source: { source: { name: 'notes.txt' } } });
  const first = model.requests[0]?.messages[0];
  expect(first?.role).toBe(place);
  expect(first?.content).toContain('The &lt;b&gt;code&lt;/b&gt; is 7. {{QUERY}}');
});

it('expands the query and the variables in a template for files [S4-11]', async () => {
  const model = new ScriptedModel(says('Hello.'));
  const request = chatRequest({ files: [{ name: 'a', content: 'A' }], variables: { '{{USER_NAME}}': 'Ada' } });
  const settings = { contextTemplate: '{{CONTEXT}} for {{USER_NAME}}: {{QUERY}}' };
  await collect(answerOf(request, runContext(), services({ models: finderOf({ model }), settings })));
  expect(model.requests[0]?.messages[0]?.content).toBe('<source id="1" name="a">A</source> for Ada: What time is it?');
});

it('adds files to the answer after a selection, but not to the selection [S4-25]', async () => {
  const model = new ScriptedModel(selection('get_time'), says('Noon.'));
  const request = chatRequest({ mode: 'default', files: [{ name: 'a', content: 'The document' }] });
  await collect(answerOf(request, runContext(), services({ models: finderOf({ model }, { owner: 'ollama' }), tools: offering(clock) })));
  expect(JSON.stringify(model.requests[0]?.messages)).not.toContain('The document');
  expect(model.requests[1]?.messages[0]?.content).toMatch(/The document[^]*What time is it\?\n\nTool `server\/get_time` Output/);
});

it('sends a provider’s own tool with the answer after a selection [S2-18]', async () => {
  const model = new ScriptedModel(says('{"tool_calls":[]}'), says('Hello.'));
  const hosted = { type: 'web_search' };
  await collect(
    answerOf(
      chatRequest({ mode: 'default', hostedTools: [hosted] }),
      runContext(),
      services({ models: finderOf({ model }), tools: offering(clock) }),
    ),
  );
  expect(model.requests.map((asked) => asked.callerTools)).toEqual([[], [hosted]]);
});

it('never runs a similarly named function of the gateway instead of the caller’s function [S4-31]', async () => {
  const wire = { type: 'function', function: { name: 'get_now', parameters: {} } };
  const model = new ScriptedModel(calls(['getNow', {}]));
  const twin = toolNamed('get_now_3d3f22', 'wrong');
  const events = await collect(
    answerOf(
      chatRequest({ callerFunctions: [{ name: 'get_now', wire }] }),
      runContext(),
      services({ models: finderOf({ model }), tools: offering(twin) }),
    ),
  );
  expect(eventsOf(events, 'tool.call')).toEqual([]);
  expect(events.flatMap((event) => (event.type === 'tool-call' ? [event.call.name] : []))).toEqual(['get_now']);
});
