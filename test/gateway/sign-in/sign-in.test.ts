import { OpenAI } from 'openai';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { authorizationServer } from '../../_support/authorization-server.ts';
import type { AuthorizationServer } from '../../_support/authorization-server.ts';
import { readChunks } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { protectedApi, protectedMcpServer } from '../../_support/protected-servers.ts';
import type { ProtectedServer } from '../../_support/protected-servers.ts';
import { scriptedBrowser } from '../../_support/scripted-browser.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { adminKey, connectOf, contentOf, linkFor, signIn, signInGateway } from './sign-in-fixture.ts';
import type { SignInGateway, SignInGatewayOptions, Who } from './sign-in-fixture.ts';

const newFolder = temporaryFolders();

interface Scene {
  authorization: AuthorizationServer;
  server: ProtectedServer;
  gateway: SignInGateway;
}

type Kind = 'mcp' | 'openapi' | 'openIdConnect';

/** A gateway with one tool server, `mail`, that demands OAuth and is a default. */
async function sceneOf(kind: Kind, options: SignInGatewayOptions = {}): Promise<Scene> {
  const authorization = await authorizationServer();
  const server =
    kind === 'mcp'
      ? await protectedMcpServer(authorization)
      : await protectedApi(authorization, { scheme: kind === 'openapi' ? 'oauth2' : kind });
  const gateway = await signInGateway(options);
  const type = kind === 'mcp' ? 'mcp' : 'openapi';
  await gateway.register({ id: 'mail', url: server.url, type, auth_type: 'oauth', info: { name: 'Mail' } });
  return { authorization, server, gateway };
}

const resume = (gateway: SignInGateway, who: Who, { run_id, token }: { run_id: string; token: string }) =>
  gateway.call(`POST /api/runs/${run_id}/resume`, who, { token });

/** Connects a person in advance, by the link of `POST /api/credentials/mail/connect`. */
async function connect(gateway: SignInGateway, who: Who, account: string, server = 'mail'): Promise<void> {
  const own = who.user === undefined ? { own: who.key } : {};
  await signIn(scriptedBrowser(), await linkFor(gateway, who, server), account, own);
  expect(await gateway.stateOf(who, server)).toBe('connected');
}

describe.each<Kind>(['mcp', 'openapi', 'openIdConnect'])('a tool server (%s) that demands OAuth, as a default', (kind) => {
  it('gives a plain API client a link, and the same run answers once its person has signed in', async () => {
    const { authorization, server, gateway } = await sceneOf(kind);
    const { key } = await gateway.keyFor(null);
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 });
    const { data: completion, response } = await client.chat.completions
      .create({ model: 'model', messages: [{ role: 'user', content: 'Who am I?' }] })
      .withResponse();
    const waiting = connectOf({ body: completion as unknown as JsonObject });
    expect(waiting).toEqual({
      run_id: response.headers.get('x-toolwharf-run-id'),
      servers: [{ server: 'mail', name: 'Mail', url: expect.stringContaining(`${gateway.url}/connect/`) }],
      token: expect.any(String),
    });
    expect(completion.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: expect.stringContaining('/connect/') } });
    expect(server.callers).toEqual([]);

    const early = await resume(gateway, { key }, waiting);
    expect(early).toMatchObject({ status: 409, body: { error: { code: 'credential_required' } } });
    const browser = scriptedBrowser();
    const page = await signIn(browser, waiting.servers[0]?.url ?? '', 'ada', { own: key });
    expect([page.status, new URL(page.url).origin]).toEqual([200, gateway.url]);
    expect(page.text).toContain('Mail');
    expect(await gateway.stateOf({ key })).toBe('connected');

    const answer = await resume(gateway, { key }, waiting);
    expect([answer.status, contentOf(answer)]).toEqual([200, expect.stringContaining('ada')]);
    expect(answer.headers.get('x-toolwharf-run-id')).toBe(waiting.run_id);
    expect(server.callers).toEqual(['ada']);
    const again = await resume(gateway, { key }, waiting);
    expect(again.status).toBe(409);
    expect(server.callers).toEqual(['ada']);
    const [exchange] = authorization.grants('authorization_code');
    expect(exchange).toMatchObject({ status: 200, params: { code_verifier: expect.any(String) } });
    expect(authorization.asked('/auth')[0]?.params).toMatchObject({ code_challenge_method: 'S256' });
    expect(exchange?.params['resource']).toBe(kind === 'mcp' ? server.url : undefined);
    // Connected once, nothing waits any more.
    expect(contentOf(await gateway.ask({ key }))).toContain('ada');
  });

  it('gives the link in a stream too, and resumes as a stream', async () => {
    const { gateway } = await sceneOf(kind);
    const who = await gateway.keyFor(null);
    const chunks = readChunks((await gateway.ask(who, { stream: true })).raw) as JsonObject[];
    const waiting = connectOf({ body: chunks.find((chunk) => chunk['connect'] !== undefined) ?? {} });
    const text = JSON.stringify(chunks);
    expect(text).toContain(waiting.servers[0]?.url);
    await signIn(scriptedBrowser(), waiting.servers[0]?.url ?? '', 'bob', { own: who.key });
    const answer = await resume(gateway, who, waiting);
    expect(answer.headers.get('content-type')).toContain('text/event-stream');
    expect(answer.raw).toContain('bob');
    expect(answer.raw.trimEnd().endsWith('[DONE]')).toBe(true);
  });

  it('lets the chat go on by itself over a socket', async () => {
    const { gateway } = await sceneOf(kind);
    const { key } = await gateway.keyFor(null);
    const socket = await connectFakeBrowser({ url: gateway.url, token: key });
    onTestFinished(() => socket.terminate());
    socket.send({ type: 'message', data: { content: 'Who am I?', model: 'model' } });
    const { data } = await socket.next('connect');
    expect(data).toMatchObject({
      id: expect.any(String),
      run_id: expect.any(String),
      server: 'mail',
      name: 'Mail',
      url: expect.any(String),
    });
    await signIn(scriptedBrowser(), String(data['url']), 'ada', { own: key });
    expect((await socket.next('assistant_end')).data).toMatchObject({ content: expect.stringContaining('ada'), finish_reason: 'stop' });
    const { body } = await gateway.call(`GET /api/runs/${String(data['run_id'])}`, { key });
    const types = (body['events'] as JsonObject[]).map(({ type }) => type);
    expect(types).toEqual(expect.arrayContaining(['connect.request', 'connect.response']));
  });

  it('goes on without it where the person at a socket does not want to sign in', async () => {
    const { gateway, server } = await sceneOf(kind);
    const { key } = await gateway.keyFor(null);
    const socket = await connectFakeBrowser({ url: gateway.url, token: key });
    onTestFinished(() => socket.terminate());
    socket.send({ type: 'message', data: { content: 'Who am I?', model: 'model' } });
    const { data } = await socket.next('connect');
    socket.send({ type: 'connect:result', data: { id: data['id'] ?? null, cancelled: true } });
    expect((await socket.next('assistant_end')).data).toMatchObject({ finish_reason: 'stop' });
    expect(server.callers).toEqual([]);
  });

  it('is used by two people of one key with their own accounts, who ask at the same time', async () => {
    const { gateway, server } = await sceneOf(kind);
    const { key } = await gateway.keyFor();
    const [ada, bob] = [
      { key, user: 'person-a' },
      { key, user: 'person-b' },
    ];
    await connect(gateway, ada, 'ada');
    expect(await gateway.stateOf(bob)).toBe('missing');
    await connect(gateway, bob, 'bob');
    const asked = await Promise.all(Array.from({ length: 10 }, (_, index) => gateway.ask(index % 2 === 0 ? ada : bob)));
    expect(asked.map((answer) => /ada|bob/.exec(contentOf(answer))?.[0])).toEqual(
      asked.map((_, index) => (index % 2 === 0 ? 'ada' : 'bob')),
    );
    const others = await gateway.ask({ key, user: 'person-c' });
    expect(others.body['connect']).toBeDefined();
    expect(new Set(server.callers)).toEqual(new Set(['ada', 'bob']));
  });

  it('has its token refreshed once for twenty calls at the same time', async () => {
    const { authorization, gateway } = await sceneOf(kind);
    const who = await gateway.keyFor(null);
    await connect(gateway, who, 'ada');
    // Functions are listed with the first token.
    expect(contentOf(await gateway.ask(who))).toContain('ada');
    expect(authorization.grants('refresh_token')).toEqual([]);
    gateway.clock.aheadMs = 3_600_000;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => gateway.call('POST /api/tools/mail/whoami/invoke', who, { arguments: {} })),
    );
    expect(answers.map(({ body }) => JSON.stringify(body['result'] ?? body))).toEqual(answers.map(() => expect.stringContaining('ada')));
    expect(authorization.grants('refresh_token')).toMatchObject([{ status: 200 }]);
  });

  it('refreshes once and then asks for a sign-in again when the person has ended it at the server', async () => {
    const { authorization, gateway } = await sceneOf(kind);
    const who = await gateway.keyFor(null);
    await connect(gateway, who, 'ada');
    expect(contentOf(await gateway.ask(who))).toContain('ada');
    await authorization.endAllGrants();
    const waiting = connectOf(await gateway.ask(who));
    expect(authorization.grants('refresh_token')).toMatchObject([{ status: 400 }]);
    expect(await gateway.stateOf(who)).not.toBe('connected');
    await signIn(scriptedBrowser(), waiting.servers[0]?.url ?? '', 'bob', { own: who.key });
    expect(contentOf(await resume(gateway, who, waiting))).toContain('bob');
    expect(authorization.grants('refresh_token')).toHaveLength(1);
  });

  it('takes a sign-in and the resumption after a restart', async () => {
    const folder = newFolder();
    const { gateway } = await sceneOf(kind, { folder });
    const who = await gateway.keyFor(null);
    const waiting = connectOf(await gateway.ask(who));
    await gateway.app.close();
    const second = await signInGateway({ folder });
    const link = (waiting.servers[0]?.url ?? '').replace(gateway.url, second.url);
    await signIn(scriptedBrowser(), link, 'ada', { own: who.key });
    await second.app.close();
    const third = await signInGateway({ folder });
    expect(await third.stateOf(who)).toBe('connected');
    expect(contentOf(await resume(third, who, waiting))).toContain('ada');
  });

  it('has the grant revoked at the authorization server with the credential, the person, the key and the server', async () => {
    const { authorization, gateway } = await sceneOf(kind);
    const [first, second] = [await gateway.keyFor(), await gateway.keyFor()];
    const people = [
      { key: first.key, user: 'a' },
      { key: first.key, user: 'b' },
      { key: first.key, user: 'c' },
      { key: second.key, user: 'a' },
    ];
    for (const who of people) await connect(gateway, who, 'ada');
    const revoked = (): number => authorization.asked('/token/revocation').filter(({ status }) => status === 200).length;
    const admin = { key: adminKey };
    for (const [route, who, expected] of [
      ['DELETE /api/credentials/mail', people[0], 1],
      [`DELETE /api/users/${first.id}/b`, admin, 2],
      [`DELETE /api/keys/${first.id}`, admin, 3],
      ['DELETE /api/tool-servers/mail', admin, 4],
    ] as const) {
      const before = revoked();
      expect((await gateway.call(route, who ?? admin)).status).toBe(200);
      await expect.poll(() => revoked() > before).toBe(true);
      // A server may want the refresh token alone, or each of the two.
      expect(new Set(authorization.asked('/token/revocation').map(({ params }) => params['token'])).size).toBeGreaterThanOrEqual(expected);
    }
  });

  it('has a single call answered by where to sign in', async () => {
    const { gateway } = await sceneOf(kind);
    const who = await gateway.keyFor(null);
    const name = kind === 'mcp' ? 'connect_mail' : 'whoami';
    const refused = await gateway.call(`POST /api/tools/${name}/invoke`, who, { arguments: {} });
    expect(refused).toMatchObject({
      status: 409,
      body: {
        error: { code: 'credential_required' },
        connect: { servers: [{ server: 'mail', name: 'Mail', url: expect.stringContaining('/connect/') }] },
      },
    });
    await connect(gateway, who, 'ada');
    const answer = await gateway.call('POST /api/tools/mail/whoami/invoke', who, { arguments: {} });
    expect([answer.status, answer.raw]).toEqual([200, expect.stringContaining('ada')]);
  });

  it('shows its functions to each person as they are for that person', async () => {
    const { gateway } = await sceneOf(kind);
    const { key } = await gateway.keyFor();
    const [ada, bob] = [
      { key, user: 'person-a' },
      { key, user: 'person-b' },
    ];
    const namesFor = async (who: Who): Promise<unknown[]> => {
      const { body } = await gateway.call('GET /api/tools', who);
      return (body['data'] as JsonObject[]).flatMap(({ name, server }) => (server === 'mail' ? [name] : []));
    };
    const without = kind === 'mcp' ? 'connect_mail' : 'whoami';
    expect([await namesFor(ada), await namesFor(bob)]).toEqual([[without], [without]]);
    await connect(gateway, ada, 'ada');
    expect([await namesFor(ada), await namesFor(bob)]).toEqual([['whoami'], [without]]);
    await gateway.call('DELETE /api/credentials/mail', ada);
    expect([await namesFor(ada), await namesFor(bob)]).toEqual([[without], [without]]);
  });

  it('is connected before anybody is asked to approve', async () => {
    const { gateway, server } = await sceneOf(kind);
    expect((await gateway.call('PATCH /api/tool-servers/mail', { key: adminKey }, { config: { needs_approval: ['whoami'] } })).status).toBe(
      200,
    );
    const who = await gateway.keyFor(null);
    const asked = await gateway.ask(who);
    const waiting = connectOf(asked);
    expect(asked.body['approval']).toBeUndefined();
    await signIn(scriptedBrowser(), waiting.servers[0]?.url ?? '', 'ada', { own: who.key });
    const resumed = await resume(gateway, who, waiting);
    expect(server.callers).toEqual([]);
    const { run_id: run, calls } = resumed.body['approval'] as { run_id: string; calls: [{ id: string; token: string }] } & JsonObject;
    const [{ id, token }] = calls;
    const approved = await gateway.call(`POST /api/runs/${run}/approvals/${encodeURIComponent(id)}`, who, { decision: 'approve', token });
    expect(contentOf(approved)).toContain('ada');
    expect(server.callers).toEqual(['ada']);
  });

  it('lets nobody else resume, and takes no token that it has not made', async () => {
    const { gateway, server } = await sceneOf(kind);
    const { key } = await gateway.keyFor();
    const [ada, bob] = [
      { key, user: 'person-a' },
      { key, user: 'person-b' },
    ];
    const waiting = connectOf(await gateway.ask(ada));
    await connect(gateway, ada, 'ada');
    await connect(gateway, bob, 'bob');
    expect((await resume(gateway, bob, waiting)).status).toBe(404);
    expect((await resume(gateway, { key: adminKey }, waiting)).status).toBe(404);
    expect((await resume(gateway, ada, { ...waiting, token: `${waiting.token.slice(0, -4)}AAAA` })).status).toBe(403);
    const others = connectOf(await gateway.ask({ key, user: 'person-c' }));
    expect((await resume(gateway, ada, { ...waiting, token: others.token })).status).toBe(403);
    expect(server.callers).toEqual([]);
    expect(contentOf(await resume(gateway, ada, waiting))).toContain('ada');
  });

  it('counts the sign-in as missing once the connection leads elsewhere or asks otherwise', async () => {
    const { authorization, gateway } = await sceneOf(kind);
    const who = await gateway.keyFor(null);
    await connect(gateway, who, 'ada');
    const other = kind === 'mcp' ? await protectedMcpServer(authorization) : await protectedApi(authorization);
    expect((await gateway.call('PATCH /api/tool-servers/mail', { key: adminKey }, { url: other.url })).status).toBe(200);
    expect(await gateway.stateOf(who)).toBe('missing');
    expect((await gateway.ask(who)).body['connect']).toBeDefined();
    expect(other.tokens.filter((token) => token !== '')).toEqual([]);
    await connect(gateway, who, 'bob');
    const changed = await gateway.call('PATCH /api/tool-servers/mail', { key: adminKey }, { auth_type: 'bearer', per_user: true });
    expect(changed.status).toBe(200);
    expect(await gateway.stateOf(who)).toBe('missing');
  });
});

it('an API without registration is used with the client id of its connection', async () => {
  const gateway = await signInGateway();
  const authorization = await authorizationServer({
    offersRegistration: false,
    clients: [
      {
        client_id: 'gateway',
        client_secret: 'CANARY-client-secret',
        redirect_uris: [`${gateway.url}/oauth/callback`],
        grant_types: ['authorization_code', 'refresh_token'],
      },
    ],
  });
  const server = await protectedApi(authorization);
  const oauth = { client_id: 'gateway', client_secret: 'CANARY-client-secret' };
  await gateway.register({ id: 'mail', url: server.url, auth_type: 'oauth', oauth });
  const shown = await gateway.call('GET /api/tool-servers/mail', { key: adminKey });
  expect(shown.raw).not.toContain('CANARY');
  expect(shown.raw).toContain('"client_id":"gateway"');
  const who = await gateway.keyFor(null);
  await connect(gateway, who, 'ada');
  expect(contentOf(await gateway.ask(who))).toContain('ada');
});

it('an API with neither registration nor a client id says what is missing', async () => {
  const authorization = await authorizationServer({ offersRegistration: false });
  const server = await protectedApi(authorization, { scheme: 'openIdConnect' });
  const gateway = await signInGateway();
  await gateway.register({ id: 'mail', url: server.url, auth_type: 'oauth' });
  const who = await gateway.keyFor(null);
  const page = await signIn(scriptedBrowser(), await linkFor(gateway, who, 'mail'), 'ada', { own: who.key });
  expect(page.status).toBeGreaterThanOrEqual(400);
  expect(page.text).toContain('client_id');
});

it('a shared credential of an API is its client’s own, and nobody signs in', async () => {
  const authorization = await authorizationServer({
    offersRegistration: false,
    clients: [
      { client_id: 'robot', client_secret: 'robot-secret', redirect_uris: [], response_types: [], grant_types: ['client_credentials'] },
    ],
  });
  const server = await protectedApi(authorization);
  const gateway = await signInGateway();
  const oauth = { grant: 'client_credentials', client_id: 'robot', client_secret: 'robot-secret' };
  await gateway.register({ id: 'mail', url: server.url, auth_type: 'oauth', oauth });
  const who = await gateway.keyFor();
  const [ada, bob] = [
    { key: who.key, user: 'ada' },
    { key: who.key, user: 'bob' },
  ];
  const answers = await Promise.all([gateway.ask(ada), gateway.ask(bob)]);
  for (const answer of answers) expect(contentOf(answer)).toContain('robot');
  expect(authorization.grants('client_credentials')).toHaveLength(1);
  expect((await gateway.call('GET /api/credentials', ada)).body).toEqual({ data: [] });
});

it('a gateway with an https address is known by the document at that address, and registers nowhere', async () => {
  const publicUrl = 'https://gateway.example';
  const gateway = await signInGateway({ environment: { PUBLIC_URL: publicUrl } });
  const read: string[] = [];
  const authorization = await authorizationServer({
    fetchClient: (address) => {
      read.push(String(address));
      return fetch(String(address).replace(publicUrl, gateway.url));
    },
  });
  const server = await protectedMcpServer(authorization);
  await gateway.register({ id: 'mail', url: server.url, type: 'mcp', auth_type: 'oauth' });
  const who = await gateway.keyFor(null);
  const link = await linkFor(gateway, who, 'mail');
  expect(link.startsWith(`${publicUrl}/connect/`)).toBe(true);
  const page = await signIn(scriptedBrowser({ at: { [publicUrl]: gateway.url } }), link, 'ada', { own: who.key });
  expect([page.status, page.url.startsWith(`${publicUrl}/`)]).toEqual([200, true]);
  expect(contentOf(await gateway.ask(who))).toContain('ada');
  expect(authorization.asked('/reg')).toEqual([]);
  expect(new Set(read)).toEqual(new Set([authorization.asked('/auth')[0]?.params['client_id']]));
});
