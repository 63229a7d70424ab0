import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ModelEvent } from '../../src/core/chat/chat.ts';
import type { SendOutbound } from '../../src/core/outbound.ts';
import { createOpenAiBackend } from '../../src/models/openai/openai-compatible.ts';
import { answerWith, askModel, cutAt, fold, readRecording } from '../_support/model-answers.ts';
import type { FoldedAnswer } from '../_support/model-answers.ts';
import { answerOf } from '../_support/scripted-model.ts';

const connection = { baseUrl: 'http://backend.test/v1', key: undefined, firstByteTimeoutMs: 1_000, idleTimeoutMs: 1_000 };
const tools = ['get_time', 'get_weather'].map((name) => ({ name, description: '', parameters: { type: 'object' } }));

async function ask(send: SendOutbound, choices = 1): Promise<ModelEvent[]> {
  let count = 0;
  const backend = createOpenAiBackend(connection, send, { makeId: () => `own_${(count += 1)}` });
  return Array.fromAsync(answerOf(backend, askModel({ tools, parameters: choices === 1 ? {} : { n: choices } })));
}

const zurich = '{"zone":"Europe/Zurich"}';
const recordings: Record<string, Partial<FoldedAnswer>> = {
  'openai-text': {
    text: 'It is 14:05 in Zürich 🕑.',
    reasoning: '',
    calls: [],
    finish: ['stop'],
    usage: expect.objectContaining({ total_tokens: 29, prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 } }),
    extras: [{ level: 'response', fields: { service_tier: 'default', system_fingerprint: 'fp_fc9f1d7035' } }],
  },
  'openai-parallel-tools': {
    text: '',
    calls: [
      { id: 'call_nUWA0Wvy5ofAOqEJHzNJmKYq', name: 'get_time', arguments: zurich },
      { id: 'call_E3Qnrz5Y9w3f6ZnEPPzMqvpa', name: 'get_weather', arguments: '{"city": "Zürich"}' },
    ],
    finish: ['tool_calls'],
  },
  'vllm-tools': {
    text: '',
    reasoning: 'The user wants the time.',
    calls: [{ id: 'chatcmpl-tool-4b1c7cf1a6b14dd8', name: 'get_time', arguments: '{"zone": "Europe/Zurich"}' }],
    finish: ['tool_calls'],
    usage: { prompt_tokens: 230, completion_tokens: 47, total_tokens: 277 },
    extras: [],
  },
  'llama-cpp': {
    text: 'Let me look.',
    calls: [{ id: 'G9ZkPCrZkWdLMDzl9aDmVKBCqQvRnVdP', name: 'get_weather', arguments: '{"city":"Bern"}' }],
    finish: ['tool_calls'],
    extras: [
      { level: 'response', fields: { system_fingerprint: 'b6223-fb22dd07' } },
      { level: 'response', fields: { timings: expect.objectContaining({ predicted_n: 20 }) } },
    ],
  },
  'deepseek-reasoning': {
    text: '9.8 is greater.',
    reasoning: '9.11 or 9.8?',
    finish: ['stop'],
    usage: expect.objectContaining({ total_tokens: 75, prompt_cache_miss_tokens: 15, completion_tokens_details: { reasoning_tokens: 50 } }),
  },
  'openrouter-reasoning': {
    text: 'Nine point eight.',
    reasoning: 'First, compare.',
    finish: ['stop'],
    usage: expect.objectContaining({ total_tokens: 47, cost: 0.000312 }),
    extras: [
      { level: 'response', fields: { provider: 'DeepInfra' } },
      { level: 'choice', fields: { native_finish_reason: 'stop' } },
    ],
  },
  'ollama-v1-tools': {
    text: '',
    reasoning: 'Two calls.',
    calls: [
      { id: 'call_z4d0hw9q', name: 'get_time', arguments: '{"zone":"Asia/Tokyo"}' },
      { id: 'call_7m2m9x1c', name: 'get_time', arguments: zurich },
    ],
    finish: ['tool_calls'],
  },
  'gemini-compat': {
    text: 'Checking',
    calls: [
      { id: 'own_1', name: 'get_weather', arguments: '{"city":"Bern"}' },
      { id: 'own_2', name: 'get_time', arguments: zurich },
    ],
    finish: ['tool_calls'],
    usage: { prompt_tokens: 40, completion_tokens: 25, total_tokens: 65 },
  },
  'legacy-function-call': { calls: [{ id: 'own_1', name: 'get_time', arguments: '{"zone":"UTC"}' }], finish: ['tool_calls'] },
  'think-tags-crlf': { text: 'Answer: `<think>` is a tag.', reasoning: 'Hmm 🤔, a < b?\n', finish: ['stop'] },
  'lone-closing': { text: 'Okay, the user greets me.\n\n\nHello!', reasoning: '', finish: ['stop'] },
  'mistral-parts': {
    text: 'Yes, it is.',
    reasoning: 'Let me see.',
    finish: ['stop'],
    usage: expect.objectContaining({ total_tokens: 21 }),
  },
  'two-choices-logprobs': {
    text: 'Yes!',
    finish: ['length'],
    extras: ['Yes', '!'].map((token) => ({ level: 'choice', fields: { logprobs: { content: [{ token, logprob: -0.1 }] } } })),
  },
};

describe('recorded streams', () => {
  it.each(Object.entries(recordings))('reads %s', async (name, expected) => {
    const events = await ask(answerWith([readRecording(name)]));
    expect(fold(events)).toMatchObject(expected);
    expect(events.at(-1)?.type).toBe('finish');
  });

  it('keeps the second of two choices apart', async () => {
    expect(fold(await ask(answerWith([readRecording('two-choices-logprobs')]), 2), 1)).toMatchObject({ text: 'Nope', finish: ['stop'] });
  });

  it.each(Object.keys(recordings))('reads %s alike however its bytes are cut', async (name) => {
    const bytes = readRecording(name);
    const whole = fold(await ask(answerWith([bytes])));
    expect(fold(await ask(answerWith(Array.from(bytes, (byte) => Uint8Array.of(byte)))))).toEqual(whole);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(), { maxLength: 30 }), async (offsets) => {
        expect(fold(await ask(answerWith(cutAt(bytes, offsets))))).toEqual(whole);
      }),
      { numRuns: 15 },
    );
  });

  it.each(Object.keys(recordings))('takes %s for cut wherever it ends before its finish reason', async (name) => {
    const bytes = Buffer.from(readRecording(name));
    const finish = bytes.indexOf('"finish_reason":"');
    for (const length of [0, Math.floor(finish / 3), Math.floor(finish / 2), finish]) {
      await expect(ask(answerWith([bytes.subarray(0, length)]))).rejects.toMatchObject({ code: 'upstream_incomplete', status: 502 });
    }
  });

  it.each(Object.keys(recordings))('takes %s for complete without its last line', async (name) => {
    const bytes = readRecording(name);
    const whole = fold(await ask(answerWith([bytes])));
    const text = readFileSync(new URL(`../_recordings/${name}.txt`, import.meta.url), 'utf8');
    expect(fold(await ask(answerWith([Buffer.from(text.replace(/data: \[DONE\]\s*$/, ''))])))).toEqual(whole);
  });

  it('starts the next answer of a model in reasoning once its template was seen to open it', async () => {
    const backend = createOpenAiBackend(connection, answerWith([readRecording('lone-closing')]));
    const answer = async (model: string): Promise<FoldedAnswer> => fold(await Array.fromAsync(answerOf(backend, askModel({ model }))));
    expect((await answer('a')).reasoning).toBe('');
    expect(await answer('a')).toMatchObject({ text: 'Hello!', reasoning: 'Okay, the user greets me.\n' });
    expect((await answer('b')).reasoning).toBe('');
  });

  it('takes text for text, whatever the template did, where the backend parts the reasoning itself', async () => {
    const answers = ['lone-closing', 'deepseek-reasoning'].map((name) => answerWith([readRecording(name)]));
    const backend = createOpenAiBackend(connection, async (request) => {
      const [answer = answerWith([])] = answers.splice(0, 1);
      return answer(request);
    });
    await Array.fromAsync(answerOf(backend, askModel()));
    expect(fold(await Array.fromAsync(answerOf(backend, askModel())))).toMatchObject({
      text: '9.8 is greater.',
      reasoning: '9.11 or 9.8?',
    });
  });
});
