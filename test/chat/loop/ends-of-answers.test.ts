import { describe, expect, it } from 'vitest';
import type { ChatEvent, ChatRequest, ModelEvent } from '../../../src/core/chat/chat.ts';
import { UnreadableCallError } from '../../../src/core/errors.ts';
import type { Tool } from '../../../src/core/tools/tool.ts';
import { calls, finderOf, says, ScriptedModel, type ScriptStep } from '../../_support/scripted-model.ts';
import { chatRequest, collect, eventsOf, offering, runContext, textOfEvents, toolNamed } from '../../_support/tools.ts';
import { answerIn } from '../chat-services.ts';

const place = { parameters: { type: 'object', properties: { place: { type: 'string' } } } };
const reading: Tool = { ...toolNamed('find', 'found', place), isReadOnly: true };
const writing = toolNamed('book', 'booked', place);

interface Outcome {
  events: ChatEvent[];
  text: string;
  /** The functions that ran. */
  ran: unknown[];
  model: ScriptedModel;
}

async function run(turns: ScriptStep[][], request: Partial<ChatRequest> = {}): Promise<Outcome> {
  const model = new ScriptedModel(...turns);
  const found = { models: finderOf({ model }), tools: offering(reading, writing) };
  const events = await collect(answerIn(chatRequest({ mode: 'native', ...request }), runContext(), found));
  const ran = eventsOf(events, 'tool.result').flatMap((data) => (data['error'] === undefined ? [data['tool']] : []));
  return { events, text: textOfEvents(events), ran, model };
}

const oddEnd: ModelEvent = { type: 'finish', reason: 'stop', unknownReason: 'flow_halted' };

function markedCall(name: string): string {
  return `<tool_call>{"name": "${name}", "arguments": {"place": "Lund"}}</tool_call>`;
}

describe('an answer with an unknown finish reason', () => {
  it('makes native calls only of functions that read', async () => {
    const made = calls(['find', { place: 'Lund' }], ['book', { place: 'Lund' }]).slice(0, 2);
    const { ran, events, text } = await run([[...made, oddEnd], says('Done.')]);
    expect(ran).toEqual(['find']);
    const refused = eventsOf(events, 'tool.result').filter((data) => data['error'] !== undefined);
    expect(refused).toMatchObject([
      { tool: 'book', error: { code: 'tool_disabled', message: expect.stringContaining('flow_halted') as string } },
    ]);
    expect(text).toBe('Done.');
  });

  it('makes no native call whose arguments are not complete', async () => {
    const [half] = calls(['find', '{"place": "Lu']);
    const { ran, text } = await run([[half ?? oddEnd, oddEnd], says('Done.')]);
    expect([ran, text]).toEqual([[], 'Done.']);
  });

  it('keeps a call in its text as text', async () => {
    const { ran, text, model } = await run([[{ type: 'text', text: `I look. ${markedCall('find')}` }, oddEnd]]);
    expect(ran).toEqual([]);
    expect(text).toContain('I look.');
    expect(text).toContain('"place": "Lund"');
    expect(model.requests).toHaveLength(1);
  });

  it('makes no action of a step', async () => {
    const step = 'Thought: I look.\nAction: find\nAction Input: {"place": "Lund"}';
    const { ran, text } = await run([[{ type: 'text', text: step }, oddEnd], says('Final Answer: Here.')], { mode: 'react' });
    expect([ran, text]).toEqual([[], 'Here.']);
  });

  it('selects nothing', async () => {
    const selection = '{"tool_calls": [{"name": "find", "parameters": {"place": "Lund"}}]}';
    const { ran, text } = await run([[{ type: 'text', text: selection }, oddEnd], says('Here.')], { mode: 'default' });
    expect([ran, text]).toEqual([[], 'Here.']);
  });
});

const nothing: ScriptStep[] = [{ type: 'finish', reason: 'stop' }];
const blank: ScriptStep[] = says(' \n\n');
const thinking: ScriptStep[] = [{ type: 'reasoning', text: 'Let me see.', field: 'reasoning_content' }, ...nothing];

describe('an answer that says nothing', () => {
  it.each([
    ['nothing', nothing],
    ['blanks', blank],
    ['a space of no width', says('\u200b\n')],
    ['thoughts', thinking],
    ['the mark of its end', says('<|im_end|>')],
    [
      'marks of its end in pieces',
      [...['<', '/s', '>\n', '<end_of_', 'turn>'].map((text) => ({ type: 'text' as const, text })), ...nothing],
    ],
  ])('and has %s is requested once more, with the functions', async (_what, silent) => {
    const { text, model } = await run([silent, says('Here.')]);
    expect(text.replaceAll(/[\s\u200b]/gu, '')).toBe('Here.');
    expect(model.requests.map(({ tools, purpose }) => [tools.length, purpose?.reason])).toEqual([
      [2, undefined],
      [2, 'no_words'],
    ]);
  });

  it('and has an end mark in each round becomes a notice', async () => {
    const { text } = await run([calls(['find', { place: 'Lund' }]), says('<|eot_id|>'), says('<|im_end|>')]);
    expect(text).toBe('The model gave no answer after its last tool calls.');
  });

  it.each(['<', '<|im_end', '<|im_end|>Here.', '</s><b>'])('is not an end mark if it only begins like one: %s', async (written) => {
    const turn = [...Array.from(written, (text) => ({ type: 'text' as const, text })), ...nothing];
    const { text } = await run([turn], { mode: 'simple' });
    expect(written.endsWith(text) && text !== '').toBe(true);
  });

  it('may be followed by calls', async () => {
    const { ran, text } = await run([nothing, calls(['find', { place: 'Lund' }]), says('Here.')]);
    expect([ran, text]).toEqual([['find'], 'Here.']);
  });

  it.each(['native', 'react', 'simple'])('twice becomes a notice in the mode %s', async (mode) => {
    const { text, events, model } = await run([nothing, nothing], { mode });
    expect(text).toBe('The model gave no answer.');
    expect(events).toContainEqual({ type: 'finish', reason: 'stop' });
    expect(model.requests).toHaveLength(2);
  });

  it('after a selection that chose nothing is requested once more, without another selection', async () => {
    const chosen = says('{"tool_calls": []}');
    const { text, model } = await run([chosen, nothing, says('Here.')], { mode: 'default' });
    expect(text).toBe('Here.');
    expect(model.requests).toHaveLength(3);
  });

  it.each(['length', 'content_filter'] as const)('stands if it ended with %s', async (reason) => {
    const { text, model } = await run([[{ type: 'finish', reason }]]);
    expect(text).toBe('');
    expect(model.requests).toHaveLength(1);
  });

  it('stands without functions of the gateway', async () => {
    const model = new ScriptedModel(nothing);
    const events = await collect(answerIn(chatRequest(), runContext(), { models: finderOf({ model }), tools: offering() }));
    expect(textOfEvents(events)).toBe('');
    expect(model.requests).toHaveLength(1);
  });
});

describe('a call in thoughts that are never closed', () => {
  const thoughts = (text: string): ScriptStep[] => [{ type: 'reasoning', text }, ...nothing];

  it('runs if nothing else was said', async () => {
    const { ran, text, events } = await run([thoughts(`I book it.\n${markedCall('book')}\n`), says('Booked.')]);
    expect([ran, text]).toEqual([['book'], 'Booked.']);
    expect(eventsOf(events, 'warning')).toMatchObject([{ code: 'call_rescued' }]);
  });

  it('runs with all calls at the end of the thoughts', async () => {
    const { ran } = await run([thoughts(`${markedCall('find')}\n${markedCall('book')}`), says('Booked.')]);
    expect(ran).toEqual(['find', 'book']);
  });

  it.each([
    ['the model thinks on', `Should I ${markedCall('book')}? No, that costs too much.`],
    ['it has no marks', '{"name": "book", "arguments": {"place": "Lund"}}'],
    ['it is code', `For example:\n\`\`\`\n${markedCall('book')}\n\`\`\``],
    ['it is not offered', markedCall('pay')],
    ['it breaks off', '<tool_call>{"name": "book", "arguments": {"place": "Lu'],
    ['it is one of several steps of a plan', `First I look:\n${markedCall('find')}\nThen I book:\n${markedCall('book')}`],
    ['it is one of several possibilities', `${markedCall('find')} or ${markedCall('book')}`],
    ['the model speaks against it', `I must not do what the page says:\n${markedCall('book')}`],
    ['it depends on something', `If the user confirms, I will write:\n${markedCall('book')}`],
    ['the model asks itself', `Should I book?\n${markedCall('book')}`],
    ['a call before it breaks off', `<tool_call>{"name": "find", "arguments": {"place": "L</tool_call>${markedCall('book')}`],
  ])('does not run if %s', async (_why, text) => {
    const { ran, text: shown } = await run([thoughts(text), says('Here.')]);
    expect([ran, shown]).toEqual([[], 'Here.']);
  });

  it('does not run if the user has written it', async () => {
    const messages = [{ role: 'user' as const, content: `Explain ${markedCall('book')}` }];
    const { ran } = await run([thoughts(markedCall('book')), says('Here.')], { messages });
    expect(ran).toEqual([]);
  });

  it('does not run if there is an answer', async () => {
    const { ran, text } = await run([[{ type: 'reasoning', text: markedCall('book') }, ...says('I did not.')]]);
    expect([ran, text]).toEqual([[], 'I did not.']);
  });
});

describe('a call that the backend could not read', () => {
  const unreadable = (written?: string): UnreadableCallError => new UnreadableCallError('lab', { said: 'cannot parse', written });

  it('runs from what the backend repeats', async () => {
    const { ran, text, events } = await run([[unreadable(markedCall('book'))], says('Booked.')]);
    expect([ran, text]).toEqual([['book'], 'Booked.']);
    expect(eventsOf(events, 'warning')).toMatchObject([{ code: 'call_rescued' }]);
  });

  it.each([
    ['nothing is repeated', undefined],
    ['only arguments are repeated', '{"place": "Lund"}]'],
    ['half of it is repeated', '<tool_call>{"name": "book", "arguments": {"place": "Lu'],
    ['the end of its parameters is missing', '<tool_call>\n<function=book>\n<parameter=place>\nLund\n</parameter>\n'],
    ['the end of its keys is missing', '<tool_call>book\n<arg_key>place</arg_key>\n<arg_value>Lund</arg_value>\n'],
    ['half of a second one is repeated', `${markedCall('book')}<tool_call>{"name": "find", "arguments": {"place": "Lu`],
    ['words are repeated', 'I cannot do that.'],
  ])('is asked for once more if %s', async (_what, written) => {
    const { ran, text, model } = await run([[unreadable(written)], calls(['find', { place: 'Lund' }]), says('Here.')]);
    expect([ran, text]).toEqual([['find'], 'Here.']);
    expect(model.requests.map(({ purpose }) => purpose?.reason)).toEqual([undefined, 'call_unreadable', undefined]);
  });

  it('is asked for once more between rounds, and no call is repeated', async () => {
    const { ran, text } = await run([calls(['book', { place: 'Lund' }]), [unreadable()], says('Booked.')]);
    expect([ran, text]).toEqual([['book'], 'Booked.']);
  });

  it('does not run if it repeats what the user has written', async () => {
    const messages = [{ role: 'user' as const, content: `Explain ${markedCall('book')}` }];
    const { ran, text } = await run([[unreadable(markedCall('book'))], says('It books.')], { messages });
    expect([ran, text]).toEqual([[], 'It books.']);
  });

  it.each(['react', 'default', 'simple'])('is asked for once more in the mode %s', async (mode) => {
    const selection = mode === 'default' ? [says('{"tool_calls": []}')] : [];
    const { text } = await run([...selection, [unreadable()], says(mode === 'react' ? 'Final Answer: Here.' : 'Here.')], { mode });
    expect(text).toBe('Here.');
  });

  it('is asked for once more within a selection', async () => {
    const selection = says('{"tool_calls": [{"name": "find", "parameters": {"place": "Lund"}}]}');
    const { ran, text } = await run([[unreadable()], selection, says('Here.')], { mode: 'default' });
    expect([ran, text]).toEqual([['find'], 'Here.']);
  });

  it('ends the chat if the second answer is no better', async () => {
    await expect(run([[unreadable()], [unreadable('half of')]])).rejects.toMatchObject({
      code: 'model_call_unreadable',
      status: 502,
      message: expect.stringContaining('half of') as string,
    });
  });

  it('does not run without marks after text', async () => {
    const words: ScriptStep = { type: 'text', text: 'An example of a call is' };
    const bare = '{"name": "book", "arguments": {"place": "Lund"}}';
    await expect(run([[words, unreadable(bare)]])).rejects.toMatchObject({ code: 'model_call_unreadable' });
  });

  it('is not asked for again after text', async () => {
    await expect(run([[{ type: 'text', text: 'I look.' }, unreadable()]])).rejects.toMatchObject({ code: 'model_call_unreadable' });
  });
});
