import { describe, expect, it } from 'vitest';
import { createBackend } from '../../../src/app/compose/create-backend.ts';
import type { ChatMessage, ModelEvent } from '../../../src/core/chat/chat.ts';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import type { OutboundRequest, SendOutbound } from '../../../src/core/outbound.ts';
import { RefusalMemory } from '../../../src/models/remedies/refusal-memory.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { askModel, fold } from '../../_support/model-answers.ts';
import { outboundBody } from '../../_support/outbound-body.ts';
import { messageItem, responseOf } from '../../_support/responses-events.ts';
import { answerOf } from '../../_support/scripted-model.ts';

const spec = { name: 'get_time', description: 'The time', parameters: { type: 'object', properties: {} } };
const completion = { choices: [{ index: 0, message: { role: 'assistant', content: 'by chat' }, finish_reason: 'stop' }] };

interface OpenAi {
  ask: (request?: Partial<ModelRequest>) => Promise<ModelEvent[]>;
  /** The paths that were asked, below `/v1`. */
  paths: string[];
  bodies: JsonObject[];
}

type Refusal = { status?: number; message: string } | undefined;

/** An entry of the type `openai` whose server has both APIs; `refuse`: what chat completions says no to. */
function openAi(refuse: (body: JsonObject) => Refusal = () => undefined, url = 'https://api.openai.com/v1'): OpenAi {
  const paths: string[] = [];
  const bodies: JsonObject[] = [];
  const send: SendOutbound = (request: OutboundRequest) => {
    const path = request.url.slice(url.length);
    const body = JSON.parse(String(request.body)) as JsonObject;
    paths.push(path);
    bodies.push(body);
    if (path === '/responses') return Promise.resolve(answerOfServer(200, responseOf([messageItem('by responses')])));
    const refusal = refuse(body);
    if (refusal === undefined) return Promise.resolve(answerOfServer(200, completion));
    const { status = 400, message } = refusal;
    return Promise.resolve(answerOfServer(status, { error: { message, type: 'invalid_request_error', param: null, code: null } }));
  };
  const entry = { kind: 'openai', name: 'openai', url, urls: [url], origin: 'file', headers: {}, maxContext: 0, isExplicit: true } as const;
  const timeouts = { firstByteTimeoutMs: 1_000, idleTimeoutMs: 1_000 };
  const { backend } = createBackend(entry, timeouts, { send, memory: new RefusalMemory(), elapsed: () => 0 }).backend;
  const origin = { callerId: 'ada', sourceOf: () => ({ server: 'clock', isOwn: false }) };
  return { ask: (request) => Array.fromAsync(answerOf(backend, askModel({ stream: false, origin, ...request }))), paths, bodies };
}

function answerOfServer(status: number, body: unknown) {
  const pieces = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(JSON.stringify(body));
  };
  return { status, headers: { 'content-type': 'application/json' }, body: outboundBody(pieces()) };
}

describe('an entry for OpenAI itself', () => {
  it.each<[string, Partial<ModelRequest>, string]>([
    ['gpt-5.6-sol', { tools: [spec] }, '/responses'],
    ['gpt-5.6-sol', { callerTools: [{ type: 'function', function: spec }] }, '/responses'],
    ['gpt-5.4', { tools: [spec], parameters: { reasoning_effort: 'high' } }, '/responses'],
    ['gpt-5.4-mini-2026-03-17', { tools: [spec] }, '/responses'],
    ['gpt-6-astra', { tools: [spec] }, '/responses'],
    ['gpt-10', { tools: [spec] }, '/responses'],
    ['ft:gpt-5.6-luna:acme::7p4l', { tools: [spec] }, '/responses'],
    ['gpt-6-astra', {}, '/chat/completions'],
    ['gpt-6-astra', { tools: [spec], parameters: { reasoning_effort: 'none' } }, '/chat/completions'],
    ['gpt-5.2', { tools: [spec], parameters: { reasoning_effort: 'high' } }, '/chat/completions'],
    ['gpt-5', { tools: [spec] }, '/chat/completions'],
    ['gpt-4.1', { tools: [spec] }, '/chat/completions'],
    ['gpt-oss-120b', { tools: [spec] }, '/chat/completions'],
    ['gpt-4o-2024-11-20', { tools: [spec] }, '/chat/completions'],
    ['o3', { tools: [spec] }, '/chat/completions'],
    ['o3-pro', {}, '/responses'],
    ['o4-mini-deep-research', {}, '/responses'],
    ['gpt-5-pro-2025-10-06', {}, '/responses'],
    ['gpt-5.1-codex-max', {}, '/responses'],
    ['gpt-6-astra', { completion: {} }, '/completions'],
  ])('asks %s with %j at %s', async (model, request, path) => {
    const { ask, paths } = openAi();
    await ask({ model, ...request }).catch(() => undefined);
    expect(paths).toEqual([path]);
  });

  it('goes on in the Responses API where its reasoning is, for the last answer without functions', async () => {
    const { ask, paths, bodies } = openAi();
    const messages: ChatMessage[] = [
      { role: 'user', content: '?' },
      {
        role: 'assistant',
        content: null,
        toolCalls: [{ id: 'a', name: 'get_time', arguments: '{}' }],
        extra: { reasoning_items: [{ type: 'reasoning', id: 'rs_1', encrypted_content: 'g', summary: [] }, { type: 'function_call' }] },
      },
      { role: 'tool', toolCallId: 'a', content: 'noon' },
    ];
    await ask({ model: 'gpt-6-astra', messages });
    await ask({ model: 'gpt-4o', messages });
    expect(paths).toEqual(['/responses', '/chat/completions']);
    expect(JSON.stringify(bodies[0])).toContain('rs_1');
    expect(JSON.stringify(bodies[1])).not.toContain('reasoning_items');
  });

  it.each([
    'Function tools with reasoning_effort are not supported for new in /v1/chat/completions. Please use /v1/responses instead.',
    "Function tools with reasoning_effort are not supported for new in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
  ])('asks there once chat completions has said "%s", and from then on at once', async (message) => {
    const { ask, paths } = openAi(({ tools }) => (tools === undefined ? undefined : { message }));
    const request = { model: 'new', tools: [spec] };
    const events = await ask(request);
    expect(fold(events).text).toBe('by responses');
    expect(events[0]).toMatchObject({ type: 'run-event', event: { type: 'warning', data: { code: 'responses_api' } } });
    await ask(request);
    await ask({ model: 'new' });
    await ask({ model: 'other', tools: [spec] });
    expect(paths).toEqual(['/chat/completions', '/responses', '/responses', '/chat/completions', '/chat/completions', '/responses']);
  });

  it('asks there for everything where chat completions does not have the model', async () => {
    const { ask, paths } = openAi(() => ({
      status: 404,
      message: 'This model is only supported in v1/responses and not in v1/chat/completions.',
    }));
    for (let round = 0; round < 2; round += 1) expect(fold(await ask({ model: 'new' })).text).toBe('by responses');
    expect(paths).toEqual(['/chat/completions', '/responses', '/responses']);
  });

  it('is refused what is refused for another reason', async () => {
    const { ask, paths } = openAi(() => ({ message: 'Invalid value in /v1/responses' }));
    await expect(ask({ model: 'new', tools: [spec] })).rejects.toMatchObject({ code: 'upstream_rejected' });
    expect(paths).not.toContain('/responses');
  });

  it('demands an answer in a form there too', async () => {
    const { ask, bodies } = openAi();
    await ask({ model: 'o3-pro', output: { schema: { type: 'object' }, strictSchema: undefined } });
    expect(bodies[0]).toMatchObject({
      text: { format: { type: 'json_schema', name: 'answer', strict: false, schema: { type: 'object' } } },
    });
  });
});

it('an entry for a region of OpenAI uses the Responses API too', async () => {
  const { ask, paths } = openAi(() => undefined, 'https://eu.api.openai.com/v1');
  await ask({ model: 'gpt-6-astra', tools: [spec] });
  expect(paths).toEqual(['/responses']);
});

it('an entry for another server is asked by chat completions, whatever its models are called', async () => {
  const { ask, paths } = openAi(() => undefined, 'https://llm.example/v1');
  await ask({ model: 'gpt-6-astra', tools: [spec] });
  expect(paths).toEqual(['/chat/completions']);
});
