import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { OAuthCredential } from '../../../src/core/sign-in/credentials.ts';
import type { ToolServerRecord } from '../../../src/core/stores/registry.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { openStores } from '../../_support/memory-stores.ts';
import { readSignIn } from '../../../src/tools/openapi/document/read-sign-in.ts';
import { authorizationServer } from '../../_support/authorization-server.ts';
import type { AuthorizationServer } from '../../_support/authorization-server.ts';
import { directSend } from '../../_support/direct-send.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { protectedApi, protectedMcpServer } from '../../_support/protected-servers.ts';
import type { ProtectedServer } from '../../_support/protected-servers.ts';
import { gatewayOf } from '../gateway.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { credentialOf, oauthClient, oauthRecord } from '../../tools/credentials/oauth-fixture.ts';
import { waitFor } from '../../_support/wait-for.ts';

const key = 'sk-tw-fixed-administrator';
const newFolder = temporaryFolders();

interface World {
  folder: string;
  logLines: string[];
  call: (route: string, payload?: object, user?: string) => Promise<{ status: number; body: JsonObject }>;
  /** As `account` at the tool server, with a browser. */
  connect: (account: string) => Promise<OAuthCredential>;
  whoami: (user: string) => Promise<unknown>;
  stored: (user: string) => Promise<OAuthCredential>;
}

/** A gateway whose key speaks for people, with one tool server. */
async function worldOf(record: ToolServerRecord): Promise<World> {
  const folder = newFolder();
  const stores = openStores({ file: join(folder, 'toolwharf.db'), secret: 'secret' });
  const gateway = await gatewayOf({
    registry: memoryRegistry([record]),
    credentials: stores.credentials,
    oauthClients: stores.oauthClients,
    send: directSend,
    environment: { TOOLWHARF_ADMIN_KEY: key },
  });
  onTestFinished(async () => {
    await gateway[Symbol.asyncDispose]();
    await stores.database.close();
  });
  const send = async (
    route: string,
    by: string,
    { payload, user }: { payload?: object | undefined; user?: string | undefined },
  ): Promise<{ status: number; body: JsonObject }> => {
    const [method = '', url = ''] = route.split(' ');
    const headers = { 'x-api-key': by, ...(user !== undefined && { 'x-openwebui-user-id': user }) };
    const response = await gateway.app.server.inject({ method: method as 'GET', url, headers, ...(payload && { payload }) });
    return { status: response.statusCode, body: response.json<JsonObject>() };
  };
  const users = { from: 'header', name: 'x-openwebui-user-id' };
  const frontend = (await send('POST /api/keys', key, { payload: { name: 'frontend', role: 'user', users } })).body;
  const call: World['call'] = (route, payload, user) => send(route, user === undefined ? key : String(frontend['key']), { payload, user });
  const oauth = oauthClient({
    clients: stores.oauthClients,
    async signInOf() {
      const response = await fetch(`${record.url}/openapi.json`);
      return readSignIn((await response.json()) as JsonObject);
    },
  });
  const idOf = (user: string): string => `${String(frontend['id'])}/${user}`;
  const stored: World['stored'] = async (user) => {
    const found = await stores.credentials.find(idOf(user), 'mail');
    if (found?.credential.kind !== 'oauth') throw new Error(`${user} has no credential`);
    return found.credential;
  };
  return {
    folder,
    logLines: gateway.app.logLines,
    call,
    stored,
    async connect(account) {
      await stores.credentials.save(idOf(account), 'mail', await credentialOf(oauth, record, account));
      return stored(account);
    },
    async whoami(user) {
      const { body } = await call('POST /api/tools/mail/whoami/invoke', {}, user);
      const { result, error } = body as { result?: unknown; error?: { code: string } };
      return error?.code ?? JSON.stringify(result).match(/ada|bob|gateway/)?.[0] ?? result;
    },
  };
}

const kinds: [string, (authorization: AuthorizationServer) => Promise<ProtectedServer>, ToolServerRecord['type']][] = [
  ['an MCP server', protectedMcpServer, 'mcp'],
  ['an API', protectedApi, 'openapi'],
];

describe.each(kinds)('%s at which each person signs in', (_kind, start, type) => {
  async function setup(): Promise<World & { authorization: AuthorizationServer; server: ProtectedServer }> {
    // Without a resource it would give an API tokens whose end it does not notice.
    const authorization = await authorizationServer({ defaultResource: 'http://api.test' });
    const server = await start(authorization);
    return { ...(await worldOf(oauthRecord(server.url, { type }))), authorization, server };
  }
  const shown = async ({ call }: World, user: string): Promise<unknown> =>
    ((await call('GET /api/credentials', undefined, user)).body['data'] as JsonObject[])[0];

  it('is called with the token of whoever asks, and shows state, scopes and end alone', async () => {
    const world = await setup();
    expect(await shown(world, 'ada')).toEqual({ server: 'mail', name: 'mail', kind: 'oauth', state: 'missing' });
    for (const account of ['ada', 'bob']) await world.connect(account);
    expect(await Promise.all(['ada', 'bob', 'ada', 'eve'].map(world.whoami))).toEqual([
      'ada',
      'bob',
      'ada',
      expect.stringMatching(/credential_required|not_found/),
    ]);
    const credential = await world.stored('ada');
    expect(await shown(world, 'ada')).toEqual({
      server: 'mail',
      name: 'mail',
      kind: 'oauth',
      state: 'connected',
      scopes: credential.scopes,
      expires: new Date(credential.expires ?? 0).toISOString(),
    });
    const refused = await world.call('PUT /api/credentials/mail', { key: 'x' }, 'ada');
    expect(refused).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('POST /api/credentials/mail/connect') } },
    });
  });

  it('has a token refreshed once for twenty calls at the same time, and once when it is refused', async () => {
    const world = await setup();
    const { authorization, server, whoami, connect, stored } = world;
    await connect('ada');
    expect(await whoami('ada')).toBe('ada');
    const first = await stored('ada');
    server.refused.add(first.accessToken);
    expect(new Set(await Promise.all(Array.from({ length: 20 }, () => whoami('ada'))))).toEqual(new Set(['ada']));
    expect(authorization.grants('refresh_token')).toHaveLength(1);
    const second = await stored('ada');
    expect([second.accessToken === first.accessToken, second.signInId === first.signInId]).toEqual([false, true]);
  });

  it('asks for a sign-in again once that was ended, or when it refuses new tokens too', async () => {
    const world = await setup();
    const { authorization, server, whoami, connect, stored } = world;
    await connect('ada');
    await connect('bob');
    expect(await whoami('bob')).toBe('bob');
    server.refused.add((await stored('ada')).accessToken);
    await authorization.endAllGrants();
    expect([await whoami('ada'), await whoami('ada')]).toEqual(['credential_required', 'credential_required']);
    expect(authorization.grants('refresh_token')).toHaveLength(1);
    expect(await shown(world, 'ada')).toMatchObject({ state: 'expired' });
    await connect('ada');
    const refuse = vi.spyOn(authorization, 'verify').mockResolvedValue(undefined);
    expect(await whoami('ada')).toBe('credential_required');
    expect(await shown(world, 'ada')).toMatchObject({ state: 'missing' });
    refuse.mockRestore();
  });

  it('is not asked for a sign-in because the authorization server is down', async () => {
    const { authorization, server, whoami, connect, stored, call } = await setup();
    const { accessToken } = await connect('ada');
    expect(await whoami('ada')).toBe('ada');
    server.refused.add(accessToken);
    authorization.failure = 503;
    const answer = await call('POST /api/tools/mail/whoami/invoke', {}, 'ada');
    expect(JSON.stringify(answer.body)).toMatch(/The call was not (?:made|executed)/);
    expect(JSON.stringify(answer.body)).not.toContain('credential_required');
    authorization.failure = undefined;
    expect([await whoami('ada'), (await stored('ada')).ended]).toEqual(['ada', undefined]);
  });

  it('has what is deleted revoked, and nothing secret in an answer, in the log, or in clear on the disk', async () => {
    const world = await setup();
    const { authorization, whoami, connect, call, folder, logLines } = world;
    const credential = await connect('ada');
    expect(await whoami('ada')).toBe('ada');
    const answers = await Promise.all(
      ['GET /api/credentials', 'GET /api/tools'].map(async (route) => JSON.stringify((await call(route, undefined, 'ada')).body)),
    );
    const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
    expect([answers.join('').includes('mail'), files.some((file) => file.includes('mail'))]).toEqual([true, true]);
    await call('DELETE /api/credentials/mail', undefined, 'ada');
    expect(authorization.asked('/token/revocation').map(({ params, status }) => [params['token'], status])).toContainEqual([
      credential.refreshToken,
      200,
    ]);
    expect(await whoami('ada')).toBe('credential_required');
    expect(logLines.some((line) => line.includes('credential deleted'))).toBe(true);
    for (const secret of [credential.accessToken, credential.refreshToken ?? '', credential.client.secret ?? 'none of it'])
      expect([...answers, ...files, ...logLines].filter((text) => text.includes(secret))).toEqual([]);
  });

  it('has everybody’s tokens revoked when it is deleted', async () => {
    const { authorization, connect, call } = await setup();
    const credentials = [await connect('ada'), await connect('bob')];
    expect((await call('DELETE /api/tool-servers/mail')).status).toBe(200);
    await waitFor(() =>
      expect(authorization.asked('/token/revocation').map(({ params }) => params['token'])).toEqual(
        expect.arrayContaining(credentials.map(({ refreshToken }) => refreshToken)),
      ),
    );
  });
});

describe.each(kinds)('%s at which the gateway signs in as itself', (_kind, start, type) => {
  async function sharedWorld(): Promise<World & { authorization: AuthorizationServer; server: ProtectedServer }> {
    const authorization = await authorizationServer({
      clients: [
        { client_id: 'gateway', client_secret: 'a secret', grant_types: ['client_credentials'], redirect_uris: [], response_types: [] },
      ],
    });
    const server = await start(authorization);
    const oauth = { clientId: 'gateway', clientSecret: 'a secret', scopes: ['profile.read'], grant: 'client_credentials' as const };
    const { isPerUser: _, ...record } = oauthRecord(server.url, { type, oauth });
    return { ...(await worldOf(record)), authorization, server };
  }

  it('is called with one token for many calls, however short its life', async () => {
    const { authorization, whoami } = await sharedWorld();
    authorization.accessTokenSeconds = 20;
    for (const user of ['ada', 'bob', 'ada', 'bob']) expect(await whoami(user)).toBe('gateway');
    expect(authorization.grants('client_credentials')).toHaveLength(1);
  });

  it('is called with one token for everybody, which is replaced when it is refused', async () => {
    const { authorization, server, whoami, call } = await sharedWorld();
    expect(await Promise.all(['ada', 'bob'].map(whoami))).toEqual(['gateway', 'gateway']);
    expect(authorization.grants('client_credentials')).toHaveLength(1);
    for (const token of server.tokens) server.refused.add(token);
    expect(await whoami('ada')).toBe('gateway');
    expect(authorization.grants('client_credentials')).toHaveLength(2);
    expect((await call('GET /api/credentials', undefined, 'ada')).body).toEqual({ data: [] });
  });
});
