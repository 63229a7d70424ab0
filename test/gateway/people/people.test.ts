import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen } from '../../_support/build-app.ts';
import { memoryStores } from '../../_support/memory-stores.ts';
import { directSend } from '../../_support/direct-send.ts';
import { forgedTokens } from '../../_support/forged-tokens.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { documentOf, gatewayOf, serverOf } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';
import { bank, bankAnswers } from '../approvals/approval-fixture.ts';
import { waitFor } from '../../_support/wait-for.ts';

const adminKey = 'sk-tw-fixed-administrator';
const byHeader = { from: 'header', name: 'x-openwebui-user-id' };
const secret = 'a shared secret of thirty-two characters';

interface Sent {
  key?: string;
  headers?: Record<string, string>;
  payload?: object;
}

interface PeopleGateway extends Gateway {
  call(route: string, sent?: Sent): Promise<{ status: number; body: JsonObject; headers: Record<string, unknown> }>;
  keyFor(users: JsonObject | null, fields?: JsonObject): Promise<{ id: string; key: string }>;
  /** A plain chat of this person. */
  chat(key: string, user: string, fields?: JsonObject): Promise<{ status: number; body: JsonObject; headers: Record<string, unknown> }>;
}

async function peopleGateway(turns: ScriptStep[][] = [], options: GatewayOptions = {}): Promise<PeopleGateway> {
  const gateway = await gatewayOf({
    turns,
    servers: [bank],
    answers: bankAnswers,
    ...options,
    environment: { TOOLWHARF_ADMIN_KEY: adminKey, STORE_CHATS: 'true', ...options.environment },
  });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const call: PeopleGateway['call'] = async (route, { key, headers = {}, payload } = {}) => {
    const [method, url] = route.split(' ');
    const response = await gateway.app.server.inject({
      method: method as 'GET',
      url: url ?? '',
      headers: { ...(key !== undefined && { 'x-api-key': key }), ...headers },
      ...(payload !== undefined && { payload }),
    });
    return { status: response.statusCode, body: response.body === '' ? {} : response.json<JsonObject>(), headers: response.headers };
  };
  return {
    ...gateway,
    call,
    async keyFor(users, fields = {}) {
      const payload = { name: 'frontend', role: 'user', users, ...fields };
      const { status, body } = await call('POST /api/keys', { key: adminKey, payload });
      expect({ status, body }).toMatchObject({ status: 201 });
      return body as { id: string; key: string } & JsonObject;
    },
    chat: (key, user, fields = {}) =>
      call('POST /v1/chat/completions', {
        key,
        headers: { 'x-openwebui-user-id': user },
        payload: { model: 'model', messages: [{ role: 'user', content: 'Hi!' }], ...fields },
      }),
  };
}

const codeOf = ({ body }: { body: JsonObject }): unknown => (body['error'] as JsonObject | undefined)?.['code'];

describe('a key that speaks for several people', () => {
  it('needs the person in every request but lists of models and of functions', async () => {
    const gateway = await peopleGateway([says('Hello.')]);
    const { key } = await gateway.keyFor(byHeader);
    const payload = { model: 'model', messages: [{ role: 'user', content: 'Hi!' }] };
    const refused = await gateway.call('POST /v1/chat/completions', { key, payload });
    expect([refused.status, codeOf(refused)]).toEqual([400, 'user_required']);
    expect((refused.body['error'] as JsonObject)['message']).toContain('x-openwebui-user-id');
    for (const route of ['GET /v1/models', 'GET /api/models', 'GET /api/version', 'GET /api/tools/openapi.json'])
      expect((await gateway.call(route, { key })).status).toBe(200);
    expect((await gateway.chat(key, 'ada')).status).toBe(200);
  });

  it.each([
    ['empty', ''],
    ['with control characters', 'a\tb'],
    ['too long', 'x'.repeat(257)],
  ])('refuses an id that is %s', async (_what, user) => {
    const gateway = await peopleGateway();
    const { key } = await gateway.keyFor(byHeader);
    expect((await gateway.chat(key, user)).status).toBe(400);
  });

  it('refuses a header that is sent twice', async () => {
    const gateway = await peopleGateway();
    const { key } = await gateway.keyFor(byHeader);
    const url = new URL(await listen(gateway.app));
    const { request } = await import('node:http');
    const status = await new Promise((resolve) => {
      const headers = { 'x-api-key': key, 'x-openwebui-user-id': ['ada', 'bob'] };
      request({ host: url.hostname, port: url.port, path: '/api/runs', headers }, (response) => resolve(response.statusCode)).end();
    });
    expect(status).toBe(400);
  });

  it('keeps runs, stored chats and decisions of one person from another, and from the same id behind another key', async () => {
    const gateway = await peopleGateway([says('Hello.'), calls(['pay', { amount: 5 }]), says('Paid.')]);
    const [first, second] = [await gateway.keyFor(byHeader), await gateway.keyFor(byHeader)];
    const chat = await gateway.chat(first.key, 'ada', { store: true, tool_ids: [] });
    const run = String(chat.headers['x-toolwharf-run-id']);
    const id = String(chat.body['id']);
    const waiting = await gateway.chat(first.key, 'ada', { tool_ids: ['server:bank'] });
    const approval = waiting.body['approval'] as { run_id: string; token: string; calls: { id: string }[] };
    const decision = `POST /api/runs/${approval.run_id}/approvals/${approval.calls[0]?.id}`;
    const payload = { decision: 'approve', token: approval.token };
    const strangers: [string, string][] = [
      [first.key, 'bob'],
      [second.key, 'ada'],
      [first.key, 'ada/x'],
    ];
    for (const [key, user] of strangers) {
      const headers = { 'x-openwebui-user-id': user };
      expect((await gateway.call(`GET /api/runs/${run}`, { key, headers })).status).toBe(404);
      expect((await gateway.call(`GET /v1/chat/completions/${id}`, { key, headers })).status).toBe(404);
      expect((await gateway.call('GET /api/runs', { key, headers })).body['data']).toEqual([]);
      expect((await gateway.call(`POST /api/runs/${approval.run_id}/cancel`, { key, headers })).status).toBe(404);
      expect((await gateway.call(decision, { key, headers, payload })).status).toBe(404);
    }
    const own = { key: first.key, headers: { 'x-openwebui-user-id': 'ada' } };
    expect((await gateway.call(`GET /api/runs/${run}`, own)).status).toBe(200);
    expect((await gateway.call(`GET /v1/chat/completions/${id}`, own)).status).toBe(200);
    expect((await gateway.call(decision, { ...own, payload })).status).toBe(200);
    expect(gateway.sent).toHaveLength(1);
  });

  it('its limits hold for each person, and its total limits for all of them', async () => {
    const gateway = await peopleGateway(Array.from({ length: 4 }, () => says('Hello.')));
    const { key } = await gateway.keyFor(byHeader, { limits: { requests_per_minute: 1 }, total_limits: { requests_per_minute: 2 } });
    const statuses = [];
    for (const user of ['ada', 'ada', 'bob', 'eve']) {
      const { status, body } = await gateway.chat(key, user);
      statuses.push([user, status, (body['error'] as JsonObject | undefined)?.['message']]);
    }
    expect(statuses).toEqual([
      ['ada', 200, undefined],
      ['ada', 429, expect.stringContaining('You may make one request a minute')],
      ['bob', 200, undefined],
      ['eve', 429, expect.stringContaining('All users of this key together may make 2 requests a minute')],
    ]);
  });

  it('says in headers of tool servers who it is, encoded', async () => {
    const headers = { 'x-user': '{{USER_ID}}', 'x-name': '{{USER_NAME}}', 'x-mail': '{{USER_EMAIL}}' };
    const document = documentOf({ look: { type: 'object', properties: {} } });
    const gateway = await peopleGateway([calls(['look', {}]), says('Done.')], {
      servers: [serverOf('town', document, { headers })],
      answers: { 'http://town.test/look': { seen: true } },
    });
    const { key } = await gateway.keyFor(byHeader);
    await gateway.call('POST /v1/chat/completions', {
      key,
      headers: {
        'x-openwebui-user-id': 'ada',
        'x-openwebui-user-name': 'Ad%C3%A9%0D%0Ax-%E2%80%AErole%3A admin',
        'x-openwebui-user-email': 'ada@example.org',
      },
      payload: { model: 'model', messages: [{ role: 'user', content: 'Hi!' }], tool_ids: ['server:town'] },
    });
    expect(gateway.sent[0]?.headers).toMatchObject({ 'x-user': 'ada', 'x-name': 'Ad%C3%A9  x-role: admin', 'x-mail': 'ada@example.org' });
  });

  it.each([
    ['é', '%C3%A9'],
    ['%C3%A9', '%25C3%25A9'],
    [' ada ', '%20ada%20'],
    ['ada lovelace', 'ada lovelace'],
    ['a/b@c', 'a/b@c'],
  ])('says in headers of tool servers that it is %j, and nobody else', async (id, sent) => {
    const document = documentOf({ look: { type: 'object', properties: {} } });
    const gateway = await peopleGateway([], {
      servers: [serverOf('town', document, { headers: { 'x-user': '{{USER_ID}}' } })],
      answers: { 'http://town.test/look': { seen: true } },
    });
    const { key } = await gateway.keyFor({ from: 'jwt', name: 'x-token', secret });
    const signed = new SignJWT({ sub: id }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('5m');
    const headers = { 'x-token': await signed.sign(new TextEncoder().encode(secret)) };
    expect((await gateway.call('POST /api/tools/look/call', { key, headers, payload: {} })).status).toBe(200);
    expect(gateway.sent[0]?.headers?.['x-user']).toBe(sent);
  });

  it('keeps the place in a list of deleted chats from a person whose id goes on with that of a chat', async () => {
    const gateway = await peopleGateway([says('Hello.')]);
    const { key } = await gateway.keyFor(byHeader);
    const { body } = await gateway.chat(key, 'ada chat', { store: true });
    const id = String(body['id']);
    const of = (user: string): { key: string; headers: Record<string, string> } => ({ key, headers: { 'x-openwebui-user-id': user } });
    expect((await gateway.call(`DELETE /v1/chat/completions/${id}`, of('ada chat'))).status).toBe(200);
    expect((await gateway.call(`GET /v1/chat/completions?after=${id}`, of('ada chat'))).status).toBe(200);
    expect((await gateway.call(`GET /v1/chat/completions?after=chat%20${id}`, of('ada'))).status).toBe(400);
  });

  it('stands in the log by its id, beside the name of the key, and by nothing else', async () => {
    const gateway = await peopleGateway([says('Hello.')]);
    const { key } = await gateway.keyFor(byHeader);
    const headers = { 'x-openwebui-user-id': 'u-17', 'x-openwebui-user-name': 'Ada Lovelace', 'x-openwebui-user-email': 'ada@example.org' };
    const payload = { model: 'model', messages: [{ role: 'user', content: 'Hi!' }] };
    await gateway.call('POST /v1/chat/completions', { key, headers, payload });
    await gateway.app.close();
    const lines = gateway.app.logLines.map((line) => JSON.parse(line) as JsonObject);
    expect(lines.find(({ msg }) => String(msg).startsWith('chat '))).toMatchObject({ caller: 'frontend', user: 'u-17' });
    expect(gateway.app.logLines.join()).not.toMatch(/Lovelace|example\.org/);
  });

  it('names a person over a socket by the header of its upgrade, or in the auth frame', async () => {
    const gateway = await peopleGateway();
    const { key } = await gateway.keyFor(byHeader);
    const url = `${(await listen(gateway.app)).replace('http', 'ws')}/ws`;
    const opened = (options: object, protocols: string[] = ['toolwharf.v1']): WebSocket => new WebSocket(url, protocols, options);
    const first = (socket: WebSocket): Promise<string> =>
      new Promise((resolve) => {
        socket.once('message', (data) => resolve((JSON.parse(String(data)) as { type: string }).type));
        socket.once('close', (code, reason) => resolve(`${code} ${String(reason)}`));
        onTestFinished(() => socket.terminate());
      });
    expect(await first(opened({ headers: { authorization: `Bearer ${key}`, 'x-openwebui-user-id': 'ada' } }))).toBe('session');
    const framed = (data: object, protocols?: string[], headers = {}): Promise<string> => {
      const socket = opened({ headers }, protocols);
      socket.once('open', () => socket.send(JSON.stringify({ type: 'auth', data })));
      return first(socket);
    };
    expect(await framed({ token: key, user: 'ada' })).toBe('session');
    expect(await framed({ user: 'ada' }, ['toolwharf.v1', `bearer.${key}`])).toBe('session');
    expect(await framed({ token: key })).toBe('4401 The auth frame must name the user, as `user`.');
    // A proxy names the person, and the page has the key.
    const byProxy = { 'x-openwebui-user-id': 'ada' };
    expect(await framed({ token: key }, undefined, byProxy)).toBe('session');
    expect(await framed({ token: key, user: 'ada' }, undefined, byProxy)).toBe('session');
    expect(await framed({ token: key, user: 'bob' }, undefined, byProxy)).toBe(
      '4401 The auth frame and the upgrade request name different users.',
    );
    expect(await framed({ token: key }, undefined, { 'x-openwebui-user-id': ['ada', 'bob'] })).toBe('4401 The user is not known here.');
    const named = (user: string): Promise<unknown> => {
      const socket = opened({ headers: { authorization: `Bearer ${key}`, 'x-openwebui-user-id': 'ada' } });
      onTestFinished(() => socket.terminate());
      let sessions = 0;
      socket.once('open', () => socket.send(JSON.stringify({ type: 'auth', data: { token: key, user } })));
      return new Promise((resolve) => {
        socket.once('close', resolve);
        socket.on('message', () => {
          sessions += 1;
          if (sessions === 2) resolve('session');
        });
      });
    };
    expect(await named('ada')).toBe('session');
    expect(await named('bob')).toBe(4401);
  });

  it('takes what its people stored and run with it when it is deleted', async () => {
    const stores = memoryStores();
    const gateway = await peopleGateway([says('Hello.'), [{ type: 'text', text: 'So' }, new Promise(() => undefined)]], {
      chats: stores.chats,
    });
    const { id, key } = await gateway.keyFor(byHeader);
    const chat = await gateway.chat(key, 'ada', { store: true });
    const callerId = `${id}/ada`;
    expect(await stores.chats.find(callerId, String(chat.body['id']))).toBeDefined();
    const running = gateway.chat(key, 'ada');
    await waitFor(() => expect(gateway.model.requests).toHaveLength(2));
    expect((await gateway.call(`DELETE /api/keys/${id}`, { key: adminKey })).status).toBe(200);
    expect(codeOf(await running)).toBe('run_cancelled');
    await waitFor(async () => expect(await stores.chats.find(callerId, String(chat.body['id']))).toBeUndefined());
    expect((await gateway.chat(key, 'ada')).status).toBe(401);
  });
});

describe('a key whose people are named by tokens', () => {
  const byToken = { from: 'jwt', name: 'x-openwebui-user-jwt', secret, issuer: 'open-webui', audience: 'tools' };

  interface TokenParts {
    claims?: JsonObject;
    by?: string;
    expires?: string;
    issuer?: string;
    audience?: string;
  }

  function tokenOf({
    claims = { sub: 'ada', name: 'Ada' },
    by = secret,
    expires = '5m',
    issuer = 'open-webui',
    audience = 'tools',
  }: TokenParts = {}): Promise<string> {
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime(expires)
      .sign(new TextEncoder().encode(by));
  }

  const runs = (gateway: PeopleGateway, key: string, token: string) =>
    gateway.call('GET /api/runs', { key, headers: { 'x-openwebui-user-jwt': token } });

  it('takes what is signed with its secret', async () => {
    const gateway = await peopleGateway();
    const { key } = await gateway.keyFor(byToken);
    expect((await runs(gateway, key, await tokenOf())).status).toBe(200);
  });

  it.each<[string, TokenParts]>([
    ['of another secret', { by: 'another shared secret of 32 characters' }],
    ['that has expired', { expires: '-2m' }],
    ['of another issuer', { issuer: 'somebody' }],
    ['for another audience', { audience: 'others' }],
    ['without the claim', { claims: { name: 'Ada' } }],
  ])('refuses a token %s', async (_what, parts) => {
    const gateway = await peopleGateway();
    const { key } = await gateway.keyFor(byToken);
    const refused = await runs(gateway, key, await tokenOf(parts));
    expect([refused.status, codeOf(refused)]).toEqual([401, 'invalid_user_token']);
  });

  it('refuses a token without an end, and one that signs itself', async () => {
    const gateway = await peopleGateway();
    const { key } = await gateway.keyFor(byToken);
    const endless = await new SignJWT({ sub: 'ada' })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer('open-webui')
      .setAudience('tools')
      .sign(new TextEncoder().encode(secret));
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from('{"sub":"ada","exp":9999999999}').toString('base64url')}.`;
    for (const token of [endless, unsigned, 'nonsense']) expect((await runs(gateway, key, token)).status).toBe(401);
  });

  it.each<[string, { header?: JsonObject; claims?: JsonObject }]>([
    ['with an extension that nobody here knows', { header: { crit: ['exotic'], exotic: true } }],
    ['whose end is a text', { claims: { sub: 'ada', exp: '9999999999' } }],
    ['that ended before 1970', { claims: { sub: 'ada', exp: -1 } }],
    ['that begins later', { claims: { sub: 'ada', exp: 9_999_999_999, nbf: 9_999_999_998 } }],
    ['for a number', { claims: { sub: 7, exp: 9_999_999_999 } }],
    ['for a list', { claims: { sub: ['ada'], exp: 9_999_999_999 } }],
  ])('refuses a token %s', async (_what, { header = {}, claims = { sub: 'ada', exp: 9_999_999_999 } }) => {
    const gateway = await peopleGateway();
    const { key } = await gateway.keyFor(byToken);
    const encoded = (part: JsonObject): string => Buffer.from(JSON.stringify(part)).toString('base64url');
    const content = `${encoded({ alg: 'HS256', ...header })}.${encoded({ iss: 'open-webui', aud: 'tools', ...claims })}`;
    const signed = `${content}.${createHmac('sha256', secret).update(content).digest('base64url')}`;
    const refused = await runs(gateway, key, signed);
    expect([refused.status, codeOf(refused)]).toEqual([401, 'invalid_user_token']);
  });

  it('closes the socket of a person when their token ends, and no other', async () => {
    const gateway = await peopleGateway();
    const { key } = await gateway.keyFor(byToken);
    const url = await listen(gateway.app);
    const open = (how: 'header' | 'frame', user: string): WebSocket => {
      const headers = { authorization: `Bearer ${key}`, ...(how === 'header' && { 'x-openwebui-user-jwt': user }) };
      const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, how === 'header' ? { headers } : {});
      onTestFinished(() => socket.terminate());
      if (how === 'frame') socket.once('open', () => socket.send(JSON.stringify({ type: 'auth', data: { token: key, user } })));
      return socket;
    };
    const [soon, later] = [await tokenOf({ expires: '2s' }), await tokenOf()];
    const brief = [open('header', soon), open('frame', soon)];
    const long = [open('header', later), open('frame', later)];
    const ends = brief.map((socket) => once(socket, 'close'));
    await Promise.all([...brief, ...long].map((socket) => once(socket, 'message')));
    expect((await Promise.all(ends)).map(([code]) => code as number)).toEqual([4401, 4401]);
    expect(long.map(({ readyState }) => readyState)).toEqual([WebSocket.OPEN, WebSocket.OPEN]);
  });

  it('refuses an id that no store can keep apart from others', async () => {
    const gateway = await peopleGateway();
    const { key } = await gateway.keyFor(byToken);
    const refused = await runs(gateway, key, await tokenOf({ claims: { sub: 'ada\uD800' } }));
    expect([refused.status, codeOf(refused)]).toEqual([400, 'invalid_request']);
  });

  it('refuses a token that does not say which of several keys has signed it', async () => {
    const pairs = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')]);
    const keys = await Promise.all(pairs.map(async ({ publicKey }, index) => ({ ...(await exportJWK(publicKey)), kid: `${index}` })));
    const server = createServer((_request, response) => response.end(JSON.stringify({ keys })));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const gateway = await peopleGateway([], { send: directSend });
    const jwks = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
    const { key } = await gateway.keyFor({ from: 'jwt', name: 'x-user', jwks_url: jwks });
    const token = await new SignJWT({ sub: 'ada' }).setProtectedHeader({ alg: 'ES256' }).setExpirationTime('5m').sign(pairs[0].privateKey);
    const refused = await gateway.call('GET /api/runs', { key, headers: { 'x-user': token } });
    expect([refused.status, codeOf(refused)]).toEqual([401, 'invalid_user_token']);
  });

  it('reads key sets, takes no token that nobody of them signed, and says when it cannot read them', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    const set = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] });
    const server = createServer((_request, response) => response.setHeader('content-type', 'application/json').end(set));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const jwks = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
    const gateway = await peopleGateway([], { send: directSend });
    const { key } = await gateway.keyFor({ from: 'jwt', name: 'x-user', jwks_url: jwks });
    const token = await new SignJWT({ sub: 'ada' })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .setExpirationTime('5m')
      .sign(privateKey);
    expect((await gateway.call('GET /api/runs', { key, headers: { 'x-user': token } })).status).toBe(200);
    const [jwk] = (JSON.parse(set) as { keys: [JsonObject] }).keys;
    const forged = forgedTokens(token, jwk).map(async ([what, text]) => {
      const { status } = await gateway.call('GET /api/runs', { key, headers: { 'x-user': text } });
      return [what, status];
    });
    expect((await Promise.all(forged)).filter(([, status]) => status !== 401)).toEqual([]);
    const other = await gateway.keyFor({ from: 'jwt', name: 'x-user', jwks_url: 'http://127.0.0.1:9/jwks' });
    const missing = await gateway.call('GET /api/runs', { key: other.key, headers: { 'x-user': token } });
    expect([missing.status, codeOf(missing)]).toEqual([503, 'identity_unavailable']);
  });
});

describe('the administration of people', () => {
  it('shows a rule without its secret, keeps a secret that is left out, and removes the rule by null', async () => {
    const gateway = await peopleGateway();
    const { id, key } = await gateway.keyFor({ from: 'jwt', name: 'x-user', secret });
    const change = (users: JsonObject | null) => gateway.call(`PATCH /api/keys/${id}`, { key: adminKey, payload: { users } });
    const { body } = await change({ from: 'jwt', name: 'x-person' });
    expect(body['users']).toEqual({
      from: 'jwt',
      name: 'x-person',
      claim: 'sub',
      jwks_url: null,
      issuer: null,
      audience: null,
      has_secret: true,
    });
    expect(JSON.stringify((await gateway.call('GET /api/keys', { key: adminKey })).body)).not.toContain(secret);
    expect((await change(null)).body['users']).toBeNull();
    expect((await gateway.call('GET /api/runs', { key })).status).toBe(200);
  });

  it.each([
    [{ from: 'jwt', name: 'x-user' }, /secret/],
    [{ from: 'jwt', name: 'x-user', secret: 'short' }, /32/],
    [{ from: 'jwt', name: 'x-user', secret, jwks_url: 'https://id.example/jwks' }, /either/],
    [{ from: 'header', name: 'authorization' }, /key itself/],
    [{ from: 'header', name: 'a b' }, /header/],
    [{ from: 'body', name: 'user' }, /header/],
  ])('refuses the rule %j', async (users, message) => {
    const gateway = await peopleGateway();
    const { status, body } = await gateway.call('POST /api/keys', { key: adminKey, payload: { name: 'frontend', role: 'user', users } });
    expect(status).toBe(400);
    expect((body['error'] as JsonObject)['message']).toMatch(message);
  });

  it('deletes people of every id', async () => {
    const gateway = await peopleGateway(Array.from({ length: 4 }, () => says('Hello.')));
    const { id, key } = await gateway.keyFor({ from: 'jwt', name: 'x-user', secret });
    for (const sub of ['人'.repeat(256), '%2F/../?#', '__proto__', ' ada ']) {
      const token = await new SignJWT({ sub })
        .setProtectedHeader({ alg: 'HS256' })
        .setExpirationTime('5m')
        .sign(new TextEncoder().encode(secret));
      expect((await gateway.call('GET /api/runs', { key, headers: { 'x-user': token } })).status).toBe(200);
      const deleted = await gateway.call(`DELETE /api/users/${id}/${encodeURIComponent(sub)}`, { key: adminKey });
      expect({ sub, deleted: deleted.body }).toEqual({ sub, deleted: { key: id, id: sub, deleted: true } });
    }
  });

  it("is never for an administrator's key", async () => {
    const gateway = await peopleGateway();
    const payload = { name: 'frontend', role: 'admin', users: byHeader };
    expect((await gateway.call('POST /api/keys', { key: adminKey, payload })).status).toBe(400);
    const { id } = await gateway.keyFor(byHeader);
    expect((await gateway.call(`PATCH /api/keys/${id}`, { key: adminKey, payload: { role: 'admin' } })).status).toBe(400);
  });
});
