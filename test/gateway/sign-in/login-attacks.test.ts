import { describe, expect, it } from 'vitest';
import { returnPath } from '../../../src/http/routes/access/return-path.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { handMadeOpenId, openIdClient } from '../../_support/hand-made-openid.ts';
import type { HandMadeOpenId, OpenIdFaults } from '../../_support/hand-made-openid.ts';
import { scriptedBrowser } from '../../_support/scripted-browser.ts';
import type { BrowserPage, ScriptedBrowser } from '../../_support/scripted-browser.ts';
import { askToken, audience, logIn, logOut, loginScene, tokenIn } from './login-fixture.ts';
import { logsOf, signInGateway } from './sign-in-fixture.ts';
import type { SignInGateway } from './sign-in-fixture.ts';

interface Scene {
  provider: HandMadeOpenId;
  gateway: SignInGateway;
}

async function sceneOf(faults: OpenIdFaults = {}): Promise<Scene> {
  const provider = await handMadeOpenId(audience, faults);
  const environment = {
    OIDC_ISSUER: provider.issuer,
    OIDC_AUDIENCE: audience,
    OIDC_CLIENT_ID: openIdClient.id,
    OIDC_CLIENT_SECRET: openIdClient.secret,
  };
  return { provider, gateway: await signInGateway({ environment }) };
}

const isSignedIn = async (browser: ScriptedBrowser, { url }: SignInGateway): Promise<boolean> =>
  (await askToken(browser, { url: `${url}/`, headers: {} })).status === 200;

it('a hand-made provider signs a person in, so that what follows fails for the faults alone', async () => {
  const { gateway } = await sceneOf();
  const browser = scriptedBrowser();
  const page = await logIn(browser, gateway.url, 'ada');
  expect(page.url).toBe(`${gateway.url}/console/runs`);
  const { access_token: token, person } = tokenIn(await askToken(browser, page));
  expect(person).toEqual({ id: 'ada', name: 'Ada', email: 'ada@example.org' });
  expect((await gateway.call('GET /api/runs', { key: token })).status).toBe(200);
});

describe('nobody is signed in, and the page names the cure,', () => {
  const elsewhere = 'https://evil.example';
  const cases: [name: string, faults: OpenIdFaults, cure: RegExp][] = [
    ['if the access token is opaque', { opaqueToken: 'CANARY-opaque' }, /not a JSON Web Token.*OIDC_AUDIENCE.*OIDC_SCOPES/],
    ['if the access token is for another API', { accessToken: { aud: 'graph' } }, /"aud".*OIDC_AUDIENCE.*OIDC_SCOPES/],
    ['if the access token is for the console', { accessToken: { aud: openIdClient.id } }, /"aud".*OIDC_AUDIENCE/],
    ['if the access token never ends', { accessToken: { exp: null } }, /"exp"/],
    ['if the access token is of another issuer', { accessToken: { iss: elsewhere } }, /not of this issuer/],
    ['if the ID token has another nonce', { idToken: { nonce: 'another' } }, /nonce/],
    ['if the ID token has no nonce', { idToken: { nonce: null } }, /nonce/],
    ['if the ID token is for another client', { idToken: { aud: 'another' } }, /aud/],
    ['if the ID token is of another issuer', { idToken: { iss: elsewhere } }, /iss/],
    ['if the ID token has ended', { idToken: { exp: 1 } }, /exp/],
    ['if there is no ID token', { token: ({ id_token: _left, ...usual }) => usual }, /id_token/],
    ['if the token is of another type', { token: (usual) => ({ ...usual, token_type: 'DPoP' }) }, /not a bearer token/],
    ['if the answer has another issuer', { answer: (back) => back.set('iss', elsewhere) }, /iss/],
    ['if the answer lacks the announced issuer', { answer: (back) => back.delete('iss') }, /iss/],
    ['if the answer has no code', { answer: (back) => back.delete('code') }, /code/],
    ['if the answer has another state', { answer: (back) => back.set('state', 'guessed') }, /start again/],
    ['if the answer has two states', { answer: (back) => back.append('state', 'guessed') }, /start again/],
    [
      'if the person said no',
      {
        answer(back) {
          back.delete('code');
          back.set('error', 'access_denied');
          back.set('error_description', '<script>alert(1)</script>');
        },
      },
      /access_denied/,
    ],
    [
      'if the provider does not know the API',
      {
        answer(back) {
          back.delete('code');
          back.set('error', 'invalid_target');
        },
      },
      /OIDC_AUDIENCE/,
    ],
    ['if the metadata is of another issuer', { metadata: { issuer: elsewhere } }, /was not used.*correct the issuer/],
    ['if only plain challenges are taken', { metadata: { code_challenge_methods_supported: ['plain'] } }, /S256/],
    ['if the page to sign in at is no web page', { metadata: { authorization_endpoint: 'javascript:alert(1)' } }, /https/],
  ];

  it.each(cases)('%s', async (_name, faults, cure) => {
    const { gateway } = await sceneOf(faults);
    const browser = scriptedBrowser();
    const page = await logIn(browser, gateway.url, 'ada');
    expect(page.status).toBeGreaterThanOrEqual(400);
    // What a browser brings is no fault of a server behind the gateway.
    expect(page.status).toBeLessThan(faults.answer === undefined ? 600 : 500);
    expect(page.text).toMatch(cure);
    expect(page.body).toContain('href="/"');
    expect(page.body).not.toContain('<script>');
    expect(page.text + logsOf(gateway)).not.toMatch(/CANARY/);
    expect(await isSignedIn(browser, gateway)).toBe(false);
  });

  it('and what the provider gave in vain is revoked', async () => {
    const { gateway, provider } = await sceneOf({ opaqueToken: 'CANARY-opaque' });
    await logIn(scriptedBrowser(), gateway.url, 'ada');
    expect(provider.asked.filter(({ path }) => path === '/revoke').map(({ token }) => token)).toEqual(['CANARY-refresh', 'CANARY-opaque']);
  });
});

describe('a token that is renewed', () => {
  it('while its owner signs out is revoked, and signs nobody in', async () => {
    const browser = scriptedBrowser();
    let signOut: (() => Promise<unknown>) | undefined;
    const { provider, gateway } = await sceneOf({
      accessToken: { exp: Math.floor(Date.now() / 1_000) + 300 },
      async token(usual, { grant_type: grant }) {
        if (grant !== 'refresh_token') return usual;
        await signOut?.();
        return { ...usual, refresh_token: 'CANARY-second' };
      },
    });
    const page = await logIn(browser, gateway.url, 'ada');
    signOut = () => logOut(browser, page);
    gateway.clock.aheadMs = 250_000;
    expect((await askToken(browser, page)).status).toBe(204);
    expect(provider.asked.filter(({ path }) => path === '/revoke').map(({ token }) => token)).toContain('CANARY-second');
  });

  it('signs out whoever gets that of somebody else', async () => {
    const claims: JsonObject = {};
    const { gateway } = await sceneOf({ accessToken: claims });
    const browser = scriptedBrowser();
    const page = await logIn(browser, gateway.url, 'ada');
    claims['sub'] = 'bob';
    gateway.clock.aheadMs = 250_000;
    expect((await askToken(browser, page)).status).toBe(204);
    gateway.clock.aheadMs = 0;
    expect((await askToken(browser, page)).status).toBe(204);
  });
});

it('signing in again ends the login that this browser had', async () => {
  const { gateway } = await sceneOf();
  const browser = scriptedBrowser();
  const page = await logIn(browser, gateway.url, 'ada');
  const old = scriptedBrowser();
  old.cookies.set('127.0.0.1', new Map(browser.cookies.get('127.0.0.1')));
  expect((await askToken(old, page)).status).toBe(200);
  await logIn(browser, gateway.url, 'ada');
  expect((await askToken(old, page)).status).toBe(204);
  expect((await askToken(browser, page)).status).toBe(200);
});

describe('the way back from the provider', () => {
  /** Signs in up to the answer, whose address is given instead of followed. */
  async function heldAnswer({ gateway }: Scene, browser: ScriptedBrowser): Promise<string> {
    browser.refuseTo(gateway.url);
    const begun = await fetch(`${gateway.url}/login`, { redirect: 'manual' });
    browser.refuseTo(undefined);
    const [cookie = ''] = begun.headers.getSetCookie();
    const [pair = ''] = cookie.split(';');
    const [name = '', value = ''] = pair.split('=');
    const jar = browser.cookies.get('127.0.0.1') ?? new Map();
    browser.cookies.set('127.0.0.1', jar);
    jar.set(name, { value, path: '/', sameSite: 'lax', isHttpOnly: true, expires: undefined });
    const answered = await fetch(begun.headers.get('location') ?? '', { redirect: 'manual' });
    return answered.headers.get('location') ?? '';
  }
  const cookiesOf = (browser: ScriptedBrowser): Map<string, unknown> => new Map(browser.cookies.get('127.0.0.1'));

  it('counts once, even with a copy of the cookie', async () => {
    const scene = await sceneOf();
    const browser = scriptedBrowser();
    const back = await heldAnswer(scene, browser);
    const copy = cookiesOf(browser);
    expect((await browser.open(back)).status).toBe(200);
    expect(await isSignedIn(browser, scene.gateway)).toBe(true);
    expect((await browser.open(back)).status).toBe(403);
    const other = scriptedBrowser();
    other.cookies.set('127.0.0.1', copy as never);
    expect((await other.open(back)).status).toBe(403);
    expect(await isSignedIn(other, scene.gateway)).toBe(false);
    expect(scene.provider.asked.filter(({ path }) => path === '/token')).toHaveLength(1);
  });

  it('counts in the browser that began, and in no other, which does not spoil it', async () => {
    const scene = await sceneOf();
    const [mine, theirs] = [scriptedBrowser(), scriptedBrowser()];
    const back = await heldAnswer(scene, mine);
    await heldAnswer(scene, theirs);
    expect((await theirs.open(back)).status).toBe(403);
    expect((await scriptedBrowser().open(back)).status).toBe(403);
    expect(await isSignedIn(theirs, scene.gateway)).toBe(false);
    expect((await mine.open(back)).status).toBe(200);
    expect(await isSignedIn(mine, scene.gateway)).toBe(true);
  });

  it('does not count with the cookie of another sign-in under its name', async () => {
    const scene = await sceneOf();
    const browser = scriptedBrowser();
    const first = await heldAnswer(scene, browser);
    const [of] = cookiesOf(browser).values();
    const other = scriptedBrowser();
    const second = await heldAnswer(scene, other);
    const [name = ''] = cookiesOf(other).keys();
    other.cookies.get('127.0.0.1')?.set(name, of as never);
    expect((await other.open(second)).status).toBe(403);
    expect((await browser.open(first)).status).toBe(200);
  });

  it.each([
    [9 * 60_000, 200],
    [10 * 60_000 + 1_000, 403],
  ])('counts for ten minutes: after %i ms it is %i', async (aheadMs, status) => {
    const scene = await sceneOf({ accessToken: { exp: Math.floor(Date.now() / 1_000) + 3_600 } });
    const browser = scriptedBrowser();
    const back = await heldAnswer(scene, browser);
    scene.gateway.clock.aheadMs = aheadMs;
    expect((await browser.open(back)).status).toBe(status);
  });
});

describe('a page to come back to', () => {
  it.each([
    ['/console/runs?status=failed', '/console/runs?status=failed'],
    ['/connect/abc_-9', '/connect/abc_-9'],
    ['/', '/'],
    ['https://evil.example/', '/'],
    ['//evil.example/console', '/'],
    ['/\\evil.example/console', '/'],
    ['\\\\evil.example', '/'],
    ['/console/%2e%2e//evil.example', '/'],
    ['/console/..//evil.example', '/'],
    ['/\t/evil.example', '/'],
    ['javascript:alert(1)', '/'],
    ['/login', '/'],
    ['/logout', '/'],
    ['/api/keys', '/'],
    ['/console/a\r\nset-cookie: x=y', '/console/aset-cookie:%20x=y'],
    ['http://gateway.invalid/console', '/console'],
  ])('%j leads to %s', (asked, led) => {
    expect(returnPath(asked)).toBe(led);
  });

  it('is never one of another site, at the end of a whole sign-in', async () => {
    const { gateway } = await sceneOf();
    const page = await logIn(scriptedBrowser(), gateway.url, 'ada', '//evil.example/console');
    expect(page.url).toBe(`${gateway.url}/`);
  });
});

describe('the cookie', () => {
  async function signedIn(): Promise<{ gateway: SignInGateway; browser: ScriptedBrowser; page: BrowserPage; cookie: string }> {
    const { gateway } = await loginScene();
    const browser = scriptedBrowser();
    const page = await logIn(browser, gateway.url, 'ada');
    const cookie = `toolwharf-login=${browser.cookies.get('127.0.0.1')?.get('toolwharf-login')?.value ?? ''}`;
    return { gateway, browser, page, cookie };
  }

  it('is no credential of the API', async () => {
    const { gateway, browser, page, cookie } = await signedIn();
    const [, login = ''] = cookie.split('=');
    const { access_token: token } = tokenIn(await askToken(browser, page));
    for (const path of ['/api/runs', '/v1/models', '/api/credentials', '/mcp']) {
      const statusWith = async (headers: Record<string, string>): Promise<number> =>
        (await fetch(`${gateway.url}${path}`, { headers })).status;
      expect([path, await statusWith({ cookie })]).toEqual([path, 401]);
      expect([path, await statusWith({ cookie, authorization: `Bearer ${login}` })]).toEqual([path, 401]);
      expect([path, await statusWith({ authorization: `Bearer ${token}` })]).not.toEqual([path, 401]);
    }
  });

  it('gives a token to the console’s own page, and to no other', async () => {
    const { gateway, browser, page, cookie } = await signedIn();
    const own = { 'x-toolwharf-console': '1' };
    const statusWith = async (headers: Record<string, string>): Promise<number> =>
      (await browser.send(page, 'POST /login/token', headers)).status;
    expect(await statusWith(own)).toBe(200);
    // Browsers that tell no Sec-Fetch-Site tell an Origin with each POST.
    expect(await plain({ ...own, origin: gateway.url })).toBe(200);
    expect(await statusWith({})).toBe(403);
    for (const site of ['cross-site', 'same-site', 'none']) expect(await statusWith({ ...own, 'sec-fetch-site': site })).toBe(403);
    for (const origin of ['https://evil.example', 'null']) {
      expect(await statusWith({ ...own, origin })).toBe(403);
      expect(await plain({ ...own, origin })).toBe(403);
    }
    expect(await plain(own)).toBe(403);

    async function plain(headers: Record<string, string>): Promise<number> {
      return (await fetch(`${gateway.url}/login/token`, { method: 'POST', headers: { ...headers, cookie } })).status;
    }
  });

  it('is not sent by pages of other sites, nor are these allowed to sign somebody out', async () => {
    const { gateway, browser, page } = await signedIn();
    const elsewhere = { url: 'http://evil.localhost/', headers: {} };
    const own = { 'x-toolwharf-console': '1' };
    for (const route of ['/login/token', '/logout'])
      expect((await browser.send(elsewhere, `POST ${gateway.url}${route}`, own)).status).toBe(403);
    expect((await askToken(browser, page)).status).toBe(200);
    expect((await browser.send(page, 'POST /logout', own)).status).toBe(200);
    expect((await askToken(browser, page)).status).toBe(204);
  });

  it('of pages that CORS_ALLOW_ORIGIN names is worth no more', async () => {
    const { gateway } = await loginScene({ environment: { CORS_ALLOW_ORIGIN: 'https://friend.example' } });
    const browser = scriptedBrowser();
    const page = await logIn(browser, gateway.url, 'ada');
    const cookie = `toolwharf-login=${browser.cookies.get('127.0.0.1')?.get('toolwharf-login')?.value ?? ''}`;
    const headers = { 'x-toolwharf-console': '1', cookie, origin: 'https://friend.example' };
    expect((await fetch(`${gateway.url}/login/token`, { method: 'POST', headers })).status).toBe(403);
    expect((await askToken(browser, page)).status).toBe(200);
  });
});
