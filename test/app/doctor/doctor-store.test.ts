import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { examineInstallation } from '../../../src/cli/doctor.ts';
import type { Finding, Section } from '../../../src/core/finding.ts';
import { createApiKeys } from '../../../src/admin/api-keys.ts';
import { derivePepper } from '../../../src/admin/derive-key-hash.ts';
import { openStores } from '../../_support/memory-stores.ts';
import { backendConfig, toolServerRecord } from '../../storage/records.ts';

const secret = 'a'.repeat(64);
let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolwharf-doctor-store-'));
  file = join(folder, 'toolwharf.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function findings(title: string, environment: NodeJS.ProcessEnv = {}): Promise<Finding[]> {
  const quiet = { PORT: '0', TOOLWHARF_DATA_DIR: folder, OLLAMA_BASE_URLS: ';', TOOLWHARF_DEMO: 'true', ...environment };
  const sections: Section[] = await examineInstallation(quiet, { readFile: () => undefined, isContainer: false });
  return sections.find((section) => section.title.startsWith(title))?.findings ?? [];
}

/** A store with a server that is disabled, one with a key, and a key of the gateway. */
async function fill(): Promise<void> {
  const store = openStores({ file, secret }).registry;
  await store.createToolServer(toolServerRecord({ id: 'off', isEnabled: false }));
  await store.createToolServer(toolServerRecord({ id: 'maps', url: 'http://127.0.0.1:9', authType: 'bearer', key: 'k' }));
  const nothing = () => undefined;
  const ring = createApiKeys({
    registry: store,
    pepper: derivePepper(secret),
    hasFixedKey: false,
    newId: () => '1',
    now: Date.now,
    forget: nothing,
    closeSessionsOf: () => Promise.resolve(),
    cancelRunsOf: nothing,
    deleteAllOf: async () => undefined,
  });
  await ring.create({ name: 'first', role: 'admin' });
  await store.close();
}

/** Every file with what it holds. */
function stateOf(path: string): string[] {
  return readdirSync(path)
    .toSorted()
    .map(
      (name) =>
        `${name} ${createHash('sha256')
          .update(readFileSync(join(path, name)))
          .digest('hex')}`,
    );
}

it('what is stored is examined like what is configured, and nothing is made or changed', async () => {
  await fill();
  writeFileSync(join(folder, 'secret'), `${secret}\n`);
  const before = stateOf(folder);
  expect(await findings('Tool servers')).toEqual([
    { level: 'note', text: 'off: disabled' },
    { level: 'broken', text: expect.stringMatching(/^maps .*127\.0\.0\.1:9/), cure: expect.stringContaining('Start it') },
  ]);
  expect(await findings('Access')).toEqual([{ level: 'ok', text: 'A key is needed: 1 is stored' }]);
  expect(stateOf(folder)).toEqual(before);
});

it('stored backends are examined with those that are configured', async () => {
  const store = openStores({ file, secret }).registry;
  await store.createBackend(backendConfig({ name: 'lab', url: 'http://127.0.0.1:9/v1', key: 'CANARY' }));
  await store.close();
  const found = await findings('Models', { TOOLWHARF_SECRET: secret, OPENAI_API_BASE_URL: 'http://127.0.0.1:9/v1' });
  expect(found).toMatchObject([
    { level: 'broken', text: expect.stringMatching(/^openai .*127\.0\.0\.1:9/), cure: expect.stringContaining('Start the server') },
    { level: 'broken', text: expect.stringMatching(/^lab .*127\.0\.0\.1:9/), cure: expect.stringContaining('Start the server') },
    { level: 'ok', text: expect.stringContaining('demo') },
  ]);
  const [, lost] = await findings('Models', { TOOLWHARF_SECRET: 'b'.repeat(64), OPENAI_API_BASE_URL: 'http://127.0.0.1:9/v1' });
  expect(lost).toMatchObject({
    text: expect.stringContaining('TOOLWHARF_SECRET'),
    cure: expect.stringContaining('PATCH /api/backends/lab'),
  });
  expect(JSON.stringify(found)).not.toContain('CANARY');
});

it('a store of an earlier release is read as it is, and not brought up to date', async () => {
  const before = new DatabaseSync(file);
  before.exec(readFileSync(new URL('../../storage/sqlite/connection/fixtures/released-1.sql', import.meta.url), 'utf8'));
  before.close();
  const bytes = stateOf(folder);
  expect(await findings('Access', { TOOLWHARF_SECRET: secret })).toEqual([{ level: 'ok', text: 'A key is needed: 2 are stored' }]);
  expect((await findings('Tool servers', { TOOLWHARF_SECRET: secret })).map(({ text }) => text)).toContain(
    'time: bundled, runs with the gateway',
  );
  expect(stateOf(folder)).toEqual(bytes);
});

it('a gateway that runs is not disturbed, and its last change is seen', async () => {
  await fill();
  const running = openStores({ file, secret }).registry;
  await running.createToolServer(toolServerRecord({ id: 'late', isEnabled: false }));
  const before = readdirSync(folder);
  const found = await findings('Tool servers', { TOOLWHARF_SECRET: secret });
  expect(found.map(({ text }) => text)).toContain('late: disabled');
  await running.deleteToolServer('late');
  expect(readdirSync(folder)).toEqual(before);
  await running.close();
});

it('a store that is not there yet is nothing wrong, and is not made', async () => {
  expect(await findings('Tool servers')).toEqual([{ level: 'fact', text: expect.stringContaining('none configured') }]);
  expect(readdirSync(folder)).toEqual([]);
});

it('keys and servers that another secret made are named with their cure', async () => {
  await fill();
  const found = await findings('Tool servers', { TOOLWHARF_SECRET: 'b'.repeat(64) });
  expect(found).toEqual([
    { level: 'broken', text: '1 of 1 key made with another TOOLWHARF_SECRET: rejected', cure: expect.stringContaining('Set the secret') },
    { level: 'note', text: 'off: disabled' },
    {
      level: 'broken',
      text: expect.stringContaining('key cannot be decrypted'),
      cure: expect.stringContaining('PATCH /api/tool-servers/maps'),
    },
  ]);
});

it('a store without its secret is broken, and no other secret is made', async () => {
  await fill();
  expect(await findings('Tool servers')).toMatchObject([{ level: 'broken', text: expect.stringContaining('TOOLWHARF_SECRET') }, {}]);
  expect(existsSync(join(folder, 'secret'))).toBe(false);
});

it('a damaged store is broken, and stays as it is', async () => {
  await fill();
  writeFileSync(file, 'no database');
  copyFileSync(file, `${file}.copy`);
  expect(await findings('Tool servers', { TOOLWHARF_SECRET: secret })).toMatchObject([
    { level: 'broken', text: expect.stringContaining('damaged') },
    {},
  ]);
  expect(readFileSync(file)).toEqual(readFileSync(`${file}.copy`));
});
