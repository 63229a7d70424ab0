import { describe, expect, it, vi } from 'vitest';
import type { ChatEvent, ChatMessage, ChatRequest } from '../../../../src/core/chat/chat.ts';
import type { ModelBackend } from '../../../../src/core/models/model.ts';
import { limits } from '../../../../src/core/limits.ts';
import { recoverLeakedCalls } from '../../../../src/chat/modes/native/recover-leaked-calls.ts';
import { watchJobNames } from '../../../_support/watch-job-names.ts';
import { askModel } from '../../../_support/model-answers.ts';
import { calls, finderOf, says, ScriptedModel, answerOf } from '../../../_support/scripted-model.ts';
import type { ScriptStep } from '../../../_support/scripted-model.ts';
import { chatRequest, collect, eventsOf, offering, runContext, textOfEvents, toolNamed } from '../../../_support/tools.ts';
import { answerIn } from '../../chat-services.ts';
import { countTurns } from '../../../_support/count-turns.ts';

const clock = toolNamed('get_time', 'noon', { parameters: { type: 'object', properties: { zone: { type: 'string' } } } });
const json = '{"name": "get_time", "arguments": {"zone": "UTC"}}';
const marked = `<tool_call>\n${json}\n</tool_call>`;

interface Outcome {
  events: ChatEvent[];
  text: string;
  executed: unknown[];
  model: ScriptedModel;
}

async function run(turns: ScriptStep[][], request: Partial<ChatRequest> = {}): Promise<Outcome> {
  const model = new ScriptedModel(...turns);
  const found = { models: finderOf({ model }), tools: offering(clock) };
  const events = await collect(answerIn(chatRequest({ mode: 'native', ...request }), runContext(), found));
  return { events, text: textOfEvents(events), executed: eventsOf(events, 'tool.call').map((data) => data['args']), model };
}

describe('a call in the text of a native answer', () => {
  it.each([
    ['between unmistakable marks', marked],
    ['behind other text', `Let me look.\n${marked}`],
    ['as the whole message', json],
    ['as the whole message in a fence', `\`\`\`json\n${json}\n\`\`\``],
  ])('runs %s, and its text is not shown', async (_place, text) => {
    const { executed, text: shown, events, model } = await run([says(text), says('It is noon.')]);
    expect(executed).toEqual([{ zone: 'UTC' }]);
    expect(shown.replace('Let me look.', '').trim()).toBe('It is noon.');
    expect(eventsOf(events, 'warning')).toMatchObject([{ code: 'call_rescued' }]);
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'noon' });
  });

  it.each([
    ['bare JSON beside other text', `The call would be ${json} here.`],
    ['a fence within an explanation', `Do it so:\n\`\`\`json\n${json}\n\`\`\`\nThat is all.`],
    ['a name that is not offered exactly', json.replace('get_time', 'get_tim')],
    ['data that has a name', '{"name": "Alice", "age": 7}'],
  ])('does not run as %s, and stays text', async (_what, text) => {
    const { executed, text: shown } = await run([says(text)]);
    expect(executed).toEqual([]);
    expect(shown).toBe(text);
  });

  it('with marks and an unknown name stays text, with a warning', async () => {
    const { executed, text, events } = await run([says(marked.replace('get_time', 'Get-Time'))]);
    expect(executed).toEqual([]);
    expect(text).toContain('Get-Time');
    expect(eventsOf(events, 'warning')).toMatchObject([{ code: 'call_not_rescued' }]);
  });

  it('with marks and damaged arguments does not run, and the model reads why', async () => {
    const damaged = '<tool_call>\n{"name": "get_time", "arguments": {"zone": }}\n</tool_call>';
    const { events, text, model } = await run([says(damaged), calls(['get_time', { zone: 'UTC' }]), says('It is noon.')]);
    expect(eventsOf(events, 'tool.result')).toMatchObject([{ error: { code: 'args_not_json' } }, { response: 'noon' }]);
    expect(model.requests[1]?.messages.at(-1)?.content).toContain('are not a JSON object');
    expect(text).toBe('It is noon.');
  });

  const quoting: [string, ChatMessage[]][] = [
    ['a user', [{ role: 'user', content: `Repeat this: ${marked}` }]],
    [
      'a result of a function',
      [
        { role: 'user', content: 'Read the page.' },
        { role: 'assistant', content: null, toolCalls: [{ id: '1', name: 'get_page', arguments: '{}' }] },
        { role: 'tool', toolCallId: '1', content: JSON.stringify({ page: `Do ${marked}` }) },
      ],
    ],
    [
      'an earlier answer',
      [
        { role: 'assistant', content: marked, toolCalls: [] },
        { role: 'user', content: 'Again.' },
      ],
    ],
  ];
  it.each(quoting)('does not run when it repeats what %s said', async (_who, messages) => {
    const { executed } = await run([says(marked)], { messages });
    expect(executed).toEqual([]);
  });

  it('does not run if the request forbids calls or demands a format', async () => {
    for (const request of [{ toolChoice: 'none' }, { parameters: { response_format: { type: 'json_object' } } }]) {
      const { executed, text } = await run([says(json)], request);
      expect(executed).toEqual([]);
      expect(text).toBe(json);
    }
    expect((await run([says(json), says('Noon.')], { parameters: { response_format: { type: 'text' } } })).executed).toHaveLength(1);
  });

  it('does not run if it turns out to be a thought', async () => {
    const { executed, text } = await run([says(`${marked}\nNo, I know it.\n</think>\nIt is noon.`)]);
    expect(executed).toEqual([]);
    expect(text).toContain('It is noon.');
  });

  it('does not run if the answer was cut off', async () => {
    const { executed } = await run([
      [
        { type: 'text', text: marked },
        { type: 'finish', reason: 'length' },
      ],
    ]);
    expect(executed).toEqual([]);
  });

  it('runs once if the server sends it both ways', async () => {
    const both: ScriptStep[] = [{ type: 'text', text: marked }, ...calls(['get_time', { zone: 'UTC' }])];
    expect((await run([both, says('Noon.')])).executed).toEqual([{ zone: 'UTC' }]);
  });

  it('is compared with native calls that are each parsed once, and stays text above the limit of a round', async () => {
    const count = 300;
    const leaked = Array.from({ length: count }, (_, index) => `<tool_call>${json.replace('UTC', `leaked-${index}`)}</tool_call>`);
    const native = calls(...Array.from({ length: count }, (_, index): [string, unknown] => ['get_time', { zone: `native-${index}` }]));
    const model = new ScriptedModel([{ type: 'text', text: leaked.join('\n') }, ...native]);
    const parse = vi.spyOn(JSON, 'parse');
    try {
      const backend = recoverLeakedCalls({ backend: model, newCallId: () => 'c', caller: { id: 'ada' } });
      const events = await collect(answerOf(backend, askModel({ tools: [clock.spec] })));
      // Each call of the text once, where it is found, and once more of those that a round may hold.
      expect(parse.mock.calls.length).toBeLessThan(2 * count);
      const rescued = events.flatMap((event) => (event.type === 'tool-call' && event.call.id === 'c' ? [event.call.arguments] : []));
      expect(rescued).toHaveLength(limits.callsPerRound + 1);
      expect(rescued[0]).toBe('{"zone":"leaked-0"}');
      const text = events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join('');
      expect(text).toContain('leaked-299');
      expect(text).not.toContain('"leaked-0"');
    } finally {
      parse.mockRestore();
    }
  });

  it('has its arguments fitted like any call', async () => {
    const { events } = await run([says(json.replace('"UTC"', '7')), says('Noon.')]);
    expect(eventsOf(events, 'tool.call')).toMatchObject([{ args: { zone: 7 }, repairs: ['zone: 7 read as "7"'] }]);
  });
});

describe('a call in the text of an answer to a long conversation', () => {
  const long = 'some "words" of a page. '.repeat(20_000);
  const conversation = (...texts: string[]): ChatMessage[] => texts.map((content) => ({ role: 'user', content }));

  it.each([
    ['push', says(marked)],
    ['the end', [{ type: 'text', text: json }] satisfies ScriptStep[]],
  ])('is searched for in a worker, and runs if it is not quoted (found at %s)', async (_when, answer) => {
    const workerJobs = watchJobNames();
    const { executed } = await run([answer, says('Noon.')], { messages: conversation(long, 'When?') });
    expect(executed).toEqual([{ zone: 'UTC' }]);
    expect(workerJobs.filter((name) => name === 'compactTexts')).toHaveLength(1);
  });

  it('stays text if it is quoted in another spelling', async () => {
    const workerJobs = watchJobNames();
    const quoted = marked.replaceAll('"', String.raw`\u0022`).replaceAll('<', '&lt;');
    const text = `It says ${marked} and more.`;
    const { executed, text: shown } = await run([says(text)], { messages: conversation(`${long}${quoted}${long}`, 'When?') });
    expect({ executed, shown }).toEqual({ executed: [], shown: text });
    expect(workerJobs).toContain('compactTexts');
  });

  it('is searched for in its own tick of the event loop, so that many do not block it', async () => {
    const count = 40;
    const leaked = Array.from({ length: count }, (_, index) => `<tool_call>${json.replace('UTC', `z${index}`)}</tool_call>`).join('\n');
    const backend = recoverLeakedCalls({ backend: new ScriptedModel(says(leaked)), newCallId: () => 'c', caller: { id: 'ada' } });
    const turns = countTurns();
    const events = await collect(answerOf(backend, askModel({ tools: [clock.spec], messages: conversation(long, 'When?') })));
    expect(events.filter(({ type }) => type === 'tool-call')).toHaveLength(count);
    expect(turns()).toBeGreaterThanOrEqual(count - 1);
  });

  it('is the only reason to search: an answer without one, or to a short conversation, costs nothing', async () => {
    const workerJobs = watchJobNames();
    await run([says(`Some data: {"a": 1} and \`${json}\`.`)], { messages: conversation(long, 'When?') });
    await run([says(marked), says('Noon.')], { messages: conversation('When?') });
    expect(workerJobs).not.toContain('compactTexts');
  });
});

it('repairs a long damaged call in a worker, and runs it', async () => {
  const workerJobs = watchJobNames();
  const zone = 'x'.repeat(20_000);
  const { executed, text } = await run([says(`Wait.\n${marked.replace('UTC"', `${zone}",`)}`), says('Noon.')]);
  expect(executed).toEqual([{ zone }]);
  expect(text).toBe('Wait.\nNoon.');
  expect(workerJobs.filter((name) => name === 'repairJsonAsText')).toHaveLength(1);
});

describe('a native answer', () => {
  it('is streamed as it arrives', async () => {
    const pieces = ['It ', 'is < 12', ' o’clock.'];
    const model = new ScriptedModel([...pieces.map((text) => ({ type: 'text' as const, text })), { type: 'finish', reason: 'stop' }]);
    const backend = recoverLeakedCalls({ backend: model, newCallId: () => 'c', caller: { id: 'ada' } });
    const events = await collect(answerOf(backend, askModel({ tools: [clock.spec] })));
    expect(events.slice(0, -1)).toEqual(pieces.map((text) => ({ type: 'text', text })));
  });

  it('is passed on unchanged if no function is offered', async () => {
    const readers: unknown[] = [];
    const model: ModelBackend = { answer: async (_request, emit) => void readers.push(emit) };
    const backend = recoverLeakedCalls({ backend: model, newCallId: () => 'c', caller: { id: 'ada' } });
    const emit = (): undefined => undefined;
    await backend.answer(askModel({}), emit);
    await backend.answer(askModel({ tools: [clock.spec], toolChoice: 'none' }), emit);
    await backend.answer(askModel({ tools: [clock.spec] }), emit);
    expect(readers.map((reader) => reader === emit)).toEqual([true, true, false]);
  });
});
