import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { backendOf, listen } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { calls, ScriptedModel, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { gatewayOf } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';
import { bank, bankAnswers, call } from '../approvals/approval-fixture.ts';

const adminKey = 'sk-tw-fixed-administrator';
const presets: JsonObject[] = [
  { id: 'expert', base_model: 'large', tools: [] },
  { id: 'under-cover', base_model: 'expert', tools: [] },
  { id: 'boss', base_model: 'small', tools: ['preset:expert', 'preset:clerk'] },
  { id: 'clerk', base_model: 'small', tools: [] },
  { id: 'desk', base_model: 'small', tools: [], sub_agents: ['expert', 'clerk'] },
];

interface LimitedGateway extends Gateway {
  /** What the model behind the limit was asked. */
  large: ScriptedModel;
  /** Of a user whose key names these models. */
  keyFor(models: string[], fields?: JsonObject): Promise<string>;
}

/** `large` is what no key of these tests names. */
async function limitedGateway(...turns: ScriptStep[][]): Promise<LimitedGateway> {
  const small = new ScriptedModel(...turns);
  const large = new ScriptedModel(...Array.from({ length: 4 }, () => says('The large one has answered.')));
  const gateway = await gatewayOf({
    environment: { TOOLWHARF_ADMIN_KEY: adminKey },
    backends: [backendOf(small, ['small']), backendOf(large, ['large'])],
    servers: [bank],
    answers: bankAnswers,
  });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  for (const payload of presets) expect((await call(gateway, 'POST /api/presets', { key: adminKey, payload })).statusCode).toBe(201);
  return {
    ...gateway,
    model: small,
    large,
    async keyFor(models, fields = {}) {
      const payload = { name: 'limited', role: 'user', models, ...fields };
      return (await call(gateway, 'POST /api/keys', { key: adminKey, payload })).json<{ key: string }>().key;
    },
  };
}

const chat = (fields: JsonObject = {}) => ({ model: 'small', messages: [{ role: 'user', content: 'Ask the expert.' }], ...fields });

it.each<[route: string, payload?: JsonObject]>([
  ['POST /v1/chat/completions', { messages: [{ role: 'user', content: 'Hello' }] }],
  ['POST /v1/completions', { prompt: 'Hello' }],
  ['POST /v1/responses', { input: 'Hello' }],
  ['POST /v1/messages', { max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] }],
  ['POST /v1/messages/count_tokens', { messages: [{ role: 'user', content: 'Hello' }] }],
  ['POST /v1/embeddings', { input: 'Hello' }],
  ['POST /api/chat', { messages: [{ role: 'user', content: 'Hello' }], stream: false }],
  ['POST /api/generate', { prompt: 'Hello', stream: false }],
  ['POST /api/embed', { input: 'Hello' }],
  ['POST /api/show', {}],
  ['GET /v1/models/gone'],
])('%s names no model to a key that may not use it, where its own is gone', async (route, payload) => {
  const gateway = await limitedGateway();
  const key = await gateway.keyFor(['gone', 'small']);
  const { statusCode, body } = await call(gateway, route, { key, ...(payload && { payload: { model: 'gone', ...payload } }) });
  expect(statusCode).toBe(404);
  expect(body).toContain('Known models: small.');
  expect(body).not.toContain('large');
});

describe('a key that names models keeps to them', () => {
  const ways: [string, route: string, payload: JsonObject][] = [
    ['a chat', 'POST /v1/chat/completions', chat({ model: 'large' })],
    ['a chat with a preset on another model', 'POST /v1/chat/completions', chat({ model: 'expert' })],
    ['a preset in tool_ids', 'POST /v1/chat/completions', chat({ tool_ids: ['preset:expert'] })],
    ['a preset on a preset in tool_ids', 'POST /v1/chat/completions', chat({ tool_ids: ['preset:under-cover'] })],
    ['a preset that is invoked', 'POST /api/tools/preset:expert/invoke', { arguments: { request: 'x' } }],
    ['a preset on a preset that is invoked', 'POST /api/tools/preset:under-cover/invoke', { arguments: { request: 'x' } }],
    ['embeddings', 'POST /v1/embeddings', { model: 'large', input: 'x' }],
    ['models that a provider falls back to', 'POST /v1/chat/completions', chat({ models: ['large'] })],
    ['the same among params', 'POST /v1/chat/completions', chat({ params: { custom_params: { fallbacks: [{ small: ['large'] }] } } })],
    ['a model that the backend puts in the place of its own', 'POST /v1/chat/completions', chat({ extra_body: { model: 'large' } })],
    ['the same deeper', 'POST /v1/chat/completions', chat({ params: { extra_body: { extra_body: { fallbacks: ['large'] } } } })],
    [
      'the same for embeddings of a backend that reads names in any case',
      'POST /v1/embeddings',
      { model: 'small', input: 'x', Model: 'large' },
    ],
    ['the same for embeddings', 'POST /v1/embeddings', { model: 'small', input: 'x', models: ['large'] }],
  ];
  it.each(ways)('by %s', async (_name, route, payload) => {
    const gateway = await limitedGateway(calls(['expert', { request: 'x' }]), says('Done.'));
    const answer = await call(gateway, route, { key: await gateway.keyFor(['small']), payload });
    expect([answer.statusCode, answer.json<{ error: { code: string } }>().error.code]).toEqual([403, 'forbidden']);
    expect([gateway.large.requests, gateway.model.requests]).toEqual([[], []]);
  });

  it('by the name of a preset that is invoked, which is not there', async () => {
    const gateway = await limitedGateway();
    const key = await gateway.keyFor(['small']);
    expect((await call(gateway, 'POST /api/tools/expert/invoke', { key, payload: { arguments: { request: 'x' } } })).statusCode).toBe(404);
    const listed = (await call(gateway, 'GET /api/tools', { key })).json<{ data: { id: string }[] }>().data.map(({ id }) => id);
    expect(listed.filter((id) => id.startsWith('preset:'))).toEqual([]);
  });

  it('by /mcp', async () => {
    const gateway = await limitedGateway();
    const key = await gateway.keyFor(['small']);
    for (const name of ['expert', 'preset:expert']) {
      const payload = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: { request: 'x' } } };
      const answer = await call(gateway, 'POST /mcp', { key, payload });
      expect(answer.body).toContain('"error"');
    }
    expect(gateway.large.requests).toEqual([]);
  });

  it('by a key of which `tools` names the preset', async () => {
    const gateway = await limitedGateway();
    const key = await gateway.keyFor(['small'], { tools: ['preset:expert'] });
    const invoked = await call(gateway, 'POST /api/tools/preset:expert/invoke', { key, payload: { arguments: { request: 'x' } } });
    expect([invoked.statusCode, gateway.large.requests]).toEqual([403, []]);
  });

  it('by a preset that lists others: those of the key alone are offered, and the run says which are left out', async () => {
    const gateway = await limitedGateway(calls(['expert', { request: 'x' }]), says('Done.'));
    const key = await gateway.keyFor(['boss', 'clerk']);
    const answer = await call(gateway, 'POST /v1/chat/completions', { key, payload: chat({ model: 'boss' }) });
    expect(answer.statusCode).toBe(200);
    expect(gateway.large.requests).toEqual([]);
    expect(gateway.model.requests[0]?.tools.map(({ name }) => name)).toEqual(['clerk']);
    const run = await call(gateway, `GET /api/runs/${String(answer.headers['x-toolwharf-run-id'])}`, { key });
    const events = run.json<{ events: { type: string; data: JsonObject }[] }>().events;
    expect(events.filter(({ type }) => type === 'warning').map(({ data }) => data)).toContainEqual({
      code: 'model_forbidden',
      message: 'The preset "expert" is left out: this key may not use it as a model.',
    });
  });

  it('by a hand-over: sub agents of the key alone are named', async () => {
    const gateway = await limitedGateway(calls(['transfer_to_agent', { agent: 'expert' }]), says('Nobody else is there.'));
    const key = await gateway.keyFor(['desk', 'clerk']);
    const answer = await call(gateway, 'POST /v1/chat/completions', { key, payload: chat({ model: 'desk' }) });
    expect(answer.statusCode).toBe(200);
    expect(gateway.model.requests[0]?.tools[0]?.parameters).toMatchObject({ properties: { agent: { enum: ['clerk'] } } });
    expect(gateway.large.requests).toEqual([]);
  });

  it('over a socket', async () => {
    const gateway = await limitedGateway(calls(['expert', { request: 'x' }]), says('Done.'));
    const browser = await connectFakeBrowser({ url: await listen(gateway.app), token: await gateway.keyFor(['small']) });
    onTestFinished(() => browser.terminate());
    browser.send({ type: 'message', content: 'hi', model: 'small', tool_ids: ['preset:expert'] });
    expect((await browser.next('error')).data).toMatchObject({ code: 'forbidden' });
    browser.send({ type: 'message', content: 'hi', model: 'expert' });
    expect((await browser.next('error')).data).toMatchObject({ code: 'forbidden' });
    expect(gateway.large.requests).toEqual([]);
  });

  it('also where it was limited while a run waited for its approval after a hand-over', async () => {
    const gateway = await limitedGateway(calls(['transfer_to_agent', { agent: 'payer' }]), calls(['pay', { amount: 5 }]), says('Paid.'));
    for (const payload of [
      { id: 'payer', base_model: 'small', tools: ['server:bank'] },
      { id: 'front', base_model: 'small', tools: [], sub_agents: ['payer'] },
    ])
      await call(gateway, 'POST /api/presets', { key: adminKey, payload });
    const key = await gateway.keyFor(['front', 'payer']);
    const asked = await call(gateway, 'POST /v1/chat/completions', { key, payload: chat({ model: 'front' }) });
    const { approval } = asked.json<{ approval: { run_id: string; calls: { id: string; token: string }[] } }>();
    const keys = (await call(gateway, 'GET /api/keys', { key: adminKey })).json<{ data: { id: string; name: string }[] }>().data;
    const id = keys.find(({ name }) => name === 'limited')?.id ?? '';
    await call(gateway, `PATCH /api/keys/${id}`, { key: adminKey, payload: { models: ['front'] } });
    const [waiting] = approval.calls;
    const decided = await call(gateway, `POST /api/runs/${approval.run_id}/approvals/${waiting?.id ?? ''}`, {
      key,
      payload: { decision: 'approve', token: waiting?.token },
    });
    expect([decided.statusCode, gateway.sent]).toEqual([403, []]);
  });
});

it('a key that names a preset may use it, whatever it stands on, in every way', async () => {
  const gateway = await limitedGateway(calls(['under-cover', { request: 'x' }]), says('Done.'));
  const key = await gateway.keyFor(['small', 'under-cover']);
  expect((await call(gateway, 'POST /v1/chat/completions', { key, payload: chat({ model: 'under-cover' }) })).statusCode).toBe(200);
  const invoked = await call(gateway, 'POST /api/tools/preset:under-cover/invoke', { key, payload: { arguments: { request: 'x' } } });
  expect(invoked.json()).toMatchObject({ result: 'The large one has answered.' });
  const asTool = await call(gateway, 'POST /v1/chat/completions', { key, payload: chat({ tool_ids: ['preset:under-cover'] }) });
  expect([asTool.statusCode, gateway.large.requests.length]).toEqual([200, 3]);
});
