import { expect, it } from 'vitest';
import type { ChatEvent } from '../../../../src/core/chat/chat.ts';
import { GatewayError } from '../../../../src/core/errors.ts';
import { ollamaFormat } from '../../../../src/http/dialects/ollama/ollama-wire.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';

const head = { runId: 'r', created: 0, now: () => 0, model: 'a "model"' };

/** A clock that is read at these times, the last one again and again. */
function clockOf(...times: number[]): () => number {
  return () => (times.length > 1 ? (times.shift() ?? 0) : (times[0] ?? 0));
}

function lineOf(text: string): JsonObject {
  expect(text.endsWith('\n')).toBe(true);
  return JSON.parse(text) as JsonObject;
}

it('what keeps a connection alive is a line that says nothing', () => {
  const at = { model: 'a "model"', created_at: '1970-01-01T00:00:01.000Z' };
  const chat = ollamaFormat('chat', {}, clockOf(1_000)).stream(head);
  expect(lineOf(chat.keepAlive())).toEqual({ ...at, message: { role: 'assistant', content: '' }, done: false });
  const generate = ollamaFormat('generate', {}, clockOf(1_000)).stream(head);
  expect(lineOf(generate.keepAlive())).toEqual({ ...at, response: '', done: false });
});

it('durations are nanoseconds: to the first output, from it to the end, and in all', () => {
  const encoder = ollamaFormat('generate', {}, clockOf(0, 200, 200, 500)).stream(head);
  const text: ChatEvent = { type: 'text', text: 'Hi "there"\n' };
  expect(lineOf(encoder.encode(text))).toMatchObject({ response: 'Hi "there"\n', done: false });
  expect(encoder.encode({ type: 'usage', usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } })).toBe('');
  expect(encoder.encode({ type: 'finish', reason: 'content_filter' })).toBe('');
  expect(lineOf(encoder.end())).toMatchObject({
    done: true,
    done_reason: 'stop',
    total_duration: 500e6,
    load_duration: 0,
    prompt_eval_count: 3,
    prompt_eval_duration: 200e6,
    eval_count: 2,
    eval_duration: 300e6,
  });
});

it('an answer without any output still has durations that can be divided by', () => {
  expect(ollamaFormat('chat', {}, clockOf(7)).collect(head).body()).toMatchObject({
    total_duration: 1,
    prompt_eval_duration: 1,
    eval_duration: 1,
  });
});

it('the calls of a turn are one line of a stream, because LiteLLM takes those of several lines for one call', () => {
  const encoder = ollamaFormat('chat', {}).stream(head);
  const calls = ['a', 'b'].map((id) => encoder.encode({ type: 'tool-call', call: { id, name: 'f', arguments: '{}' } }));
  expect(calls).toEqual(['', '']);
  const [line = '', last = '', ...more] = encoder.end().split('\n');
  const called = (id: string, index: number): JsonObject => ({ id, function: { index, name: 'f', arguments: {} } });
  expect(JSON.parse(line)).toMatchObject({ message: { tool_calls: [called('a', 0), called('b', 1)] }, done: false });
  expect(JSON.parse(last)).toMatchObject({ done: true });
  expect(more).toEqual(['']);
});

it('arguments that are no object are left out', () => {
  const collector = ollamaFormat('chat', {}).collect(head);
  for (const args of ['{"a":', '[1]', '['.repeat(10_000)])
    collector.add({ type: 'tool-call', call: { id: args.slice(0, 3), name: 'f', arguments: args } });
  const { message } = collector.body() as { message: { tool_calls: { function: JsonObject }[] } };
  expect(message.tool_calls.map(({ function: called }) => called)).toEqual([0, 1, 2].map((index) => ({ index, name: 'f', arguments: {} })));
});

it('the probabilities of tokens have the place that Ollama gives them', () => {
  const content = [{ token: 'Hi', logprob: -0.1, top_logprobs: [] }];
  const event: ChatEvent = { type: 'extra', level: 'choice', fields: { logprobs: { content } } };
  expect(lineOf(ollamaFormat('chat', {}).stream(head).encode(event))).toMatchObject({ logprobs: content, done: false });
  const collector = ollamaFormat('chat', {}).collect(head);
  collector.add(event);
  expect(collector.body()).toMatchObject({ logprobs: content });
});

it.each(['chat', 'generate'] as const)('the words with which a model declines are the text of %s', (kind) => {
  const event: ChatEvent = { type: 'extra', level: 'delta', fields: { refusal: 'I will not.' } };
  const answer = kind === 'chat' ? { message: { role: 'assistant', content: 'I will not.' } } : { response: 'I will not.' };
  expect(lineOf(ollamaFormat(kind, {}).stream(head).encode(event))).toMatchObject({ ...answer, done: false });
  const collector = ollamaFormat(kind, {}).collect(head);
  collector.add(event);
  collector.add({ ...event, choice: 1 });
  expect(collector.body()).toMatchObject({ ...answer, done: true });
});

it('a failure is a line with the error, and what has run before it', () => {
  const error = new GatewayError('upstream_error', 'It broke.', { progress: { run_id: 'r' } });
  expect(lineOf(ollamaFormat('chat', {}).stream(head).failure(error))).toEqual({ error: 'It broke.', run_id: 'r' });
});
