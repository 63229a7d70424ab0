import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { memoryStores } from '../../_support/memory-stores.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { gatewayOf } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';
import { bank, bankAnswers } from '../approvals/approval-fixture.ts';
import { waitFor } from '../../_support/wait-for.ts';

const secret = 'a secret of tests';
const adminKey = 'sk-tw-fixed-administrator';
const users = { from: 'header', name: 'x-user' };
const usage = (into: number, out: number): ScriptStep => ({
  type: 'usage',
  usage: { prompt_tokens: into, completion_tokens: out, total_tokens: into + out },
});

interface Sent {
  key?: string;
  user?: string;
  payload?: object;
}

interface Answered {
  status: number;
  body: JsonObject;
  text: string;
  retryAfter: number;
}

interface UsageGateway extends Gateway {
  call(route: string, sent?: Sent): Promise<Answered>;
  keyFor(fields: JsonObject): Promise<{ id: string; key: string }>;
  chat(key: string, sent?: { user?: string; fields?: JsonObject }): Promise<Answered>;
  usageBy(by: string, key?: string, user?: string): Promise<JsonObject[]>;
}

async function usageGateway(turns: ScriptStep[][], options: GatewayOptions = {}): Promise<UsageGateway> {
  const environment = { TOOLWHARF_ADMIN_KEY: adminKey, STORE_CHATS: 'true' };
  const gateway = await gatewayOf({ turns, servers: [bank], answers: bankAnswers, environment, ...options });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const call: UsageGateway['call'] = async (route, { key = adminKey, user, payload } = {}) => {
    const [method, url] = route.split(' ');
    const response = await gateway.app.server.inject({
      method: method as 'GET',
      url: url ?? '',
      headers: { 'x-api-key': key, ...(user !== undefined && { 'x-user': user }) },
      ...(payload !== undefined && { payload }),
    });
    const body = response.body.startsWith('{') ? response.json<JsonObject>() : {};
    return { status: response.statusCode, body, text: response.body, retryAfter: Number(response.headers['retry-after']) };
  };
  return {
    ...gateway,
    call,
    async keyFor(fields) {
      const { status, body } = await call('POST /api/keys', { payload: { name: 'frontend', role: 'user', ...fields } });
      expect({ status, body }).toMatchObject({ status: 201 });
      return body as { id: string; key: string } & JsonObject;
    },
    chat: (key, { user, fields = {} } = {}) =>
      call('POST /v1/chat/completions', {
        key,
        ...(user !== undefined && { user }),
        payload: { model: 'model', messages: [{ role: 'user', content: 'Hi!' }], tool_ids: ['server:bank/look'], ...fields },
      }),
    async usageBy(by, key, user) {
      return (await call(`GET /api/usage?by=${by}`, { ...(key && { key }), ...(user && { user }) })).body['data'] as JsonObject[];
    },
  };
}

const today = (): string => new Date().toISOString().slice(0, 10);
const counts = { requests: 0, tokens_in: 0, tokens_out: 0, tool_calls: 0, failures: 0 };

describe('usage', () => {
  it('is counted by key, user, model and tool, and users see their own alone', async () => {
    const gateway = await usageGateway([
      [usage(10, 1), ...calls(['look', { account: 'a' }])],
      [usage(20, 2), ...says('Seven.')],
      [usage(5, 5), ...says('Hello.')],
      [usage(1, 1), ...says('Hi.')],
    ]);
    const [team, other] = [await gateway.keyFor({ users }), await gateway.keyFor({})];
    await gateway.chat(team.key, { user: 'ada' });
    await gateway.chat(team.key, { user: 'bob' });
    await gateway.chat(other.key);
    const day = today();
    expect(await gateway.usageBy('user')).toEqual(
      expect.arrayContaining([
        { ...counts, day, key: team.id, user: 'ada', requests: 1, tokens_in: 30, tokens_out: 3, tool_calls: 1 },
        { ...counts, day, key: team.id, user: 'bob', requests: 1, tokens_in: 5, tokens_out: 5 },
        { ...counts, day, key: other.id, user: null, requests: 1, tokens_in: 1, tokens_out: 1 },
      ]),
    );
    expect(await gateway.usageBy('key')).toHaveLength(2);
    expect(await gateway.usageBy('model')).toEqual([
      { ...counts, day, model: 'model', requests: 3, tokens_in: 36, tokens_out: 9, tool_calls: 1 },
    ]);
    expect(await gateway.usageBy('tool')).toEqual([{ ...counts, day, tool: 'bank/look', tool_calls: 1 }]);
    expect(await gateway.usageBy('user', team.key, 'bob')).toEqual([
      { ...counts, day, key: team.id, user: 'bob', requests: 1, tokens_in: 5, tokens_out: 5 },
    ]);
    expect(await gateway.usageBy('tool', team.key, 'bob')).toEqual([]);
    expect((await gateway.call('GET /api/users', { key: team.key, user: 'bob' })).status).toBe(403);
  });

  it('counts a suspended chat once, failures, and calls outside of chats', async () => {
    const gateway = await usageGateway([
      [usage(1, 1), ...calls(['pay', { amount: 1 }])],
      [usage(2, 2), ...says('Paid.')],
      [new Error('broken')],
    ]);
    const waiting = await gateway.chat(adminKey, { fields: { tool_ids: ['server:bank'] } });
    const approval = waiting.body['approval'] as { run_id: string; token: string; calls: { id: string }[] };
    await gateway.call(`POST /api/runs/${approval.run_id}/approvals/${approval.calls[0]?.id}`, {
      payload: { decision: 'approve', token: approval.token },
    });
    await gateway.chat(adminKey, { fields: { tool_ids: [] } });
    await gateway.call('POST /api/tools/bank/look/invoke', { payload: { arguments: { account: 'a' } } });
    expect(await gateway.usageBy('model')).toEqual([
      { ...counts, day: today(), model: 'model', requests: 2, tokens_in: 3, tokens_out: 3, tool_calls: 1, failures: 1 },
    ]);
    expect((await gateway.usageBy('tool')).map(({ tool }) => tool)).toEqual(['bank/look', 'bank/pay']);
  });

  it('outlives the process, by days, and takes no name that a client made up', async () => {
    const { usage: store } = memoryStores();
    const first = await usageGateway([[usage(3, 4), ...says('Hello.')]], { usage: store });
    await first.chat(adminKey, { fields: { tool_ids: [] } });
    await first.chat(adminKey, { fields: { model: 'made-up' } });
    await first.app.close();
    const second = await usageGateway([], { usage: store });
    expect((await second.usageBy('model')).map(({ model, tokens_in }) => [model, tokens_in])).toEqual([
      [null, 0],
      ['model', 3],
    ]);
    expect((await second.call('GET /api/usage?by=model&from=2020-01-01&to=2020-12-31')).body['data']).toEqual([]);
  });

  it.each(['by=day', 'from=yesterday', 'to=22.11.2026'])('refuses %s with the cure', async (query) => {
    const gateway = await usageGateway([]);
    expect((await gateway.call(`GET /api/usage?${query}`)).status).toBe(400);
  });
});

describe('tokens a day', () => {
  it('are limited for each person and for the whole key, until midnight UTC, also after a restart', async () => {
    const { usage: store, registry } = memoryStores();
    const first = await usageGateway(
      [
        [usage(60, 40), ...says('One.')],
        [usage(60, 40), ...says('Two.')],
      ],
      { usage: store, registry, config: { secret } },
    );
    const fields = { tool_ids: [] };
    const { key } = await first.keyFor({ users, limits: { tokens_per_day: 100 }, total_limits: { tokens_per_day: 150 } });
    expect((await first.chat(key, { user: 'ada', fields })).status).toBe(200);
    const refused = await first.chat(key, { user: 'ada', fields });
    expect(refused).toMatchObject({ status: 429, body: { error: { message: expect.stringContaining('You may use 100 tokens a day') } } });
    const midnight = (Date.parse(`${today()}T00:00:00Z`) + 86_400_000 - Date.now()) / 1_000;
    expect(Math.abs(refused.retryAfter - midnight)).toBeLessThan(10);
    expect((await first.chat(key, { user: 'bob', fields })).status).toBe(200);
    expect((await first.chat(key, { user: 'eve', fields })).body).toMatchObject({
      error: { message: expect.stringContaining('All users of this key together may use 150 tokens a day') },
    });
    await first.call('GET /api/usage');
    const second = await usageGateway([], { usage: store, registry, config: { secret } });
    await second.app.server.listen({ host: '127.0.0.1', port: 0 });
    await waitFor(async () => expect((await second.chat(key, { user: 'ada', fields })).status).toBe(429));
  });

  it('count for presets that are called as tools, over every door', async () => {
    const { usage: store } = memoryStores();
    const gateway = await usageGateway(
      [
        [usage(60, 40), ...says('One.')],
        [usage(60, 40), ...says('Two.')],
      ],
      { usage: store },
    );
    await gateway.call('POST /api/presets', { payload: { id: 'writer', base_model: 'model', description: 'Writes' } });
    const doors: [string, object][] = [
      ['POST /api/tools/preset:writer/invoke', { arguments: { request: 'Write!' } }],
      ['POST /api/tools/writer/call', { request: 'Write!' }],
      ['POST /mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'writer', arguments: { request: 'Write!' } } }],
    ];
    const { key } = await gateway.keyFor({ limits: { tokens_per_day: 150 } });
    for (const [route, payload] of doors.slice(0, 2)) expect((await gateway.call(route, { key, payload })).status).toBe(200);
    for (const [route, payload] of doors) expect((await gateway.call(route, { key, payload })).status).toBe(429);
    expect(await gateway.usageBy('model', key)).toEqual([{ ...counts, day: today(), model: 'writer', tokens_in: 120, tokens_out: 80 }]);
    expect((await gateway.call('GET /metrics')).text).toContain('toolwharf_tokens_total{model="writer",kind="prompt"} 120');
  });

  it('are estimated for an answer that ends before its backend has counted it', async () => {
    const gateway = await usageGateway([
      [{ type: 'text', text: 'word '.repeat(700) }, new Promise(() => undefined)],
      [
        { type: 'text', text: 'word '.repeat(700) },
        { type: 'finish', reason: 'stop' },
      ],
    ]);
    const { key } = await gateway.keyFor({ users, limits: { tokens_per_day: 500 } });
    const fields = { tool_ids: [], stream: true };
    const running = gateway.chat(key, { user: 'ada', fields });
    await waitFor(() => expect(gateway.model.requests).toHaveLength(1));
    const { data } = (await gateway.call('GET /api/runs')).body as { data: { id: string }[] };
    await gateway.call(`POST /api/runs/${data[0]?.id}/cancel`);
    await running;
    expect((await gateway.chat(key, { user: 'ada', fields })).status).toBe(429);
    // Of a backend that never counts.
    expect((await gateway.chat(key, { user: 'bob', fields })).status).toBe(200);
    expect((await gateway.chat(key, { user: 'bob', fields })).status).toBe(429);
    for (const { tokens_in: read, tokens_out: written } of await gateway.usageBy('user')) {
      expect(Number(read)).toBeGreaterThan(0);
      expect(written).toBe(1_000);
    }
  });

  it('are not used by a request that its backend has refused', async () => {
    const gateway = await usageGateway([[new Error('broken')], says('Hello.')]);
    const { key } = await gateway.keyFor({ limits: { tokens_per_day: 1 } });
    await gateway.chat(key, { fields: { tool_ids: [] } });
    expect((await gateway.chat(key, { fields: { tool_ids: [] } })).status).toBe(200);
  });
});

describe('people', () => {
  it('are listed with what their frontend says of them, and deleted with everything that is theirs', async () => {
    const { chats, runs, waitingRuns } = memoryStores();
    const stores = { chats, runs, waitingRuns };
    const gateway = await usageGateway(
      [[usage(7, 3), ...says('Hello.')], says('Hello.'), [usage(1, 1), { type: 'text', text: 'So' }, new Promise(() => undefined)]],
      stores,
    );
    const { id, key } = await gateway.keyFor({ users });
    const chat = await gateway.chat(key, { user: 'ada', fields: { store: true } });
    const kept = await gateway.chat(key, { user: 'ada/x', fields: { store: true } });
    const { data } = (await gateway.call('GET /api/users')).body;
    expect(data).toEqual([
      { id: 'ada/x', key: id, last: expect.any(String) },
      { id: 'ada', key: id, last: expect.any(String) },
    ]);
    const found = async (search: string): Promise<unknown> =>
      ((await gateway.call(`GET /api/users?search=${encodeURIComponent(search)}`)).body['data'] as { id: string }[]).map(
        (person) => person.id,
      );
    expect(await found(' ADA/')).toEqual(['ada/x']);
    expect(await found('%')).toEqual([]);
    const running = gateway.chat(key, { user: 'ada' });
    await waitFor(() => expect(gateway.model.requests).toHaveLength(3));
    expect((await gateway.call(`DELETE /api/users/${id}/ada`)).body).toEqual({ key: id, id: 'ada', deleted: true });
    expect(JSON.stringify((await gateway.call('GET /api/users')).body)).not.toContain('"ada"');
    expect((await running).body).toMatchObject({
      error: { code: 'run_cancelled', message: expect.stringContaining('its user was deleted') },
    });
    expect((await gateway.call(`GET /v1/chat/completions/${String(chat.body['id'])}`, { key, user: 'ada' })).status).toBe(404);
    expect((await gateway.call('GET /api/runs', { key, user: 'ada' })).body['data']).toEqual([]);
    expect((await gateway.call(`GET /v1/chat/completions/${String(kept.body['id'])}`, { key, user: 'ada/x' })).status).toBe(200);
    expect(await gateway.usageBy('user')).toEqual(
      expect.arrayContaining([expect.objectContaining({ key: id, user: null, tokens_in: 8, tokens_out: 4 })]),
    );
    expect((await gateway.call(`DELETE /api/users/${id}/nobody`)).status).toBe(404);
    expect((await gateway.call(`DELETE /api/users/${id}%2Fada/x`)).status).toBe(404);
    expect((await gateway.call(`GET /v1/chat/completions/${String(kept.body['id'])}`, { key, user: 'ada/x' })).status).toBe(200);
  });
});
