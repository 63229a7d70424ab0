import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import type { OidcSettings } from '../../../src/policy/oidc-callers.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen } from '../../_support/build-app.ts';
import { directSend } from '../../_support/direct-send.ts';
import { forgedTokens } from '../../_support/forged-tokens.ts';
import { memoryStores } from '../../_support/memory-stores.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { audience, startTokenIssuer } from '../../_support/token-issuer.ts';
import type { TokenIssuer } from '../../_support/token-issuer.ts';
import { gatewayOf } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';
import { scriptedSend } from '../../tools/scripted-send.ts';
import { bank, bankAnswers } from '../approvals/approval-fixture.ts';
import { waitFor } from '../../_support/wait-for.ts';

const adminKey = 'sk-tw-fixed-administrator';

interface OidcGateway extends Gateway {
  issuer: TokenIssuer;
  call: (
    route: string,
    token?: string,
    payload?: object,
  ) => Promise<{ status: number; body: JsonObject; headers: Record<string, unknown> }>;
}

/** `admins`: who is an administrator by their token. */
async function oidcGateway(options: GatewayOptions & Pick<OidcSettings, 'admins' | 'limits'> = {}): Promise<OidcGateway> {
  const { admins, limits, environment, ...rest } = options;
  const issuer = await startTokenIssuer();
  onTestFinished(() => issuer[Symbol.asyncDispose]());
  const gateway = await gatewayOf({
    send: directSend,
    ...rest,
    config: { oidc: { issuer: issuer.url, audience, admins, ...(limits !== undefined && { limits }) } },
    environment: { STORE_CHATS: 'true', ...environment },
  });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  return {
    ...gateway,
    issuer,
    async call(route, token, payload) {
      const [method, url] = route.split(' ');
      const response = await gateway.app.server.inject({
        method: method as 'GET',
        url: url ?? '',
        headers: { host: '127.0.0.1:8080', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
        ...(payload !== undefined && { payload }),
      });
      return { status: response.statusCode, body: response.body === '' ? {} : response.json<JsonObject>(), headers: response.headers };
    },
  };
}

const admins = { claim: 'groups', value: 'operators' };
const question = { model: 'model', messages: [{ role: 'user', content: 'Hi!' }] };
const errorOf = ({ body }: { body: JsonObject }): JsonObject => (body['error'] ?? {}) as JsonObject;

describe('a token of the configured issuer', () => {
  it.each(['RS256', 'ES256', 'PS256', 'EdDSA'] as const)('signed with %s lets its owner in', async (algorithm) => {
    const { call, issuer } = await oidcGateway({ turns: [says('Hello.')] });
    const answer = await call('POST /v1/chat/completions', await issuer.tokenFor('ada', { algorithm }), question);
    expect(answer).toMatchObject({ status: 200, body: { choices: [{ message: { content: 'Hello.' } }] } });
  });

  it.each([
    ['POST /v1/responses', { model: 'model', input: 'Hi!' }],
    ['POST /v1/messages', { ...question, max_tokens: 100 }],
    ['POST /api/chat', { ...question, stream: false }],
    ['POST /mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }],
  ])('is good for %s', async (route, payload) => {
    const { app, issuer } = await oidcGateway({ turns: [says('Hello.')] });
    const url = await listen(app);
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'x-api-key': await issuer.tokenFor('ada'),
    };
    const path = route.split(' ')[1] ?? '';
    expect((await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(payload) })).status).toBe(200);
    expect((await fetch(`${url}${path}`, { method: 'POST', headers: { ...headers, 'x-api-key': 'a.b.c' }, body: '{}' })).status).toBe(401);
  });

  it('makes everybody a caller of their own, whose chats and runs nobody else sees', async () => {
    const { call, issuer } = await oidcGateway({ turns: [says('Hello.')], chats: memoryStores().chats });
    const ada = await issuer.tokenFor('ada');
    const chat = await call('POST /v1/chat/completions', ada, { ...question, store: true });
    const run = `GET /api/runs/${String(chat.headers['x-toolwharf-run-id'])}`;
    const stored = `GET /v1/chat/completions/${String(chat.body['id'])}`;
    for (const token of [ada, await issuer.tokenFor('ada', { algorithm: 'RS256' })]) {
      expect((await call(run, token)).status).toBe(200);
      expect((await call(stored, token)).status).toBe(200);
    }
    for (const sub of ['bob', 'ada/x', 'Ada']) {
      const token = await issuer.tokenFor(sub);
      expect((await call(run, token)).status).toBe(404);
      expect((await call(stored, token)).status).toBe(404);
    }
  });

  it.each<[string, JsonObject, number]>([
    ['has expired', {}, -120],
    ['is for another audience', { aud: 'console' }, 300],
    ['is of another issuer', { iss: 'https://id.example' }, 300],
    ['never expires', { exp: null }, 300],
    ['is for nobody', { aud: null }, 300],
    ['names nobody', { sub: null }, 300],
    ['names a list of nobody', { sub: [] }, 300],
    ['names a list of people', { sub: ['ada'] }, 300],
    ['names a number', { sub: 7 }, 300],
    ['names an object', { sub: { length: 3 } }, 300],
    ['names a person with control characters', { sub: 'a\tb' }, 300],
    ['is not valid yet', { nbf: 9_999_999_999 }, 300],
  ])('is refused when it %s', async (_what, claims, expiresIn) => {
    const { call, issuer } = await oidcGateway();
    const refused = await call('GET /api/runs', await issuer.tokenFor('ada', { claims, expiresIn }));
    expect([refused.status, errorOf(refused)['code']]).toEqual([401, 'invalid_api_key']);
    expect(refused.headers['www-authenticate']).toBe('Bearer realm="toolwharf", error="invalid_token"');
  });

  it('may be a minute late or early, because clocks differ', async () => {
    const { call, issuer } = await oidcGateway();
    expect((await call('GET /api/runs', await issuer.tokenFor('ada', { expiresIn: -20 }))).status).toBe(200);
    const nbf = Math.floor(Date.now() / 1_000) + 30;
    expect((await call('GET /api/runs', await issuer.tokenFor('ada', { claims: { nbf } }))).status).toBe(200);
  });

  it('is for the gateway when it is one of several audiences', async () => {
    const { call, issuer } = await oidcGateway();
    expect((await call('GET /api/runs', await issuer.tokenFor('ada', { claims: { aud: ['console', audience] } }))).status).toBe(200);
  });

  it.each(['RS256', 'ES256'] as const)('is refused when nobody signed it, or the public key served as a secret: %s', async (algorithm) => {
    const { call, issuer } = await oidcGateway();
    const good = await issuer.tokenFor('ada', { algorithm });
    expect((await call('GET /api/runs', good)).status).toBe(200);
    const { keys } = (await (await fetch(`${issuer.url}/keys`)).json()) as { keys: [JsonObject] };
    const seen = await Promise.all(
      forgedTokens(good, keys[0]).map(async ([what, token]) => [what, (await call('GET /api/runs', token)).status]),
    );
    expect(seen.filter(([, status]) => status !== 401)).toEqual([]);
  });

  it('is refused when somebody else signed it', async () => {
    const { call, issuer } = await oidcGateway();
    const good = await issuer.tokenFor('ada');
    const other = await startTokenIssuer();
    onTestFinished(() => other[Symbol.asyncDispose]());
    for (const token of [await other.tokenFor('ada', { claims: { iss: issuer.url } }), `${good}x`])
      expect((await call('GET /api/runs', token)).status).toBe(401);
  });

  it('is found after its keys were rotated, and garbage does not make the gateway ask for keys again and again', async () => {
    const { call, issuer } = await oidcGateway();
    const old = await issuer.tokenFor('ada');
    expect((await call('GET /api/runs', old)).status).toBe(200);
    expect((await call('GET /api/runs', old)).status).toBe(200);
    expect(issuer.asked).toEqual(['/.well-known/openid-configuration', '/keys']);
    issuer.rotate();
    expect((await call('GET /api/runs', await issuer.tokenFor('ada'))).status).toBe(200);
    expect((await call('GET /api/runs', old)).status).toBe(401);
    const { privateKey } = await generateKeyPair('ES256');
    const exp = Math.floor(Date.now() / 1_000) + 60;
    const madeUp = Array.from({ length: 30 }, async (_, index) => {
      const claims = { iss: issuer.url, aud: audience, sub: 'eve', exp };
      const token = await new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: `made-up-${index}` }).sign(privateKey);
      return (await call('GET /api/runs', token)).status;
    });
    expect(new Set(await Promise.all(madeUp))).toEqual(new Set([401]));
    expect(issuer.asked.length).toBeLessThan(6);
  });

  it('is a 503 while the issuer cannot be asked, and good again afterwards', async () => {
    const { call, issuer } = await oidcGateway();
    issuer.fail();
    const token = await issuer.tokenFor('ada');
    const refused = await call('GET /api/runs', token);
    expect([refused.status, errorOf(refused)['code'], refused.headers['retry-after']]).toEqual([503, 'identity_unavailable', '5']);
    issuer.recover();
    expect((await call('GET /api/runs', token)).status).toBe(200);
  });

  it('is a 503 while the key set has more keys than anybody needs, which would be gone through for each token', async () => {
    const { call, issuer, app } = await oidcGateway();
    const token = await issuer.tokenFor('ada');
    issuer.announceKeys(Array.from({ length: 5_000 }, () => ({ kty: 'EC' })));
    expect((await call('GET /api/runs', token)).status).toBe(503);
    expect(app.logLines.join('')).toContain('/keys answers more than');
    issuer.announceKeys(Array.from({ length: 100 }, () => ({ kty: 'EC' })));
    expect((await call('GET /api/runs', token)).status).toBe(200);
  });

  it('is a 503 while discovery names another issuer', async () => {
    const { call, issuer } = await oidcGateway();
    issuer.announce({ issuer: `${issuer.url}/` });
    expect((await call('GET /api/runs', await issuer.tokenFor('ada'))).status).toBe(503);
  });
});

describe('beside keys', () => {
  it('a gateway with an issuer is not open, and its keys work as before', async () => {
    const { call, issuer, app } = await oidcGateway({ environment: { TOOLWHARF_ADMIN_KEY: adminKey } });
    expect((await call('GET /api/runs')).status).toBe(401);
    expect((await call('GET /api/runs', adminKey)).status).toBe(200);
    expect(issuer.asked).toEqual([]);
    expect(await app.isOpen()).toBe(false);
  });

  it('without any key it is not open either, and the first start makes one', async () => {
    const { call, app } = await oidcGateway();
    expect((await call('GET /api/runs')).status).toBe(401);
    expect(await app.isOpen()).toBe(false);
    expect(app.startKey).toBeUndefined();
    const key = await app.createFirstKey();
    expect((await call('GET /api/keys', key)).status).toBe(200);
  });

  it('a token without an issuer configured is an unknown key', async () => {
    const gateway = await gatewayOf({ environment: { TOOLWHARF_ADMIN_KEY: adminKey } });
    onTestFinished(() => gateway[Symbol.asyncDispose]());
    const headers = { authorization: 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.c2ln' };
    expect((await gateway.app.server.inject({ url: '/api/runs', headers })).statusCode).toBe(401);
  });
});

describe('rights', () => {
  it.each<[string, JsonObject, number]>([
    ['the value', { groups: 'operators' }, 200],
    ['a list with the value', { groups: ['staff', 'operators'] }, 200],
    ['another value', { groups: 'operators2' }, 403],
    ['a list without it', { groups: ['staff'] }, 403],
    ['an object', { groups: { operators: true } }, 403],
    ['no claim', {}, 403],
  ])('administrators are those whose claim has %s', async (_what, claims, status) => {
    const { call, issuer } = await oidcGateway({ admins });
    expect((await call('GET /api/keys', await issuer.tokenFor('ada', { claims }))).status).toBe(status);
  });

  it('without a rule nobody is an administrator by a token', async () => {
    const { call, issuer } = await oidcGateway();
    expect((await call('GET /api/keys', await issuer.tokenFor('ada', { claims: { groups: 'operators' } }))).status).toBe(403);
  });
});

describe('limits', () => {
  it('hold for each caller', async () => {
    const { call, issuer, model } = await oidcGateway({ limits: { requestsPerMinute: 1 }, turns: [says('Hello.'), says('Hello.')] });
    const [ada, bob] = [await issuer.tokenFor('ada'), await issuer.tokenFor('bob')];
    expect((await call('POST /v1/chat/completions', ada, question)).status).toBe(200);
    const refused = await call('POST /v1/messages', ada, { ...question, max_tokens: 10 });
    expect(refused).toMatchObject({
      status: 429,
      body: { error: { message: expect.stringContaining('You may make one request a minute') } },
    });
    expect((await call('POST /v1/chat/completions', bob, question)).status).toBe(200);
    expect(model.requests).toHaveLength(2);
  });
});

describe('a call that waits for an approval', () => {
  it('is decided by the caller whose token asked for it, or by its link without a token, and by nobody else', async () => {
    const scripted = scriptedSend(bankAnswers);
    const gateway = await oidcGateway({
      turns: [calls(['pay', { amount: 5 }]), says('Paid.')],
      servers: [bank],
      send: (request) => (request.url.startsWith('http://bank.test') ? scripted.send(request) : directSend(request)),
    });
    const { call, issuer } = gateway;
    const ada = await issuer.tokenFor('ada');
    const { body } = await call('POST /v1/chat/completions', ada, { ...question, tool_ids: ['server:bank'] });
    const { run_id: run, calls: waiting, url } = body['approval'] as { run_id: string; calls: { id: string }[]; url: string };
    const bob = await issuer.tokenFor('bob');
    const decide = `POST /api/runs/${run}/approvals/${waiting[0]?.id}`;
    expect((await call(decide, bob, { decision: 'approve', token: (body['approval'] as JsonObject)['token'] })).status).toBe(404);
    const page = new URL(url).pathname;
    const inject = (headers: Record<string, string>, form?: string) =>
      gateway.app.server.inject({
        method: form === undefined ? 'GET' : 'POST',
        url: page,
        headers: { host: '127.0.0.1:8080', 'content-type': 'application/x-www-form-urlencoded', ...headers },
        ...(form !== undefined && { payload: form }),
      });
    expect((await inject({ authorization: `Bearer ${bob}` })).statusCode).toBe(404);
    expect((await inject({ authorization: `Bearer ${ada}` })).statusCode).toBe(200);
    expect((await inject({})).statusCode).toBe(200);
    expect(scripted.requests).toHaveLength(0);
    expect((await inject({}, 'decision=approve')).statusCode).toBe(303);
    await waitFor(() => expect(scripted.requests).toHaveLength(1));
  });
});

describe('the administration', () => {
  it('lists those who came with tokens, counts what they use, and deletes what is theirs', async () => {
    const stores = memoryStores();
    const { call, issuer } = await oidcGateway({ admins, turns: [says('Hello.'), says('Hello.')], chats: stores.chats });
    const root = await issuer.tokenFor('root', { claims: { groups: ['operators'] } });
    const ada = await issuer.tokenFor('auth0|ada/1', { claims: { name: 'Ada', email: 'ada@example.org' } });
    const chat = await call('POST /v1/chat/completions', ada, { ...question, store: true });
    await call('POST /v1/chat/completions', await issuer.tokenFor('bob'), question);

    const users = (await call('GET /api/users', root)).body['data'] as { id: string; key: string }[];
    expect(users.map(({ id }) => id).toSorted()).toEqual(['auth0|ada/1', 'bob', 'root']);
    const user = users.find(({ id }) => id === 'auth0|ada/1');
    expect(user).toMatchObject({ name: 'Ada', email: 'ada@example.org' });
    expect(new Set(users.map(({ key }) => key)).size).toBe(3);

    expect((await call('GET /api/usage?by=user', ada)).body['data']).toMatchObject([{ user: 'auth0|ada/1', requests: 1 }]);
    expect((await call('GET /api/usage?by=user', root)).body['data']).toHaveLength(2);

    const theirs = `/api/users/${user?.key ?? ''}/${encodeURIComponent('auth0|ada/1')}`;
    expect((await call(`DELETE ${theirs}`, root)).status).toBe(200);
    expect((await call(`GET /v1/chat/completions/${String(chat.body['id'])}`, ada)).status).toBe(404);
  });
});

describe('over a socket', () => {
  type How = 'header' | 'subprotocol' | 'frame';

  async function open(gateway: OidcGateway, token: string, how: How, session?: string): Promise<WebSocket> {
    const address = gateway.app.server.server.address() as AddressInfo | null;
    const base = address === null ? await listen(gateway.app) : `http://127.0.0.1:${address.port}`;
    const protocols = ['toolwharf.v1', ...(how === 'subprotocol' ? [`bearer.${token}`] : [])];
    const headers = how === 'header' ? { authorization: `Bearer ${token}` } : {};
    const socket = new WebSocket(`${base.replace('http', 'ws')}/ws`, protocols, { headers });
    socket.on('error', () => undefined);
    onTestFinished(() => socket.terminate());
    if (how === 'frame') socket.once('open', () => socket.send(JSON.stringify({ type: 'auth', data: { token, session_id: session } })));
    return socket;
  }

  const outcome = (socket: WebSocket): Promise<string> =>
    new Promise((resolve) => {
      socket.once('message', (data) => resolve((JSON.parse(String(data)) as { type: string }).type));
      socket.once('close', (code) => resolve(String(code)));
      socket.once('unexpected-response', (_request, response) => resolve(`HTTP ${response.statusCode}`));
    });

  it.each(['header', 'subprotocol', 'frame'] as const)('a token comes in the %s', async (how) => {
    const gateway = await oidcGateway();
    const { issuer } = gateway;
    expect(await outcome(await open(gateway, await issuer.tokenFor('ada'), how))).toBe('session');
    const expired = await issuer.tokenFor('ada', { expiresIn: -120 });
    expect(await outcome(await open(gateway, expired, how))).toBe(how === 'header' ? 'HTTP 401' : '4401');
  });

  it.each(['header', 'subprotocol', 'frame'] as const)(
    'the socket of a token in the %s closes when the token ends, and no other',
    async (how) => {
      const gateway = await oidcGateway();
      const { issuer } = gateway;
      const brief = await open(gateway, await issuer.tokenFor('ada', { expiresIn: 2 }), how);
      const long = await open(gateway, await issuer.tokenFor('ada'), how);
      expect(await Promise.all([outcome(brief), outcome(long)])).toEqual(['session', 'session']);
      const [code] = (await once(brief, 'close')) as [number];
      expect(code).toBe(4401);
      expect(long.readyState).toBe(WebSocket.OPEN);
    },
  );

  it('its session can be taken up with a new token of the same person, and of nobody else', async () => {
    const gateway = await oidcGateway();
    const { issuer } = gateway;
    const first = await open(gateway, await issuer.tokenFor('ada', { expiresIn: 2 }), 'frame');
    const [opened] = (await once(first, 'message')) as [Buffer];
    const { session_id: id } = (JSON.parse(String(opened)) as { data: { session_id: string } }).data;
    await once(first, 'close');
    const resumedBy = async (sub: string): Promise<JsonObject> => {
      const socket = await open(gateway, await issuer.tokenFor(sub), 'frame', id);
      const [answer] = (await once(socket, 'message')) as [Buffer];
      return (JSON.parse(String(answer)) as { data: JsonObject }).data;
    };
    expect((await resumedBy('bob'))['session_id']).not.toBe(id);
    expect(await resumedBy('ada')).toMatchObject({ session_id: id, resumed: true });
  });
});
