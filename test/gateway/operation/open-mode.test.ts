import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { FastifyInstance } from 'fastify';
import { routeRoles } from '../../../src/http/auth/route-roles.ts';
import { backendOf, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { ScriptedModel } from '../../_support/scripted-model.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
interface Ask {
  key?: string | undefined;
  headers?: Record<string, string>;
  body?: object;
}

const local = { host: '127.0.0.1:8080' };
const text = [
  { type: 'text' as const, text: 'hello' },
  { type: 'finish' as const, reason: 'stop' as const },
];
const chat = { model: 'model', messages: [{ role: 'user', content: 'hi' }] };

async function openGateway(environment: NodeJS.ProcessEnv = {}, parts: NonNullable<Parameters<typeof testApp>[1]> = {}): Promise<TestApp> {
  const app = await testApp(environment, { backends: [backendOf(new ScriptedModel(text, text, text))], showsStartKey: false, ...parts });
  onTestFinished(() => app.close());
  return app;
}

async function ask(server: FastifyInstance, method: Method, url: string, { key, headers, body }: Ask = {}) {
  const carried = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const payload = method === 'GET' ? {} : { payload: body ?? {} };
  return server.inject({ method, url, headers: { ...local, ...carried, ...headers }, ...payload });
}

const rows = Object.entries(routeRoles)
  .map(([row, access]) => [row, access, ...row.split(' ')] as [string, string, Method, string])
  .filter(([row]) => row !== 'OPTIONS *' && row !== 'GET /ws');
const changes = rows.filter(([, access]) => access === 'admin-change');
/** What would change an Ollama is refused, whatever the key. */
const refused = /^\/api\/(?:pull|push|create|copy|delete|blobs)\b/;
const uses = rows.filter(([, access, , path]) => access !== 'admin-change' && !refused.test(path));

describe('while the gateway is open', () => {
  it('the table names every change', () => {
    const administration = /^\/api\/(?:keys|users|tool-servers|backends|presets|settings|v1\/configs)\b/;
    const expected = rows.filter(([, , method, path]) => administration.test(path) && method !== 'GET').map(([row]) => row);
    expect(changes.map(([row]) => row)).toEqual(expected);
    expect(changes.length).toBeGreaterThan(10);
  });

  it.each(changes)('%s needs the key of this start', async (_row, _access, method, path) => {
    const { server, startKey } = await openGateway();
    const url = path.replaceAll(/:\w+/g, 'nobody');
    for (const key of [undefined, 'any', `sk-tw-${'w'.repeat(43)}`]) {
      const answer = await ask(server, method, url, { key });
      expect(answer.statusCode, `with ${key ?? 'none'}`).toBe(401);
      expect(answer.json()).toMatchObject({
        error: { message: expect.stringContaining('link in the terminal where the gateway was started') },
      });
    }
    expect((await ask(server, method, url, { key: startKey })).statusCode).not.toBe(401);
  });

  describe('what changes nothing', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await testApp({}, { backends: [], showsStartKey: false });
    });
    afterAll(() => app.close());

    it.each(uses)('%s needs no key', async (_row, _access, method, path) => {
      const url = path.replaceAll(/:\w+/g, 'nobody').replace('*', 'nothing');
      expect([401, 403]).not.toContain((await ask(app.server, method, url)).statusCode);
      expect(await app.isOpen()).toBe(true);
    });
  });

  it('the first key is made with the key of this start, which stays good', async () => {
    const { server, startKey, logLines } = await openGateway();
    const made = await ask(server, 'POST', '/api/keys', { key: startKey, body: { name: 'me', role: 'admin' } });
    expect(made.statusCode).toBe(201);
    expect((await ask(server, 'GET', '/api/keys')).statusCode, 'no longer open').toBe(401);
    expect((await ask(server, 'GET', '/api/keys', { key: startKey })).statusCode).toBe(200);
    expect(logLines.join('')).not.toContain(startKey);
  });

  it('each start has a key of its own, and a gateway that always needs a key has none', async () => {
    const [one, two] = [await openGateway(), await openGateway()];
    expect(one.startKey).toMatch(/^sk-tw-[\w-]{43}$/);
    expect(one.startKey).not.toBe(two.startKey);
    expect((await openGateway({ TOOLWHARF_ADMIN_KEY: 'sk-tw-fixed' })).startKey).toBeUndefined();
    expect((await openGateway({ HOST: '0.0.0.0' })).startKey).toBeUndefined();
  });

  it('the key of this start carries nobody past a proxy, another host or a foreign page', async () => {
    const { server, startKey: key } = await openGateway();
    const proxied = { 'x-forwarded-for': '1.2.3.4' };
    expect((await ask(server, 'POST', '/api/keys', { key, headers: proxied })).statusCode).toBe(401);
    expect((await ask(server, 'POST', '/api/keys', { key, headers: { host: 'evil.example' } })).statusCode).toBe(403);
    expect((await ask(server, 'POST', '/api/keys', { key, headers: { origin: 'https://evil.example' } })).statusCode).toBe(403);
  });
});

describe('when the last key is deleted', () => {
  async function reopened(environment: NodeJS.ProcessEnv): Promise<{ app: TestApp; told: number }> {
    let told = 0;
    const app = await openGateway(environment, { onOpened: () => (told += 1) });
    const made = await ask(app.server, 'POST', '/api/keys', { key: app.startKey, body: { name: 'me', role: 'admin' } });
    const { id, key } = made.json<{ id: string; key: string }>();
    expect(told).toBe(0);
    expect((await ask(app.server, 'DELETE', `/api/keys/${id}`, { key })).statusCode).toBe(200);
    expect(await app.isOpen()).toBe(true);
    return { app, told };
  }

  it('the start is told, so that it shows its key', async () => {
    expect((await reopened({})).told).toBe(1);
  });

  it.each([
    ['GET', '/api/runs'],
    ['GET', '/v1/models'],
    ['GET', '/api/tool-servers'],
    ['POST', '/v1/chat/completions'],
    ['POST', '/mcp'],
  ] as const)('`*` opens %s %s to no page', async (method, url) => {
    const { app } = await reopened({ CORS_ALLOW_ORIGIN: '*' });
    const headers = { origin: 'https://evil.example' };
    const answer = await ask(app.server, method, url, { headers, body: chat });
    expect(answer.statusCode).toBe(403);
    const own = await ask(app.server, method, url, { headers: { origin: 'http://127.0.0.1:8080' }, body: chat });
    expect(own.statusCode).not.toBe(403);
  });

  it('a page that is named may come in, and may change nothing', async () => {
    const { app } = await reopened({ CORS_ALLOW_ORIGIN: 'https://page.example' });
    const headers = { origin: 'https://page.example' };
    expect((await ask(app.server, 'POST', '/v1/chat/completions', { headers, body: chat })).statusCode).toBe(200);
    expect((await ask(app.server, 'POST', '/api/keys', { headers })).statusCode).toBe(401);
  });
});
