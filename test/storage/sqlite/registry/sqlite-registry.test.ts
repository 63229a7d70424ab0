import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, it } from 'vitest';
import type { Registry } from '../../../../src/core/stores/registry.ts';
import { openStores } from '../../../_support/memory-stores.ts';
import { backendConfig, describeRegistry, keyRecord, toolServerRecord } from '../../registry-contract.ts';
import { temporaryFolders } from '../../temporary-folder.ts';

const newFolder = temporaryFolders();
const open: Registry[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((registry) => registry.close()));
});

function openRegistry(file: string, secret = 'secret-one'): Registry {
  const registry = openStores({ file, secret }).registry;
  open.push(registry);
  return registry;
}

describe.each<[string, () => string]>([
  ['a file', () => join(newFolder(), 'toolwharf.db')],
  ['memory', () => ':memory:'],
])('in %s', (name, toFile) => {
  describeRegistry(name, async (records) => {
    const registry = openRegistry(toFile());
    await registry.replaceToolServers(records);
    return registry;
  });
});

describe('the SQLite registry', () => {
  const secretive = toolServerRecord({
    id: 'mail',
    authType: 'bearer',
    key: 'CANARY-key',
    headers: { 'x-token': 'CANARY-header', 'x-b': 'CANARY-b' },
  });

  const secretiveBackend = backendConfig({ key: 'CANARY-backend-key', headers: { 'x-token': 'CANARY-backend-header' } });

  it('names the secrets of a backend that another secret encrypted, and has them again with that one', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const before = openRegistry(file, 'one');
    await before.createBackend(secretiveBackend);
    await before.close();
    const other = openRegistry(file, 'two');
    const { key: _key, ...withoutKey } = secretiveBackend;
    const unreadableSecrets = ['headers.x-token', 'key'];
    const listed = await other.listBackends();
    expect(listed).toEqual([{ ...withoutKey, headers: {}, unreadableSecrets }]);
    await other.changeBackend({ ...withoutKey, headers: { 'x-token': 'new' }, prefix: 'p', unreadableSecrets: ['key'] });
    expect(await other.listBackends()).toMatchObject([{ headers: { 'x-token': 'new' }, unreadableSecrets: ['key'] }]);
    await other.close();
    const again = await openRegistry(file, 'one').listBackends();
    expect(again).toMatchObject([{ key: 'CANARY-backend-key', prefix: 'p', unreadableSecrets: ['headers.x-token'] }]);
  });

  it('decrypts no secret of a backend for another one', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const registry = openRegistry(file);
    await registry.createBackend(secretiveBackend);
    await registry.createBackend(backendConfig({ name: 'other' }));
    const database = new DatabaseSync(file);
    database.exec("UPDATE backends SET secrets = (SELECT secrets FROM backends WHERE id = 'lab') WHERE id = 'other'");
    database.close();
    const [, other] = await registry.listBackends();
    expect(other).toMatchObject({ headers: {}, unreadableSecrets: ['headers.x-token', 'key'] });
    expect(other).not.toHaveProperty('key');
  });

  it('keeps everything over a restart', async () => {
    const file = join(newFolder(), 'deep', 'er', 'toolwharf.db');
    const before = openRegistry(file);
    await before.replaceToolServers([secretive, toolServerRecord()]);
    await before.createKey(keyRecord());
    await before.createBackend(secretiveBackend);
    await before.writeFact('seen', 'yes');
    await before.close();
    const after = openRegistry(file);
    expect(await after.listToolServers()).toEqual([secretive, toolServerRecord()]);
    expect(await after.findKeyByHash('hash-a')).toEqual(keyRecord());
    expect(await after.listBackends()).toEqual([secretiveBackend]);
    expect(await after.readFact('seen')).toBe('yes');
  });

  it('is readable for its owner only, and holds no secret in clear', async () => {
    const folder = newFolder();
    const registry = openRegistry(join(folder, 'toolwharf.db'));
    await registry.createToolServer(secretive);
    await registry.createBackend(secretiveBackend);
    const files = readdirSync(folder).map((name) => join(folder, name));
    expect(files).toHaveLength(3);
    expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);
    const contents = files.map((file) => readFileSync(file, 'latin1')).join('');
    expect(contents.includes('CANARY')).toBe(false);
    expect(contents.includes('x-token')).toBe(true);
  });

  it('gives the same object when a change or a replacement changes nothing', async () => {
    const registry = openRegistry(join(newFolder(), 'toolwharf.db'));
    await registry.replaceToolServers([secretive, toolServerRecord()]);
    const before = await registry.findToolServer('mail');
    await registry.replaceToolServers([toolServerRecord(), secretive]);
    await registry.changeToolServer(secretive);
    expect(await registry.findToolServer('mail')).toBe(before);
  });

  it('sees what another process wrote, and keeps the objects that are unchanged', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const [here, there] = [openRegistry(file), openRegistry(file)];
    await here.createToolServer(secretive);
    const before = await here.findToolServer('mail');
    await there.createToolServer(toolServerRecord());
    await there.createKey(keyRecord());
    expect((await here.listToolServers()).map(({ id }) => id)).toEqual(['mail', 'time']);
    expect(await here.findToolServer('mail')).toBe(before);
    expect(await here.findKeyByHash('hash-a')).toEqual(keyRecord());
    await there.deleteToolServer('mail');
    expect(await here.findToolServer('mail')).toBeUndefined();
  });

  it('is made once when two open it at the same time', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const registries = Array.from({ length: 5 }, () => openRegistry(file));
    await Promise.all(registries.map((registry, index) => registry.createToolServer(toolServerRecord({ id: `s${index}` }))));
    expect(await registries[0]?.listToolServers()).toHaveLength(5);
  });

  it('answers nothing once it is closed, and may be closed twice', async () => {
    const registry = openRegistry(join(newFolder(), 'toolwharf.db'));
    const write = registry.writeFact('seen', 'yes');
    await registry.close();
    await write;
    await registry.close();
    await expect(registry.readFact('seen')).rejects.toMatchObject({ code: 'storage_unavailable' });
  });

  it('names a row that it cannot understand', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const registry = openRegistry(file);
    await registry.createToolServer(toolServerRecord());
    const other = new DatabaseSync(file);
    other.exec(`UPDATE tool_servers SET record = 'null'`);
    other.close();
    await expect(registry.listToolServers()).rejects.toThrow('The stored tool server "time" is damaged');
  });
});

describe('a tool server whose secrets were stored under another secret', () => {
  const record = toolServerRecord({ id: 'mail', authType: 'bearer', key: 'old-key', headers: { 'x-a': 'old-a', 'x-b': 'old-b' } });
  const plain = toolServerRecord({ id: 'time' });

  async function storedUnderAnother(): Promise<string> {
    const file = join(newFolder(), 'toolwharf.db');
    const registry = openRegistry(file);
    await registry.replaceToolServers([record, plain]);
    await registry.close();
    return file;
  }

  it('is listed without them and with a mark, beside the others', async () => {
    const registry = openRegistry(await storedUnderAnother(), 'secret-two');
    const marked = {
      ...toolServerRecord({ id: 'mail', authType: 'bearer' }),
      extra: { unreadable_secrets: ['key', 'headers.x-a', 'headers.x-b'] },
    };
    expect(await registry.listToolServers()).toEqual([marked, plain]);
    expect(await registry.findToolServer('time')).toEqual(plain);
  });

  it('is refused by itself, with a line that names the setting', async () => {
    const registry = openRegistry(await storedUnderAnother(), 'secret-two');
    await expect(registry.findToolServer('mail')).rejects.toMatchObject({
      code: 'storage_unavailable',
      message: expect.stringMatching(/key, headers\.x-a, headers\.x-b of tool server "mail".*TOOLWHARF_SECRET/),
    });
  });

  it('loses nothing when it is changed or replaced meanwhile', async () => {
    const file = await storedUnderAnother();
    const wrong = openRegistry(file, 'secret-two');
    const [marked] = await wrong.listToolServers();
    await wrong.changeToolServer({ ...toolServerRecord(marked), isEnabled: false });
    await wrong.replaceToolServers([plain, toolServerRecord({ id: 'mail', authType: 'bearer', tags: ['moved'] })]);
    await wrong.close();
    expect(await openRegistry(file).listToolServers()).toEqual([plain, { ...record, tags: ['moved'] }]);
  });

  it('takes new values for what cannot be read, and is whole again', async () => {
    const file = await storedUnderAnother();
    const registry = openRegistry(file, 'secret-two');
    const renewed = { ...record, key: 'new-key', headers: { 'X-A': 'new-a', 'x-b': 'new-b' } };
    await registry.changeToolServer(renewed);
    expect(await registry.findToolServer('mail')).toEqual(renewed);
  });

  it('does not open a secret that was moved from another record', async () => {
    const file = await storedUnderAnother();
    const other = new DatabaseSync(file);
    other.exec(`UPDATE tool_servers SET secrets = (SELECT secrets FROM tool_servers WHERE id = 'mail') WHERE id = 'time'`);
    other.close();
    await expect(openRegistry(file).findToolServer('time')).rejects.toThrow('TOOLWHARF_SECRET');
  });
});
