import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openStores } from '../../_support/memory-stores.ts';
import { toolServerRecord } from '../records.ts';
import { temporaryFolders } from '../temporary-folder.ts';

const newFolder = temporaryFolders();

/** `{name, value}` says at the top, too, what the value is. */
const labelled = { header: 'x-api-key', value: 'CANARY-value' };

it.each([
  ['under its own name', { token: 'CANARY-a' }],
  ['at the top', { ...labelled, token: 'CANARY-token' }],
  ['alone', labelled],
  ['within config', { config: { ...labelled, password: 'CANARY-password' }, info: labelled }],
])('a value that its name or label makes a secret is encrypted and read again: %s', async (_where, extra) => {
  const file = join(newFolder(), 'toolwharf.db');
  const { registry } = openStores({ file, secret: 'right' });
  onTestFinished(() => registry.close());
  const record = toolServerRecord({ id: 'labelled', extra });
  await registry.createToolServer(record);
  expect(readFileSync(file, 'latin1')).not.toContain('CANARY');
  expect(await registry.listToolServers()).toEqual([record]);
});
