import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { openStores } from '../../_support/memory-stores.ts';
import { toolServerRecord } from '../../storage/records.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { gatewayOf } from '../gateway.ts';
import { says } from '../../_support/scripted-model.ts';
import { documentWith } from '../../tools/scripted-send.ts';

const newFolder = temporaryFolders();

/** Three servers stored under one secret, and a gateway that has another one. */
async function gatewayWithOtherSecret() {
  const file = join(newFolder(), 'toolwharf.db');
  const before = openStores({ file, secret: 'first' }).registry;
  const place = (id: string) => ({ id, url: `http://${id}.test` });
  await before.createToolServer(toolServerRecord({ ...place('maps'), authType: 'bearer', key: 'secret-key' }));
  await before.createToolServer(toolServerRecord({ ...place('news'), headers: { 'x-token': 'secret-token' } }));
  await before.createToolServer(toolServerRecord({ ...place('open'), authType: 'none', key: 'not-sent' }));
  await before.close();
  const registry = openStores({ file, secret: 'second' }).registry;
  onTestFinished(() => registry.close());
  const answers = Object.fromEntries(['maps', 'news', 'open'].map((id) => [`http://${id}.test/openapi.json`, documentWith(`use_${id}`)]));
  return gatewayOf({ turns: [says('Hello.')], registry, answers });
}

it('a server whose stored secret cannot be read is left out of chats, with a warning, and never asked without it', async () => {
  await using gateway = await gatewayWithOtherSecret();
  const seen = await gateway.ask();
  expect(seen.text).toBe('Hello.');
  expect(gateway.model.requests[0]?.tools.map(({ name }) => name)).toEqual(['use_open']);
  expect(seen.eventsOf('warning')).toEqual([
    {
      code: 'tool_server_unsupported',
      message: expect.stringMatching(/"maps" is left out: its stored key cannot be decrypted.*TOOLWHARF_SECRET/),
    },
    {
      code: 'tool_server_unsupported',
      message: expect.stringMatching(/"news" is left out: its stored headers\.x-token cannot be decrypted/),
    },
  ]);
  expect(new Set(gateway.sent.map(({ url }) => new URL(url).host))).toEqual(new Set(['open.test']));
});

it('it is shown as such, and is there again once it has new values', async () => {
  await using gateway = await gatewayWithOtherSecret();
  const shown = (await gateway.get('/api/tool-servers/maps')).json<JsonObject>();
  expect(shown).toMatchObject({
    unreadable_secrets: ['key'],
    has_key: true,
    report: { ok: false, error: expect.stringContaining('cannot be decrypted with the current TOOLWHARF_SECRET') },
  });
  const headers = { host: '127.0.0.1:8080' };
  const changed = await gateway.app.server.inject({ method: 'PATCH', url: '/api/tool-servers/maps', headers, payload: { key: 'new-key' } });
  expect(changed.json()).toMatchObject({ report: { ok: true, functions: [{ name: 'use_maps' }] } });
  expect(changed.json()).not.toHaveProperty('unreadable_secrets');
});
