import { once } from 'node:events';
import { connect } from 'node:net';
import fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '../../../src/core/callers/caller.ts';
import { installErrorHandling } from '../../../src/http/errors/error-handler.ts';
import { installGuard } from '../../../src/http/auth/guard.ts';
import { findAccess, routeRoles } from '../../../src/http/auth/route-roles.ts';
import type { Access } from '../../../src/http/auth/route-roles.ts';
import { listen, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';

const adminKey = 'sk-tw-fixed-administrator';
let time = Date.parse('2030-01-01T00:00:00Z');
let app: TestApp;
let url: string;
/** What each kind of credential is on the wire; `undefined` sends none. */
const keys: Record<string, string | undefined> = { none: undefined, wrong: `sk-tw-${'w'.repeat(43)}`, fixed: adminKey };

beforeAll(async () => {
  app = await testApp({ TOOLWHARF_ADMIN_KEY: adminKey, OPENAI_API_BASE_URLS: 'http://127.0.0.1:9/v1' }, { now: () => time, backends: [] });
  url = await listen(app);
  for (const [kind, body] of Object.entries({
    user: { role: 'user' },
    admin: { role: 'admin' },
    expired: { role: 'admin', expires_at: '2030-01-01T00:00:01Z' },
  })) {
    const headers = { authorization: `Bearer ${adminKey}` };
    const answer = await app.server.inject({ method: 'POST', url: '/api/keys', headers, payload: { name: kind, ...body } });
    keys[kind] = answer.json<{ key: string }>().key;
  }
  time += 1_000;
});
afterAll(() => app.close());

const kinds = ['none', 'wrong', 'expired', 'user', 'admin', 'fixed'];
const carriers: Record<string, (key: string) => Record<string, string>> = {
  bearer: (key) => ({ authorization: `Bearer ${key}` }),
  'x-api-key': (key) => ({ 'x-api-key': key }),
  basic: (key) => ({ authorization: `Basic ${Buffer.from(`any:${key}`).toString('base64')}` }),
};

/** The status with which the door itself refuses, or undefined where it lets in. */
function expectedRefusal(access: Access, kind: string): number | undefined {
  if (access === 'public') return undefined;
  if (['none', 'wrong', 'expired'].includes(kind)) return 401;
  if (access === 'nobody') return 403;
  const isForAdministrators = access.startsWith('admin') || access === 'metrics';
  return isForAdministrators && kind === 'user' ? 403 : undefined;
}

const rows = Object.entries(routeRoles).filter(([row]) => row !== 'GET /ws' && !row.startsWith('OPTIONS'));

/** Refusals of the door only: other statuses are the route's own business. */
async function refusalOf(method: string, path: string, headers: Record<string, string>): Promise<number | undefined> {
  const url = path.replace(':id', 'nobody').replace('*', 'nothing');
  const payload = method === 'GET' || method === 'HEAD' ? {} : { payload: {} };
  const { statusCode } = await app.server.inject({
    method: method as 'GET',
    url,
    headers: { host: '127.0.0.1:8080', ...headers },
    ...payload,
  });
  // Nothing is behind a row whose route is not registered.
  expect([404, 405].includes(statusCode) || app.server.hasRoute({ method, url: path })).toBe(true);
  return [401, 403].includes(statusCode) ? statusCode : undefined;
}

describe('the door of every route', () => {
  it.each(rows)('%s (%s) opens to those of the table by every carrier', async (row, access) => {
    const [method = '', path = ''] = row.split(' ');
    const isRegistered = app.server.hasRoute({ method, url: path });
    const methods = method === 'GET' ? ['GET', 'HEAD'] : [method];
    for (const kind of kinds) {
      const key = keys[kind];
      const expected = isRegistered ? expectedRefusal(access, kind) : undefined;
      for (const carry of key === undefined ? [() => ({})] : Object.values(carriers)) {
        for (const sent of methods) expect(await refusalOf(sent, path, carry(key ?? '')), `${kind} ${sent}`).toBe(expected);
      }
    }
  });

  /** How base URLs with a slash too many spell it. */
  const doubled = (path: string): string => `/${path}`;
  const trailing = (path: string): string => `${path}/`;
  const everywhere = (path: string): string => `${path.replaceAll('/', '//')}//`;

  it.each(rows)('%s (%s) is as closed with slashes too many', async (row, access) => {
    const [method = '', path = ''] = row.split(' ');
    if (path === '/') return;
    for (const spell of [doubled, trailing, everywhere]) {
      const url = spell(path.replace(/:\w+/g, 'nobody').replace('*', 'nothing'));
      for (const kind of ['none', 'user']) {
        const key = keys[kind];
        const headers = { host: '127.0.0.1:8080', ...(key !== undefined && { authorization: `Bearer ${key}` }) };
        const payload = method === 'GET' ? {} : { payload: {} };
        const { statusCode, body } = await app.server.inject({ method: method as 'GET', url, headers, ...payload });
        const refusal = [401, 403].includes(statusCode) ? statusCode : undefined;
        expect({ url, kind, refusal, isUnknown: body.includes('There is nothing at') }).toEqual({
          url,
          kind,
          refusal: expectedRefusal(access, kind),
          isUnknown: false,
        });
      }
    }
  });

  it('is walked at every row', () => {
    const unregistered = rows.filter(([row]) => {
      const [method = '', path = ''] = row.split(' ');
      return !app.server.hasRoute({ method, url: path });
    });
    expect(unregistered).toEqual([]);
  });

  const spellings =
    '/v1/models/ //v1/models /v1//models /V1/models /v1/./models /%761/models /v1/models?key=1 /v1/models;a=b /health/../v1/models ' +
    '/health/%2e%2e/v1/models /%2e%2e/v1/models /v1/models%2f /v1/models%00 /v1/models%20 /v1%2fmodels \\\\v1\\\\models /v1/models# /v1/models/. ' +
    'http://evil.example/v1/models http://127.0.0.1/health/../v1/models';
  it.each(spellings.split(' '))('is not passed by writing the path as %s', async (path) => {
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS', 'PROPFIND', 'QUERY', 'TRACE', 'FOO']) {
      const answer = await answerTo(method, path);
      expect(answer, `${method} ${path}`).toMatch(/^HTTP\/1\.1 (?:400|401|404|405) /);
      expect(answer).not.toContain('"data"');
    }
  });

  /** As the bytes are written: a client library would tidy the path. */
  async function answerTo(method: string, path: string): Promise<string> {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    let text = '';
    socket.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    socket.write(`${method} ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    await once(socket, 'close');
    return text;
  }

  it('wrong and expired keys get the same bytes', async () => {
    const [wrong, expired] = await Promise.all(
      ['wrong', 'expired'].map((kind) =>
        app.server.inject({ method: 'GET', url: '/api/keys', headers: { authorization: `Bearer ${keys[kind] ?? ''}` } }),
      ),
    );
    expect(wrong?.body).toBe(expired?.body);
  });

  it.each(kinds)('%s at the socket, by its three ways', async (kind) => {
    const token = keys[kind];
    const isKnown = ['user', 'admin', 'fixed'].includes(kind);
    const ways = token === undefined ? [{ auth: {} }] : [{ token }, { auth: { token } }, { headers: { authorization: `Bearer ${token}` } }];
    for (const way of ways) {
      const result = await connectFakeBrowser({ url, ...way, waitsForSession: isKnown }).then(
        async (browser) => {
          if (!isKnown) return (await browser.closed).code;
          browser.terminate();
          return 'let in';
        },
        (error: Error) => error.message,
      );
      expect(result).toBe(isKnown ? 'let in' : 'headers' in way ? 'HTTP 401' : 4401);
    }
  });

  it('no log line shows a key', async () => {
    const text = app.logLines.join('');
    expect(Object.keys(keys).filter((kind) => text.includes(keys[kind] ?? 'nothing was sent'))).toEqual([]);
    expect(text).toContain('request refused');
  });
});

describe('the table', () => {
  it('leaves no more than these to everybody, and administration to administrators', () => {
    const rowsOf = (access: Access): string[] => Object.keys(routeRoles).filter((row) => routeRoles[row] === access);
    expect(rowsOf('public')).toEqual([
      'GET /',
      'GET /console',
      'GET /console/*',
      'GET /console/assets/:file',
      'GET /health',
      'GET /ready',
      'GET /client.js',
      'GET /openapi.json',
      'GET /docs',
      'GET /approvals/:link',
      'POST /approvals/:link',
      'GET /connect/:link',
      'POST /connect/:link',
      'GET /oauth/callback',
      'GET /oauth/callback/:issuer',
      'GET /oauth/client-metadata.json',
      'GET /oauth/client-metadata/:issuer',
      'GET /.well-known/oauth-protected-resource',
      'GET /.well-known/oauth-protected-resource/*',
      'GET /.well-known/oauth-authorization-server',
      'GET /.well-known/oauth-authorization-server/*',
      'GET /oauth/authorize',
      'GET /oauth/authorize/:uid',
      'GET /oauth/consent/:uid',
      'POST /oauth/consent/:uid',
      'POST /oauth/token',
      'POST /oauth/register',
      'POST /oauth/revoke',
      'GET /login',
      'GET /login/callback',
      'POST /login/token',
      'POST /logout',
      'GET /.well-known/jwks.json',
      'OPTIONS *',
    ]);
    expect(rowsOf('socket')).toEqual(['GET /ws']);
    expect(rowsOf('user').filter((row) => /keys|tool-servers|configs|settings/.test(row))).toEqual([]);
  });

  it('knows a row by method and path only, and HEAD as GET', () => {
    expect(findAccess('HEAD', '/health')).toBe('public');
    expect(findAccess('POST', '/health')).toBeUndefined();
    expect(findAccess('constructor', '')).toBeUndefined();
    expect(findAccess('GET', '/nothing')).toBeUndefined();
  });

  const user: Caller = { id: 'u', role: 'user', isOpen: false };
  const authenticator = { requireCaller: async () => user, hasMetricsKey: () => false };

  it('a route without a row keeps the gateway from starting, in a plugin too', async () => {
    const server = fastify();
    installGuard(server, { authenticator, now: Date.now });
    expect(() => server.get('/secret', () => 'x')).toThrow('GET /secret has no row');
    await expect(
      (async () => {
        await server.register(async (inner) => {
          inner.post('/health', () => 'x');
        });
      })(),
    ).rejects.toThrow('POST /health has no row');
    await server.close();
  });

  it('what is no known access is for administrators', async () => {
    const server = fastify();
    installErrorHandling(server);
    installGuard(server, { authenticator, now: Date.now, table: { 'GET /odd': 'unheard-of' as Access, 'GET /own': 'user' } });
    server.get('/odd', () => 'x');
    server.get('/own', (request) => request.caller.id);
    expect((await server.inject('/odd')).statusCode).toBe(403);
    expect((await server.inject('/own')).body).toBe('u');
    await server.close();
  });
});
