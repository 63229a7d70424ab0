import { brotliCompressSync } from 'node:zlib';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fastify } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import { consoleRoutes } from '../../../src/http/routes/gateway/console.ts';
import type { ConsoleFolder } from '../../../src/http/routes/gateway/console.ts';

const folder = mkdtempSync(join(tmpdir(), 'toolwharf-console-'));
const page = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const made: ConsoleFolder = {
  url: pathToFileURL(`${folder}/`),
  shell: 'digest',
  types: { 'a-12345678.js': 'text/javascript; charset=utf-8', 'session-worker-12345678.js': 'text/javascript; charset=utf-8' },
};

async function appWith(findConsole: () => Promise<ConsoleFolder>) {
  const app = fastify();
  await app.register(consoleRoutes, { findConsole, version: '1.2.3', hasSignIn: false });
  return app;
}

beforeAll(() => {
  for (const name of ['shell.html', ...Object.keys(made.types)]) {
    const content = name === 'shell.html' ? `content of ${name} <script src="console/assets/a.js"></script>` : `content of ${name}`;
    writeFileSync(join(folder, name), content);
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(content));
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('the routes of the console', () => {
  it.each([
    ['/', 'console/assets/a.js', '"digest"'],
    ['/console', 'console/assets/a.js', '"digest"'],
    ['/console/', '../console/assets/a.js', '"digest-1"'],
    ['/console/runs/abc?of=../..', '../../console/assets/a.js', '"digest-2"'],
  ])('give browsers the page at %s, which finds its files below whatever path', async (url, file, etag) => {
    const app = await appWith(async () => made);
    const answer = await app.inject({ url, headers: page });
    expect(answer.body).toBe(`content of shell.html <script src="${file}"></script>`);
    expect(answer.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', etag, 'cache-control': 'no-cache' });
  });

  it('give programs a line of JSON at /, whatever becomes of the page', async () => {
    const app = await appWith(() => Promise.reject(new Error('broken')));
    const answer = await app.inject({ url: '/', headers: { accept: '*/*' } });
    expect(answer.json()).toMatchObject({ name: 'toolwharf', version: '1.2.3' });
    expect(answer.headers.vary).toContain('accept');
  });

  it('have a policy that runs own files alone and parses no text as HTML', async () => {
    const app = await appWith(async () => made);
    const { headers } = await app.inject({ url: '/', headers: page });
    const policy = String(headers['content-security-policy']);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    for (const directive of [
      `default-src 'none'`,
      `script-src 'self'`,
      `style-src 'self'`,
      `connect-src 'self'`,
      `base-uri 'none'`,
      `frame-ancestors 'none'`,
      `require-trusted-types-for 'script'`,
    ])
      expect(policy.split('; ')).toContain(directive);
    expect(headers).toMatchObject({ 'x-frame-options': 'DENY', 'referrer-policy': 'no-referrer' });
  });

  it('answer 304 to a browser that has the page', async () => {
    const app = await appWith(async () => made);
    const answer = await app.inject({ url: '/', headers: { ...page, 'if-none-match': '"digest"' } });
    expect([answer.statusCode, answer.body]).toEqual([304, '']);
  });

  it('send files compressed, to be kept for ever', async () => {
    const app = await appWith(async () => made);
    const answer = await app.inject({ url: '/console/assets/a-12345678.js', headers: { 'accept-encoding': 'gzip, br' } });
    expect(answer.headers).toMatchObject({
      'content-encoding': 'br',
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
    });
    expect((await app.inject({ url: '/console/assets/a-12345678.js' })).body).toBe('content of a-12345678.js');
  });

  it.each(['shell.html', 'b.js', '..%2f..%2fpackage.json', '__proto__', 'a-12345678.js.br'])(
    'send nothing but the files of the list (%s)',
    async (name) => {
      const app = await appWith(async () => made);
      expect((await app.inject({ url: `/console/assets/${name}` })).statusCode).not.toBe(200);
    },
  );

  it('let a worker alone ask elsewhere', async () => {
    const app = await appWith(async () => made);
    const policyOf = async (name: string): Promise<unknown> =>
      (await app.inject({ url: `/console/assets/${name}` })).headers['content-security-policy'];
    expect(await policyOf('session-worker-12345678.js')).toContain('connect-src http: https:');
    expect(await policyOf('a-12345678.js')).toBeUndefined();
  });

  it('say what to do where there is no console', async () => {
    const app = await appWith(() => Promise.reject(new GatewayError('not_found', 'Run "npm ci" for <the> console.')));
    const answer = await app.inject({ url: '/', headers: page });
    expect(answer.statusCode).toBe(404);
    expect(answer.body).toContain('Run &quot;npm ci&quot; for &lt;the&gt; console.');
  });
});
