import { createPrivateKey, createPublicKey, hkdfSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import type { JWTPayload } from 'jose';
import { expect, it } from 'vitest';
import { createSessionTokens } from '../../../src/policy/session-tokens.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { parseToolServerConnection } from '../../../src/storage/tool-server-connection.ts';
import { backendOf, listen, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import { httpPeer, textResult, toolOf } from '../../tools/mcp/scripted-peer.ts';

const adminKey = 'sk-tw-admin-0000000000000000';
const secret = 'a-secret-of-tests-long-enough';
const openapi = {
  openapi: '3.1.0',
  info: { title: 'Diary', version: '1' },
  paths: { '/whoami': { get: { operationId: 'whoami', responses: { 200: { description: 'Who' } } } } },
};

interface ToolServer {
  url: string;
  /** What it read in verified tokens, by path. */
  seen: { path: string; payload: JWTPayload }[];
  /** Requests whose token it could not verify. */
  refused: string[];
  /** Where it fetches the gateway's key. */
  trust(gateway: string): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A tool server that lets in only whom it can verify, as its author would write it, and repeats what it was sent. */
async function toolServer(): Promise<ToolServer> {
  let jwks: ReturnType<typeof createRemoteJWKSet> | undefined;
  let gateway = '';
  const seen: ToolServer['seen'] = [];
  const refused: string[] = [];
  const server = createServer((request, response) => {
    void verify(request).then(
      (payload) => {
        const path = request.url ?? '';
        seen.push({ path, payload });
        const body = path === '/openapi.json' ? openapi : { user: payload.sub, token: request.headers.authorization };
        response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
      },
      (error: Error) => {
        refused.push(error.message);
        response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify({ detail: 'who are you?' }));
      },
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function verify({ headers: { authorization = '' } }: IncomingMessage): Promise<JWTPayload> {
    if (jwks === undefined) throw new Error('no gateway is trusted');
    return (await jwtVerify(authorization.replace('Bearer ', ''), jwks, { issuer: gateway, audience: url })).payload;
  }
  return {
    url,
    seen,
    refused,
    trust(address) {
      gateway = address;
      // A busy machine may need more than the five seconds that jose waits by default.
      jwks = createRemoteJWKSet(new URL(`${address}/.well-known/jwks.json`), { timeoutDuration: 45_000 });
    },
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

function chatWith(app: TestApp, body: object, key?: string) {
  const headers = {
    host: '127.0.0.1:8080',
    'content-type': 'application/json',
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
  };
  const payload = { model: 'model', messages: [{ role: 'user', content: 'Who am I?' }], ...body };
  return app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload });
}

function modelThatCalls(name: string): ScriptedModel {
  return new ScriptedModel(calls([name, {}]), says('You.'));
}

it('a registered server learns by a token which it can verify who asks, and the key stays with the gateway', async () => {
  await using diary = await toolServer();
  const model = modelThatCalls('whoami');
  const registry = memoryRegistry([parseToolServerConnection({ id: 'diary', url: diary.url, auth_type: 'session' }, 'database')]);
  await using app = await testApp({ TOOLWHARF_ADMIN_KEY: adminKey, TOOLWHARF_SECRET: secret }, { backends: [backendOf(model)], registry });
  const gateway = await listen(app);
  diary.trust(gateway);
  const headers = { authorization: `Bearer ${adminKey}` };
  const made = await app.server.inject({ method: 'POST', url: '/api/keys', headers, payload: { name: 'ada', role: 'user' } });
  const { id, key } = made.json<{ id: string; key: string }>();

  const answer = await chatWith(app, {}, key);
  expect(diary.refused).toEqual([]);
  expect(diary.seen.map(({ path, payload }) => [path, payload.sub])).toEqual([
    ['/openapi.json', 'toolwharf'],
    ['/whoami', id],
  ]);
  const payload: JWTPayload = diary.seen[1]?.payload ?? {};
  expect(payload).toMatchObject({ iss: gateway, aud: diary.url });
  expect(Number(payload.exp) - Number(payload.iat)).toBe(300);
  // Neither the caller nor the model nor the log sees the token that the server repeats.
  const [source] = answer.json<{ sources: { document: string[] }[] }>().sources;
  expect(JSON.parse(source?.document[0] ?? '')).toEqual({ user: id, token: 'Bearer [secret]' });
  expect([JSON.stringify(model.requests), app.logLines.join('')].filter((text) => text.includes('eyJ'))).toEqual([]);
});

it('a server of the request gets one too, for itself and no other, in open mode for the user of this machine', async () => {
  await using diary = await toolServer();
  const model = modelThatCalls('whoami');
  await using app = await testApp({ TOOLWHARF_SECRET: secret, PUBLIC_URL: 'https://chat.example/' }, { backends: [backendOf(model)] });
  const gateway = await listen(app);
  // The key is fetched where the gateway is; its name is the public one.
  diary.trust(gateway);
  const request = { tool_servers: [{ url: diary.url, auth_type: 'session', openapi }] };
  await chatWith(app, request);
  expect(diary.refused).toEqual([expect.stringContaining('"iss"')]);
});

it('a token of the request names the user of this machine while the gateway is open', async () => {
  await using diary = await toolServer();
  const model = modelThatCalls('whoami');
  await using app = await testApp({ TOOLWHARF_SECRET: secret }, { backends: [backendOf(model)] });
  diary.trust(await listen(app));
  await chatWith(app, { tool_servers: [{ url: diary.url, auth_type: 'session' }] });
  expect(diary.seen.map(({ path, payload }) => [path, payload.sub])).toEqual([
    ['/openapi.json', 'local'],
    ['/whoami', 'local'],
  ]);
});

it('an MCP server gets them by HTTP, and what it repeats of them is hidden', async () => {
  const sent: string[] = [];
  const peer = httpPeer([toolOf('whoami')], () => textResult(`I was sent ${sent.at(-1) ?? ''}`));
  const model = modelThatCalls('whoami');
  const registry = memoryRegistry([
    parseToolServerConnection({ id: 'diary', type: 'mcp', url: 'http://peer.test/mcp', auth_type: 'session' }, 'database'),
  ]);
  await using app = await testApp(
    { TOOLWHARF_SECRET: secret, PUBLIC_URL: 'https://chat.example' },
    {
      backends: [backendOf(model)],
      registry,
      send: (request) => {
        sent.push(request.headers?.['authorization'] ?? '');
        return peer.send(request);
      },
    },
  );
  const answer = await chatWith(app, {});
  expect(answer.json<{ sources: { document: string[] }[] }>().sources[0]?.document).toEqual(['I was sent Bearer [secret]']);
  const { keys } = await createSessionTokens({ secret, issuer: () => '', now: Date.now }).keySet();
  const [key] = keys;
  if (key === undefined) throw new Error('no key');
  const { payload } = await jwtVerify((sent.at(-1) ?? '').replace('Bearer ', ''), key);
  expect(payload).toMatchObject({ iss: 'https://chat.example', aud: 'http://peer.test', sub: 'local' });
});

it('the key lasts with the secret, is public and may be kept for a while', async () => {
  const keySets: string[] = [];
  for (const environment of [{ TOOLWHARF_SECRET: secret }, { TOOLWHARF_SECRET: secret }, { TOOLWHARF_SECRET: `${secret}-and-another` }]) {
    await using app = await testApp(
      { TOOLWHARF_ADMIN_KEY: adminKey, TOOLWHARF_SECRET: environment.TOOLWHARF_SECRET.replaceAll(' ', '-') },
      { backends: [] },
    );
    const answer = await app.server.inject({ method: 'GET', url: '/.well-known/jwks.json' });
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'public, max-age=300']);
    expect(Object.keys(answer.json<{ keys: object[] }>().keys[0] ?? {}).toSorted()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x']);
    keySets.push(answer.body);
  }
  expect([keySets[0] === keySets[1], keySets[0] === keySets[2]]).toEqual([true, false]);
});

it('a secret cannot be tried against the public key as fast as hashes are made', async () => {
  const [key] = (await createSessionTokens({ secret, issuer: () => '', now: Date.now }).keySet()).keys;
  const seed = Buffer.from(hkdfSync('sha256', secret, '', 'toolwharf session tokens v1', 32));
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  const cheap = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })).export({ format: 'jwk' });
  expect(key?.x).toMatch(/^[\w-]{43}$/);
  expect(key?.x).not.toBe(cheap.x);
});

it('a request gets no token for a registered server, whose rules it would pass by', async () => {
  await using diary = await toolServer();
  const model = modelThatCalls('whoami');
  const connection = { id: 'diary', url: diary.url, auth_type: 'session', config: { needs_approval: true } };
  const registry = memoryRegistry([parseToolServerConnection(connection, 'database')]);
  await using app = await testApp({ TOOLWHARF_SECRET: secret }, { backends: [backendOf(model)], registry });
  diary.trust(await listen(app));
  const answer = await chatWith(app, { tool_ids: [], tool_servers: [{ url: `${diary.url}/`, auth_type: 'session', openapi }] });
  expect(answer.json()).toMatchObject({ warnings: [{ code: 'tool_server_registered', message: expect.stringContaining('"diary"') }] });
  expect([diary.seen, diary.refused]).toEqual([[], []]);
});

it('a token is refused by another server, after five minutes, and with another secret', async () => {
  let time = Date.now();
  const tokens = createSessionTokens({ secret, issuer: () => 'http://gateway.test', now: () => time });
  const token = await tokens.issue('http://diary.test', 'key_ada');
  expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'EdDSA', kid: (await tokens.keySet()).keys[0]?.kid });
  const [own] = (await tokens.keySet()).keys;
  const [foreign] = (await createSessionTokens({ secret: 'another', issuer: () => '', now: Date.now }).keySet()).keys;
  if (own === undefined || foreign === undefined) throw new Error('no key');
  const options = { audience: 'http://diary.test', issuer: 'http://gateway.test' };
  await expect(jwtVerify(token, own, options)).resolves.toMatchObject({ payload: { sub: 'key_ada' } });
  await expect(jwtVerify(token, own, { ...options, audience: 'http://other.test' })).rejects.toThrow('"aud"');
  await expect(jwtVerify(token, foreign, options)).rejects.toThrow('signature');
  await expect(jwtVerify(token, own, { ...options, currentDate: new Date(time + 301_000) })).rejects.toThrow('"exp"');
  time += 1_000_000;
});
