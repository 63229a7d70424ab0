import { expect, it } from 'vitest';
import type { ChatEvent } from '../../../src/core/chat/chat.ts';
import type { AnswerFormat } from '../../../src/http/dialects/answers/answer-format.ts';
import { messageFormat } from '../../../src/http/dialects/messages/message-answer.ts';
import { ollamaFormat } from '../../../src/http/dialects/ollama/ollama-wire.ts';
import { responseFormat } from '../../../src/http/dialects/responses/response-wire.ts';

const events: ChatEvent[] = [
  { type: 'text', text: 'First', choice: 0 },
  { type: 'reasoning', text: 'Other', choice: 1 },
  { type: 'text', text: 'Other', choice: 1 },
  { type: 'tool-call', call: { id: 'c', name: 'other', arguments: '{}' }, choice: 1 },
  { type: 'finish', reason: 'stop', choice: 0 },
  { type: 'finish', reason: 'length', choice: 1 },
];
const head = { runId: 'run', requestId: 'request', created: 0, now: () => 0, model: 'm' };

it.each<[string, AnswerFormat, end: string]>([
  ['responses', responseFormat({ response: {} }), '"status":"completed","completed_at":0,"error":null'],
  ['messages', messageFormat({ showsThinking: true }), '"stop_reason":"end_turn"'],
  ['ollama', ollamaFormat('chat', {}), '"done_reason":"stop"'],
])('a dialect with one answer tells the first of several choices: %s', (_name, format, end) => {
  const collector = format.collect(head);
  for (const event of events) collector.add(event);
  const encoder = format.stream(head);
  const streamed = `${events.map((event) => encoder.encode(event)).join('')}${encoder.end()}`;
  for (const told of [JSON.stringify(collector.body()), streamed]) {
    expect(told).toContain('First');
    expect(told).not.toMatch(/other/iu);
    expect(told).toContain(end);
  }
});
