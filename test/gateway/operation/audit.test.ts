import { describe, expect, it } from 'vitest';
import { auditedRoutes } from '../../../src/http/audit-changes.ts';
import { routeRoles } from '../../../src/http/auth/route-roles.ts';
import { GatewayError } from '../../../src/core/errors.ts';
import type { AuditStore } from '../../../src/core/stores/audit-store.ts';
import { createMemoryStores } from '../../../src/storage/open-stores.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { listen } from '../../_support/build-app.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { documentOf, gatewayOf, serverOf } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';

const admin = 'sk-tw-fixed-administrator';
const amount = { type: 'object', properties: { amount: { type: 'integer' }, note: { type: 'string' } } };
const bank = serverOf('bank', documentOf({ pay: amount }), { extra: { config: { needs_approval: true } } });
const mail = serverOf('mail', documentOf({ send: amount }), { authType: 'bearer', isPerUser: true });

interface Entry {
  id: string;
  time: string;
  by: { key: string; user: string | null };
  action: string;
  subject: string | null;
  owner: JsonObject | null;
  detail: JsonObject;
}

interface Audited extends Gateway {
  call: (route: string, payload?: object, who?: { key?: string; user?: string }) => Promise<{ status: number; body: JsonObject }>;
  audit: (query?: string) => Promise<Entry[]>;
}

async function auditedGateway(options: GatewayOptions = {}): Promise<Audited> {
  const gateway = await gatewayOf({ environment: { TOOLWHARF_ADMIN_KEY: admin }, servers: [bank, mail], ...options });
  const call: Audited['call'] = async (route, payload, { key = admin, user } = {}) => {
    const [method = '', url = ''] = route.split(' ');
    const headers = { authorization: `Bearer ${key}`, ...(user !== undefined && { 'x-user': user }) };
    const answer = await gateway.app.server.inject({ method: method as 'GET', url, headers, ...(payload && { payload }) });
    return { status: answer.statusCode, body: answer.json<JsonObject>() };
  };
  const audit: Audited['audit'] = async (query = '') => (await call(`GET /api/audit${query}`)).body['data'] as unknown as Entry[];
  return { ...gateway, call, audit };
}

const newKey = { name: 'frontend', role: 'user', users: { from: 'header', name: 'x-user' } };

describe('the audit log', () => {
  it('has who changed what, with the names of fields and without their values', async () => {
    await using gateway = await auditedGateway();
    const { call, audit } = gateway;
    const { body: key } = await call('POST /api/keys', newKey);
    await call(`PATCH /api/keys/${String(key['id'])}`, { models: ['CANARY'] });
    await call('POST /api/presets', { id: 'boss', base_model: 'model', system: 'CANARY' });
    await call('DELETE /api/presets/boss');
    await call('POST /api/backends', { id: 'llm', type: 'openai', url: 'http://llm.test/v1', key: 'CANARY' });
    await call('POST /api/tool-servers', { id: 'shop', url: 'http://shop.test', auth_type: 'bearer', key: 'CANARY' });
    await call('PATCH /api/tool-servers/shop', { enabled: false });
    const entries = await audit();
    expect(entries.map(({ action, subject }) => [action, subject])).toEqual([
      ['tool_server.change', 'shop'],
      ['tool_server.create', 'shop'],
      ['backend.create', 'llm'],
      ['preset.delete', 'boss'],
      ['preset.create', 'boss'],
      ['key.change', key['id']],
      ['key.create', key['id']],
    ]);
    expect(entries.every(({ by }) => by.key === 'admin' && by.user === null)).toBe(true);
    expect(entries.at(-1)?.detail).toEqual({ fields: ['name', 'role', 'users'], name: 'frontend', role: 'user' });
    expect(entries[1]?.detail).toEqual({ fields: ['id', 'url', 'auth_type', 'key'] });
    expect(JSON.stringify(entries)).not.toContain('CANARY');
    const lines = gateway.app.logLines.map((line) => JSON.parse(line) as JsonObject).filter(({ msg }) => msg === 'audit');
    expect(lines.map(({ action, by }) => [action, by])).toEqual(entries.toReversed().map(({ action }) => [action, 'admin']));
    expect(JSON.stringify(lines)).not.toContain('CANARY');
  });

  it('has nothing of what was refused, or only looked at', async () => {
    await using gateway = await auditedGateway();
    const { body: key } = await gateway.call('POST /api/keys', { name: 'user', role: 'user' });
    await gateway.call('POST /api/presets', { id: 'x', base_model: 'model' }, { key: String(key['key']) });
    await gateway.call('POST /api/presets', { id: 'wrong' });
    await gateway.call('DELETE /api/tool-servers/nothing');
    await gateway.call('POST /api/tool-servers/bank/refresh');
    expect((await gateway.audit()).map(({ action }) => action)).toEqual(['key.create']);
  });

  it('has who approved and rejected which call, with the names of its arguments', async () => {
    const turns = [calls(['pay', { amount: 5, note: 'CANARY' }]), says('Paid.'), calls(['pay', { amount: 6 }]), says('Not paid.')];
    await using gateway = await auditedGateway({ turns, answers: { 'http://bank.test/pay': { paid: true } } });
    const { call } = gateway;
    const key = String((await call('POST /api/keys', newKey)).body['key']);
    const ada = { key, user: 'ada' };
    for (const decision of ['approve', 'reject']) {
      const messages = [{ role: 'user', content: 'Pay.' }];
      const { body } = await call('POST /v1/chat/completions', { model: 'model', messages }, ada);
      const { run_id: run, calls: waiting } = body['approval'] as { run_id: string; calls: { id: string; token: string }[] };
      const path = `POST /api/runs/${run}/approvals/${waiting[0]?.id}`;
      expect((await call(path, { decision, token: waiting[0]?.token }, ada)).status).toBe(200);
    }
    const [rejected, approved] = await gateway.audit('?action=call');
    expect(approved).toMatchObject({ by: { user: 'ada' }, action: 'call.approve', subject: 'pay' });
    expect(approved?.detail).toMatchObject({ server: 'bank', arguments: ['amount', 'note'] });
    expect(rejected).toMatchObject({ action: 'call.reject', subject: 'pay' });
    expect(JSON.stringify(await gateway.audit())).not.toContain('CANARY');
  });

  it('has decisions over a socket', async () => {
    await using gateway = await auditedGateway({
      turns: [calls(['pay', { amount: 5 }]), says('Paid.')],
      answers: { 'http://bank.test/pay': { paid: true } },
    });
    const url = await listen(gateway.app);
    const browser = await connectFakeBrowser({ url, auth: { token: admin } });
    browser.send({ type: 'message', data: { content: 'Pay.', model: 'model', tool_ids: ['server:bank'] } });
    const { data } = await browser.next('confirmation');
    browser.send({ type: 'confirmation:result', data: { id: data['id'] ?? null, decision: 'approve' } });
    await browser.next('assistant_end');
    browser.terminate();
    expect(await gateway.audit()).toMatchObject([{ action: 'call.approve', by: { key: 'admin' }, subject: 'pay' }]);
  });

  it('has who connected, and who was disconnected by whom', async () => {
    await using gateway = await auditedGateway();
    const { call } = gateway;
    const { body: made } = await call('POST /api/keys', newKey);
    const ada = { key: String(made['key']), user: 'ada' };
    await call('PUT /api/credentials/mail', { key: 'CANARY' }, ada);
    await call('DELETE /api/credentials/mail', undefined, ada);
    await call('PUT /api/credentials/mail', { key: 'CANARY' }, ada);
    await call(`DELETE /api/users/${String(made['id'])}/ada/credentials/mail`);
    const entries = await gateway.audit('?action=credential');
    expect(entries.map(({ action, by, owner }) => [action, by.user, owner?.['user']])).toEqual([
      ['credential.forget', null, 'ada'],
      ['credential.connect', 'ada', undefined],
      ['credential.forget', 'ada', undefined],
      ['credential.connect', 'ada', undefined],
    ]);
    expect(JSON.stringify(entries)).not.toContain('CANARY');
  });

  it('forgets a deleted person, whose deletion it has without a name', async () => {
    await using gateway = await auditedGateway();
    const { call, audit } = gateway;
    const { body: made } = await call('POST /api/keys', newKey);
    const id = String(made['id']);
    await call('PUT /api/credentials/mail', { key: 'secret' }, { key: String(made['key']), user: 'ada-lovelace' });
    expect((await call(`DELETE /api/users/${id}/ada-lovelace`)).status).toBe(200);
    const entries = await audit();
    expect(entries.map(({ action, by }) => [action, by])).toEqual([
      ['person.delete', { key: 'admin', user: null }],
      ['credential.connect', { key: id, user: null }],
      ['key.create', { key: 'admin', user: null }],
    ]);
    expect(JSON.stringify(entries)).not.toContain('lovelace');
  });

  it('is for administrators, and is read in pages by time, caller and action', async () => {
    let now = Date.parse('2026-03-01T12:00:00Z');
    await using gateway = await auditedGateway({ now: () => now });
    const { call, audit } = gateway;
    const { body: user } = await call('POST /api/keys', { name: 'user', role: 'user' });
    const refused = await call('GET /api/audit', undefined, { key: String(user['key']) });
    expect(refused.status).toBe(403);
    for (const id of ['a', 'b', 'c']) {
      now += 24 * 60 * 60_000;
      await call('POST /api/presets', { id, base_model: 'model' });
    }
    const subjects = async (query: string) => (await audit(query)).map(({ subject }) => subject);
    expect(await subjects('?from=2026-03-03&to=2026-03-03')).toEqual(['b']);
    expect(await subjects('?from=2026-03-04T11:59:59Z&action=preset.create')).toEqual(['c']);
    expect(await subjects('?caller=nobody')).toEqual([]);
    const first = await call('GET /api/audit?action=preset&limit=2');
    expect((first.body['data'] as unknown as Entry[]).map(({ subject }) => subject)).toEqual(['c', 'b']);
    const second = await call(`GET /api/audit?action=preset&limit=2&after=${String(first.body['next'])}`);
    expect([(second.body['data'] as unknown as Entry[]).map(({ subject }) => subject), second.body['next']]).toEqual([['a'], null]);
    now += 89 * 24 * 60 * 60_000;
    expect(await subjects('?limit=1000')).toEqual(['c', 'b']);
    expect((await call('GET /api/audit?from=yesterday')).status).toBe(400);
  });

  it('does not fail a change that cannot be recorded, and has it in the log', async () => {
    const stores = createMemoryStores({ secret: 'secret' });
    const add: AuditStore['add'] = () => Promise.reject(new GatewayError('storage_unavailable', 'The disk is full.'));
    await using gateway = await auditedGateway({ audit: { ...stores.audit, add } });
    expect((await gateway.call('POST /api/presets', { id: 'x', base_model: 'model' })).status).toBe(201);
    expect(gateway.app.logLines.filter((line) => line.includes('"audit"'))).toHaveLength(1);
    expect(gateway.app.logLines.filter((line) => line.includes('the audit log cannot be stored'))).toHaveLength(1);
    await stores.database.close();
  });

  it('has a row for each route by which administrators change something, and for no other', () => {
    const changing = Object.entries(routeRoles).flatMap(([route, role]) => (role === 'admin-change' ? [route] : []));
    expect(Object.keys(auditedRoutes).toSorted()).toEqual(changing.toSorted());
  });
});
