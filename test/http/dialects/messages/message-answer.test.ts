import { describe, expect, it } from 'vitest';
import type { ChatEvent } from '../../../../src/core/chat/chat.ts';
import type { Thought } from '../../../../src/core/chat/thought.ts';
import { GatewayError } from '../../../../src/core/errors.ts';
import { messageFormat } from '../../../../src/http/dialects/messages/message-answer.ts';
import { messagesErrorBody } from '../../../../src/http/dialects/messages/messages-errors.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import type { RunEvent } from '../../../../src/core/chat/run-event.ts';

/** Sealed texts that can be read here. */
const thoughts = { seal: (thought: Thought) => JSON.stringify(thought) };
const head = { runId: 'r', requestId: 'q', created: 0, now: () => 0, model: 'm', thoughts };
const everything = { showsThinking: true, showsCalls: true, stopSequences: ['END'] };
const finish = (reason: 'stop' | 'length' | 'tool_calls' | 'content_filter'): ChatEvent => ({ type: 'finish', reason });
const runEvent = (type: 'tool.call' | 'tool.result' | 'warning', data: JsonObject): ChatEvent => ({
  type: 'run-event',
  event: { type, data } as RunEvent,
});

function collect(events: ChatEvent[], options: JsonObject = everything): JsonObject {
  const collector = messageFormat(options).collect(head);
  for (const event of events) collector.add(event);
  return collector.body();
}

function stream(events: ChatEvent[], options: JsonObject = everything): JsonObject[] {
  const encoder = messageFormat(options).stream(head);
  const text = events.map((event) => encoder.encode(event)).join('') + encoder.end();
  const frames = text.split('\n\n').filter((frame) => frame !== '');
  return frames.map((frame) => {
    const [event, data] = frame.split('\n');
    const parsed = JSON.parse(data?.slice('data: '.length) ?? '') as JsonObject;
    expect(event).toBe(`event: ${String(parsed['type'])}`);
    return parsed;
  });
}

/** What the events of a stream build, as clients put it together. */
function built(events: JsonObject[]): JsonObject {
  const [start] = events;
  const content: JsonObject[] = [];
  let ended: JsonObject = {};
  for (const { type, index, content_block: block, delta, ...rest } of events) {
    const at = content[Number(index)] ?? {};
    const { type: kind, ...piece } = (delta ?? {}) as JsonObject;
    if (type === 'content_block_start') content.push({ ...(block as JsonObject) });
    if (kind === 'text_delta' || kind === 'thinking_delta')
      for (const [key, value] of Object.entries(piece)) at[key] = String(at[key]) + String(value);
    if (kind === 'signature_delta') Object.assign(at, piece);
    if (kind === 'input_json_delta') at['input'] = JSON.parse(String(piece['partial_json'])) as JsonObject;
    if (type === 'message_delta') ended = { ...piece, ...rest };
  }
  const message = start?.['message'] as JsonObject;
  return { ...message, ...ended, usage: { ...(message['usage'] as JsonObject), ...(ended['usage'] as JsonObject) }, content };
}

const thinking = { type: 'thinking', thinking: 'Hm.' };
const redacted = { type: 'redacted_thinking', data: 'Er' };

const answers: Record<string, ChatEvent[]> = {
  'a text': [{ type: 'text', text: 'a' }, { type: 'text', text: '' }, { type: 'text', text: 'b' }, finish('stop')],
  'thinking, text and calls': [
    { type: 'reasoning', text: 'Hm', field: 'reasoning' },
    { type: 'reasoning', text: '.', field: 'reasoning' },
    { type: 'text', text: 'So.' },
    { type: 'thought', fields: { reasoning_details: [] } },
    { type: 'tool-call', call: { id: 'a', name: 'f', arguments: '{"x":1}', extra: { extra_content: { sign: 1 } } } },
    { type: 'tool-call', call: { id: 'b', name: 'g', arguments: 'no JSON' } },
    finish('tool_calls'),
  ],
  'thinking before a signed call': [
    { type: 'reasoning', text: 'Hm.', field: 'reasoning' },
    { type: 'thought', fields: { reasoning_details: [] } },
    { type: 'tool-call', call: { id: 'a', name: 'f', arguments: '{}', extra: { extra_content: { sign: 1 } } } },
    { type: 'tool-call', call: { id: 'b', name: 'f', arguments: '{}', extra: { extra_content: { sign: 2 } } } },
    finish('tool_calls'),
  ],
  'thinking that Anthropic has signed': [
    { type: 'reasoning', text: 'H', field: 'thinking' },
    { type: 'reasoning', text: 'm.', field: 'thinking' },
    { type: 'thought', fields: { thinking_blocks: [{ ...thinking, signature: 'Eq' }, redacted] } },
    { type: 'tool-call', call: { id: 'a', name: 'f', arguments: '{}' } },
    finish('tool_calls'),
  ],
  'thinking that Anthropic has redacted': [
    { type: 'thought', fields: { thinking_blocks: [redacted] } },
    { type: 'tool-call', call: { id: 'a', name: 'f', arguments: '{}' } },
    finish('tool_calls'),
  ],
  'several blocks that Anthropic has signed': [
    { type: 'reasoning', text: 'Hm.So.', field: 'thinking' },
    {
      type: 'thought',
      fields: {
        thinking_blocks: [
          { ...thinking, signature: 'Eq' },
          { ...thinking, signature: 'Er' },
        ],
      },
    },
    { type: 'tool-call', call: { id: 'a', name: 'f', arguments: '{}' } },
    finish('tool_calls'),
  ],
  'calls of the gateway': [
    { type: 'text', text: 'Look.' },
    runEvent('tool.call', { id: 'a', tool: 'f', args: { x: 1 }, server: 's' }),
    runEvent('tool.call', { id: 'b', tool: 'g', args: 'broken', server: null }),
    runEvent('tool.call', { id: 'b.c', tool: 'h', args: {}, server: null, within: 'b' }),
    runEvent('tool.result', { id: 'a', tool: 'f', response: { y: 2 }, duration_ms: 1 }),
    runEvent('tool.result', { id: 'b', tool: 'g', error: { code: 'tool_error', message: 'It broke.' }, duration_ms: 1 }),
    { type: 'text', text: 'Done.' },
    finish('stop'),
  ],
  'sources, warnings and what it took': [
    { type: 'source', source: { source: { name: 's' }, document: ['d'], metadata: [{ source: 's' }] } },
    runEvent('warning', { code: 'c', message: 'm' }),
    { type: 'usage', usage: { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13, prompt_tokens_details: { cached_tokens: 4 } } },
    { type: 'usage', usage: { prompt_tokens: 20, completion_tokens: 2, total_tokens: 22 } },
    finish('stop'),
  ],
  nothing: [],
};

it.each(Object.entries(answers))('%s is the same, streamed and not', (_name, events) => {
  expect(built(stream(events))).toEqual(collect(events));
});

it('carries what the model wants back in signatures, and in redacted blocks without text', () => {
  const contentOf = (name: string, options?: JsonObject) => collect(answers[name] ?? [], options)['content'] as JsonObject[];
  const call = expect.objectContaining({ type: 'tool_use' });
  const sealed = { type: 'redacted_thinking', data: '{"call":{"extra_content":{"sign":2}}}' };
  const signature = '{"field":"reasoning","fields":{"reasoning_details":[]},"call":{"extra_content":{"sign":1}}}';
  expect(contentOf('thinking before a signed call')).toEqual([{ ...thinking, signature }, call, sealed, call]);
  const shown = { ...everything, showsThinking: false };
  expect(contentOf('thinking before a signed call', shown)).toEqual([call, call]);
  expect(contentOf('thinking that Anthropic has signed')).toEqual([{ ...thinking, signature: 'Eq' }, redacted, call]);
  expect(contentOf('thinking that Anthropic has redacted')).toEqual([redacted, call]);
  const blocks = '[{"type":"thinking","thinking":"Hm.","signature":"Eq"},{"type":"thinking","thinking":"Hm.","signature":"Er"}]';
  expect(contentOf('several blocks that Anthropic has signed')).toEqual([
    { type: 'thinking', thinking: 'Hm.So.', signature: `{"field":"thinking","fields":{"thinking_blocks":${blocks}}}` },
    call,
  ]);
});

it('blocks have the shapes of Anthropic', () => {
  expect(collect(answers['thinking, text and calls'] ?? [])['content']).toEqual([
    { type: 'thinking', thinking: 'Hm.', signature: '{"field":"reasoning"}' },
    { type: 'text', text: 'So.', citations: null },
    { type: 'redacted_thinking', data: '{"fields":{"reasoning_details":[]},"call":{"extra_content":{"sign":1}}}' },
    { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 }, caller: { type: 'direct' } },
    { type: 'tool_use', id: 'b', name: 'g', input: {}, caller: { type: 'direct' } },
  ]);
  expect(collect(answers['calls of the gateway'] ?? [])['content']).toEqual([
    { type: 'text', text: 'Look.', citations: null },
    { type: 'mcp_tool_use', id: 'a', name: 'f', server_name: 's', input: { x: 1 } },
    { type: 'mcp_tool_use', id: 'b', name: 'g', server_name: 'function', input: {} },
    { type: 'mcp_tool_result', tool_use_id: 'a', is_error: false, content: [{ type: 'text', text: '{\n  "y": 2\n}', citations: null }] },
    { type: 'mcp_tool_result', tool_use_id: 'b', is_error: true, content: [{ type: 'text', text: 'It broke.', citations: null }] },
    { type: 'text', text: 'Done.', citations: null },
  ]);
  const shown = collect(answers['calls of the gateway'] ?? [], { showsThinking: false, showsCalls: false, stopSequences: [] });
  expect(shown['content']).toEqual([{ type: 'text', text: 'Look.Done.', citations: null }]);
});

it.each(['thinking, text and calls', 'calls of the gateway'])('the input of a call comes once in a stream, in deltas: %s', (name) => {
  const events = stream(answers[name] ?? []);
  const starts = events.filter(({ type }) => type === 'content_block_start').map(({ content_block: block }) => block as JsonObject);
  const inputs = starts.flatMap(({ input }) => (input === undefined ? [] : [input]));
  const deltas = events.filter(({ type }) => type === 'content_block_delta').map(({ delta }) => (delta as JsonObject)['partial_json']);
  expect(inputs).toEqual([{}, {}]);
  expect(deltas.filter((delta) => delta !== undefined)).toEqual(['{"x":1}', '{}']);
});

it('the tokens of a cache are counted apart', () => {
  const { usage, sources, warnings } = collect(answers['sources, warnings and what it took'] ?? []);
  expect(usage).toMatchObject({ input_tokens: 26, cache_read_input_tokens: 4, output_tokens: 5 });
  expect([sources, warnings]).toMatchObject([[{ source: { name: 's' } }], [{ code: 'c' }]]);
});

describe('an answer ends with the reason', () => {
  const stopped = (field: string, value: string | number): ChatEvent => ({ type: 'extra', level: 'choice', fields: { [field]: value } });
  it.each<[string, ChatEvent[], string | null]>([
    ['end_turn', [finish('stop')], null],
    ['max_tokens', [finish('length')], null],
    ['tool_use', [finish('tool_calls')], null],
    ['refusal', [finish('content_filter')], null],
    ['stop_sequence', [stopped('stop_reason', 'END'), finish('stop')], 'END'],
    ['stop_sequence', [stopped('matched_stop', 'END'), finish('stop')], 'END'],
    ['end_turn', [stopped('matched_stop', 128_001), finish('stop')], null],
    ['end_turn', [stopped('stop_reason', '<|eot|>'), finish('stop')], null],
  ])('%s', (reason, events, sequence) => {
    const message = collect([{ type: 'text', text: 'x' }, ...events]);
    expect(message).toMatchObject({ stop_reason: reason, stop_sequence: sequence });
  });

  it('refusal, with its words as the text', () => {
    const message = collect([{ type: 'extra', level: 'delta', fields: { refusal: 'I will not.' } }, finish('stop')]);
    expect(message).toMatchObject({ stop_reason: 'refusal', content: [{ type: 'text', text: 'I will not.' }] });
  });
});

it('a stream is kept alive by a comment and a ping, and fails by an error event', () => {
  const encoder = messageFormat(everything).stream(head);
  expect(encoder.keepAlive()).toBe(': keep-alive\nevent: ping\ndata: {"type":"ping"}\n\n');
  const failure = encoder.failure(new GatewayError('overloaded', 'Too much.'));
  const [event, data] = failure.split('\n');
  expect(event).toBe('event: error');
  expect(JSON.parse(data?.slice(6) ?? '')).toEqual({
    type: 'error',
    error: { type: 'overloaded_error', message: 'Too much.', details: { error_code: 'overloaded' } },
    request_id: 'q',
  });
});

it.each([
  ['The maximum context length is 10 tokens.', 'prompt is too long: The maximum context length is 10 tokens.'],
  ['prompt is too long: 11 tokens > 10 maximum', 'prompt is too long: 11 tokens > 10 maximum'],
])('a conversation that is too long is told in the words that clients look for: %s', (message, told) => {
  const body = messagesErrorBody(new GatewayError('context_length_exceeded', message), 'q');
  expect(body).toMatchObject({
    error: { type: 'invalid_request_error', message: told, details: { error_code: 'context_length_exceeded' } },
  });
});
