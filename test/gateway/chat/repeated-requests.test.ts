import { describe, expect, it } from 'vitest';
import { textOf } from '../../../src/core/chat/chat.ts';
import { GatewayError } from '../../../src/core/errors.ts';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { backendOf, listen, testApp } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { memoryRegistry, memoryWaitingRuns } from '../../_support/memory-stores.ts';
import { generatedBy } from '../../_support/scripted-model.ts';
import { servedClients } from '../../http/dialects/parity/clients.ts';
import { documentWith, jsonResponse, scriptedSend } from '../../tools/scripted-send.ts';
import { documentOf, serverOf } from '../gateway.ts';

/** Agents repeat a request that failed. What the gateway has ordered by then must not be ordered again. */
const adminKey = 'sk-admin-0123456789abcdef';
const anybody = { type: 'object', properties: { item: { type: 'string' } } };
const servers = [
  serverOf('shop', documentOf({ order: anybody, refund: anybody }), { extra: { config: { needs_approval: ['refund'] } } }),
  serverOf('clock', documentWith('look')),
];
const down = (): GatewayError => new GatewayError('upstream_error', 'The model is down.');

interface State {
  /** How often the model fails from now on. */
  failures: number;
  says: string;
  /** A function that it calls after the first result. */
  second: string | undefined;
  before: (signal: AbortSignal) => Promise<void>;
}

type Parts = NonNullable<Parameters<typeof testApp>[1]>;

/** A gateway whose model calls a function once, and fails after its result as long as `failures` says. */
async function shopOf({ called = 'order', ...parts }: Parts & { called?: string } = {}) {
  const asked: ModelRequest[] = [];
  const state: State = { failures: 0, says: 'Done.', second: undefined, before: async (): Promise<void> => undefined };
  const model = generatedBy(async function* (request) {
    asked.push({ ...request, messages: structuredClone(request.messages) });
    const hasResult = request.messages.some(({ content }) => /ORDERED|noon/u.test(textOf(content)));
    const next = hasResult ? state.second : (request.tools.find(({ name }) => name.includes(called))?.name ?? 'order');
    if (next !== undefined && request.tools.length > 0) {
      yield { type: 'tool-call', call: { id: `call-${asked.length}`, name: next, arguments: '{"item":"tea","agent":"clerk"}' } };
      yield { type: 'finish', reason: 'tool_calls' };
      return;
    }
    await state.before(request.signal);
    request.signal.throwIfAborted();
    if (state.failures > 0) {
      state.failures -= 1;
      throw down();
    }
    yield { type: 'text', text: state.says };
    yield { type: 'finish', reason: 'stop' };
  });
  let orders = 0;
  const script = scriptedSend({
    'http://shop.test/order': async () => jsonResponse({ order: `ORDERED ${++orders}` }),
    'http://shop.test/refund': { refund: 'REFUNDED' },
    'http://clock.test/look': { time: 'noon' },
  });
  const app = await testApp(
    { TOOLWHARF_ADMIN_KEY: adminKey, TOOLWHARF_SECRET: '0123456789abcdef0123456789abcdef' },
    { backends: [backendOf(model)], registry: memoryRegistry(servers), send: script.send, ...parts },
  );
  return {
    app,
    state,
    asked,
    orders: () => script.requests.filter(({ url }) => url.endsWith('/order')).length,
    async post(path: string, payload: JsonObject, headers: Record<string, string> = {}) {
      const own = { host: '127.0.0.1:8080', authorization: `Bearer ${adminKey}`, ...headers };
      return await app.server.inject({ method: 'POST', url: path, payload, headers: own });
    },
    async ask(body: JsonObject = {}, headers: Record<string, string> = {}) {
      const messages = [{ role: 'user', content: 'Order tea.' }];
      const answer = await this.post('/v1/chat/completions', { model: 'model', messages, ...body }, headers);
      const { choices, warnings } = answer.json<{ choices?: { message: { content: string } }[]; warnings?: { code: string }[] }>();
      return { status: answer.statusCode, text: choices?.[0]?.message.content, warnings: warnings?.map(({ code }) => code), answer };
    },
    [Symbol.asyncDispose]: () => app.close(),
  };
}

const line =
  'The same request failed a moment ago, after this call had run: shop/order. It is not repeated, and the answer continues from there. To run it again, ask for that in a new message.';

describe.each(servedClients.map((client) => ({ name: client.name, client })))('$name', ({ client }) => {
  it.each([true, false])('continues a failed request behind its call when it comes again, once, streaming: %s', async (stream) => {
    await using shop = await shopOf();
    shop.state.failures = 1;
    const body = client.write({ turns: [{ role: 'user', text: 'Order tea.' }] }, stream);
    const ask = async () => {
      const answer = await shop.post(client.path, body, client.headers);
      if (answer.statusCode !== 200) return { ...client.read({}), text: '', error: client.readError(answer.json()) };
      return stream ? client.readStream(answer.body) : client.read(answer.json());
    };
    expect((await ask()).error).toContain('The model is down.');
    const repeated = await ask();
    expect(repeated.text).toBe(`${line}\n\nDone.`);
    expect(repeated.sources).toEqual(['TOOL:shop/order']);
    expect(repeated.warnings).toEqual(['calls_not_repeated']);
    expect(shop.orders()).toBe(1);
    const read = textOf(shop.asked.at(-1)?.messages.at(-1)?.content ?? null);
    expect(read).toContain('ORDERED 1');
    expect(read).toContain('These calls have run: shop/order. Do not repeat them unless the user asks for it in a later message.');
    const third = await ask();
    expect([third.text, third.warnings, shop.orders()]).toEqual(['Done.', [], 2]);
  });
});

it('continues a request that fails again and again, with one order, the status of each error and no second note', async () => {
  await using shop = await shopOf();
  shop.state.failures = 3;
  const statuses = [];
  for (let time = 0; time < 3; time += 1) statuses.push((await shop.ask()).status);
  expect(statuses).toEqual([502, 502, 502]);
  const { text, answer } = await shop.ask({ stream: false });
  expect([text, shop.orders()]).toEqual([`${line}\n\nDone.`, 1]);
  expect(answer.json<{ sources: unknown[] }>().sources).toHaveLength(1);
  const read = textOf(shop.asked.at(-1)?.messages.at(-1)?.content ?? null);
  expect(read.split('These calls have run')).toHaveLength(2);
});

it('says what is not repeated only in a warning if the answer has a demanded form', async () => {
  await using shop = await shopOf();
  shop.state.failures = 1;
  shop.state.says = '{"ordered":true}';
  const form = { response_format: { type: 'json_object' } };
  await shop.ask(form);
  expect(await shop.ask(form)).toMatchObject({ text: '{"ordered":true}', warnings: ['calls_not_repeated'] });
  expect(shop.orders()).toBe(1);
});

it('treats requests as the same if only their ids, stream and options differ', async () => {
  await using shop = await shopOf();
  shop.state.failures = 1;
  const call = (id: string): JsonObject[] => [
    { role: 'user', content: 'What have I?' },
    { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: { name: 'own', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: id, content: 'Nothing.' },
    { role: 'user', content: 'Order tea.' },
  ];
  await shop.ask({ messages: call('a'), id: 'message-1' });
  const again = { messages: call('b'), id: 'message-2', stream: true, stream_options: { include_usage: true } };
  const { body } = await shop.post('/v1/chat/completions', { model: 'model', ...again });
  expect(body).toContain('It is not repeated');
  expect(shop.orders()).toBe(1);
});

it.each<[string, JsonObject, Record<string, string>?]>([
  ['another message', { messages: [{ role: 'user', content: 'Order tea!' }] }],
  [
    'another conversation before it',
    {
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'Order tea.' },
      ],
    },
  ],
  ['another parameter', { temperature: 0.1 }],
  ['another tool', { tools: [{ type: 'function', function: { name: 'own', parameters: { type: 'object', properties: {} } } }] }],
  ['other tools of the gateway', { tool_ids: ['server:shop'] }],
  ['another chat', { chat_id: 'another' }],
  ['another file', { files: [{ type: 'text', name: 'a', content: 'b' }] }],
  ['other variables', { variables: { '{{CITY}}': 'Paris' } }],
  ['another mode', { params: { function_calling: 'prompt' } }],
  ['the wish not to', { params: { resume_failed: false } }],
  ['a key', {}, { 'idempotency-key': '1' }],
])('makes the calls of a request with %s', async (_what, body, headers = {}) => {
  await using shop = await shopOf();
  shop.state.failures = 1;
  await shop.ask();
  expect((await shop.ask(body, headers)).warnings ?? []).not.toContain('calls_not_repeated');
  // The other request has not used the failed run up.
  expect(await shop.ask()).toMatchObject({ warnings: ['calls_not_repeated'] });
});

it('does not continue a request that was sent with resume_failed false', async () => {
  await using shop = await shopOf();
  shop.state.failures = 1;
  await shop.ask({ params: { resume_failed: false } });
  expect((await shop.ask()).warnings).toBeUndefined();
  expect(shop.orders()).toBe(2);
});

it('continues only a request with the same key if clients send one', async () => {
  await using shop = await shopOf();
  shop.state.failures = 1;
  await shop.ask({}, { 'idempotency-key': '1' });
  expect((await shop.ask({}, { 'idempotency-key': '2' })).warnings).toBeUndefined();
  expect((await shop.ask()).warnings).toBeUndefined();
  expect((await shop.ask({ temperature: 1 }, { 'idempotency-key': '1' })).warnings).toBeUndefined();
  expect((await shop.ask({}, { 'idempotency-key': '1' })).warnings).toEqual(['calls_not_repeated']);
  expect((await shop.ask({}, { 'idempotency-key': '1' })).warnings).toBeUndefined();
});

it('continues once for each failed run', async () => {
  await using shop = await shopOf();
  const both = Promise.withResolvers<void>();
  let waiting = 0;
  shop.state.before = async () => {
    waiting += 1;
    if (waiting === 2) both.resolve();
    await both.promise;
  };
  shop.state.failures = 2;
  await Promise.all([shop.ask(), shop.ask()]);
  shop.state.before = async () => undefined;
  const warned = [];
  for (let time = 0; time < 3; time += 1) warned.push((await shop.ask()).warnings?.length ?? 0);
  expect([warned, shop.orders()]).toEqual([[1, 1, 0], 3]);
});

it.each([
  ['0', undefined, 3],
  ['1', ['calls_not_repeated'], 2],
] as const)('while an equal request is answered, continues only what its client calls a retry: %s', async (count, warnings, orders) => {
  await using shop = await shopOf();
  shop.state.failures = 1;
  await shop.ask();
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  shop.state.before = async () => {
    reached.resolve();
    await released.promise;
  };
  // Its calls are made, because another message is in front of it.
  const underWay = shop.ask({ params: { resume_failed: false } });
  await reached.promise;
  shop.state.before = async () => undefined;
  expect((await shop.ask({}, { 'x-stainless-retry-count': count })).warnings).toEqual(warnings);
  released.resolve();
  await underWay;
  expect(shop.orders()).toBe(orders);
});

it('continues a repetition that an SDK sends as a first attempt for an agent', async () => {
  await using shop = await shopOf();
  shop.state.failures = 1;
  await shop.ask({}, { 'x-stainless-retry-count': '0' });
  expect((await shop.ask({}, { 'x-stainless-retry-count': '0' })).warnings).toEqual(['calls_not_repeated']);
});

it('does not give the run to another key, or to another person behind the same key', async () => {
  await using shop = await shopOf();
  const keyWith = async (fields: JsonObject): Promise<string> => {
    const answer = await shop.post('/api/keys', { name: 'k', role: 'user', ...fields });
    return `Bearer ${answer.json<{ key: string }>().key}`;
  };
  const people = await keyWith({ users: { from: 'header', name: 'x-person' } });
  const other = await keyWith({});
  shop.state.failures = 1;
  const ann = { authorization: people, 'x-person': 'ann' };
  await shop.ask({}, ann);
  for (const headers of [{ ...ann, 'x-person': 'bob' }, { authorization: other }, {}])
    expect((await shop.ask({}, headers)).warnings).toBeUndefined();
  expect((await shop.ask({}, ann)).warnings).toEqual(['calls_not_repeated']);
});

it('forgets the runs of a person who is deleted', async () => {
  await using shop = await shopOf();
  const { id, key } = (await shop.post('/api/keys', { name: 'k', role: 'user', users: { from: 'header', name: 'x-person' } })).json<{
    id: string;
    key: string;
  }>();
  const ann = { authorization: `Bearer ${key}`, 'x-person': 'ann' };
  shop.state.failures = 1;
  await shop.ask({}, ann);
  await shop.app.server.inject({
    method: 'DELETE',
    url: `/api/users/${id}/ann`,
    headers: { host: '127.0.0.1:8080', authorization: `Bearer ${adminKey}` },
  });
  expect((await shop.ask({}, ann)).warnings).toBeUndefined();
});

it('continues until two minutes after the end of the failed run, also after a restart', async () => {
  let time = Date.now();
  const waitingRuns = memoryWaitingRuns();
  const parts = { now: () => time, waitingRuns };
  {
    await using shop = await shopOf(parts);
    shop.state.failures = 2;
    // The two minutes begin at the end.
    shop.state.before = async () => void (time += 100_000);
    await shop.ask();
    await shop.ask({ chat_id: 'late' });
  }
  await using restarted = await shopOf(parts);
  time += 119_000;
  expect((await restarted.ask({ chat_id: 'late' })).warnings).toEqual(['calls_not_repeated']);
  time += 2_000;
  expect((await restarted.ask()).warnings).toBeUndefined();
});

it('continues after a repetition that failed before it asked the model', async () => {
  const registry = memoryRegistry(servers);
  await using shop = await shopOf({ registry });
  shop.state.failures = 1;
  await shop.ask({ tool_ids: ['server:shop'] });
  await registry.deleteToolServer('shop');
  expect((await shop.ask({ tool_ids: ['server:shop'] })).answer.json()).toMatchObject({ error: { code: 'unknown_tool_id' } });
  await registry.replaceToolServers(servers);
  expect((await shop.ask({ tool_ids: ['server:shop'] })).warnings).toEqual(['calls_not_repeated']);
  expect(shop.orders()).toBe(1);
});

it('continues a request that was cut off by a shutdown while the model answered', async () => {
  const waitingRuns = memoryWaitingRuns();
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  {
    const shop = await shopOf({ waitingRuns, config: { drainTimeoutMs: 0 } });
    shop.state.before = (signal) => {
      resolve();
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    };
    const cut = shop.ask();
    await asked;
    await shop.app.close();
    expect((await cut).answer.json()).toMatchObject({ error: { code: 'server_shutting_down' } });
    expect(shop.orders()).toBe(1);
  }
  await using restarted = await shopOf({ waitingRuns });
  expect((await restarted.ask()).warnings).toEqual(['calls_not_repeated']);
  expect(restarted.orders()).toBe(0);
});

it('stores and looks for nothing unless a call that writes has run', async () => {
  const seen: string[] = [];
  const store = memoryWaitingRuns();
  const waitingRuns: typeof store = {
    ...store,
    save: (run, bounds) => (seen.push('save'), store.save(run, bounds)),
    prune: (time) => (seen.push('prune'), store.prune(time)),
    claimFailed: (key, time) => (seen.push('claim'), store.claimFailed(key, time)),
  };
  await using shop = await shopOf({ called: 'look', waitingRuns });
  shop.state.failures = 1;
  expect((await shop.ask()).status).toBe(502);
  expect((await shop.ask()).status).toBe(200);
  expect((await shop.ask({ tool_ids: [] })).status).toBe(200);
  expect(seen).toEqual([]);
});

it.each(['cancelled', 'left'])('does not continue a run that was %s', async (how) => {
  await using shop = await shopOf();
  const reached = Promise.withResolvers<void>();
  const never = Promise.withResolvers<void>();
  shop.state.before = async () => {
    reached.resolve();
    await never.promise;
  };
  const leaving = new AbortController();
  const headers = { host: '127.0.0.1:8080', authorization: `Bearer ${adminKey}` };
  const payload = { model: 'model', messages: [{ role: 'user', content: 'Order tea.' }] };
  const asking = shop.app.server
    .inject({ method: 'POST', url: '/v1/chat/completions', headers, payload, signal: leaving.signal })
    .catch(() => undefined);
  await reached.promise;
  if (how === 'left') leaving.abort();
  else {
    const { data } = (await shop.app.server.inject({ method: 'GET', url: '/api/runs', headers })).json<{ data: { id: string }[] }>();
    await shop.post(`/api/runs/${data[0]?.id}/cancel`, {});
  }
  never.resolve();
  await asking;
  shop.state.before = async () => undefined;
  expect((await shop.ask()).warnings).toBeUndefined();
  expect(shop.orders()).toBe(2);
});

it('does not force a call that has already run', async () => {
  await using shop = await shopOf();
  shop.state.failures = 1;
  const forced = { tool_choice: 'required' };
  await shop.ask(forced);
  expect((await shop.ask(forced)).text).toContain('Done.');
  expect(shop.orders()).toBe(1);
  expect(shop.asked.at(-1)?.toolChoice).toBeUndefined();
});

it('continues a chat over a websocket, and one whose answer goes to a session', async () => {
  await using shop = await shopOf();
  const browser = await connectFakeBrowser({ url: await listen(shop.app), token: adminKey });
  const asked = { model: 'model', messages: [{ role: 'user', content: 'Order tea.' }] };
  const chat = { type: 'message', data: asked };
  shop.state.failures = 1;
  browser.send(chat);
  await browser.next('error');
  browser.send(chat);
  expect((await browser.next('assistant_end')).data).toMatchObject({ content: `${line}\n\nDone.` });
  const background = { ...asked, background: true, session_id: browser.sessionId() };
  shop.state.failures = 1;
  await shop.post('/v1/chat/completions', background);
  await browser.next('error');
  await shop.post('/v1/chat/completions', background);
  expect((await browser.next('assistant_end')).data).toMatchObject({ content: `${line}\n\nDone.` });
  expect(shop.orders()).toBe(2);
  await browser.close();
});

it('continues as the preset that the chat was handed off to', async () => {
  await using shop = await shopOf({ called: 'transfer' });
  const presets = [
    { id: 'clerk', base_model: 'model', tools: ['server:shop'], system: 'You are the clerk.' },
    { id: 'front', base_model: 'model', tools: [], sub_agents: ['clerk'] },
  ];
  for (const preset of presets) expect((await shop.post('/api/presets', preset)).statusCode).toBe(201);
  shop.state.failures = 1;
  expect((await shop.ask({ model: 'front' })).status).toBe(502);
  expect(await shop.ask({ model: 'front' })).toMatchObject({ text: `${line}\n\nDone.` });
  expect(shop.orders()).toBe(1);
  expect(textOf(shop.asked.at(-1)?.messages[0]?.content ?? null)).toBe('You are the clerk.');
});

it('waits for an approval after a failed run as in any other, with all calls that have run', async () => {
  await using shop = await shopOf();
  shop.state.failures = 1;
  await shop.ask();
  shop.state.second = 'refund';
  const { answer } = await shop.ask();
  const { approval } = answer.json<{ approval: { run_id: string; calls: { id: string; token: string }[] } }>();
  shop.state.second = undefined;
  const [{ id, token } = { id: '', token: '' }] = approval.calls;
  const decided = await shop.post(`/api/runs/${approval.run_id}/approvals/${id}`, { decision: 'approve', token });
  expect(decided.json()).toMatchObject({ choices: [{ message: { content: 'Done.' } }] });
  const read = shop.asked.at(-1)?.messages.map(({ role, content }) => `${role} ${textOf(content)}`) ?? [];
  expect(read.filter((text) => text.startsWith('tool')).map((text) => /ORDERED \d|REFUNDED/u.exec(text)?.[0])).toEqual([
    'ORDERED 1',
    'REFUNDED',
  ]);
});

it('does not let anybody decide on, read or cancel a failed run as if it were waiting', async () => {
  await using shop = await shopOf();
  shop.state.failures = 1;
  const { answer } = await shop.ask();
  const id = `failed:${String(answer.headers['x-toolwharf-run-id'])}`;
  const statuses = [];
  for (const path of [`approvals/call-1`, 'resume', 'cancel'])
    statuses.push((await shop.post(`/api/runs/${id}/${path}`, { decision: 'approve', token: 'x' })).statusCode);
  expect(statuses).toEqual([404, 404, 404]);
  expect((await shop.ask()).warnings).toEqual(['calls_not_repeated']);
});
