import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStores } from '../../_support/memory-stores.ts';
import { parseToolServerConnection } from '../../../src/storage/tool-server-connection.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { adminApp } from '../tool-servers/tool-server-fixture.ts';

const { privateKey } = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const newFolder = temporaryFolders();
const oauth = { client_id: 'gateway', client_secret: 'CANARY-client-secret', scopes: ['read'], resource: 'http://maps.test' };
const connection = { id: 'maps', url: 'http://maps.test', auth_type: 'oauth', oauth };

describe('a connection with oauth', () => {
  it('is shown without its secret, and keeps it when it is sent back or changed', async () => {
    await using app = await adminApp();
    const shown = { ...oauth, client_secret: null };
    const created = await app.ask('POST', '/api/tool-servers', connection);
    expect(created).toMatchObject({ status: 201, body: { auth_type: 'oauth', oauth: shown } });
    expect(created.body).not.toHaveProperty('per_user');
    const secret = async (): Promise<unknown> => (await app.registry.findToolServer('maps'))?.oauth?.clientSecret;
    const { report: _, ...sentBack } = created.body;
    for (const change of [
      sentBack,
      { info: { name: 'Maps' } },
      { oauth: { scopes: ['read', 'write'] } },
      { oauth: { client_id: 'gateway' } },
    ]) {
      expect((await app.ask('PATCH', '/api/tool-servers/maps', change)).status).toBe(200);
      expect(await secret()).toBe('CANARY-client-secret');
    }
    const list = (await app.ask('GET', '/api/tool-servers')).body;
    expect((await app.ask('PUT', '/api/tool-servers', list)).status).toBe(200);
    expect(await secret()).toBe('CANARY-client-secret');
    const { text } = await app.ask('GET', '/api/v1/configs/tool_servers');
    expect([text.includes('gateway'), app.logLines.length > 0]).toEqual([true, true]);
    for (const seen of [created.text, JSON.stringify(list), text, ...app.logLines]) expect(seen).not.toContain('CANARY');
  });

  it.each<[string, object]>([
    ['another origin', { url: 'http://clock.test' }],
    ['another client', { oauth: { client_id: 'other' } }],
    ['another place to send it to', { oauth: { authorize_url: 'https://b.test/a', token_url: 'https://b.test/t' } }],
    ['an empty secret', { oauth: { client_secret: '' } }],
    ['another auth_type', { auth_type: 'none' }],
  ])('loses its secret with %s', async (_what, change) => {
    await using app = await adminApp();
    await app.ask('POST', '/api/tool-servers', connection);
    const { status, body } = await app.ask('PATCH', '/api/tool-servers/maps', change);
    expect(status).toBe(200);
    expect((await app.registry.findToolServer('maps'))?.oauth?.clientSecret).toBeUndefined();
    expect(JSON.stringify(body.report.warnings).includes('oauth.client_secret')).toBe('url' in change);
  });

  it.each<[string, object, string, RegExp]>([
    ['a key', { key: 'x' }, 'key', /oauth\.client_secret/],
    ['a secret without a client', { oauth: { client_secret: 'x' } }, 'oauth.client_id', /needed with client_secret/],
    ['half of the addresses', { oauth: { authorize_url: 'https://a.test' } }, 'oauth.token_url', /needed with authorize_url/],
    ['the other half', { oauth: { token_url: 'https://a.test' } }, 'oauth.authorize_url', /needed with token_url/],
    ['client_credentials without a client', { oauth: { grant: 'client_credentials' } }, 'oauth.client_id', /register the gateway/],
    [
      'a key that cannot be read',
      { oauth: { client_id: 'a', client_secret: '-----BEGIN PRIVATE KEY-----\nAA' } },
      'oauth.client_secret',
      /cannot be read/,
    ],
    [
      'a key for people',
      { oauth: { client_id: 'a', client_secret: privateKey } },
      'oauth.client_secret',
      /only grant "client_credentials"/,
    ],
    ['a secret of two lines', { oauth: { client_id: 'a', client_secret: 'a\nb' } }, 'oauth.client_secret', /one line/],
    ['client_credentials for each person', { per_user: true, oauth: { ...oauth, grant: 'client_credentials' } }, 'per_user', /contradicts/],
    ['another grant', { oauth: { grant: 'password' } }, 'oauth.grant', /client_credentials/],
    ['scopes in one text', { oauth: { scopes: ['read write'] } }, 'oauth.scopes.0', /without spaces/],
    ['a misspelt field', { oauth: { clientid: 'x' } }, 'oauth', /clientid/],
    ['an invalid address', { oauth: { authorize_url: 'javascript:x', token_url: 'https://a.test' } }, 'oauth.authorize_url', /http/],
  ])('is refused with %s, in words that name the cure', async (_what, fields, param, message) => {
    await using app = await adminApp();
    const { status, body } = await app.ask('POST', '/api/tool-servers', {
      id: 'maps',
      url: 'http://maps.test',
      auth_type: 'oauth',
      ...fields,
    });
    expect({ status, error: body.error }).toMatchObject({
      status: 400,
      error: { param, message: expect.stringMatching(message) },
    });
  });

  it('cannot be a process', () => {
    const process = { id: 'files', type: 'mcp', command: 'server', auth_type: 'oauth' };
    expect(() => parseToolServerConnection(process, 'file')).toThrow(/auth_type: "oauth" needs a server with a url/);
  });

  it('has its secret encrypted in the file, and is read again with it', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const { registry } = openStores({ file, secret: 'right' });
    const record = parseToolServerConnection(connection, 'database');
    await registry.createToolServer(record);
    expect(await registry.listToolServers()).toEqual([record]);
    await registry.close();
    const written = readFileSync(file, 'latin1');
    expect([written.includes('gateway'), written.includes('CANARY')]).toEqual([true, false]);
    const wrong = openStores({ file, secret: 'wrong' }).registry;
    expect((await wrong.listToolServers())[0]).toMatchObject({
      oauth: { clientId: 'gateway' },
      extra: { unreadable_secrets: ['oauth.client_secret'] },
    });
    await wrong.close();
  });
});
