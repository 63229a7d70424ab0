import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { textOf } from '../../../src/core/chat/chat.ts';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import type { OutboundRequest, OutboundResponse } from '../../../src/core/outbound.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { parseToolServerConnection } from '../../../src/storage/tool-server-connection.ts';
import { openStores } from '../../_support/memory-stores.ts';
import { backendOf, listen } from '../../_support/build-app.ts';
import { directSend } from '../../_support/direct-send.ts';
import { mcpHttpServer } from '../../_support/mcp-http-server.ts';
import type { McpHttpServer } from '../../_support/mcp-http-server.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { calls, generatedBy, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { linkOf, visit } from '../approvals/approval-fixture.ts';
import type { Asked } from '../approvals/approval-fixture.ts';
import { documentOf, gatewayOf, serverOf } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { mcpRecord } from '../../tools/mcp/mcp-fixture.ts';
import { textResult, toolOf } from '../../tools/mcp/scripted-peer.ts';
import type { OnCall } from '../../tools/mcp/scripted-peer.ts';
import { jsonResponse } from '../../tools/scripted-send.ts';

const adminKey = 'sk-tw-fixed-administrator';
const byHeader = { from: 'header', name: 'x-openwebui-user-id' };
const anything = { type: 'object', properties: {} };
const newFolder = temporaryFolders();

/** The accounts at the tool server, by key. */
const accounts: Record<string, string> = { 'CANARY-ada-key': 'Ada', 'CANARY-bob-key': 'Bob', 'CANARY-other-ada': 'another Ada' };
const mailDocument = documentOf({ whoami: anything, echo: anything, send: anything });
const mail = serverOf('mail', mailDocument, { name: 'Mail', authType: 'bearer', isPerUser: true });
const keyIn = ({ headers = {} }: OutboundRequest): string => (headers['authorization'] ?? '').replace('Bearer ', '');
const whoami = async (request: OutboundRequest): Promise<OutboundResponse> =>
  jsonResponse({ account: accounts[keyIn(request)] ?? 'nobody' });
const answers = {
  'http://mail.test/whoami': whoami,
  'http://mail.test/send': whoami,
  'http://mail.test/echo': async (request: OutboundRequest): Promise<OutboundResponse> => jsonResponse({ sent: keyIn(request) }, 418),
};

interface Who {
  key: string;
  user?: string;
}

interface CredentialGateway extends Gateway {
  call(route: string, who: Who, payload?: object): Promise<{ status: number; body: JsonObject; headers: Record<string, unknown> }>;
  keyFor(users?: JsonObject | null, fields?: JsonObject): Promise<{ id: string; key: string }>;
  chat(who: Who, fields?: JsonObject): Promise<{ status: number; body: JsonObject; headers: Record<string, unknown> }>;
  connect(who: Who, key: string, server?: string): Promise<void>;
}

async function credentialGateway(turns: ScriptStep[][] = [], options: GatewayOptions = {}): Promise<CredentialGateway> {
  const gateway = await gatewayOf({
    turns,
    servers: [mail],
    answers,
    ...options,
    environment: { TOOLWHARF_ADMIN_KEY: adminKey, STORE_CHATS: 'true', ...options.environment },
  });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const call: CredentialGateway['call'] = async (route, { key, user }, payload) => {
    const [method, url] = route.split(' ');
    const headers = { 'x-api-key': key, ...(user !== undefined && { 'x-openwebui-user-id': user }) };
    const response = await gateway.app.server.inject({ method: method as 'GET', url: url ?? '', headers, ...(payload && { payload }) });
    return { status: response.statusCode, body: response.json<JsonObject>(), headers: response.headers };
  };
  return {
    ...gateway,
    call,
    async keyFor(users = byHeader, fields = {}) {
      const { status, body } = await call('POST /api/keys', { key: adminKey }, { name: 'frontend', role: 'user', users, ...fields });
      expect(status).toBe(201);
      return body as { id: string; key: string } & JsonObject;
    },
    chat: (who, fields = {}) =>
      call('POST /v1/chat/completions', who, { model: 'model', messages: [{ role: 'user', content: 'Who am I?' }], ...fields }),
    async connect(who, key, server = 'mail') {
      const { status, body } = await call(`PUT /api/credentials/${server}`, who, { key });
      expect({ status, body }).toMatchObject({ status: 200, body: { server, state: 'connected' } });
    },
  };
}

const stateOf = async (gateway: CredentialGateway, who: Who): Promise<unknown> =>
  ((await gateway.call('GET /api/credentials', who)).body['data'] as JsonObject[])[0]?.['state'];
const resultOf = (request: ModelRequest | undefined): string =>
  textOf(request?.messages.findLast(({ role }) => role === 'tool')?.content ?? '');
const invokeRoute = 'POST /api/tools/mail/whoami/invoke';
const ofInvoke = ({ status, body }: { status: number; body: JsonObject }): unknown[] => [
  status,
  body['result'] ?? (body['error'] as JsonObject)['code'],
];

describe('a tool server that each person uses with their own key', () => {
  it('has them list, replace and delete it, and never shows it', async () => {
    const gateway = await credentialGateway();
    const { key } = await gateway.keyFor();
    expect((await gateway.call('GET /api/credentials', { key })).status).toBe(400);
    const ada = { key, user: 'ada' };
    const list = async (): Promise<JsonObject> => (await gateway.call('GET /api/credentials', ada)).body;
    expect(await list()).toEqual({ data: [{ server: 'mail', name: 'Mail', kind: 'key', state: 'missing' }] });
    const stored = await gateway.call('PUT /api/credentials/mail', ada, { key: 'CANARY-ada-key' });
    expect(stored.body).toEqual({ server: 'mail', name: 'Mail', kind: 'key', state: 'connected' });
    expect(await list()).toEqual({ data: [stored.body] });
    expect((await gateway.call('DELETE /api/credentials/mail', ada)).body).toEqual({ id: 'mail', deleted: true });
    expect((await gateway.call('DELETE /api/credentials/mail', ada)).status).toBe(404);
    expect(await stateOf(gateway, ada)).toBe('missing');
  });

  it.each([
    ['no key', {}, 400],
    ['an empty key', { key: '' }, 400],
    ['several lines', { key: 'a\r\nx-role: admin' }, 400],
    ['too much', { key: 'x'.repeat(4_097) }, 400],
    ['an unknown field', { key: 'x', owner: 'bob' }, 400],
  ])('refuses %s', async (_what, payload, status) => {
    const gateway = await credentialGateway();
    const who = { key: adminKey };
    expect((await gateway.call('PUT /api/credentials/mail', who, payload)).status).toBe(status);
    expect(await stateOf(gateway, who)).toBe('missing');
  });

  it('does not exist for a key that may not use it, and shared servers take no credentials', async () => {
    const shared = serverOf('shared', mailDocument, { authType: 'bearer', key: 'k' });
    const gateway = await credentialGateway([], { servers: [mail, shared] });
    const who = await gateway.keyFor(null, { tools: ['server:shared'] });
    expect((await gateway.call('GET /api/credentials', who)).body).toEqual({ data: [] });
    for (const server of ['mail', 'shared', 'none'])
      expect((await gateway.call(`PUT /api/credentials/${server}`, who, { key: 'x' })).status).toBe(404);
  });

  it('is called with the key of whoever asks, and never with that of another', async () => {
    const gateway = await credentialGateway();
    const [first, second] = [await gateway.keyFor(), await gateway.keyFor()];
    await gateway.connect({ key: first.key, user: 'ada' }, 'CANARY-ada-key');
    await gateway.connect({ key: first.key, user: 'bob' }, 'CANARY-bob-key');
    await gateway.connect({ key: second.key, user: 'ada' }, 'CANARY-other-ada');
    const invoked = async (key: string, user: string): Promise<unknown[]> => ofInvoke(await gateway.call(invokeRoute, { key, user }, {}));
    expect(await invoked(first.key, 'ada')).toEqual([200, { account: 'Ada' }]);
    expect(await invoked(first.key, 'bob')).toEqual([200, { account: 'Bob' }]);
    expect(await invoked(second.key, 'ada')).toEqual([200, { account: 'another Ada' }]);
    for (const user of ['eve', 'ada/', 'Ada', 'ada/bob']) expect(await invoked(first.key, user)).toEqual([409, 'credential_required']);
    expect(ofInvoke(await gateway.call(invokeRoute, { key: adminKey }, {}))).toEqual([409, 'credential_required']);
    expect(gateway.sent).toHaveLength(3);
  });

  it('is never called with the key of the connection', async () => {
    const gateway = await credentialGateway();
    const connection = { id: 'own', url: 'http://own.test', spec: mailDocument, auth_type: 'bearer', key: 'CANARY-shared', per_user: true };
    const created = await gateway.call('POST /api/tool-servers', { key: adminKey }, connection);
    expect(created).toMatchObject({ status: 201, body: { per_user: true, has_key: false } });
    expect(ofInvoke(await gateway.call('POST /api/tools/own/whoami/invoke', { key: adminKey }, {}))).toEqual([409, 'credential_required']);
    expect(gateway.sent).toEqual([]);
    const plain = await gateway.call('PATCH /api/tool-servers/own', { key: adminKey }, { per_user: false });
    expect([plain.body['per_user'], plain.body['has_key']]).toEqual([undefined, false]);
  });

  it('cannot be a process, which is the same for everybody', () => {
    const connection = { id: 'files', type: 'mcp', command: 'server', auth_type: 'bearer', per_user: true };
    expect(() => parseToolServerConnection(connection, 'file')).toThrow(/per_user: needs a server with a url/);
  });

  it.each(['none', 'session'])('cannot have the auth_type %s', async (authType) => {
    const gateway = await credentialGateway();
    const connection = { id: 'own', url: 'http://own.test', auth_type: authType, per_user: true };
    const refused = await gateway.call('POST /api/tool-servers', { key: adminKey }, connection);
    expect(refused).toMatchObject({ status: 400, body: { error: { param: 'per_user' } } });
  });

  it.each([
    ['basic', {}, 'ada:secret', { authorization: `Basic ${btoa('ada:secret')}` }, ''],
    ['header', { authName: 'X-Token' }, 'CANARY-token', { 'x-token': 'CANARY-token' }, ''],
    ['query', { authName: 'token' }, 'CANARY-token', {}, '?token=CANARY-token'],
  ] as const)('sends it as the auth_type %s says', async (authType, fields, secret, headers, query) => {
    const gateway = await credentialGateway([], { servers: [{ ...mail, authType, ...fields }] });
    await gateway.connect({ key: adminKey }, secret);
    await gateway.call(invokeRoute, { key: adminKey }, {});
    expect(gateway.sent[0]).toMatchObject({ headers, url: `http://mail.test/whoami${query}` });
  });

  it('takes no password alone where user and password are asked for', async () => {
    const gateway = await credentialGateway([], { servers: [{ ...mail, authType: 'basic' }] });
    const refused = await gateway.call('PUT /api/credentials/mail', { key: adminKey }, { key: 'CANARY-password' });
    expect(refused).toMatchObject({ status: 400, body: { error: { param: 'key' } } });
    expect(JSON.stringify(refused.body)).not.toContain('CANARY');
  });

  it('has its document loaded without anybody’s key', async () => {
    const { spec: _spec, ...fetched } = mail;
    const gateway = await credentialGateway([], {
      servers: [fetched],
      answers: { ...answers, 'http://mail.test/openapi.json': mailDocument },
    });
    await gateway.connect({ key: adminKey }, 'CANARY-ada-key');
    expect(ofInvoke(await gateway.call(invokeRoute, { key: adminKey }, {}))).toEqual([200, { account: 'Ada' }]);
    await gateway.call('POST /api/tool-servers/mail/refresh', { key: adminKey });
    const sent = gateway.sent.map((request) => [new URL(request.url).pathname, keyIn(request)]);
    expect(sent.filter(([path]) => path === '/openapi.json').every(([, key]) => key === '')).toBe(true);
    expect(sent.filter(([path]) => path === '/openapi.json').length).toBeGreaterThan(1);
  });

  it('has the caller connect before anybody is asked to approve', async () => {
    const waiting = { ...mail, extra: { config: { needs_approval: true } } };
    const gateway = await credentialGateway([calls(['whoami', {}])], { servers: [waiting] });
    const { key } = await gateway.keyFor();
    const answer = await gateway.chat({ key, user: 'ada' });
    expect([answer.status, answer.body['approval']]).toEqual([200, undefined]);
    expect(answer.body['connect']).toMatchObject({ servers: [{ server: 'mail', name: 'Mail' }] });
    expect(gateway.sent).toEqual([]);
  });

  it('is used with the credential of the person in interleaved chats, through presets and sub-agents', async () => {
    /** Calls the sub-agent, which asks the tool, and passes on what came of it. */
    const model = generatedBy(async function* (request) {
      const last = request.messages.at(-1);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
      if (last?.role === 'tool') yield { type: 'text', text: textOf(last.content) };
      else {
        const name = request.tools?.some((tool) => tool.name === 'agent') ? 'agent' : 'whoami';
        const args = name === 'agent' ? { request: 'Who am I?' } : {};
        yield { type: 'tool-call', call: { id: 'call_1', name, arguments: JSON.stringify(args) } };
        yield { type: 'finish', reason: 'tool_calls' };
      }
    });
    const gateway = await credentialGateway([], { backends: [backendOf(model)] });
    const { key } = await gateway.keyFor();
    const presets = [
      { id: 'agent', base_model: 'model', tools: ['server:mail'] },
      { id: 'boss', base_model: 'model', tools: ['preset:agent'] },
    ];
    for (const preset of presets) expect((await gateway.call('POST /api/presets', { key: adminKey }, preset)).status).toBe(201);
    const users = ['ada', 'bob', 'eve'];
    await gateway.connect({ key, user: 'ada' }, 'CANARY-ada-key');
    await gateway.connect({ key, user: 'bob' }, 'CANARY-bob-key');
    const expected: Record<string, string> = { ada: '"Ada"', bob: '"Bob"', eve: 'To continue, connect to Mail.' };
    await Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        const user = users[index % 3] ?? '';
        const answer = await gateway.chat({ key, user }, { model: index % 2 === 0 ? 'boss' : 'agent' });
        const text = String((answer.body['choices'] as { message: { content: string } }[] | undefined)?.[0]?.message.content);
        expect(text).toContain(expected[user]);
      }),
    );
    expect(gateway.sent).toHaveLength(20);
  });

  it('is used with the credential of the person after a hand-off, and over a socket', async () => {
    const turn = (): ScriptStep[][] => [calls(['transfer_to_agent', { agent: 'agent' }]), calls(['whoami', {}]), says('Done.')];
    const gateway = await credentialGateway([...turn(), ...turn(), calls(['whoami', {}]), says('Done.')]);
    const { key } = await gateway.keyFor();
    const presets = [
      { id: 'agent', base_model: 'model', tools: ['server:mail'] },
      { id: 'desk', base_model: 'model', tools: [], sub_agents: ['agent'] },
    ];
    for (const preset of presets) expect((await gateway.call('POST /api/presets', { key: adminKey }, preset)).status).toBe(201);
    for (const user of ['ada', 'bob']) {
      await gateway.connect({ key, user }, `CANARY-${user}-key`);
      expect((await gateway.chat({ key, user }, { model: 'desk' })).status).toBe(200);
    }
    expect(gateway.sent.map(keyIn)).toEqual(['CANARY-ada-key', 'CANARY-bob-key']);
    const url = await listen(gateway.app);
    const headers = { authorization: `Bearer ${key}`, 'x-openwebui-user-id': 'ada' };
    const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, ['toolwharf.v1'], { headers });
    onTestFinished(() => socket.terminate());
    socket.once('open', () => socket.send(JSON.stringify({ type: 'message', data: { content: 'Who am I?', model: 'model' } })));
    await expect.poll(() => gateway.sent.map(keyIn).slice(2)).toEqual(['CANARY-ada-key']);
  });

  it('is used with the credential of the run’s person when it goes on after an approval', async () => {
    const waiting = { ...mail, extra: { config: { needs_approval: ['send'] } } };
    const gateway = await credentialGateway([calls(['send', {}]), says('Sent.'), calls(['send', {}])], {
      servers: [waiting],
    });
    const { key } = await gateway.keyFor();
    const [ada, bob] = [
      { key, user: 'ada' },
      { key, user: 'bob' },
    ];
    await gateway.connect(ada, 'CANARY-ada-key');
    await gateway.connect(bob, 'CANARY-bob-key');
    const decide = async (): Promise<JsonObject> => {
      const { approval } = (await gateway.chat(ada)).body as { approval?: { run_id: string; token: string; calls: { id: string }[] } };
      const route = `POST /api/runs/${approval?.run_id}/approvals/${approval?.calls[0]?.id}`;
      const payload = { decision: 'approve', token: approval?.token };
      expect((await gateway.call(route, bob, payload)).status).toBe(404);
      if (gateway.sent.length > 0) await gateway.call('DELETE /api/credentials/mail', ada);
      const decided = await gateway.call(route, ada, payload);
      expect(decided.status).toBe(200);
      return decided.body;
    };
    await decide();
    expect(gateway.sent.map(keyIn)).toEqual(['CANARY-ada-key']);
    expect((await decide())['connect']).toMatchObject({ servers: [{ server: 'mail' }] });
    expect(gateway.sent).toHaveLength(1);
  });

  it('is used with the credential of the run’s person, whoever decides by the link', async () => {
    const waiting = { ...mail, extra: { config: { needs_approval: ['send'] } } };
    const gateway = await credentialGateway([calls(['send', {}]), says('Sent.')], { servers: [waiting] });
    const { key } = await gateway.keyFor();
    for (const user of ['bob', 'ada']) await gateway.connect({ key, user }, `CANARY-${user}-key`);
    const asked = (await gateway.chat({ key, user: 'ada' })).body as Asked;
    const decided = await visit(gateway, linkOf(asked), { form: { call: asked.approval.calls[0]?.id ?? '', decision: 'approve' } });
    expect(decided.statusCode).toBe(303);
    await expect.poll(() => gateway.sent.map(keyIn)).toEqual(['CANARY-ada-key']);
  });

  it('is used with the credential of whoever started a response in the background', async () => {
    const gateway = await credentialGateway([calls(['whoami', {}]), says('Ada.'), calls(['whoami', {}]), says('Bob.')]);
    const { key } = await gateway.keyFor();
    for (const user of ['ada', 'bob']) {
      await gateway.connect({ key, user }, `CANARY-${user}-key`);
      const { body } = await gateway.call('POST /v1/responses', { key, user }, { model: 'model', input: 'Who am I?', background: true });
      await expect
        .poll(async () => (await gateway.call(`GET /v1/responses/${String(body['id'])}`, { key, user })).body['status'])
        .toBe('completed');
    }
    expect(gateway.sent.map(keyIn)).toEqual(['CANARY-ada-key', 'CANARY-bob-key']);
  });

  it.each([
    ['another origin', { url: 'http://elsewhere.test' }],
    ['another auth_type', { auth_type: 'header' }],
  ])('asks anew with %s, and takes the old key back with the old one', async (_what, change) => {
    const gateway = await credentialGateway();
    const admin = { key: adminKey };
    await gateway.connect(admin, 'CANARY-ada-key');
    expect((await gateway.call('PATCH /api/tool-servers/mail', admin, change)).status).toBe(200);
    expect(await stateOf(gateway, admin)).toBe('missing');
    expect(ofInvoke(await gateway.call(invokeRoute, admin, {}))).toEqual([409, 'credential_required']);
    expect(gateway.sent).toEqual([]);
    await gateway.call('PATCH /api/tool-servers/mail', admin, { url: 'http://mail.test', auth_type: 'bearer' });
    expect(ofInvoke(await gateway.call(invokeRoute, admin, {}))).toEqual([200, { account: 'Ada' }]);
  });

  it('has the credentials go with the person, with the key, and with the server', async () => {
    const stores = openStores({ file: ':memory:', secret: 'secret' });
    const gateway = await credentialGateway([], { credentials: stores.credentials });
    const [first, second] = [await gateway.keyFor(), await gateway.keyFor()];
    const people = [
      [first, 'ada'],
      [first, 'bob'],
      [second, 'ada'],
      [second, 'eve'],
    ] as const;
    for (const [{ key }, user] of people) await gateway.connect({ key, user }, 'x');
    const left = async (): Promise<boolean[]> =>
      Promise.all(people.map(async ([{ id }, user]) => (await stores.credentials.find(`${id}/${user}`, 'mail')) !== undefined));
    await gateway.call(`DELETE /api/users/${first.id}/ada`, { key: adminKey });
    expect(await left()).toEqual([false, true, true, true]);
    await gateway.call(`DELETE /api/keys/${first.id}`, { key: adminKey });
    await expect.poll(left).toEqual([false, false, true, true]);
    expect((await gateway.call('DELETE /api/tool-servers/mail', { key: adminKey })).status).toBe(200);
    expect(await left()).toEqual([false, false, false, false]);
  });

  it('keeps the key out of every answer, log, run, stored chat and file', async () => {
    const folder = newFolder();
    const { database, registry: _registry, ...stores } = openStores({ file: join(folder, 'toolwharf.db'), secret: 'secret' });
    onTestFinished(() => database.close());
    const gateway = await credentialGateway([calls(['echo', {}], ['whoami', {}]), says('Done.')], {
      ...stores,
      registry: memoryRegistry([mail]),
    });
    const { key } = await gateway.keyFor();
    const ada = { key, user: 'ada' };
    const broken = await gateway.call('PUT /api/credentials/mail', ada, { key: 'CANARY-ada-key', extra: 1 });
    await gateway.connect(ada, 'CANARY-ada-key');
    const chat = await gateway.chat(ada, { store: true, stream: false });
    const seen = [broken, chat, await gateway.call(`GET /api/runs/${String(chat.headers['x-toolwharf-run-id'])}`, ada)];
    for (const route of [
      'GET /api/credentials',
      'GET /api/tools',
      `GET /v1/chat/completions/${String(chat.body['id'])}/messages`,
      'POST /api/tools/mail/echo/invoke',
    ])
      seen.push(await gateway.call(route, ada, route.startsWith('POST') ? {} : undefined));
    for (const route of ['GET /api/tool-servers/mail', 'GET /api/settings', 'GET /metrics']) {
      const response = await gateway.app.server.inject({ url: route.slice(4), headers: { 'x-api-key': adminKey } });
      expect(response.body).not.toContain('CANARY');
    }
    // The key was sent, and the server repeated it.
    expect(gateway.sent.map(keyIn)).toContain('CANARY-ada-key');
    expect(resultOf(gateway.model.requests[1])).not.toContain('CANARY');
    expect(JSON.stringify(seen)).toContain('[secret]');
    expect(JSON.stringify(seen)).not.toContain('CANARY');
    expect(JSON.stringify(gateway.model.requests.map(({ messages }) => messages))).not.toContain('CANARY');
    await gateway.app.close();
    expect(gateway.app.logLines.join('\n')).toContain('credential stored');
    expect(gateway.app.logLines.join('\n')).not.toContain('CANARY');
    const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
    expect([files.length > 0, files.filter((content) => content.includes('CANARY'))]).toEqual([true, []]);
  });
});

describe('an MCP server that each person uses with their own key', () => {
  /** `refusal`: the status for whoever has no account; undefined where everybody may list its tools. */
  async function ownMcp(
    refusal?: number,
    onCall: OnCall = () => textResult('here you are'),
  ): Promise<{ gateway: CredentialGateway; server: McpHttpServer }> {
    const server = await mcpHttpServer([toolOf('whoami'), toolOf('fail')], {
      hasSessions: true,
      refusal: ({ authorization = '' }) => (accounts[authorization.replace('Bearer ', '')] === undefined ? refusal : undefined),
      onCall,
    });
    const record = mcpRecord({ id: 'peer', url: server.url, authType: 'bearer', isPerUser: true });
    return { gateway: await credentialGateway([], { servers: [record], send: directSend }), server };
  }

  it.each([
    ['lists its tools to everybody', undefined, 'credential_required'],
    ['answers 401 to everybody else', 401, 'credential_required'],
    ['answers 400 to everybody else', 400, 'mcp_unavailable'],
  ])('that %s has a session for each key', async (_what, refusal, code) => {
    const { gateway, server } = await ownMcp(refusal);
    const { key } = await gateway.keyFor();
    const invoke = async (user: string): Promise<unknown[]> =>
      ofInvoke(await gateway.call('POST /api/tools/peer/whoami/invoke', { key, user }, {}));
    expect((await invoke('ada'))[1]).toBe(code);
    for (const user of ['ada', 'bob']) await gateway.connect({ key, user }, `CANARY-${user}-key`, 'peer');
    for (const user of ['ada', 'bob', 'ada']) expect(await invoke(user)).toEqual([200, 'here you are']);
    expect((await invoke('eve'))[1]).toBe(code);
    const called = server.requests.filter(({ rpc }) => rpc === 'tools/call');
    expect(called.map(({ headers }) => headers.authorization)).toEqual(['ada', 'bob', 'ada'].map((user) => `Bearer CANARY-${user}-key`));
    const inSessions = server.requests.filter(({ headers }) => headers['mcp-session-id'] !== undefined);
    const pairs = new Set(inSessions.map(({ headers }) => JSON.stringify([headers['mcp-session-id'], headers.authorization])));
    expect(pairs.size).toBe(new Set(inSessions.map(({ headers }) => headers['mcp-session-id'])).size);
    expect(new Set(called.map(({ headers }) => headers['mcp-session-id'])).size).toBe(2);
  });

  it('has its functions offered to those who have connected alone, and says so to the others', async () => {
    const { gateway } = await ownMcp(401);
    const { key } = await gateway.keyFor();
    await gateway.connect({ key, user: 'ada' }, 'CANARY-ada-key', 'peer');
    await gateway.connect({ key, user: 'bob' }, 'CANARY-wrong-key', 'peer');
    const listed = async (user: string): Promise<unknown> =>
      ((await gateway.call('GET /api/tools', { key, user })).body['data'] as JsonObject[]).flatMap(({ id, server }) =>
        server === 'peer' ? [id] : [],
      );
    expect([await listed('ada'), await listed('bob'), await listed('eve'), await listed('ada')]).toEqual([
      ['peer/whoami', 'peer/fail'],
      ['peer/connect_peer'],
      ['peer/connect_peer'],
      ['peer/whoami', 'peer/fail'],
    ]);
    const invoked = async (user: string): Promise<string> =>
      JSON.stringify((await gateway.call('POST /api/tools/peer/whoami/invoke', { key, user }, {})).body);
    expect(await invoked('bob')).toMatch(/credential_required.*rejects your credential/);
    expect(await invoked('eve')).toMatch(/credential_required.*only to people who have entered their own credential/);
    expect(await invoked('bob')).not.toContain('CANARY');
  });

  it('has its person’s key removed from results and errors', async () => {
    const { gateway } = await ownMcp(undefined, (name) => {
      if (name === 'fail') throw new Error('refused: CANARY-ada-key');
      return textResult('You have sent CANARY-ada-key.');
    });
    await gateway.connect({ key: adminKey }, 'CANARY-ada-key', 'peer');
    const seen = [];
    for (const name of ['whoami', 'fail']) {
      const { body } = await gateway.call(`POST /api/tools/peer/${name}/invoke`, { key: adminKey }, {});
      seen.push(JSON.stringify(body));
    }
    expect(seen).toEqual([expect.stringContaining('You have sent [secret].'), expect.stringContaining('refused: [secret]')]);
    expect(seen.join(' ')).not.toContain('CANARY');
  });

  it('says to MCP clients of the gateway how to connect', async () => {
    const { gateway } = await ownMcp();
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami', arguments: {} } };
    const headers = { 'x-api-key': adminKey, accept: 'application/json, text/event-stream' };
    const { body } = await gateway.app.server.inject({ method: 'POST', url: '/mcp', headers, payload: call });
    expect(body).toContain('credential_required');
    expect(body).toContain('PUT /api/credentials/peer');
  });

  it('ends the session with the credential, and opens another with another', async () => {
    const { gateway, server } = await ownMcp();
    const ada = { key: adminKey };
    const invoke = async (): Promise<unknown[]> => ofInvoke(await gateway.call('POST /api/tools/peer/whoami/invoke', ada, {}));
    await gateway.connect(ada, 'CANARY-ada-key', 'peer');
    expect(await invoke()).toEqual([200, 'here you are']);
    await gateway.call('DELETE /api/credentials/peer', ada);
    expect(await invoke()).toEqual([409, 'credential_required']);
    await gateway.connect(ada, 'CANARY-other-ada', 'peer');
    expect(await invoke()).toEqual([200, 'here you are']);
    const called = server.requests.filter(({ rpc }) => rpc === 'tools/call').map(({ headers }) => headers);
    expect(called.map(({ authorization }) => authorization)).toEqual(['Bearer CANARY-ada-key', 'Bearer CANARY-other-ada']);
    expect(called[0]?.['mcp-session-id']).not.toBe(called[1]?.['mcp-session-id']);
  });
});

describe('an administrator', () => {
  it('sees what people have connected without any secret, and disconnects one of them alone', async () => {
    const gateway = await credentialGateway();
    const { id, key } = await gateway.keyFor();
    const alone = await gateway.keyFor(null);
    await gateway.connect({ key, user: 'ada/1' }, 'CANARY-ada-key');
    await gateway.connect({ key, user: 'bob' }, 'CANARY-bob-key');
    await gateway.connect({ key: alone.key }, 'CANARY-other-ada');
    const shown = { data: [{ server: 'mail', name: 'Mail', kind: 'key', state: 'connected' }] };
    const ofAda = `/api/users/${id}/ada%2F1/credentials`;
    const ofAlone = `/api/keys/${alone.id}/credentials`;
    for (const path of [ofAda, ofAlone]) expect((await gateway.call(`GET ${path}`, { key: adminKey })).body).toEqual(shown);
    expect((await gateway.call(`DELETE ${ofAda}/mail`, { key: adminKey })).body).toEqual({ id: 'mail', deleted: true });
    expect((await gateway.call(`DELETE ${ofAda}/mail`, { key: adminKey })).status).toBe(404);
    expect(await Promise.all(['ada/1', 'bob'].map((user) => stateOf(gateway, { key, user })))).toEqual(['missing', 'connected']);
    expect((await gateway.call(`DELETE ${ofAlone}/mail`, { key: adminKey })).status).toBe(200);
    expect(await stateOf(gateway, { key: alone.key })).toBe('missing');
    expect(gateway.app.logLines.join('')).toContain('credential deleted by an administrator');
    expect(gateway.app.logLines.join('')).not.toContain('CANARY');
  });

  it('sees credentials for servers that are disabled', async () => {
    const gateway = await credentialGateway();
    const { id, key } = await gateway.keyFor();
    await gateway.connect({ key, user: 'ada' }, 'CANARY-ada-key');
    await gateway.call('PATCH /api/tool-servers/mail', { key: adminKey }, { config: { enable: false } });
    const { body } = await gateway.call(`GET /api/users/${id}/ada/credentials`, { key: adminKey });
    expect(body['data']).toMatchObject([{ server: 'mail' }]);
  });

  it('alone does so', async () => {
    const gateway = await credentialGateway();
    const { id, key } = await gateway.keyFor();
    await gateway.connect({ key, user: 'ada' }, 'CANARY-ada-key');
    for (const path of [`/api/users/${id}/ada/credentials`, `/api/keys/${id}/credentials`]) {
      expect((await gateway.call(`GET ${path}`, { key, user: 'bob' })).status).toBe(403);
      expect((await gateway.call(`DELETE ${path}/mail`, { key, user: 'ada' })).status).toBe(403);
    }
    expect((await gateway.call(`GET /api/keys/${id}%2Fada/credentials`, { key: adminKey })).status).toBe(404);
    expect(await stateOf(gateway, { key, user: 'ada' })).toBe('connected');
  });
});
