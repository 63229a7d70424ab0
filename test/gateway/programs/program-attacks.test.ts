import { describe, expect, it } from 'vitest';
import type { OutboundRequest, SendOutbound } from '../../../src/core/outbound.ts';
import { OutboundError } from '../../../src/core/errors.ts';
import { createOutbound } from '../../../src/policy/outbound/outbound-request.ts';
import { scriptedBrowser } from '../../_support/scripted-browser.ts';
import type { BrowserPage } from '../../_support/scripted-browser.ts';
import { jsonResponse } from '../../tools/scripted-send.ts';
import {
  adminKey,
  allow,
  answerOf,
  askFor,
  browserFor,
  connect,
  exchange,
  mcpStatus,
  programScene,
  redirectUri,
  refresh,
} from './program-fixture.ts';
import type { Answer, Asked, ProgramScene } from './program-fixture.ts';

interface Allowed {
  client: string;
  code: string;
  asked: Asked;
}

/** A code that a program has been sent and has not used. */
async function allowed(scene: ProgramScene, changes?: Record<string, string | undefined>): Promise<Allowed> {
  const { client_id: client } = await scene.register();
  const browser = browserFor();
  const asked = askFor(scene.url, client, changes);
  const back = await allow(browser, await browser.open(asked.url), adminKey);
  return { client, code: back.searchParams.get('code') ?? '', asked };
}

const tokensFor = (scene: ProgramScene, { client, code, asked }: Allowed, others: Record<string, string> = {}): Promise<Answer> =>
  exchange(scene, { client, code, verifier: asked.verifier, ...others });

const refusedGrant = { status: 400, body: { error: 'invalid_grant' } };

describe('a code', () => {
  it('is used once; a second use ends the tokens of the first', async () => {
    const scene = await programScene();
    const code = await allowed(scene);
    const first = await tokensFor(scene, code);
    expect(first.status).toBe(200);
    expect(await mcpStatus(scene, String(first.body['access_token']))).toBe(200);
    expect(await tokensFor(scene, code)).toMatchObject(refusedGrant);
    expect(await mcpStatus(scene, String(first.body['access_token']))).toBe(401);
    const client = { client_id: code.client, refresh_token: String(first.body['refresh_token']) };
    expect(await refresh(scene, client)).toMatchObject(refusedGrant);
  });

  it('gives tokens to one of two requests that come at once', async () => {
    const scene = await programScene();
    const code = await allowed(scene);
    const answers = await Promise.all([tokensFor(scene, code), tokensFor(scene, code)]);
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThan(2);
    expect(answers.some(({ status }) => status === 400)).toBe(true);
  });

  it('expires after a minute', async () => {
    const scene = await programScene();
    const code = await allowed(scene);
    scene.clock.aheadMs = 61_000;
    expect(await tokensFor(scene, code)).toMatchObject(refusedGrant);
  });

  it('belongs to the program that asked', async () => {
    const scene = await programScene();
    const code = await allowed(scene);
    const { client_id: other } = await scene.register();
    expect(await tokensFor(scene, { ...code, client: other })).toMatchObject(refusedGrant);
    expect((await tokensFor(scene, code)).status).toBe(200);
  });

  it('belongs to the redirect address that was asked for', async () => {
    const scene = await programScene();
    const code = await allowed(scene);
    expect(await tokensFor(scene, code, { redirect_uri: 'http://127.0.0.1:33418/other' })).toMatchObject(refusedGrant);
    expect((await tokensFor(scene, code)).status).toBe(200);
  });

  it('needs the verifier of its challenge', async () => {
    const scene = await programScene();
    const code = await allowed(scene);
    expect(await tokensFor(scene, code, { code_verifier: 'x'.repeat(43) })).toMatchObject(refusedGrant);
    expect(await tokensFor(scene, code, { code_verifier: '' })).toMatchObject({ status: 400 });
    expect((await tokensFor(scene, code)).status).toBe(200);
  });
});

describe('a refresh token', () => {
  it('that is used twice ends the newer ones and their access tokens', async () => {
    const scene = await programScene();
    const first = await connect(scene, adminKey);
    const second = await refresh(scene, first);
    const third = await refresh(scene, { client_id: first.client_id, refresh_token: String(second.body['refresh_token']) });
    expect(third.status).toBe(200);
    expect(await refresh(scene, first)).toMatchObject(refusedGrant);
    expect(await refresh(scene, { client_id: first.client_id, refresh_token: String(third.body['refresh_token']) })).toMatchObject(
      refusedGrant,
    );
    expect(await mcpStatus(scene, String(third.body['access_token']))).toBe(401);
  });

  it('belongs to its program', async () => {
    const scene = await programScene();
    const tokens = await connect(scene, adminKey);
    const { client_id: other } = await scene.register();
    expect(await refresh(scene, { ...tokens, client_id: other })).toMatchObject(refusedGrant);
    expect((await refresh(scene, tokens)).status).toBe(200);
  });

  it('is no access token, and a code is none either', async () => {
    const scene = await programScene();
    const code = await allowed(scene);
    expect(await mcpStatus(scene, code.code)).toBe(401);
    const { body } = await tokensFor(scene, code);
    expect(await mcpStatus(scene, String(body['refresh_token']))).toBe(401);
    expect(await mcpStatus(scene, String(body['access_token']))).toBe(200);
  });
});

describe('PKCE', () => {
  it.each([
    ['without a challenge', { code_challenge: undefined, code_challenge_method: undefined }],
    ['with the method "plain"', { code_challenge_method: 'plain' }],
    ['without a method, which would be "plain"', { code_challenge_method: undefined }],
  ])('a request %s ends on a page that leads back with the error', async (_what, changes) => {
    const scene = await programScene();
    const { client_id: client } = await scene.register();
    const browser = browserFor();
    const asked = askFor(scene.url, client, changes);
    const page = await browser.open(asked.url);
    const back = linkIn(page);
    expect([page.status, `${back.origin}${back.pathname}`, back.searchParams.get('error')]).toEqual([400, redirectUri, 'invalid_request']);
    expect([back.searchParams.get('state'), back.searchParams.get('iss')]).toEqual([asked.state, scene.url]);
  });
});

/** Where a page about a wrong request leads. */
function linkIn({ body }: BrowserPage): URL {
  return new URL((/<a class="next" href="([^"]+)"/.exec(body)?.[1] ?? '').replaceAll('&amp;', '&'));
}

describe('a redirect address', () => {
  const registered = ['https://app.example/cb', 'http://127.0.0.1:33418/callback', 'com.example.app:/cb'];

  async function pageFor(redirect: string): Promise<BrowserPage> {
    const scene = await programScene();
    const { client_id: client } = await scene.register({ redirect_uris: registered });
    const browser = browserFor();
    return browser.open(askFor(scene.url, client, { redirect_uri: redirect }).url);
  }

  it.each([...registered, 'http://127.0.0.1:1/callback', 'http://127.0.0.1/callback'])(
    '%s is one of those registered',
    async (redirect) => {
      expect(await pageFor(redirect)).toMatchObject({ status: 200, url: expect.stringContaining('/oauth/consent/') });
    },
  );

  it.each([
    ['another host', 'https://evil.example/cb'],
    ['a host that begins like it', 'https://app.example.evil.example/cb'],
    ['a host below it', 'https://x.app.example/cb'],
    ['another port', 'https://app.example:8443/cb'],
    ['no TLS', 'http://app.example/cb'],
    ['another path', 'https://app.example/cb/../evil'],
    ['a longer path', 'https://app.example/cb/x'],
    ['a query', 'https://app.example/cb?next=https://evil.example'],
    ['a fragment', 'https://app.example/cb#x'],
    ['user information', 'https://app.example@evil.example/cb'],
    ['a backslash', 'https://app.example\\@evil.example/cb'],
    ['letters that look like it', 'https://аpp.example/cb'],
    ['capital letters', 'https://APP.example/cb'],
    ['a percent-encoded dot', 'https://app%2Eexample/cb'],
    ['another loopback name', 'http://localhost:33418/callback'],
    ['user information at the loopback address', 'http://evil.example@127.0.0.1:33418/callback'],
    ['another path at the loopback address', 'http://127.0.0.1:33418/evil'],
    ['TLS at the loopback address', 'https://127.0.0.1:33418/callback'],
    ['another scheme', 'com.example.evil:/cb'],
    ['a script', 'javascript:alert(1)'],
  ])('with %s is refused on a page, and the browser is sent nowhere', async (_what, redirect) => {
    const page = await pageFor(redirect);
    expect([page.status, page.url.startsWith('http://127.0.0.1')]).toEqual([400, true]);
    expect(page.text).toContain('The program cannot be connected');
    expect(page.headers.location).toBeUndefined();
  });

  it.each(['before', 'after'])('that is sent %s the right one leads nowhere else', async (where) => {
    const scene = await programScene();
    const { client_id: client } = await scene.register();
    const { url } = askFor(scene.url, client);
    const evil = 'redirect_uri=https%3A%2F%2Fevil.example%2F';
    const browser = browserFor();
    browser.refuseTo('https://evil.example');
    await browser.open(where === 'before' ? url.replace('?', `?${evil}&`) : `${url}&${evil}`).catch(() => undefined);
    expect(new URL(browser.lastTried()).hostname).toBe('127.0.0.1');
    expect(browser.lastTried()).not.toContain('/oauth/consent/');
  });

  it.each([
    ['no TLS', 'http://app.example/cb'],
    ['user information', 'https://user:password@app.example/cb'],
    ['a fragment', 'https://app.example/cb#x'],
    ['a script', 'javascript:alert(1)'],
    ['data', 'data:text/html,x'],
    ['a file', 'file:///etc/passwd'],
    ['no address', 'not an address'],
    ['too many characters', `https://app.example/${'x'.repeat(2_048)}`],
  ])('with %s is not registered', async (_what, redirect) => {
    const scene = await programScene();
    const { status, body } = await scene.call('POST /oauth/register', '', { redirect_uris: [redirect] });
    expect([status, body['error']]).toEqual([400, 'invalid_redirect_uri']);
  });
});

describe('a request', () => {
  it.each([
    ['names another resource', 'https://other.example/mcp'],
    ['names the gateway as a whole', ''],
    ['names something below /mcp', '/mcp/x'],
  ])('that %s is refused', async (_what, resource) => {
    const scene = await programScene();
    const { client_id: client } = await scene.register();
    const browser = browserFor();
    const asked = resource.startsWith('https:') ? resource : `${scene.url}${resource}`;
    const page = await browser.open(askFor(scene.url, client, { resource: asked }).url);
    expect([page.status, linkIn(page).searchParams.get('error')]).toEqual([400, 'invalid_target']);
  });

  it('may name /mcp, at both requests', async () => {
    const scene = await programScene();
    const resource = `${scene.url}/mcp`;
    const code = await allowed(scene, { resource });
    expect((await tokensFor(scene, code, { resource: 'https://other.example/mcp' })).body).toMatchObject({ error: 'invalid_target' });
    const again = await allowed(scene, { resource });
    const { body } = await tokensFor(scene, again, { resource });
    expect(await mcpStatus(scene, String(body['access_token']))).toBe(200);
  });

  it.each(['none', 'login', 'select_account', 'create'])('with the prompt "%s" is asked about like any other', async (prompt) => {
    const scene = await programScene();
    const { client_id: client } = await scene.register();
    expect((await browserFor().open(askFor(scene.url, client, { prompt }).url)).text).toContain('Allow access to your tools?');
  });

  it('that is wrong sends nobody to an address that anybody may have registered', async () => {
    const scene = await programScene();
    const { client_id: client } = await scene.register({ redirect_uris: ['https://evil.example/'] });
    const browser = browserFor();
    browser.refuseTo('https://evil.example');
    for (const wrong of [
      { response_type: 'token' },
      { code_challenge: undefined },
      { resource: 'https://x.example' },
      { response_type: undefined },
    ]) {
      const { url } = askFor(scene.url, client, { redirect_uri: 'https://evil.example/', ...wrong });
      expect(await browser.open(url)).toMatchObject({ status: 400, text: expect.stringContaining('cannot be connected') });
    }
  });

  it('is asked about each time, also in a browser that has just agreed', async () => {
    const scene = await programScene();
    const { client_id: client } = await scene.register();
    const browser = browserFor();
    await allow(browser, await browser.open(askFor(scene.url, client).url), adminKey);
    expect((await browser.open(askFor(scene.url, client).url)).text).toContain('Allow access to your tools?');
  });
});

describe('the consent page', () => {
  async function opened(): Promise<{ scene: ProgramScene; browser: ReturnType<typeof browserFor>; page: BrowserPage; asked: Asked }> {
    const scene = await programScene();
    const { client_id: client } = await scene.register();
    const browser = browserFor();
    const asked = askFor(scene.url, client);
    return { scene, browser, page: await browser.open(asked.url), asked };
  }

  it('cannot be framed, runs nothing and sends no referrer', async () => {
    const { page } = await opened();
    const policy = String(page.headers['content-security-policy']);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("default-src 'none'");
    expect(page.headers).toMatchObject({ 'x-frame-options': 'DENY', 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' });
  });

  it('takes no answer from another browser', async () => {
    const { page, browser } = await opened();
    const other = scriptedBrowser();
    expect((await other.open(page.url)).status).toBe(404);
    expect((await other.submit(page, { key: adminKey }, 'allow')).status).toBe(404);
    expect((await allow(browser, page, adminKey)).searchParams.get('code')).not.toBeNull();
  });

  it('takes no answer that another site sends', async () => {
    const { page, browser } = await opened();
    const evil = { ...page, url: 'http://localhost:1/', headers: {} };
    const sent = await browser.submit(evil, { key: adminKey }, 'allow');
    expect([403, 404]).toContain(sent.status);
    expect((await allow(browser, page, adminKey)).searchParams.get('code')).not.toBeNull();
  });

  it('takes no answer without the token of its form', async () => {
    const { page, browser, scene } = await opened();
    const cookie = [...(browser.cookies.get('127.0.0.1') ?? [])].map(([name, { value }]) => `${name}=${value}`).join('; ');
    const path = new URL(page.url).pathname;
    const own = { cookie, 'sec-fetch-site': 'same-origin' };
    const token = page.forms[0]?.fields['token'] ?? '';
    for (const forged of ['', 'x'.repeat(token.length)])
      expect((await scene.post(path, { answer: 'allow', key: adminKey, token: forged }, own)).status).toBe(403);
    const { status, headers } = await scene.post(path, { answer: 'allow', key: adminKey, token }, own);
    expect([status, headers.get('location')]).toEqual([303, expect.stringContaining('/oauth/authorize/')]);
  });

  it('is answered once', async () => {
    const { page, browser } = await opened();
    await allow(browser, page, adminKey);
    expect((await browser.submit(page, { key: adminKey }, 'allow')).status).toBe(404);
  });

  it('expires after ten minutes', async () => {
    const { page, browser, scene } = await opened();
    scene.clock.aheadMs = 10 * 60_000 + 1;
    expect((await browser.submit(page, { key: adminKey }, 'allow')).status).toBe(404);
  });

  it('sends a refusal back to the program', async () => {
    const { page, browser, asked } = await opened();
    const back = await answerOf(browser, page, {}, 'deny');
    expect([back.searchParams.get('error'), back.searchParams.get('state')]).toEqual(['access_denied', asked.state]);
  });

  it('shows names and addresses as text', async () => {
    const scene = await programScene();
    const name = '<b>Trusted</b>\u202e';
    const { client_id: client } = await scene.register({ client_name: name, redirect_uris: ['https://xn--pp-8cd.example/cb'] });
    const page = await browserFor().open(askFor(scene.url, client, { redirect_uri: 'https://xn--pp-8cd.example/cb' }).url);
    expect(page.body).not.toContain('<b>Trusted');
    expect(page.body).not.toContain('\u202e');
    expect(page.text).toContain('xn--pp-8cd.example');
  });

  it('takes no key that speaks for several people, and says what to do', async () => {
    const { page, browser, scene } = await opened();
    const team = await scene.keyFor({ users: { from: 'header', name: 'x-user' } });
    const refused = await browser.submit(page, { key: team.key }, 'allow');
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('speaks for several people')]);
    expect((await allow(browser, refused, adminKey)).searchParams.get('code')).not.toBeNull();
  });

  it('counts wrong keys by address, and then takes none', async () => {
    const { page, browser, scene } = await opened();
    let shown = page;
    for (let index = 0; index < 30; index += 1) {
      shown = await browser.submit(page, { key: `sk-tw-wrong-${index}` }, 'allow');
      expect([shown.status, shown.text]).toEqual([403, expect.stringContaining('not a key of this gateway')]);
    }
    const refused = await browser.submit(page, { key: adminKey }, 'allow');
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, expect.stringMatching(/^\d{3}$/)]);
    scene.clock.aheadMs = 9 * 60_000;
    expect((await browser.submit(page, { key: adminKey }, 'allow')).status).toBe(429);
  });

  it('has nothing to offer while the gateway has no key', async () => {
    const scene = await programScene({ hasKey: false });
    const { client_id: client } = await scene.register();
    const page = await browserFor().open(askFor(scene.url, client).url);
    expect([page.status, page.text]).toEqual([409, expect.stringContaining('no key yet')]);
  });
});

describe('registration', () => {
  it('keeps what is used, and nothing that would be fetched or shown', async () => {
    const scene = await programScene();
    const client = await scene.register({
      jwks_uri: 'http://169.254.169.254/',
      sector_identifier_uri: 'https://169.254.169.254/',
      logo_uri: 'https://evil.example/logo',
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code', 'implicit'],
      response_types: ['code', 'token'],
      scope: 'openid profile admin',
      application_type: 'web',
      require_auth_time: true,
    });
    expect(client).toMatchObject({ grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] });
    for (const name of ['jwks_uri', 'sector_identifier_uri', 'logo_uri', 'scope']) expect(client).not.toHaveProperty(name);
  });

  it('is counted by address', async () => {
    const scene = await programScene();
    const statuses = new Map<number, number>();
    for (let index = 0; index < 125; index += 1) {
      const { status } = await scene.call('POST /oauth/register', '', { redirect_uris: [redirectUri] });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect(Object.fromEntries(statuses)).toEqual({ 201: 120, 429: 5 });
    scene.clock.aheadMs = 60 * 60_000;
    await scene.register();
  });

  it('that nobody agrees to ends after a day, and any other does not', async () => {
    const scene = await programScene();
    const { client_id: unused } = await scene.register();
    const { client_id: used } = await connect(scene, adminKey);
    scene.clock.aheadMs = 25 * 60 * 60_000;
    expect((await browserFor().open(askFor(scene.url, unused).url)).status).toBe(400);
    expect((await browserFor().open(askFor(scene.url, used).url)).status).toBe(200);
  });

  it('takes no large body, and none that is not JSON', async () => {
    const scene = await programScene();
    const send = (body: string, type = 'application/json'): Promise<Response> =>
      fetch(`${scene.url}/oauth/register`, { method: 'POST', headers: { 'content-type': type }, body });
    expect((await send(JSON.stringify({ redirect_uris: [redirectUri], client_name: 'x'.repeat(100_000) }))).status).toBe(413);
    expect((await send('[]')).status).toBe(400);
    expect((await send('{')).status).toBe(400);
    expect((await send(`${'['.repeat(20_000)}${']'.repeat(20_000)}`)).status).toBe(400);
    expect((await send('x=y', 'application/x-www-form-urlencoded')).status).toBe(400);
  });
});

describe('a client metadata document', () => {
  const id = 'https://app.example/client.json';
  const document = { client_id: id, client_name: 'An app', redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' };

  function sending(answer: object, status = 200): { send: SendOutbound; sent: OutboundRequest[] } {
    const sent: OutboundRequest[] = [];
    return {
      sent,
      async send(request) {
        sent.push(request);
        return jsonResponse(answer as never, status);
      },
    };
  }

  it('identifies a program, is fetched once, and only as a stranger may', async () => {
    const { send, sent } = sending(document);
    const scene = await programScene({ send });
    const tokens = await connect(scene, adminKey, id);
    expect(await mcpStatus(scene, tokens.access_token)).toBe(200);
    expect(sent.filter(({ url }) => url === id)).toMatchObject([{ method: 'GET', trust: { kind: 'stranger' } }]);
    expect((await refresh(scene, tokens)).status).toBe(200);
  });

  it.each([
    ['names another id', { ...document, client_id: 'https://evil.example/client.json' }],
    ['has a secret', { ...document, client_secret: 'x', token_endpoint_auth_method: 'client_secret_post' }],
    ['has a redirect address without TLS', { ...document, redirect_uris: ['http://app.example/cb'] }],
    ['is too large', { ...document, more: 'x'.repeat(20_000) }],
    ['is no object', [document]],
  ])('that %s is refused', async (_what, answer) => {
    const { send, sent } = sending(answer);
    const scene = await programScene({ send });
    expect((await browserFor().open(askFor(scene.url, id).url)).status).toBe(400);
    expect(sent.some(({ url }) => url === id)).toBe(true);
  });

  it.each([
    'http://app.example/client.json',
    'https://user@app.example/client.json',
    'https://app.example/a/../client.json',
    'https://app.example/client.json#x',
    'ftp://app.example/client.json',
  ])('is not looked for at %s', async (address) => {
    const { send, sent } = sending({ ...document, client_id: address });
    const scene = await programScene({ send });
    expect((await browserFor().open(askFor(scene.url, address).url)).status).toBe(400);
    expect(sent.filter(({ url }) => url.includes('app.example'))).toEqual([]);
  });

  it('is never fetched from a private address', async () => {
    const outbound = createOutbound({
      egress: { mode: 'public', allow: [] },
      maxConnectionsPerOrigin: 10,
      onConnectionLimit: () => undefined,
    });
    const failures: unknown[] = [];
    const send: SendOutbound = (request) =>
      outbound.send(request).catch((error: unknown) => {
        if (request.url.endsWith('/client.json')) failures.push(error instanceof OutboundError ? error.failure : error);
        throw error;
      });
    const scene = await programScene({ send });
    const addresses = ['127.0.0.1', '[::1]', '169.254.169.254', '10.0.0.1', '2130706433', '0x7f.1', 'localhost', '[::ffff:127.0.0.1]'];
    for (const host of addresses) expect((await browserFor().open(askFor(scene.url, `https://${host}/client.json`).url)).status).toBe(400);
    expect([failures.length >= addresses.length, new Set(failures)]).toEqual([true, new Set(['denied'])]);
    await outbound.close();
  });

  it('is counted by address when it has to be fetched', async () => {
    const { send, sent } = sending({});
    const scene = await programScene({ send });
    for (let index = 0; index < 70; index += 1) await browserFor().open(askFor(scene.url, `https://app.example/${index}.json`).url);
    expect(sent.filter(({ url }) => url.startsWith('https://app.example/'))).toHaveLength(60);
  });
});

describe('a mix-up', () => {
  it('is noticed by the issuer in each answer', async () => {
    const scene = await programScene();
    const { client_id: client } = await scene.register();
    for (const press of ['allow', 'deny']) {
      const browser = browserFor();
      const page = await browser.open(askFor(scene.url, client).url);
      const back = await answerOf(browser, page, press === 'allow' ? { key: adminKey } : {}, press);
      expect(back.searchParams.get('iss')).toBe(scene.url);
    }
  });
});
