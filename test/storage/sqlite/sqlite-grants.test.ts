import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GrantStore } from '../../../src/core/stores/grant-store.ts';
import { openStores } from '../../../src/storage/open-stores.ts';
import type { Stores } from '../../../src/storage/open-stores.ts';
import { describeGrantStore, grantBounds, testGrant } from '../grant-store-contract.ts';
import { temporaryFolders } from '../temporary-folder.ts';

const temporaryFolder = temporaryFolders();

function open(file: string, secret = 'a secret of tests', now = Date.now): Stores {
  const stores = openStores({ file, secret, now });
  onTestFinished(() => stores.connection.close());
  return stores;
}

const createStore =
  (file: () => string) =>
  (now: () => number): GrantStore =>
    open(file(), undefined, now).grants;

describeGrantStore(
  'memory',
  createStore(() => ':memory:'),
);
describeGrantStore(
  'a file',
  createStore(() => join(temporaryFolder(), 'toolwharf.db')),
);

describe('a file of grants', () => {
  it('holds no name, address or secret of a client, and another secret opens none', async () => {
    const file = join(temporaryFolder(), 'toolwharf.db');
    const { grants, connection } = open(file);
    await grants.save(testGrant({ value: { client_name: 'CANARY-name', client_secret: 'CANARY-secret' } }), grantBounds);
    await connection.close();
    expect(readFileSync(file).includes('CANARY')).toBe(false);
    expect(await open(file).grants.find('refresh', 'token', 2)).toMatchObject({ value: { client_name: 'CANARY-name' } });
    expect(await open(file, 'another secret').grants.find('refresh', 'token', 2)).toBeUndefined();
  });

  it('gives nothing of a row that was made another caller’s, client’s or grant’s', async () => {
    for (const column of ['caller_id', 'client_id', 'grant_id']) {
      const { grants, connection } = open(':memory:');
      await grants.save(testGrant(), grantBounds);
      expect(await grants.find('refresh', 'token', 2)).toBeDefined();
      await connection.write((database) => database.exec(`UPDATE grant_records SET ${column} = 'eve'`));
      expect(await grants.find('refresh', 'token', 2)).toBeUndefined();
    }
  });
});
