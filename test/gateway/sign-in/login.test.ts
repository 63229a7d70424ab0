import { describe, expect, it } from 'vitest';
import { scriptedBrowser } from '../../_support/scripted-browser.ts';
import { askToken, audience, logIn, logOut, loginScene, throughProvider, tokenIn } from './login-fixture.ts';
import type { LoginScene } from './login-fixture.ts';
import { adminKey, linkFor, logsOf, signInGateway } from './sign-in-fixture.ts';

const callerOf = async ({ gateway }: LoginScene, token: string): Promise<unknown> =>
  (await gateway.call('GET /api/credentials', { key: token })).status;

describe('a person who signs in', () => {
  it('comes back to the page they were at, whose script gets a token for the API', async () => {
    const scene = await loginScene();
    const browser = scriptedBrowser();
    const page = await logIn(browser, scene.gateway.url, 'ada', '/console/runs?status=failed');
    expect(page.url).toBe(`${scene.gateway.url}/console/runs?status=failed`);
    const answer = await askToken(browser, page);
    const token = tokenIn(answer);
    expect(token).toMatchObject({ token_type: 'Bearer', expires_in: expect.any(Number), person: { id: 'ada' } });
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(await scene.authorization.verify(token.access_token, audience)).toMatchObject({ subject: 'ada' });
    expect(await callerOf(scene, token.access_token)).toBe(200);
    const [asked] = scene.authorization.asked('/auth');
    expect(asked?.params).toMatchObject({
      scope: 'openid profile email',
      resource: audience,
      audience,
      code_challenge_method: 'S256',
      nonce: expect.stringMatching(/^.{43}$/),
    });
  });

  it('is kept by a cookie that no script reads and no other site sends', async () => {
    const scene = await loginScene();
    const browser = scriptedBrowser();
    await logIn(browser, scene.gateway.url, 'ada');
    const cookies = browser.cookies.get('127.0.0.1') ?? new Map();
    expect([...cookies.keys()]).toEqual(['toolwharf-login']);
    expect(cookies.get('toolwharf-login')).toMatchObject({ isHttpOnly: true, sameSite: 'lax', path: '/' });
  });

  it('gets a new token before the old one ends, once for all tabs that ask', async () => {
    const scene = await loginScene();
    const browser = scriptedBrowser();
    scene.authorization.accessTokenSeconds = 300;
    const page = await logIn(browser, scene.gateway.url, 'ada');
    const first = tokenIn(await askToken(browser, page)).access_token;
    scene.gateway.clock.aheadMs = 200_000;
    expect(tokenIn(await askToken(browser, page)).access_token).toBe(first);
    scene.gateway.clock.aheadMs = 250_000;
    const tokens = await Promise.all(Array.from({ length: 5 }, () => askToken(browser, page)));
    const [second, ...others] = new Set(tokens.map((answer) => tokenIn(answer).access_token));
    expect(others).toEqual([]);
    expect(second).not.toBe(first);
    expect(scene.authorization.grants('refresh_token')).toMatchObject([{ status: 200 }]);
  });

  it('is signed out when the provider has ended the sign-in', async () => {
    const scene = await loginScene();
    const browser = scriptedBrowser();
    scene.authorization.accessTokenSeconds = 300;
    const page = await logIn(browser, scene.gateway.url, 'ada');
    await scene.authorization.endAllGrants();
    scene.gateway.clock.aheadMs = 301_000;
    expect((await askToken(browser, page)).status).toBe(204);
    scene.gateway.clock.aheadMs = 0;
    expect((await askToken(browser, page)).status).toBe(204);
  });

  it('stays signed in while the provider cannot be asked, as long as the token is good', async () => {
    const scene = await loginScene();
    const browser = scriptedBrowser();
    scene.authorization.accessTokenSeconds = 300;
    const page = await logIn(browser, scene.gateway.url, 'ada');
    scene.authorization.failure = 500;
    scene.gateway.clock.aheadMs = 250_000;
    expect((await askToken(browser, page)).status).toBe(200);
    scene.gateway.clock.aheadMs = 400_000;
    expect((await askToken(browser, page)).status).toBeGreaterThanOrEqual(500);
    scene.authorization.failure = undefined;
    scene.authorization.accessTokenSeconds = 3_600;
    expect((await askToken(browser, page)).status).toBe(200);
  });

  it('signs in again after a week', async () => {
    const scene = await loginScene();
    const browser = scriptedBrowser();
    scene.authorization.accessTokenSeconds = 10 * 24 * 3_600;
    const page = await logIn(browser, scene.gateway.url, 'ada');
    scene.gateway.clock.aheadMs = (7 * 24 - 1) * 3_600_000;
    expect((await askToken(browser, page)).status).toBe(200);
    scene.gateway.clock.aheadMs = (7 * 24 + 1) * 3_600_000;
    expect((await askToken(browser, page)).status).toBe(204);
  });

  it('signs out here and at the provider, whose tokens are revoked', async () => {
    const scene = await loginScene();
    const browser = scriptedBrowser();
    const page = await logIn(browser, scene.gateway.url, 'ada');
    const cookie = browser.cookies.get('127.0.0.1')?.get('toolwharf-login');
    const { provider } = JSON.parse((await logOut(browser, page)).body) as { provider: string };
    expect(browser.cookies.get('127.0.0.1')?.has('toolwharf-login')).toBe(false);
    expect(scene.authorization.asked('/token/revocation')[0]).toMatchObject({ status: 200, params: { token_type_hint: 'refresh_token' } });
    // A copy of the cookie is worth nothing either.
    browser.cookies.get('127.0.0.1')?.set('toolwharf-login', cookie ?? ({} as never));
    expect((await askToken(browser, page)).status).toBe(204);
    const asking = await browser.open(provider);
    const atHome = await browser.submit(asking, {}, 'Sign out');
    expect(atHome.url).toBe(`${scene.gateway.url}/`);
    // The provider asks again who it is.
    expect((await browser.open(`${scene.gateway.url}/login`)).text).toContain('Sign in');
  });

  it('is signed out when everything of theirs is deleted', async () => {
    const scene = await loginScene();
    const browser = scriptedBrowser();
    const page = await logIn(browser, scene.gateway.url, 'ada');
    const { access_token: token } = tokenIn(await askToken(browser, page));
    await scene.gateway.call('GET /api/credentials', { key: token });
    const { body } = await scene.gateway.call('GET /api/users', { key: adminKey });
    const [user] = body['data'] as { key: string; id: string }[];
    await scene.gateway.call(`DELETE /api/users/${user?.key ?? ''}/ada`, { key: adminKey });
    expect((await askToken(browser, page)).status).toBe(204);
  });

  it('behind an https address has cookies of that host alone, and one who came by another name is led there first', async () => {
    const publicUrl = 'https://gateway.example';
    const scene = await loginScene({ environment: { PUBLIC_URL: publicUrl } });
    const browser = scriptedBrowser({ at: { [publicUrl]: scene.gateway.url } });
    const page = await logIn(browser, scene.gateway.url, 'ada');
    expect(page.url).toBe(`${publicUrl}/console/runs`);
    expect([...(browser.cookies.get('gateway.example')?.keys() ?? [])]).toEqual(['__Host-toolwharf-login']);
    expect(tokenIn(await askToken(browser, page))).toMatchObject({ person: { id: 'ada' } });
  });
});

describe('the address of the gateway', () => {
  const loginAt = async ({ gateway }: LoginScene, headers: Record<string, string>) => gateway.app.server.inject({ url: '/login', headers });

  it.each<[what: string, headers: Record<string, string>, status: number]>([
    ['this machine', { host: '127.0.0.1:8080' }, 303],
    ['another machine', { host: 'gateway.example' }, 409],
    ['a proxy', { host: '127.0.0.1:8080', 'x-forwarded-for': '10.0.0.1' }, 409],
  ])('has to be known: asked from %s without PUBLIC_URL', async (_what, headers, status) => {
    const answer = await loginAt(await loginScene(), headers);
    expect(answer.statusCode).toBe(status);
    expect(answer.body.includes('Set PUBLIC_URL')).toBe(status === 409);
  });

  it('decides where cookies go: with https to nobody without', async () => {
    const scene = await loginScene({ environment: { PUBLIC_URL: 'https://gateway.example' } });
    const secure = await loginAt(scene, { host: 'gateway.example' });
    expect(String(secure.headers['set-cookie'])).toMatch(
      /^__Host-toolwharf-login-[\w-]{16}=[^;]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    );
    const plain = await loginAt(await loginScene(), { host: '127.0.0.1:8080' });
    expect(String(plain.headers['set-cookie'])).toMatch(/^toolwharf-login-[\w-]{16}=[^;]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/);
    // One who came by another name is led to this one, and no further behind a proxy that changes it.
    const elsewhere = await loginAt(scene, { host: 'gateway.internal' });
    expect(elsewhere.headers['location']).toBe('https://gateway.example/login?moved=1');
    const again = await scene.gateway.app.server.inject({ url: '/login?moved=1', headers: { host: 'gateway.internal' } });
    expect(again.headers['location']).toContain(`${scene.authorization.url}/auth?`);
  });
});

describe('without a client', () => {
  it('nobody can sign in, and nothing says that they could', async () => {
    const { url } = await signInGateway();
    const page = await scriptedBrowser().open(`${url}/login`);
    expect([page.status, page.text]).toEqual([404, expect.stringContaining('OIDC_CLIENT_ID')]);
    expect((await fetch(`${url}/login/token`, { method: 'POST' })).status).toBe(404);
    expect(await (await fetch(url)).json()).not.toHaveProperty('sign_in');
  });

  it('with one, the gateway says so to whoever asks', async () => {
    const { gateway } = await loginScene();
    expect(await (await fetch(gateway.url)).json()).toMatchObject({ sign_in: 'GET /login' });
  });
});

describe('the page of a link to connect', () => {
  const mail = { id: 'mail', url: 'http://127.0.0.1:9', auth_type: 'bearer', per_user: true };

  async function linkOf(scene: LoginScene, account: string): Promise<string> {
    await scene.gateway.register(mail);
    const browser = scriptedBrowser();
    const page = await logIn(browser, scene.gateway.url, account);
    return linkFor(scene.gateway, { key: tokenIn(await askToken(browser, page)).access_token }, 'mail');
  }

  it('has its person sign in instead of pasting a token', async () => {
    const scene = await loginScene();
    const link = await linkOf(scene, 'ada');
    const browser = scriptedBrowser();
    const asked = await browser.open(link);
    expect(asked.forms).toEqual([]);
    const [, path = ''] = /href="(\/login[^"]*)"/.exec(asked.body) ?? [];
    const page = await throughProvider(browser, await browser.follow(asked, new URL(path, link).href), 'ada');
    expect(page.url).toBe(link);
    expect(Object.keys(page.forms[0]?.fields ?? {})).toEqual(['key']);
    const connected = await browser.submit(page, { key: 'key of ada' });
    expect([connected.status, connected.text]).toEqual([200, expect.stringContaining('Connected')]);
  });

  it('tells somebody else who they are, and offers another account', async () => {
    const scene = await loginScene();
    const link = await linkOf(scene, 'ada');
    const browser = scriptedBrowser();
    await logIn(browser, scene.gateway.url, 'bob');
    const page = await browser.open(link);
    expect(page.text).toContain('You are signed in to this gateway as bob');
    expect(page.forms).toEqual([]);
    const [, path = ''] = /href="(\/login[^"]*)"/.exec(page.body) ?? [];
    const other = await browser.follow(page, new URL(path.replaceAll('&amp;', '&'), link).href);
    expect(other.text).toContain('Sign in');
    const theirs = await throughProvider(browser, other, 'ada');
    expect(theirs.url).toBe(link);
    expect((await browser.submit(theirs, { key: 'key of ada' })).text).toContain('Connected');
  });

  it('takes nothing from somebody else, nor from nobody, whatever they send', async () => {
    const scene = await loginScene();
    const link = await linkOf(scene, 'ada');
    const form = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'key=key+of+eve' };
    const browser = scriptedBrowser();
    await logIn(browser, scene.gateway.url, 'bob');
    const cookie = `toolwharf-login=${browser.cookies.get('127.0.0.1')?.get('toolwharf-login')?.value ?? ''}`;
    for (const headers of [form.headers, { ...form.headers, cookie }]) expect((await fetch(link, { ...form, headers })).status).toBe(403);
    // Neither is the link used up.
    expect((await scriptedBrowser().open(link)).status).toBe(200);
  });
});

it('nothing secret of a login is shown or logged', async () => {
  const scene = await loginScene();
  const browser = scriptedBrowser();
  const page = await logIn(browser, scene.gateway.url, 'ada');
  const token = tokenIn(await askToken(browser, page)).access_token;
  const login = browser.cookies.get('127.0.0.1')?.get('toolwharf-login')?.value ?? '';
  await logOut(browser, page);
  const params = scene.authorization.requests.map((request) => request.params);
  const sent = ['code', 'code_verifier', 'state', 'token'].flatMap((name) => params.flatMap((fields) => fields[name] ?? []));
  const secrets = [...new Set([...sent, token, login, 'CANARY'].map(String))];
  expect(secrets.length).toBeGreaterThanOrEqual(7);
  for (const secret of secrets) expect([secret, logsOf(scene.gateway).includes(secret)]).toEqual([secret, false]);
});
