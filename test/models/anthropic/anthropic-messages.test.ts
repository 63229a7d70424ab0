import { describe, expect, it } from 'vitest';
import type { ChatMessage, ToolCall } from '../../../src/core/chat/chat.ts';
import { toAnthropicMessages } from '../../../src/models/anthropic/anthropic-messages.ts';
import { WireNames } from '../../../src/models/anthropic/wire-names.ts';

type Converted = ReturnType<typeof toAnthropicMessages>;

function convert(...messages: ChatMessage[]): Converted {
  return toAnthropicMessages(messages, new WireNames());
}

const text = (words: string): object => ({ type: 'text', text: words });
const user = (content: ChatMessage['content']): ChatMessage => ({ role: 'user', content: content ?? '' });
const assistant = (content: string | null, toolCalls: ToolCall[] = []): ChatMessage => ({ role: 'assistant', content, toolCalls });
const call = (id: string, args = '{}', name = 'f'): ToolCall => ({ id, name, arguments: args });
const result = (toolCallId: string, content: ChatMessage['content']): ChatMessage => ({ role: 'tool', toolCallId, content: content ?? '' });
const instruction: ChatMessage = { role: 'system', content: 'Be brief.' };
const mark = { cache_control: { type: 'ephemeral' } };
const idsIn = ({ messages }: Converted): unknown[] =>
  messages.flatMap(({ content }) =>
    (content as unknown as Record<string, unknown>[]).flatMap((block) => block['id'] ?? block['tool_use_id'] ?? []),
  );

describe('instructions', () => {
  it('are collected in order, wherever they are, with their cache marks', () => {
    const { system, messages } = convert(
      { role: 'system', content: [{ type: 'text', text: 'Be brief.', ...mark }, text('Be kind.') as never] },
      user('hi'),
      { role: 'developer', content: 'Be right.', extra: mark },
    );
    expect(system).toEqual([{ ...text('Be brief.'), ...mark }, text('Be kind.'), { ...text('Be right.'), ...mark }]);
    expect(messages).toEqual([{ role: 'user', content: [text('hi')] }]);
  });
});

describe('messages', () => {
  it('alternate: neighbours of one role become one', () => {
    expect(convert(user('a'), user('b'), assistant('c'), assistant('d'), user('e')).messages).toEqual([
      { role: 'user', content: [text('a'), text('b')] },
      { role: 'assistant', content: [text('c'), text('d')] },
      { role: 'user', content: [text('e')] },
    ]);
  });

  it('have no blank texts, and no message of nothing else', () => {
    const { system, messages } = convert(
      { role: 'system', content: ' \n' },
      user('a'),
      assistant('\n\n'),
      user([text('') as never, text('b') as never]),
    );
    expect(system).toEqual([]);
    expect(messages).toEqual([{ role: 'user', content: [text('a'), text('b')] }]);
  });

  it.each([[[]], [[assistant('Hello!'), user('hi')]], [[instruction]]])('begin with a user', (messages) => {
    expect(convert(...messages).messages[0]).toEqual({ role: 'user', content: [text('(The conversation begins here.)')] });
  });

  it('do not end with white space after an answer that is to be continued', () => {
    expect(convert(user('a'), assistant('Once upon \n'), user('b'), assistant('a time \n')).messages.map(({ content }) => content)).toEqual(
      [[text('a')], [text('Once upon \n')], [text('b')], [text('a time')]],
    );
  });

  it('have no half of a surrogate pair', () => {
    expect(convert(user('cut \ud83d')).messages[0]?.content).toEqual([text('cut \ufffd')]);
  });

  it('have images and documents in their own form', () => {
    const parts = [
      { type: 'image_url', image_url: { url: 'data:image/jpg;base64,AAAA' }, ...mark },
      { type: 'image_url', image_url: 'https://pictures.test/a.png' },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBBB' } },
      { type: 'file', file: { filename: 'a.txt', file_data: `data:text/plain;charset=utf-8;base64,${btoa('words')}` } },
      { type: 'file', file: { file_id: 'file_1' } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'own' }, citations: { enabled: true } },
    ];
    expect(convert(user(parts)).messages[0]?.content).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'AAAA' }, ...mark },
      { type: 'image', source: { type: 'url', url: 'https://pictures.test/a.png' } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'BBBB' }, title: 'a.pdf' },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'words' }, title: 'a.txt' },
      { type: 'document', source: { type: 'file', file_id: 'file_1' } },
      parts[5],
    ]);
  });

  it('get a note for a data URI with a megabyte of parameters and no base64', () => {
    const image = { type: 'image_url', image_url: { url: `data:${'a'.repeat(1_000_000)}` } };
    const [first] = convert(user([image]), assistant('b'), user('c')).messages;
    expect(first?.content).toEqual([text('[A part of type "image_url", which this model cannot read, was left out here.]')]);
  });

  it('are refused with new content of another kind, which in the history becomes a note', () => {
    const sound = [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }];
    expect(() => convert(user('a'), user(sound))).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        param: 'messages.1.content.0',
        message: expect.stringContaining('"input_audio"'),
      }),
    );
    const [first] = convert(user(sound), assistant('b'), user('c')).messages;
    expect(first?.content).toEqual([text('[A part of type "input_audio", which this model cannot read, was left out here.]')]);
  });
});

describe('calls and results', () => {
  it('follow each other, all results first', () => {
    const { messages } = convert(
      user('go'),
      assistant('Looking.', [call('a', '{"x":1}', 'one'), call('b', 'broken', 'two')]),
      result('b', 'second'),
      result('a', ''),
      user('thanks'),
    );
    expect(messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          text('Looking.'),
          { type: 'tool_use', id: 'a', name: 'one', input: { x: 1 } },
          { type: 'tool_use', id: 'b', name: 'two', input: {} },
        ],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'b', content: 'second' }, { type: 'tool_result', tool_use_id: 'a' }, text('thanks')],
      },
    ]);
  });

  it('have their results right after them, wherever those were, and none is missing', () => {
    const { messages } = convert(
      user('go'),
      assistant(null, [call('a'), call('b')]),
      user('wait'),
      result('b', 'late'),
      assistant(null, [call('c')]),
      assistant('Well.'),
    );
    const lost = 'The result of this call is not in the conversation.';
    expect(messages.slice(1).map(({ role, content }) => ({ role, content }))).toMatchObject([
      { role: 'assistant', content: [{ id: 'a' }, { id: 'b' }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'b', content: 'late' }, { tool_use_id: 'a', content: lost }, text('wait')],
      },
      { role: 'assistant', content: [{ id: 'c' }] },
      { role: 'user', content: [{ tool_use_id: 'c', content: lost }] },
      { role: 'assistant', content: [text('Well.')] },
    ]);
  });

  it('of several rounds stay rounds', () => {
    const { messages } = convert(
      user('go'),
      assistant(null, [call('a')]),
      result('a', 'x'),
      assistant(null, [call('b')]),
      result('b', 'y'),
    );
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user']);
  });

  it('have results with pictures and cache marks', () => {
    const content = [text('A chart:') as never, { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }];
    const { messages } = convert(user('go'), assistant(null, [call('a')]), { ...result('a', content), extra: mark });
    expect(messages[2]?.content).toEqual([
      {
        type: 'tool_result',
        tool_use_id: 'a',
        content: [text('A chart:'), { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }],
        ...mark,
      },
    ]);
  });

  it('have thinking blocks first, unchanged, and none of other servers', () => {
    const thinking = [
      { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
      { type: 'redacted_thinking', data: 'secret' },
    ];
    const extra = { thinking_blocks: [...thinking, { type: 'thinking', thinking: 'unsigned' }, 'x'], reasoning_content: 'Hm.' };
    const turn: ChatMessage = { role: 'assistant', content: 'Looking.', toolCalls: [call('a')], extra };
    expect(convert(user('go'), turn, result('a', 'x')).messages[1]?.content).toEqual([
      ...thinking,
      text('Looking.'),
      { type: 'tool_use', id: 'a', name: 'f', input: {} },
    ]);
  });

  it('have ids in the alphabet of the API, the same in each turn', () => {
    const messages = [user('go'), assistant(null, [call('functions.f:0'), call('functions.f:1')]), result('functions.f:1', 'x')];
    const first = idsIn(convert(...messages, result('functions.f:0', 'y')));
    expect(first).toEqual([first[0], first[1], first[1], first[0]]);
    expect(new Set(first).size).toBe(2);
    for (const id of first) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
    expect(idsIn(convert(...messages, result('functions.f:0', 'y'), user('more'))).slice(0, 4)).toEqual(first);
  });

  it('have an id only once, though a server begins anew in each turn or repeats it within one', () => {
    const { messages } = convert(
      user('go'),
      assistant(null, [call('call_0'), call('call_0')]),
      result('call_0', 'first'),
      result('call_0', 'second'),
      assistant(null, [call('call_0')]),
      result('call_0', 'third'),
    );
    expect(idsIn({ system: [], messages })).toEqual(['call_0', 'call_0_2', 'call_0', 'call_0_2', 'call_0_3', 'call_0_3']);
  });

  it('have a result without its call as text', () => {
    expect(convert(user('go'), { ...result('gone', 'x'), name: 'f' } as ChatMessage).messages).toEqual([
      { role: 'user', content: [text('go'), text('Result of f: x')] },
    ]);
  });
});

describe('names', () => {
  it('are made acceptable, stay apart, and are found again', () => {
    const names = new WireNames();
    const given = ['files.read', 'files_read', 'files/read', 'é', 'x'.repeat(200), `${'x'.repeat(200)}y`];
    const wire = given.map((name) => names.toWire(name));
    expect(new Set(wire).size).toBe(given.length);
    for (const name of wire) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,128}$/);
    expect(wire.map((name) => names.fromWire(name))).toEqual(given);
    expect(names.toWire('files.read')).toBe('files_read');
  });
});

it('names ten thousand calls of one id, or with names that are cut to the same one, in one pass', () => {
  const toolCalls = Array.from({ length: 20_000 }, (_, index) => ({ id: 'a', name: `${'n'.repeat(130)}${index}`, arguments: '{}' }));
  const [, turn] = toAnthropicMessages(
    [
      { role: 'user', content: 'Call' },
      { role: 'assistant', content: null, toolCalls },
    ],
    new WireNames(),
  ).messages;
  const calls = turn?.content as { id: string; name: string }[];
  expect(new Set(calls.map(({ id }) => id)).size).toBe(toolCalls.length);
  expect(new Set(calls.map(({ name }) => name)).size).toBe(toolCalls.length);
});
