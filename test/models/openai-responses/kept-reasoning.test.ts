import { afterEach, describe, expect, it } from 'vitest';
import { createBackend } from '../../../src/app/compose/create-backend.ts';
import type { ChatMessage, ModelEvent } from '../../../src/core/chat/chat.ts';
import { withDerived } from '../../../src/core/chat/derived-parameters.ts';
import type { ModelBackend, ModelRequest } from '../../../src/core/models/model.ts';
import { RefusalMemory } from '../../../src/models/remedies/refusal-memory.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { directSend } from '../../_support/direct-send.ts';
import { askModel, fold } from '../../_support/model-answers.ts';
import { messageItem, responseOf } from '../../_support/responses-events.ts';
import { answerOf } from '../../_support/scripted-model.ts';
import { respond, startUpstream } from '../../_support/upstream-server.ts';
import type { UpstreamServer } from '../../_support/upstream-server.ts';

let server: UpstreamServer;
afterEach(() => server.close());

/** A backend that refuses some requests, with these members of its error. */
async function refusing(refusalOf: (body: JsonObject) => JsonObject | false, status = 400): Promise<ModelBackend> {
  server = await startUpstream((request) => {
    const refusal = refusalOf(request.json() as JsonObject);
    if (refusal === false) return respond(200, responseOf([messageItem('Hello')]));
    return respond(status, { error: { type: 'invalid_request_error', code: null, param: null, ...refusal } });
  });
  const entry = {
    kind: 'openai-responses',
    name: 'cloud',
    url: `${server.origin}/v1`,
    headers: {},
    maxContext: 0,
    isExplicit: true,
    urls: [`${server.origin}/v1`],
    origin: 'file',
  } as const;
  const timeouts = { firstByteTimeoutMs: 2_000, idleTimeoutMs: 2_000 };
  return createBackend(entry, timeouts, { send: directSend, memory: new RefusalMemory(), elapsed: () => 0 }).backend.backend;
}

async function ask(backend: ModelBackend, request: Partial<ModelRequest> = {}): Promise<ModelEvent[]> {
  return Array.fromAsync(answerOf(backend, askModel({ stream: false, ...request })));
}

function bodies(): JsonObject[] {
  return server.requests.map((request) => request.json() as JsonObject);
}

describe('a model without reasoning', () => {
  const refuse = (body: JsonObject): JsonObject | false =>
    Array.isArray(body['include']) && { message: 'Encrypted content is not supported with this model.', param: 'include' };

  it('is asked once more without encrypted reasoning, and stays without', async () => {
    const backend = await refusing(refuse);
    for (let round = 0; round < 2; round += 1) expect(fold(await ask(backend)).text).toBe('Hello');
    expect(bodies().map(({ include }) => include)).toEqual([['reasoning.encrypted_content'], undefined, undefined]);
  });

  it('refuses a caller who asks for something else too', async () => {
    const backend = await refusing(refuse);
    await expect(ask(backend, { parameters: { include: ['x'] } })).rejects.toMatchObject({ code: 'upstream_rejected' });
    expect(server.requests).toHaveLength(1);
  });

  it('goes without an effort that a dialect has derived', async () => {
    const backend = await refusing(
      (body) =>
        body['reasoning'] !== undefined && {
          message: "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
          param: 'reasoning.effort',
        },
    );
    expect(fold(await ask(backend, { parameters: withDerived({}, { reasoning_effort: 'low', max_tokens: 100 }) })).text).toBe('Hello');
    expect(bodies().map(({ reasoning, max_output_tokens: limit }) => [reasoning, limit])).toEqual([
      [{ effort: 'low', summary: 'auto' }, 100],
      [undefined, 100],
    ]);
  });
});

describe('an organization without summaries', () => {
  const message = 'Your organization must be verified to generate reasoning summaries. Please go to settings.';
  const refuse = ({ reasoning }: JsonObject): JsonObject | false =>
    (reasoning as JsonObject)['summary'] !== undefined && { message, param: 'reasoning.summary', code: 'unsupported_value' };

  it('is asked with its effort alone, and stays so', async () => {
    const backend = await refusing(refuse);
    const request = { parameters: { reasoning_effort: 'high' }, origin: { callerId: 'ada', sourceOf: () => undefined } };
    for (let round = 0; round < 2; round += 1) expect(fold(await ask(backend, request)).text).toBe('Hello');
    expect(bodies().map(({ reasoning }) => reasoning)).toEqual([
      { effort: 'high', summary: 'auto' },
      { effort: 'high' },
      { effort: 'high' },
    ]);
  });

  it('refuses a caller who wants a summary', async () => {
    const backend = await refusing(refuse);
    const parameters = { reasoning_effort: 'high', reasoning: { summary: 'detailed' } };
    await expect(ask(backend, { parameters })).rejects.toMatchObject({ code: 'upstream_rejected', message });
  });
});

describe('reasoning that a backend cannot read', () => {
  const turn = (id: string): ChatMessage[] => [
    {
      role: 'assistant',
      content: null,
      toolCalls: [{ id, name: 'f', arguments: '{}' }],
      extra: {
        reasoning_items: [{ type: 'reasoning', id: `rs_${id}`, summary: [], encrypted_content: 'gAAA' }, { type: 'function_call' }],
      },
    },
    { role: 'tool', toolCallId: id, content: 'x' },
  ];
  const hasReasoning = ({ input }: JsonObject): boolean => (input as JsonObject[]).some(({ type }) => type === 'reasoning');
  const question: ChatMessage = { role: 'user', content: '?' };

  it.each([
    [400, 'The encrypted content gAAA... could not be verified. Reason: Encrypted content could not be decrypted or parsed.'],
    [400, "Item 'rs_1' of type 'reasoning' was provided without its required following item."],
    [404, "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."],
    [400, 'reasoning input items can only be provided to a reasoning or computer use model.'],
  ])('is left out for the rest of its conversation after %d "%s"', async (status, message) => {
    const backend = await refusing((body) => hasReasoning(body) && { message }, status);
    const origin = { callerId: 'ada', sourceOf: () => undefined };
    await ask(backend, { messages: [question, ...turn('1')], origin });
    await ask(backend, { messages: [question, ...turn('1'), ...turn('2')], origin });
    expect(bodies().map(hasReasoning)).toEqual([true, false, false]);
    const { input = [] } = bodies()[2] ?? {};
    expect((input as JsonObject[]).map(({ type }) => type)).toEqual([
      'message',
      'function_call',
      'function_call_output',
      'function_call',
      'function_call_output',
    ]);
    await ask(backend, { messages: [question, ...turn('3')], origin });
    expect(bodies().map(hasReasoning)).toEqual([true, false, false, true, false]);
  });

  it('is an error like any other where there is none', async () => {
    const backend = await refusing(() => ({ message: 'The encrypted content could not be verified.' }));
    await expect(ask(backend)).rejects.toMatchObject({ code: 'upstream_rejected' });
    expect(server.requests).toHaveLength(1);
  });
});
