import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { SendOutbound } from '../../../src/core/outbound.ts';
import { createOutbound } from '../../../src/policy/outbound/outbound-request.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { authorizationServer } from '../../_support/authorization-server.ts';
import { directSend } from '../../_support/direct-send.ts';
import { protectedMcpServer } from '../../_support/protected-servers.ts';
import { scriptedBrowser } from '../../_support/scripted-browser.ts';
import type { BrowserPage, ScriptedBrowser } from '../../_support/scripted-browser.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { handMadePeers, metadataOf, secrets, trap } from '../../_support/hand-made-authorization.ts';
import type { Faults, HandMadePeers, Part } from '../../_support/hand-made-authorization.ts';
import { adminKey, connectOf, contentOf, linkFor, logsOf, signIn, signInGateway } from './sign-in-fixture.ts';
import type { SignInGateway, SignInGatewayOptions, Who } from './sign-in-fixture.ts';

const newFolder = temporaryFolders();

interface Scene {
  gateway: SignInGateway;
  peers: HandMadePeers;
  who: Who;
}

async function sceneOf(faults: Faults = {}, options: SignInGatewayOptions = {}): Promise<Scene> {
  const peers = await handMadePeers(faults);
  const gateway = await signInGateway(options);
  await gateway.register({ id: 'mail', url: peers.url, type: 'mcp', auth_type: 'oauth' });
  const { key } = await gateway.keyFor(null);
  return { gateway, peers, who: { key } };
}

const begin = async ({ gateway, who }: Scene, browser = scriptedBrowser()): Promise<BrowserPage> =>
  signIn(browser, await linkFor(gateway, who, 'mail'), 'nobody', { own: who.key });

/** What somebody sees who looks at everything that the gateway shows and logs. */
async function everythingShown({ gateway, who }: Scene, pages: Pick<BrowserPage, 'body'>[] = []): Promise<string> {
  const admin = { key: adminKey };
  const shown = await Promise.all(
    [
      ['GET /api/credentials', who],
      ['GET /api/runs', who],
      ['GET /api/runs', admin],
      ['GET /api/tool-servers', admin],
      ['GET /api/tool-servers/mail', admin],
      ['GET /api/settings', admin],
      ['GET /metrics', admin],
    ].map(([route, asking]) => gateway.call(route as string, asking as Who)),
  );
  const runs = (shown[1]?.body['data'] ?? []) as JsonObject[];
  const details = await Promise.all(runs.map(({ id }) => gateway.call(`GET /api/runs/${String(id)}`, who)));
  return [...shown, ...details, ...pages.map(({ body }) => ({ raw: body }))].map(({ raw }) => raw).join('\n') + logsOf(gateway);
}

it('a hand-made authorization server lets a person in, so that what follows fails for the faults alone', async () => {
  const scene = await sceneOf();
  const page = await begin(scene);
  expect([page.status, await scene.gateway.stateOf(scene.who)]).toEqual([200, 'connected']);
  expect(contentOf(await scene.gateway.ask(scene.who))).toContain('somebody');
  const [exchange] = scene.peers.seenBy('token');
  expect(exchange?.params).toMatchObject({
    code: secrets.code,
    resource: scene.peers.url,
    code_verifier: expect.stringMatching(/^.{43,}$/),
  });
});

const json = async (usual: Response, fields: JsonObject): Promise<Response> =>
  Response.json({ ...((await usual.json()) as JsonObject), ...fields }, { status: usual.status });

describe('a sign-in is refused, and nothing of it goes elsewhere,', () => {
  const redirect = (to: string, status: number): Response => new Response(null, { status, headers: { location: to } });
  type Case = [name: string, faults: (trapUrl: string) => Faults];
  const ofServers: Case[] = [
    ['if the metadata of the resource is a redirect', (to) => ({ resource: () => redirect(`${to}/resource`, 302) })],
    ['if the metadata of the server is a redirect', (to) => ({ metadata: () => redirect(`${to}/metadata`, 301) })],
    ['if the registration is a redirect', (to) => ({ registration: () => redirect(`${to}/register`, 307) })],
    ['if the token is a redirect', (to) => ({ token: () => redirect(`${to}/token`, 307) })],
    ['if the token is a redirect of the other kind', (to) => ({ token: () => redirect(`${to}/token`, 302) })],
    ['if the metadata names another issuer', (to) => ({ metadata: (usual) => json(usual, { issuer: to }) })],
    ['if the metadata names no issuer', () => ({ metadata: () => Response.json({ ...metadataOf(''), issuer: undefined }) })],
    ['if the metadata of the resource is for another one', (to) => ({ resource: (usual) => json(usual, { resource: `${to}/mcp` }) })],
    ['if the metadata of the resource names none', () => ({ resource: (usual) => json(usual, { resource: null }) })],
    ['if only plain challenges are taken', () => ({ metadata: (usual) => json(usual, { code_challenge_methods_supported: ['plain'] }) })],
    ['if no kinds of challenges are named', () => ({ metadata: (usual) => json(usual, { code_challenge_methods_supported: null }) })],
    [
      'if the page to sign in at is no web page',
      () => ({ metadata: (usual) => json(usual, { authorization_endpoint: 'javascript:alert(1)' }) }),
    ],
    [
      'if tokens come from a metadata address',
      () => ({ metadata: (usual) => json(usual, { token_endpoint: 'http://169.254.169.254/token' }) }),
    ],
    ['if the metadata is larger than a megabyte', () => ({ metadata: (usual) => json(usual, { padding: 'x'.repeat(1_100_000) }) })],
    [
      'if the metadata of the resource is larger than a megabyte',
      () => ({ resource: (usual) => json(usual, { padding: 'x'.repeat(1_100_000) }) }),
    ],
    ['if the token is larger than a megabyte', () => ({ token: (usual) => json(usual, { padding: 'x'.repeat(1_100_000) }) })],
    ['if the token is no JSON', () => ({ token: () => new Response(`access_token=${secrets.access}`) })],
    ['if the token is of another type', () => ({ token: (usual) => json(usual, { token_type: 'DPoP' }) })],
    ['if the token would start another header', () => ({ token: (usual) => json(usual, { access_token: 'x\r\nx-role: admin' }) })],
  ];
  /** What a browser brings is no fault of a server behind the gateway: a 502 would raise alarms. */
  const ofBrowsers: Case[] = [
    ['if the answer has another issuer', (to) => ({ authorize: (usual) => changed(usual, (back) => back.set('iss', to)) })],
    ['if the answer lacks the announced issuer', () => ({ authorize: (usual) => changed(usual, (back) => back.delete('iss')) })],
    ['if the answer has an issuer twice', (to) => ({ authorize: (usual) => changed(usual, (back) => back.append('iss', to)) })],
    [
      'if an unannounced issuer is another one',
      (to) => ({
        metadata: (usual) => json(usual, { authorization_response_iss_parameter_supported: false }),
        authorize: (usual) => changed(usual, (back) => back.set('iss', to)),
      }),
    ],
    ['if the answer has another state', () => ({ authorize: (usual) => changed(usual, (back) => back.set('state', 'guessed')) })],
    ['if the answer has no code', () => ({ authorize: (usual) => changed(usual, (back) => back.delete('code')) })],
    ['if the answer has two codes', () => ({ authorize: (usual) => changed(usual, (back) => back.append('code', 'guessed')) })],
    [
      'if the person said no',
      () => ({
        authorize: (usual) =>
          changed(usual, (back) => {
            back.delete('code');
            back.set('error', 'access_denied');
            back.set('error_description', '<script>alert(1)</script>');
          }),
      }),
    ],
  ];

  function changed(usual: Response, change: (back: URLSearchParams) => void): Response {
    const back = new URL(usual.headers.get('location') ?? '');
    change(back.searchParams);
    return redirect(back.href, 302);
  }

  it.each([
    ...ofServers.map(([name, faults]) => [name, faults, 599] as const),
    ...ofBrowsers.map(([name, faults]) => [name, faults, 499] as const),
  ])('%s', async (_name, faults, highestStatus) => {
    const { url, seen } = await trap();
    const scene = await sceneOf(faults(url));
    // Where the sign-in cannot even begin, there may be no link.
    const made = await scene.gateway.call('POST /api/credentials/mail/connect', scene.who);
    const page =
      made.status === 200
        ? await signIn(scriptedBrowser(), String(made.body['url']), 'nobody', { own: scene.who.key })
        : { status: made.status, url: scene.gateway.url, body: made.raw };
    expect(page.status).toBeGreaterThanOrEqual(400);
    expect(page.status).toBeLessThanOrEqual(highestStatus);
    expect(new URL(page.url).origin).toBe(scene.gateway.url);
    expect(page.body).not.toContain('<script>');
    expect(await scene.gateway.stateOf(scene.who)).toBe('missing');
    expect(seen).toEqual([]);
    expect(scene.peers.callers).toEqual([]);
    expect(await everythingShown(scene, [page])).not.toMatch(/CANARY-(?:access|refresh|code|client)/);
  });
});

describe('a tool server with a public address', () => {
  const [toolOrigin, issuer] = ['http://93.184.215.14', 'http://93.184.215.15'];

  /** The hand-made peers, the MCP server behind a public address, which nothing here is sent to in truth. */
  async function publicScene(faults: Faults): Promise<{ scene: Scene; reached: string[]; browser: ScriptedBrowser }> {
    const peers = await handMadePeers(faults);
    const real: Record<string, string> = { [toolOrigin]: new URL(peers.url).origin, [issuer]: peers.issuer };
    const outbound = createOutbound({ egress: { mode: 'public', allow: [] } });
    onTestFinished(() => outbound.close());
    const reached: string[] = [];
    const send: SendOutbound = (request) => {
      const { origin, pathname, search } = new URL(request.url);
      const at = real[origin];
      if (at === undefined) return outbound.send(request);
      reached.push(origin);
      return directSend({ ...request, url: `${at}${pathname}${search}` });
    };
    const gateway = await signInGateway({ send });
    peers.url = `${toolOrigin}/mcp`;
    await gateway.register({ id: 'mail', url: peers.url, type: 'mcp', auth_type: 'oauth' });
    const { key } = await gateway.keyFor(null);
    return { scene: { gateway, peers, who: { key } }, reached, browser: scriptedBrowser({ at: real }) };
  }

  it('leads people to public authorization servers', async () => {
    const { scene, browser } = await publicScene({
      resource: (usual) => json(usual, { authorization_servers: [issuer] }),
      metadata: () => Response.json(metadataOf(issuer)),
      authorize: (usual) => {
        const back = new URL(usual.headers.get('location') ?? '');
        back.searchParams.set('iss', issuer);
        return new Response(null, { status: 302, headers: { location: back.href } });
      },
    });
    const page = await begin(scene, browser);
    expect([page.status, await scene.gateway.stateOf(scene.who)]).toEqual([200, 'connected']);
  });

  it.each<[what: string, faults: Faults, inner: Part]>([
    ['authorization server', {}, 'metadata'],
    [
      'token endpoint',
      {
        resource: (usual) => json(usual, { authorization_servers: [issuer] }),
        metadata: async (usual) => json(usual, { issuer }),
      },
      'token',
    ],
    [
      'registration',
      {
        resource: (usual) => json(usual, { authorization_servers: [issuer] }),
        metadata: async (usual) =>
          json(usual, {
            ...metadataOf(issuer),
            registration_endpoint: ((await usual.clone().json()) as JsonObject)['registration_endpoint'] ?? '',
          }),
      },
      'registration',
    ],
  ])('does not lead the gateway to a private address as the %s', async (_what, faults, inner) => {
    const { scene, reached, browser } = await publicScene(faults);
    const made = await scene.gateway.call('POST /api/credentials/mail/connect', scene.who);
    const page = made.status === 200 ? await signIn(browser, String(made.body['url']), 'nobody', { own: scene.who.key }) : made;
    expect(page.status).toBeGreaterThanOrEqual(400);
    expect(reached).toContain(toolOrigin);
    expect(scene.peers.seenBy(inner)).toEqual([]);
    expect(await scene.gateway.stateOf(scene.who)).toBe('missing');
  });
});

describe('the answer of an authorization server', () => {
  /** Signs in up to the answer, and gives its address instead of asking for it. */
  async function answerOf(scene: Scene, browser: ScriptedBrowser, who = scene.who): Promise<string> {
    let page = await browser.open(await linkFor(scene.gateway, who, 'mail'));
    page = await browser.submit(page, who.user === undefined ? { own: who.key } : {});
    return page.way.find((url) => url.includes('/oauth/callback')) ?? '';
  }

  it('counts once', async () => {
    const scene = await sceneOf();
    const browser = scriptedBrowser();
    const back = await answerOf(scene, browser);
    expect(await scene.gateway.stateOf(scene.who)).toBe('connected');
    await scene.gateway.call('DELETE /api/credentials/mail', scene.who);
    expect((await browser.open(back)).status).toBeGreaterThanOrEqual(400);
    expect(await scene.gateway.stateOf(scene.who)).toBe('missing');
    expect(scene.peers.seenBy('token')).toHaveLength(1);
  });

  it('is read whole where a code has question marks', async () => {
    const answered = (usual: Response): Response => {
      const [address = '', query = ''] = (usual.headers.get('location') ?? '').split('?');
      return new Response(null, { status: 302, headers: { location: `${address}?${query.replace(secrets.code, 'a?b=c?d')}` } });
    };
    const scene = await sceneOf({ authorize: answered });
    expect((await begin(scene)).status).toBe(200);
    expect(scene.peers.seenBy('token')).toMatchObject([{ params: { code: 'a?b=c?d' } }]);
  });

  /** The authorization server waits with its answer: the browser stops at a page that has the address as a link. */
  const waiting: Faults = {
    authorize: (usual) => new Response(`<main><a href="${usual.headers.get('location') ?? ''}">Back</a></main>`),
  };
  const heldAnswer = (page: BrowserPage): string => /href="([^"]*)"/.exec(page.body)?.[1] ?? '';

  it('counts in the browser that began, and in no other', async () => {
    const scene = await sceneOf(waiting);
    const browser = scriptedBrowser();
    const back = heldAnswer(await begin(scene, browser));
    const victim = scriptedBrowser();
    expect((await victim.open(back)).status).toBeGreaterThanOrEqual(400);
    expect(scene.peers.seenBy('token')).toEqual([]);
    expect(await scene.gateway.stateOf(scene.who)).toBe('missing');
    // The positive control, unless the attempt of somebody else has used it up.
    const own = heldAnswer(await begin(scene, browser));
    expect((await browser.open(own)).status).toBe(200);
    expect(await scene.gateway.stateOf(scene.who)).toBe('connected');
  });

  it('counts in no browser that has begun a sign-in of another person', async () => {
    const scene = await sceneOf(waiting);
    const other = { ...scene, who: await scene.gateway.keyFor(null) };
    const [mine, theirs] = [scriptedBrowser(), scriptedBrowser()];
    const back = heldAnswer(await begin(scene, mine));
    const theirBack = heldAnswer(await begin(other, theirs));
    expect((await theirs.open(back)).status).toBeGreaterThanOrEqual(400);
    expect(await scene.gateway.stateOf(scene.who)).toBe('missing');
    expect(await other.gateway.stateOf(other.who)).toBe('missing');
    expect((await theirs.open(theirBack)).status).toBe(200);
    expect(await other.gateway.stateOf(other.who)).toBe('connected');
    expect(await scene.gateway.stateOf(scene.who)).toBe('missing');
  });

  it.each([
    [9 * 60_000, 'connected', 1],
    [10 * 60_000 + 1_000, 'missing', 0],
  ])('counts for ten minutes: after %i ms it is %s', async (aheadMs, state, exchanges) => {
    const scene = await sceneOf(waiting);
    const browser = scriptedBrowser();
    const back = heldAnswer(await begin(scene, browser));
    scene.gateway.clock.aheadMs = aheadMs;
    await browser.open(back);
    expect(await scene.gateway.stateOf(scene.who)).toBe(state);
    expect(scene.peers.seenBy('token')).toHaveLength(exchanges);
  });

  it('of one server does not go to another that sent the person there', async () => {
    const honest = await handMadePeers();
    const attacker = await handMadePeers({
      // Takes the answer for its own sign-in, with the honest server's code in it.
      authorize: (_usual, { params }) => {
        const onwards = new URL(`${honest.issuer}/authorize`);
        onwards.search = String(new URLSearchParams({ ...params, client_id: 'client' }));
        return new Response(null, { status: 302, headers: { location: onwards.href } });
      },
      metadata: async (usual) => json(usual, { authorization_response_iss_parameter_supported: false }),
    });
    const gateway = await signInGateway();
    await gateway.register({ id: 'honest', url: honest.url, type: 'mcp', auth_type: 'oauth' });
    await gateway.register({ id: 'attacker', url: attacker.url, type: 'mcp', auth_type: 'oauth' });
    const who = await gateway.keyFor(null);
    // The page's policy names the one authorization server alone, so a browser would stop before this.
    const browser = scriptedBrowser({ ignoresPolicies: true });
    const page = await signIn(browser, await linkFor(gateway, who, 'attacker'), 'nobody', { own: who.key });
    expect(honest.seenBy('authorize')).toHaveLength(1);
    expect(page.status).toBeGreaterThanOrEqual(400);
    expect(attacker.seenBy('token')).toEqual([]);
    expect(honest.seenBy('token')).toEqual([]);
    await signIn(scriptedBrowser(), await linkFor(gateway, who, 'honest'), 'nobody', { own: who.key });
    expect([await gateway.stateOf(who, 'honest'), await gateway.stateOf(who, 'attacker')]).toEqual(['connected', 'missing']);
  });

  it('with the code of somebody else’s sign-in gives nothing', async () => {
    const authorization = await authorizationServer();
    const server = await protectedMcpServer(authorization);
    const gateway = await signInGateway();
    await gateway.register({ id: 'mail', url: server.url, type: 'mcp', auth_type: 'oauth' });
    const [victim, attacker] = [await gateway.keyFor(null), await gateway.keyFor(null)];
    /** Signs in up to the page that asks for consent, and holds back the last step. */
    const upTo = async (browser: ScriptedBrowser, who: Who, account: string): Promise<URL> => {
      const consent = await signIn(browser, await linkFor(gateway, who, 'mail'), account, {
        own: who.key,
        stopAt: ({ text }) => text.startsWith('May '),
      });
      browser.refuseTo(gateway.url);
      await browser.submit(consent, {}, 'Yes').catch(() => undefined);
      browser.refuseTo(undefined);
      return new URL(browser.lastTried());
    };
    const browser = scriptedBrowser();
    const own = await upTo(browser, victim, 'ada');
    const injected = await upTo(scriptedBrowser(), attacker, 'bob');
    const forged = new URL(own);
    forged.searchParams.set('code', injected.searchParams.get('code') ?? '');
    expect((await browser.open(forged.href)).status).toBeGreaterThanOrEqual(400);
    expect(authorization.grants('authorization_code')).toMatchObject([{ status: 400 }]);
    expect(await gateway.stateOf(victim)).toBe('missing');
    // The positive control: the same steps with the code of their own.
    const again = await upTo(browser, victim, 'ada');
    expect((await browser.open(again.href)).status).toBe(200);
    expect(await gateway.stateOf(victim)).toBe('connected');
  });
});

describe('a link to connect', () => {
  it('is good once', async () => {
    const scene = await sceneOf();
    const link = await linkFor(scene.gateway, scene.who, 'mail');
    const [first, second] = [scriptedBrowser(), scriptedBrowser()];
    const seenBefore = await second.open(link);
    await signIn(first, link, 'nobody', { own: scene.who.key });
    expect((await second.open(link)).status).toBeGreaterThanOrEqual(400);
    expect((await second.submit(seenBefore, { own: scene.who.key })).status).toBeGreaterThanOrEqual(400);
    expect(scene.peers.seenBy('authorize')).toHaveLength(1);
  });

  it('demands the person’s own key, and takes no other', async () => {
    const scene = await sceneOf();
    const other = await scene.gateway.keyFor(null);
    const link = await linkFor(scene.gateway, scene.who, 'mail');
    const browser = scriptedBrowser();
    for (const own of ['', other.key, adminKey, 'sk-tw-wrong']) {
      const page = await browser.submit(await browser.open(link), { own });
      expect(page.status).toBeGreaterThanOrEqual(400);
    }
    expect(scene.peers.seenBy('authorize')).toEqual([]);
    const page = await signIn(browser, link, 'nobody', { own: scene.who.key });
    expect([page.status, await scene.gateway.stateOf(other), await scene.gateway.stateOf(scene.who)]).toEqual([
      200,
      'missing',
      'connected',
    ]);
  });

  it('names the person behind a key, the server and who asks for the sign-in, and says nothing to others', async () => {
    const scene = await sceneOf();
    const { key } = await scene.gateway.keyFor();
    const link = await linkFor(scene.gateway, { key, user: 'Ada of accounting' }, 'mail');
    const page = await scriptedBrowser().open(link);
    for (const part of ['Ada of accounting', 'frontend', 'mail', new URL(scene.peers.issuer).host]) expect(page.text).toContain(part);
    expect(page.headers).toMatchObject({
      'referrer-policy': 'no-referrer',
      'cache-control': expect.stringContaining('no-store'),
      'content-security-policy': expect.stringMatching(/frame-ancestors 'none'/),
    });
    expect(page.headers['set-cookie']).toBeUndefined();
  });

  it('sets a cookie that scripts and other sites do not have', async () => {
    const scene = await sceneOf({ authorize: () => new Response('<main>Stay</main>') });
    const browser = scriptedBrowser();
    await begin(scene, browser);
    const [[, cookie] = []] = browser.cookies.get('127.0.0.1') ?? [];
    expect(cookie).toMatchObject({ isHttpOnly: true, sameSite: 'lax' });
    expect(cookie?.expires).toBeLessThanOrEqual(Date.now() + 600_000);
  });

  it('sets a cookie that belongs to the host alone, and goes over https alone, where the gateway has it', async () => {
    const publicUrl = 'https://gateway.example';
    const scene = await sceneOf({}, { environment: { PUBLIC_URL: publicUrl } });
    const link = (await linkFor(scene.gateway, scene.who, 'mail')).replace(publicUrl, scene.gateway.url);
    const body = new URLSearchParams({ own: scene.who.key });
    const left = await fetch(link, { method: 'POST', body, redirect: 'manual', headers: { origin: publicUrl } });
    expect([left.status, left.headers.get('referrer-policy'), left.headers.get('cache-control')]).toEqual([303, 'no-referrer', 'no-store']);
    expect(left.headers.get('set-cookie')).toMatch(
      /^__Host-toolwharf-sign-in-[\w-]{16}=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    );
  });

  it('is taken from its own page alone', async () => {
    const scene = await sceneOf();
    const link = await linkFor(scene.gateway, scene.who, 'mail');
    const body = new URLSearchParams({ own: scene.who.key }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    const response = await fetch(link, { method: 'POST', headers, body, redirect: 'manual' });
    expect(response.status).toBe(403);
    expect((await signIn(scriptedBrowser(), link, 'nobody', { own: scene.who.key })).status).toBe(200);
  });
});

describe('two processes over one database', () => {
  it('use a link once', async () => {
    const folder = newFolder();
    const scene = await sceneOf({}, { folder });
    const second = await signInGateway({ folder });
    const link = await linkFor(scene.gateway, scene.who, 'mail');
    const links = [link, link.replace(scene.gateway.url, second.url)];
    const opened = await Promise.all(
      links.map(async (url) => {
        const browser = scriptedBrowser();
        return { browser, page: await browser.open(url) };
      }),
    );
    const ends = await Promise.all(opened.map(({ browser, page }) => browser.submit(page, { own: scene.who.key })));
    expect(ends.map(({ status }) => status).toSorted((left, right) => left - right)).toEqual([200, 409]);
    expect(scene.peers.seenBy('token')).toHaveLength(1);
  });

  it('refresh a token once', async () => {
    const folder = newFolder();
    const authorization = await authorizationServer();
    const server = await protectedMcpServer(authorization);
    const gateways = [await signInGateway({ folder }), await signInGateway({ folder })] as const;
    await gateways[0].register({ id: 'mail', url: server.url, type: 'mcp', auth_type: 'oauth' });
    const who = await gateways[0].keyFor(null);
    await signIn(scriptedBrowser(), await linkFor(gateways[0], who, 'mail'), 'ada', { own: who.key });
    for (const gateway of gateways) expect(contentOf(await gateway.ask(who))).toContain('ada');
    for (const { clock } of gateways) clock.aheadMs = 3_600_000;
    const calls = Array.from({ length: 20 }, (_, index) => gateways[index % 2 === 0 ? 0 : 1].ask(who));
    for (const answer of await Promise.all(calls)) expect(contentOf(answer)).toContain('ada');
    expect(authorization.grants('refresh_token')).toMatchObject([{ status: 200 }]);
  });
});

it('an authorization server that quotes what it was sent has nothing of it shown or logged', async () => {
  const scene = await sceneOf({
    token: (_usual, { params, authorization }) =>
      Response.json(
        {
          error: 'invalid_grant',
          error_description: `no: ${JSON.stringify(params)} ${authorization} ${atob(authorization.split(' ')[1] ?? '')}`,
        },
        { status: 400 },
      ),
  });
  const page = await begin(scene);
  expect(page.status).toBeGreaterThanOrEqual(400);
  const [exchange] = scene.peers.seenBy('token');
  const shown = await everythingShown(scene, [page]);
  for (const secret of [secrets.code, secrets.client, exchange?.params['code_verifier'] ?? 'no verifier'])
    expect(shown).not.toContain(secret);
});

it('nothing secret of a sign-in, of calls and of a refresh is shown, logged or stored in clear', async () => {
  const folder = newFolder();
  const authorization = await authorizationServer();
  const server = await protectedMcpServer(authorization);
  const gateway = await signInGateway({ folder });
  await gateway.register({ id: 'mail', url: server.url, type: 'mcp', auth_type: 'oauth' });
  const { key } = await gateway.keyFor(null);
  const who = { key };
  const { run_id: run, token, servers } = connectOf(await gateway.ask(who, { store: true }));
  const link = servers[0]?.url ?? '';
  const browser = scriptedBrowser();
  await signIn(browser, link, 'ada', { own: key });
  expect(contentOf(await gateway.call(`POST /api/runs/${run}/resume`, who, { token }))).toContain('ada');
  gateway.clock.aheadMs = 3_600_000;
  expect(contentOf(await gateway.ask(who))).toContain('ada');
  await authorization.endAllGrants();
  await gateway.ask(who);
  const params = authorization.requests.map((request) => request.params);
  const sent = ['code', 'code_verifier', 'refresh_token', 'state', 'client_secret', 'token'].flatMap((name) =>
    params.flatMap((fields) => fields[name] ?? []),
  );
  const cookie = [...(browser.cookies.get('127.0.0.1')?.values() ?? [])].map(({ value }) => value);
  const found = [...new Set([...sent, ...server.tokens, ...cookie, link.split('/').at(-1)].map(String))].filter((text) => text.length > 8);
  // Both access tokens, both refresh tokens that were used, the code, the verifier, the state, and the link.
  expect(found.length).toBeGreaterThanOrEqual(7);
  const shown = logsOf(gateway) + (await everythingShown({ gateway, who, peers: { callers: [] } as unknown as HandMadePeers }));
  await gateway.app.close();
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
  for (const secret of found) expect([secret, (shown + files.join('\n')).includes(secret)]).toEqual([secret, false]);
});
