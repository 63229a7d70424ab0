import { connectPage } from '../../../src/http/pages/connect-page.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { LightMyRequestResponse } from 'fastify';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { documentOf, gatewayOf, serverOf } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';
import { textOfPage, visit } from '../approvals/approval-fixture.ts';

const adminKey = 'sk-tw-fixed-administrator';
const mailDocument = documentOf({ whoami: { type: 'object', properties: {} } });
const mail = serverOf('mail', mailDocument, { name: 'Mail & more', authType: 'bearer', isPerUser: true });
const byHeader = { from: 'header', name: 'x-openwebui-user-id' };

interface Who {
  key?: string;
  user?: string;
  name?: string;
}

interface ConnectGateway extends Gateway {
  call(route: string, who?: Who, payload?: object, host?: string): Promise<LightMyRequestResponse>;
  keyFor(users?: JsonObject): Promise<string>;
  /** The path of a new link. */
  link(who?: Who): Promise<string>;
  stateFor(who?: Who): Promise<unknown>;
}

async function connectGateway(options: GatewayOptions = {}, isOpen = false): Promise<ConnectGateway> {
  const environment = { ...(!isOpen && { TOOLWHARF_ADMIN_KEY: adminKey }), ...options.environment };
  const gateway = await gatewayOf({ servers: [mail], answers: { 'http://mail.test/whoami': {} }, ...options, environment });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const call: ConnectGateway['call'] = (route, { key, user, name } = {}, payload, host = '127.0.0.1:8080') => {
    const [method, url] = route.split(' ');
    const named = {
      ...(user !== undefined && { 'x-openwebui-user-id': user }),
      ...(name !== undefined && { 'x-openwebui-user-name': name }),
    };
    const headers = { host, ...(key !== undefined && { 'x-api-key': key }), ...named };
    return gateway.app.server.inject({ method: method as 'GET', url: url ?? '', headers, ...(payload && { payload }) });
  };
  return {
    ...gateway,
    call,
    async keyFor(users) {
      const payload = { name: 'frontend', role: 'user', ...(users && { users }) };
      return (await call('POST /api/keys', { key: adminKey }, payload)).json<{ key: string }>().key;
    },
    async link(who) {
      const made = await call('POST /api/credentials/mail/connect', who);
      expect(made.statusCode).toBe(200);
      return new URL(made.json<{ url: string }>().url).pathname;
    },
    stateFor: async (who) => (await call('GET /api/credentials', who)).json<{ data: JsonObject[] }>().data[0]?.['state'],
  };
}

describe('a link to connect', () => {
  it('is made for servers that ask each person, where people can reach the gateway', async () => {
    const shared = serverOf('shared', mailDocument, { authType: 'bearer', key: 'k' });
    const gateway = await connectGateway({ servers: [mail, shared] });
    const made = await gateway.call('POST /api/credentials/mail/connect', { key: adminKey });
    const { url, expires } = made.json<{ url: string; expires: string }>();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:8080\/connect\/[\w-]{43}$/);
    expect(Date.parse(expires) - Date.now()).toBeLessThanOrEqual(24 * 60 * 60 * 1000);
    for (const server of ['shared', 'none'])
      expect((await gateway.call(`POST /api/credentials/${server}/connect`, { key: adminKey })).statusCode).toBe(404);
    const elsewhere = await gateway.call('POST /api/credentials/mail/connect', { key: adminKey }, undefined, 'evil.example');
    expect([elsewhere.statusCode, elsewhere.json<JsonObject>()]).toMatchObject([
      409,
      { error: { message: expect.stringContaining('PUBLIC_URL') } },
    ]);
    const reached = await connectGateway({ environment: { PUBLIC_URL: 'https://chat.example.com/tools/' } });
    const there = await reached.call('POST /api/credentials/mail/connect', { key: adminKey }, undefined, 'evil.example');
    expect(there.json<{ url: string }>().url).toMatch(/^https:\/\/chat\.example\.com\/tools\/connect\/[\w-]{43}$/);
  });

  it('shows a page that names person, key and server, however often it is fetched, and changes nothing', async () => {
    const gateway = await connectGateway();
    const key = await gateway.keyFor(byHeader);
    const path = await gateway.link({ key, user: 'ada', name: 'Ada <b>' });
    for (let fetched = 0; fetched < 3; fetched += 1) {
      const page = await visit(gateway, path);
      expect([page.statusCode, textOfPage(page)]).toEqual([
        200,
        expect.stringMatching(/Is this you\?.*Ada <b>.*ada.*frontend.*Mail & more/),
      ]);
      expect(page.body).not.toContain('<b>');
      expect(page.headers).toMatchObject({
        'content-security-policy': expect.stringMatching(
          /^default-src 'none'; style-src [^;]+; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
        ),
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      });
    }
    expect((await gateway.app.server.inject({ method: 'HEAD', url: path, headers: { host: '127.0.0.1:8080' } })).statusCode).toBe(200);
    expect(await gateway.stateFor({ key, user: 'ada' })).toBe('missing');
  });

  it('stores the key of the person that it names, once', async () => {
    const gateway = await connectGateway();
    const key = await gateway.keyFor(byHeader);
    const path = await gateway.link({ key, user: 'ada' });
    const page = await visit(gateway, path, { form: { key: ' CANARY-ada-key ' } });
    expect([page.statusCode, textOfPage(page)]).toEqual([200, expect.stringContaining('You can go back to your chat')]);
    expect(page.body).not.toContain('CANARY');
    expect([await gateway.stateFor({ key, user: 'ada' }), await gateway.stateFor({ key, user: 'eve' })]).toEqual(['connected', 'missing']);
    await gateway.call('POST /api/tools/mail/whoami/invoke', { key, user: 'ada' }, {});
    expect(gateway.sent.at(-1)?.headers).toMatchObject({ authorization: 'Bearer CANARY-ada-key' });
    const again = [await visit(gateway, path, { form: { key: 'another' } }), await visit(gateway, path)];
    expect(again.map(({ statusCode }) => statusCode)).toEqual([409, 409]);
  });

  it('is used by one of two that press its button together', async () => {
    const gateway = await connectGateway();
    const key = await gateway.keyFor(byHeader);
    const path = await gateway.link({ key, user: 'ada' });
    const pressed = await Promise.all(['one', 'other'].map((entered) => visit(gateway, path, { form: { key: entered } })));
    expect(pressed.map(({ statusCode }) => statusCode).toSorted((one, other) => one - other)).toEqual([200, 409]);
  });

  it.each(['stored', 'fixed'])('demands the key of whoever has one of their own (%s)', async (kind) => {
    const gateway = await connectGateway();
    const [own, other] = [kind === 'fixed' ? adminKey : await gateway.keyFor(), await gateway.keyFor()];
    const path = await gateway.link({ key: own });
    expect(textOfPage(await visit(gateway, path))).toContain('Your key for this gateway');
    // An attacker's link, opened by a victim who has another key or none: nothing of theirs is stored for the attacker.
    const forms = [{ key: 'victim' }, { key: 'victim', own: '' }, { key: 'victim', own: other }, { key: 'victim', own: 'sk-tw-none' }];
    for (const form of forms) expect((await visit(gateway, path, { form })).statusCode).toBe(403);
    expect((await visit(gateway, path, { form: forms[0] ?? {}, headers: { 'x-api-key': other } })).statusCode).toBe(403);
    expect(await gateway.stateFor({ key: own })).toBe('missing');
    expect((await visit(gateway, path, { form: { key: 'mine', own } })).statusCode).toBe(200);
    expect([await gateway.stateFor({ key: own }), await gateway.stateFor({ key: other })]).toEqual(['connected', 'missing']);
  });

  it('is shown to its own machine alone while the gateway is open', async () => {
    const gateway = await connectGateway({}, true);
    const path = await gateway.link();
    const strangers = [{ host: 'evil.example' }, { 'x-forwarded-for': '10.0.0.1' }];
    for (const headers of strangers) {
      expect((await visit(gateway, path, { headers })).statusCode).toBe(403);
      expect((await visit(gateway, path, { headers, form: { key: 'x' } })).statusCode).toBe(403);
    }
    expect((await visit(gateway, path, { form: { key: 'mine' } })).statusCode).toBe(200);
    expect(await gateway.stateFor()).toBe('connected');
  });

  it('takes user and password where the server asks for both', async () => {
    const gateway = await connectGateway({ servers: [{ ...mail, authType: 'basic' }] });
    const key = await gateway.keyFor(byHeader);
    const path = await gateway.link({ key, user: 'ada' });
    const wrong = [
      { key: 'CANARY' },
      { user: 'ada' },
      { password: 'CANARY' },
      { user: 'a:b', password: 'CANARY' },
      { user: 'a\r\nb', password: 'p' },
    ];
    for (const form of wrong) {
      const page = await visit(gateway, path, { form });
      expect([page.statusCode, page.body.includes('CANARY')]).toEqual([400, false]);
    }
    expect((await visit(gateway, path, { form: { user: 'ada', password: 'se:cret' } })).statusCode).toBe(200);
    await gateway.call('POST /api/tools/mail/whoami/invoke', { key, user: 'ada' }, {});
    expect(gateway.sent.at(-1)?.headers).toMatchObject({ authorization: `Basic ${btoa('ada:se:cret')}` });
  });

  it('takes no form of another site, and no other body', async () => {
    const gateway = await connectGateway();
    const key = await gateway.keyFor(byHeader);
    const path = await gateway.link({ key, user: 'ada' });
    const form = { key: 'attacker' };
    const foreign = [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }, { origin: 'https://evil.example' }];
    for (const headers of foreign) expect((await visit(gateway, path, { form, headers })).statusCode).toBe(403);
    expect((await gateway.call(`POST ${path}`, {}, { key: 'attacker' })).statusCode).toBe(415);
    expect((await visit(gateway, path, { form, headers: { 'sec-fetch-site': 'same-origin', origin: 'null' } })).statusCode).toBe(200);
  });

  it.each(['a key that is gone', 'a server that is gone', 'a day that has passed', 'a link that was made up'])(
    'ends with %s',
    async (why) => {
      let time = Date.now();
      const gateway = await connectGateway({ now: () => time });
      const { id, key } = (await gateway.call('POST /api/keys', { key: adminKey }, { name: 'f', role: 'user', users: byHeader })).json<{
        id: string;
        key: string;
      }>();
      let path = await gateway.link({ key, user: 'ada' });
      expect((await visit(gateway, path)).statusCode).toBe(200);
      if (why === 'a key that is gone') await gateway.call(`DELETE /api/keys/${id}`, { key: adminKey });
      if (why === 'a server that is gone') await gateway.call('DELETE /api/tool-servers/mail', { key: adminKey });
      if (why === 'a day that has passed') time += 24 * 60 * 60 * 1000;
      if (why === 'a link that was made up') path = `/connect/${'x'.repeat(43)}`;
      const page = await visit(gateway, path, { form: { key: 'late' } });
      expect([page.statusCode, page.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    },
  );

  it('stands in no line of the log', async () => {
    const gateway = await connectGateway();
    const key = await gateway.keyFor(byHeader);
    const path = await gateway.link({ key, user: 'ada' });
    const secret = path.split('/').at(-1) ?? '';
    await visit(gateway, `/connect/${secret}x?code=CANARY`);
    await visit(gateway, `//connect//${secret}/more`);
    await visit(gateway, path, { form: { key: 'CANARY' } });
    await visit(gateway, path);
    expect(gateway.app.logLines.join('')).toContain('credential stored');
    expect(gateway.app.logLines.join('')).toContain('/connect/[secret]');
    expect(gateway.app.logLines.join('')).not.toMatch(new RegExp(`CANARY|${secret}`));
  });
});

it('a page to connect gives the policy no more than an origin', () => {
  const who = { proof: 'own machine' as const, keyName: 'local' };
  const server = { id: 'mail', name: 'Mail', asks: 'oauth' as const };
  const targetsOf = (signsInAt: string): readonly string[] | undefined => connectPage({ who, server, expires: 0, signsInAt }).formTargets;
  expect(targetsOf('https://login.test:8443')).toEqual(['https://login.test:8443', 'https:']);
  expect(targetsOf(new URL('https://login.test;sandbox/authorize').origin)).toEqual(['https:']);
});
