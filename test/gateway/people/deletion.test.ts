import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LightMyRequestResponse } from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { NoteStore, NoteStores } from '../../../src/core/stores/note-store.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { memoryStores } from '../../_support/memory-stores.ts';
import { tablesOf } from '../../_support/owned-rows.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { bank, bankAnswers } from '../approvals/approval-fixture.ts';
import { documentOf, gatewayOf, serverOf } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';
import { waitFor } from '../../_support/wait-for.ts';

const adminKey = 'sk-tw-fixed-administrator';
const mail = serverOf('mail', documentOf({ read: { type: 'object' } }), { authType: 'bearer', isPerUser: true });
const hangs: ScriptStep[] = [{ type: 'text', text: 'So' }, new Promise(() => undefined)];

interface Reply {
  status: number;
  body: JsonObject;
  text: string;
}

interface Office extends Omit<Gateway, 'ask'> {
  stores: ReturnType<typeof memoryStores>;
  keyId: string;
  key: string;
  call: (route: string, sent?: { key?: string; user?: string; payload?: object }) => Promise<Reply>;
  ask: (user: string, fields?: JsonObject) => Promise<Reply>;
}

/** Notes that are written after everything else that is asked for at the same time. */
function behindOthers(stores: NoteStores): NoteStores {
  const later = async (): Promise<void> => {
    for (let turn = 0; turn < 100; turn += 1) await nextTurn();
  };
  const slow = Object.entries(stores).map(([kind, store]): [string, NoteStore] => [
    kind,
    { ...store, save: async (note, bounds) => later().then(() => store.save(note, bounds)) },
  ]);
  return Object.fromEntries(slow) as unknown as NoteStores;
}

/** A gateway that keeps everything that can be kept of somebody, and a key of several people. */
async function openOffice(turns: ScriptStep[][]): Promise<Office> {
  const stores = memoryStores();
  await stores.registry.replaceToolServers([bank, mail]);
  const environment = { TOOLWHARF_ADMIN_KEY: adminKey, STORE_CHATS: 'true', RECORD_PROMPTS: 'true', PUBLIC_URL: 'http://gateway.test' };
  const gateway = await gatewayOf({ turns, answers: bankAnswers, environment, ...stores, noteStores: behindOthers(stores.noteStores) });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const call: Office['call'] = async (route, { key = adminKey, user, payload } = {}) => {
    const [method = '', url = ''] = route.split(' ');
    const headers = { 'x-api-key': key, ...(user !== undefined && { 'x-user': user }) };
    const sent = { method: method as 'GET', url, headers, ...(payload !== undefined && { payload }) };
    const { statusCode: status, body: text } = await gateway.app.server.inject(sent);
    return { status, text, body: text.startsWith('{') ? (JSON.parse(text) as JsonObject) : {} };
  };
  const made = await call('POST /api/keys', { payload: { name: 'frontend', role: 'user', users: { from: 'header', name: 'x-user' } } });
  const { id: keyId, key } = made.body as { id: string; key: string };
  return {
    ...gateway,
    stores,
    keyId,
    key,
    call,
    ask: (user, fields = {}) =>
      call('POST /v1/chat/completions', {
        key,
        user,
        payload: { model: 'model', messages: [{ role: 'user', content: 'Hi!' }], tool_ids: [], ...fields },
      }),
  };
}

/** Has this person leave something in every store, and some work under way. */
async function leaveTraces(
  { ask, call, key, model, app }: Office,
  user: string,
): Promise<{ approval: JsonObject; under: Promise<unknown>[] }> {
  const before = model.requests.length;
  await ask(user, { store: true });
  const waiting = await ask(user, { tool_ids: ['server:bank'], chat_id: 'trip' });
  await call('PUT /api/credentials/mail', { key, user, payload: { key: 'secret' } });
  await call('POST /api/credentials/mail/connect', { key, user });
  const url = `${(await listen(app)).replace('http', 'ws')}/ws`;
  const browser = await connectFakeBrowser({ url, headers: { authorization: `Bearer ${key}`, 'x-user': user } });
  browser.send({ type: 'message', data: { content: 'Hi!', model: 'model', tool_ids: [] } });
  const payload = { model: 'model', input: 'Hi!', background: true, tools: [] };
  const under = [ask(user, { store: true, stream: true }), call('POST /v1/responses', { key, user, payload })];
  await waitFor(() => expect(model.requests).toHaveLength(before + 5));
  // Writes what is counted.
  await call('GET /api/usage');
  return { approval: waiting.body['approval'] as JsonObject, under };
}

async function settled(under: readonly Promise<unknown>[]): Promise<void> {
  await Promise.all(under);
  for (let turn = 0; turn < 200; turn += 1) await nextTurn();
}

const turnsOfOne = (): ScriptStep[][] => [says('Hello.'), calls(['pay', { amount: 5 }]), hangs, hangs, hangs];

describe('what somebody leaves who is at work', () => {
  it('goes with the person, and others keep theirs', async () => {
    const office = await openOffice([says('Hello.'), ...turnsOfOne()]);
    const { call, key, keyId, stores, ask } = office;
    await ask('bob', { store: true });
    const { under } = await leaveTraces(office, 'ada');
    expect(await tablesOf(stores, [keyId, 'ada'])).toEqual(
      expect.arrayContaining(['chats', 'credentials', 'people', 'responses', 'sign_ins', 'waiting_runs']),
    );
    expect((await call(`DELETE /api/users/${keyId}/ada`)).status).toBe(200);
    await settled(under);
    await call('GET /api/usage');
    expect(await tablesOf(stores, [keyId, 'ada'])).toEqual([]);
    expect((await call('GET /api/runs', { key, user: 'ada' })).body['data']).toEqual([]);
    expect(await tablesOf(stores, [keyId, 'bob'])).toEqual(['chat_memory', 'chats', 'people', 'runs', 'usage']);
  });

  it('goes with the key, as do the runs that wait', async () => {
    const office = await openOffice(turnsOfOne());
    const { call, key, keyId, stores } = office;
    const { under, approval } = await leaveTraces(office, 'ada');
    expect((await call(`DELETE /api/keys/${keyId}`)).status).toBe(200);
    await settled(under);
    expect((await call('GET /api/users')).body['data']).toEqual([]);
    expect((await call('GET /api/runs')).body['data']).toEqual([]);
    expect(await tablesOf(stores, [keyId, 'ada'])).toEqual([]);
    const { url, run_id: run, calls: waiting, token } = approval as { url: string; run_id: string; calls: { id: string }[]; token: string };
    expect((await call(`GET ${new URL(url).pathname}`)).status).toBe(404);
    const decision = { key, user: 'ada', payload: { decision: 'approve', token } };
    expect((await call(`POST /api/runs/${run}/approvals/${waiting[0]?.id}`, decision)).status).toBe(401);
    expect(office.sent).toEqual([]);
  });

  it('goes with the sessions of MCP clients', async () => {
    const office = await openOffice([]);
    const { app, call, key, keyId } = office;
    const ask = (method: string, params: JsonObject, session?: string): Promise<LightMyRequestResponse> =>
      app.server.inject({
        method: 'POST',
        url: '/mcp',
        headers: {
          'x-api-key': key,
          'x-user': 'ada',
          accept: 'application/json, text/event-stream',
          ...(session !== undefined && { 'mcp-session-id': session }),
        },
        payload: { jsonrpc: '2.0', id: 1, method, params },
      });
    const clientInfo = { name: 'client', version: '1' };
    const opened = await ask('initialize', { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo });
    const session = String(opened.headers['mcp-session-id']);
    expect((await ask('tools/list', {}, session)).statusCode).toBe(200);
    await call(`DELETE /api/users/${keyId}/ada`);
    expect((await ask('tools/list', {}, session)).statusCode).toBe(404);
  });
});
