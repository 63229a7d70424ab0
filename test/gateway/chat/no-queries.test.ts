import { expect, it } from 'vitest';
import { createLayeredRegistry } from '../../../src/storage/layered-registry.ts';
import { createStores } from '../../../src/storage/open-stores.ts';
import type { Database } from '../../../src/storage/sql/database.ts';
import { openSqlite } from '../../../src/storage/sqlite/sqlite-database.ts';
import { backendOf, testApp } from '../../_support/build-app.ts';
import { says, ScriptedModel } from '../../_support/scripted-model.ts';

const adminKey = 'sk-tw-administrator-0000';
const secret = 'a-secret-of-tests-0123456789';

it('a plain chat with a key waits for no query, where records are kept in memory as they are with PostgreSQL', async () => {
  const queries: string[] = [];
  const file = openSqlite({ file: ':memory:', now: Date.now });
  const counting: Database = {
    ...file,
    read(script) {
      queries.push('read');
      return file.read(script);
    },
    write(store, script, queued) {
      queries.push(`write ${store}`);
      return file.write(store, script, queued);
    },
  };
  const { database: _database, ...stores } = createStores(counting, { secret, cacheMs: Infinity });
  const turns = Array.from({ length: 3 }, () => says('Hello.'));
  await using app = await testApp(
    { TOOLWHARF_ADMIN_KEY: adminKey, TOOLWHARF_SECRET: secret },
    {
      ...stores,
      registry: createLayeredRegistry({ fixed: [], store: stores.registry }),
      backends: [backendOf(new ScriptedModel(...turns))],
    },
  );
  const ask = async (key: string, url: string, payload: object): Promise<Record<string, unknown>> => {
    const answer = await app.server.inject({ method: 'POST', url, headers: { authorization: `Bearer ${key}` }, payload });
    expect(answer.statusCode).toBeLessThan(300);
    return answer.json();
  };
  const { key } = await ask(adminKey, '/api/keys', { name: 'ada', role: 'user' });
  const chat = { model: 'model', messages: [{ role: 'user', content: 'Hi' }] };
  await ask(String(key), '/v1/chat/completions', chat);
  queries.length = 0;
  await ask(String(key), '/v1/chat/completions', chat);
  expect(queries).toEqual([]);
  // What the first chat of a key reads is counted, so that the test could fail.
  await ask(adminKey, '/api/presets', { id: 'clerk', base_model: 'model' });
  expect(queries).not.toEqual([]);
});
