import { describe, expect, it } from 'vitest';
import type { ModelEvent } from '../../../src/core/chat/chat.ts';
import { GatewayError } from '../../../src/core/errors.ts';
import type { ModelBackend, ModelRequest } from '../../../src/core/models/model.ts';
import type { SendOutbound } from '../../../src/core/outbound.ts';
import { OutputLimit, upstreamAnswerBytes } from '../../../src/models/answers/output-limit.ts';
import { createOllama } from '../../../src/models/ollama/ollama.ts';
import { createOpenAiBackend } from '../../../src/models/openai/openai-compatible.ts';
import { askModel } from '../../_support/model-answers.ts';
import { answerOf } from '../../_support/scripted-model.ts';
import { outboundBody } from '../../_support/outbound-body.ts';

const connection = { baseUrl: 'http://backend.test/v1', key: undefined, firstByteTimeoutMs: 1_000, idleTimeoutMs: 1_000, name: 'lab' };
const megabyte = 1_000_000;
const large = 'x '.repeat(megabyte / 2);
/** Far beyond the limit, but not endless: a test without the limit has to end. */
const repetitions = Math.ceil((upstreamAnswerBytes / megabyte) * 1.5);

interface Outcome {
  pieces: number;
  error: unknown;
  isLeft: boolean;
}

/** Says the same pieces in turn for a long time, and nothing that would end the answer. */
async function listen(
  payloads: readonly string[],
  make: (send: SendOutbound) => ModelBackend,
  request: Partial<ModelRequest> = {},
): Promise<Outcome> {
  const outcome: Outcome = { pieces: 0, error: undefined, isLeft: false };
  const pieces = payloads.map((payload) => Buffer.from(payload));
  async function* body(signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    for (; outcome.pieces < repetitions; outcome.pieces++) {
      await Promise.resolve();
      signal.throwIfAborted();
      yield pieces[outcome.pieces % pieces.length] ?? Buffer.alloc(0);
    }
  }
  const type = payloads[0]?.startsWith('data:') === true ? 'text/event-stream' : 'application/x-ndjson';
  const backend = make(({ signal }) => {
    const answer = outboundBody(body(signal));
    const close = (): void => {
      outcome.isLeft = true;
      answer.close();
    };
    return Promise.resolve({ status: 200, headers: { 'content-type': type }, body: { ...answer, close } });
  });
  try {
    for await (const event of answerOf(backend, askModel(request))) event satisfies ModelEvent;
  } catch (error) {
    outcome.error = error;
  }
  return outcome;
}

function event(delta: unknown, index = 0): string {
  return `data: ${JSON.stringify({ choices: [{ index, delta }] })}\n\n`;
}

function line(message: unknown): string {
  return `${JSON.stringify({ message, done: false })}\n`;
}

function expectEnd({ pieces, error, isLeft }: Outcome): void {
  expect(error).toBeInstanceOf(GatewayError);
  expect(error).toMatchObject({ code: 'upstream_invalid_response', status: 502 });
  expect(String(error)).toContain('"lab" sent more than 64 MB in one answer');
  expect(pieces).toBe(Math.floor(upstreamAnswerBytes / megabyte));
  expect(isLeft).toBe(true);
}

describe('OutputLimit', () => {
  it('lets an answer of the limit pass, and nothing beyond it', () => {
    const meter = new OutputLimit('lab', 10);
    meter.add(4);
    meter.add(6);
    meter.add(0);
    expect(() => meter.add(1)).toThrow(GatewayError);
  });
});

describe('an answer without end', () => {
  it('is ended by the OpenAI backend, which counts everything that is said in all choices', async () => {
    const payloads = [
      event({ content: large }),
      event({ content: large }, 1),
      event({ reasoning_content: large }, 2),
      event({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: large.slice(1) } }] }),
      event({ tool_calls: [{ index: 1, id: 'b', function: { name: large } }] }),
      event({ function_call: { arguments: large } }, 1),
    ];
    expectEnd(await listen(payloads, (send) => createOpenAiBackend(connection, send), { parameters: { n: 3 } }));
  });

  it('is ended by the OpenAI backend if it consists of endless new fields', async () => {
    const fresh = Array.from({ length: repetitions }, (_, index) => event({ [`field_${index}`]: large }));
    const { error, pieces } = await listen(fresh, (send) => createOpenAiBackend(connection, send));
    expect(String(error)).toContain('"lab" sent more than 64 MB in one answer');
    expect(pieces).toBe(Math.floor(upstreamAnswerBytes / megabyte));
  });

  it('is ended by the OpenAI backend if it consists of a refusal', async () => {
    const { error } = await listen([event({ refusal: large })], (send) => createOpenAiBackend(connection, send));
    expect(String(error)).toContain('"lab" sent more than 64 MB in one answer');
  });

  it('may have more than the limit in log probabilities, which are many times as long as their text', async () => {
    const logprobs = { content: [{ token: large }] };
    const payload = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x' }, logprobs }] })}\n\n`;
    const { error, pieces } = await listen([payload], (send) => createOpenAiBackend(connection, send));
    expect(String(error)).not.toContain('64 MB');
    expect(pieces).toBe(repetitions);
  });

  it('is ended by the Ollama backend, which counts everything that is said', async () => {
    const half = large.slice(0, megabyte / 2);
    const payloads = [
      line({ content: large }),
      line({ content: half, thinking: half }),
      line({ content: '', tool_calls: [{ function: { name: 'f', arguments: { text: large.slice(0, -41) } } }] }),
      line({ content: '', tool_calls: [{ function: { name: large.slice(0, -31), arguments: {} } }] }),
    ];
    expectEnd(await listen(payloads, (send) => createOllama({ ...connection, maxContext: 32_768 }, send).backend));
  });
});
