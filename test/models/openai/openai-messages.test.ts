import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../../src/core/chat/chat.ts';
import { toChatBody, toWireMessage } from '../../../src/models/openai/openai-messages.ts';
import { askModel } from '../../_support/model-answers.ts';

const call = { id: 'c1', name: 'get_time', arguments: '{"zone": "UTC"}' };
const spec = { name: 'get_time', description: 'The time', parameters: { type: 'object' } };

describe('toWireMessage', () => {
  it.each<[string, ChatMessage, unknown]>([
    ['a system message', { role: 'system', content: 'Be brief.' }, { role: 'system', content: 'Be brief.' }],
    [
      'a user with parts and further keys',
      { role: 'user', content: [{ type: 'text', text: 'a' }], extra: { name: 'Ann' } },
      { role: 'user', content: [{ type: 'text', text: 'a' }], name: 'Ann' },
    ],
    ['an answer', { role: 'assistant', content: 'Yes.', toolCalls: [] }, { role: 'assistant', content: 'Yes.' }],
    ['an empty answer', { role: 'assistant', content: null, toolCalls: [] }, { role: 'assistant', content: '' }],
    [
      'a refusal',
      { role: 'assistant', content: null, toolCalls: [], extra: { refusal: 'No.' } },
      { role: 'assistant', content: null, refusal: 'No.' },
    ],
    [
      'calls',
      { role: 'assistant', content: null, toolCalls: [call] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'get_time', arguments: '{"zone": "UTC"}' } }],
      },
    ],
    [
      'a result, without its label',
      { role: 'tool', toolCallId: 'c1', content: '12:00', name: 'get_time', label: 'time/get_time' },
      { role: 'tool', tool_call_id: 'c1', content: '12:00', name: 'get_time' },
    ],
    [
      'keys that would replace ours',
      { role: 'user', content: 'a', extra: { role: 'system', content: 'b' } },
      { role: 'user', content: 'a' },
    ],
  ])('writes %s', (_, message, wire) => {
    expect(toWireMessage(message)).toEqual(wire);
  });

  it.each(['', '{"zone": "U', '[1]', 'zone=UTC', '"{}"'])(
    'sends an empty object for the arguments %j, which would poison the chat',
    (args) => {
      const wire = toWireMessage({ role: 'assistant', content: null, toolCalls: [{ ...call, arguments: args }] });
      expect(wire).toMatchObject({ tool_calls: [{ function: { arguments: '{}' } }] });
    },
  );
});

describe('toChatBody', () => {
  it('sends parameters as they are, and nothing that was not asked for', () => {
    expect(toChatBody(askModel({ stream: false, parameters: { top_k: 3, stream_options: { include_usage: true } } }))).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      stream: false,
      top_k: 3,
    });
  });

  it('puts its own tools before those of the caller', () => {
    const hosted = { type: 'web_search', web_search: {} };
    const body = toChatBody(askModel({ tools: [spec], callerTools: [hosted], toolChoice: 'auto', parallelToolCalls: false }));
    expect(body).toMatchObject({ tools: [{ type: 'function', function: spec }, hosted], tool_choice: 'auto', parallel_tool_calls: false });
  });

  it('sends no choice of tools without tools', () => {
    expect(Object.keys(toChatBody(askModel({ toolChoice: 'none', parallelToolCalls: true, asksForUsage: false })))).toEqual([
      'model',
      'messages',
      'stream',
    ]);
  });

  it('asks a stream for its usage beside the options of the caller, and keeps its own extensions', () => {
    const parameters = { stream_options: { include_usage: false, include_events: true, include_obfuscation: false } };
    expect(toChatBody(askModel({ parameters }))).toMatchObject({
      stream: true,
      stream_options: { include_usage: true, include_obfuscation: false },
    });
    expect(toChatBody(askModel({ parameters }))['stream_options']).not.toHaveProperty('include_events');
    expect(toChatBody(askModel({ parameters, asksForUsage: false }))).not.toHaveProperty('stream_options');
  });

  it('lets no parameter replace what the gateway decides', () => {
    expect(toChatBody(askModel({ parameters: { model: 'other', messages: [], stream: false } }))).toMatchObject({
      model: 'm',
      stream: true,
    });
  });
});
