import { describe, expect, it } from 'vitest';
import type { ChatEvent } from '../../../../src/core/chat/chat.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { readSocketFrame } from '../../../../src/http/dialects/socket/parse-socket-frame.ts';
import { ChatFrames } from '../../../../src/http/dialects/socket/socket-wire.ts';
import type { RunEvent } from '../../../../src/core/chat/run-event.ts';

const head = { runId: 'r', model: 'm', chatId: undefined, messageId: undefined };
const event = (type: 'tool.call' | 'tool.result' | 'warning', data: JsonObject): ChatEvent => ({
  type: 'run-event',
  event: { type, data } as RunEvent,
});

describe('the frames of a run', () => {
  it('announce calls before anything that follows them, even when results are there at once', () => {
    const call = event('tool.call', { id: 'c', tool: 't', args: {} });
    const next: ChatEvent[] = [
      event('tool.result', { id: 'c', tool: 't', response: 1, duration_ms: 0 }),
      event('warning', { code: 'x', message: 'y' }),
      { type: 'text', text: 'x' },
      { type: 'reasoning', text: 'x' },
    ];
    for (const following of next) {
      const frames = new ChatFrames(head);
      expect(frames.of(call).map((frame) => frame['type'])).toEqual(['event']);
      expect(frames.of(following)[0]?.['type']).toBe('tool_calls_start');
      expect(frames.pendingCalls()).toEqual([]);
    }
  });

  it('say a text result as it is, and anything else as JSON', () => {
    const results = ['text', { a: 1 }, [1], null, undefined].map((response) => {
      const frames = new ChatFrames(head).of(event('tool.result', { id: 'c', tool: 't', ...(response === undefined ? {} : { response }) }));
      return frames.find((frame) => frame['type'] === 'tool_call')?.['toolResult'];
    });
    expect(results).toEqual(['text', '{\n  "a": 1\n}', '[\n  1\n]', 'null', 'null']);
  });

  it('have the words with which a model declines as text, those of the first choice', () => {
    const refusal: ChatEvent = { type: 'extra', level: 'delta', fields: { refusal: 'I will not.' } };
    const frames = new ChatFrames(head);
    expect(frames.of(refusal)).toMatchObject([{ type: 'assistant_chunk', data: { content: 'I will not.' } }]);
    expect(frames.of({ ...refusal, choice: 1 })).toEqual([]);
    expect(frames.end()).toMatchObject({ data: { content: 'I will not.' } });
  });

  it('leave the whole text out where it would not fit into a frame', () => {
    const frames = new ChatFrames(head);
    frames.of({ type: 'text', text: 'x'.repeat(1024 * 1024) });
    frames.of({ type: 'text', text: 'x' });
    expect(Object.hasOwn(frames.end()['data'] as JsonObject, 'content')).toBe(false);
  });
});

describe('the frames of a client', () => {
  it.each([
    ['{"type":"cancel","data":{"run_id":"r"}}', { type: 'cancel', runId: 'r' }],
    ['{"type":"cancel","run_id":"r"}', { type: 'cancel', runId: 'r' }],
    ['{"type":"auth","token":"t","session_id":null}', { type: 'auth', token: 't', sessionId: undefined }],
    ['{"type":"execute:tool:result","id":"c","result":[1]}', { type: 'execute:tool:result', id: 'c', result: [1] }],
    [
      '{"type":"execute:tool:result","data":{"id":"c","error":{"message":"m"}}}',
      { type: 'execute:tool:result', id: 'c', error: { message: 'm' } },
    ],
    ['{"type":"message","content":"hi","mode":"react"}', { type: 'message', fields: { content: 'hi', mode: 'react' } }],
    ['{"type":"message","data":{"content":"hi","__proto__":{"admin":true}}}', { type: 'message', fields: { content: 'hi' } }],
  ])('%s', (text, frame) => {
    expect(readSocketFrame(Buffer.from(text), { caller: 'ada', signal: new AbortController().signal })).toEqual({ type: 'frame', frame });
  });
});
