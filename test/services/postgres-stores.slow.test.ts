import type { PresetRecord } from '../../src/core/stores/preset.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createChatStore } from '../../src/storage/sql/chats.ts';
import { createCredentialStore } from '../../src/storage/sql/credentials.ts';
import { execute, selectAll, selectFirst } from '../../src/storage/sql/database.ts';
import { createGrantStore } from '../../src/storage/sql/grants.ts';
import { createNoteStore } from '../../src/storage/sql/notes.ts';
import { createOAuthClientStore } from '../../src/storage/sql/oauth-clients.ts';
import { createRegistry } from '../../src/storage/sql/registry/registry.ts';
import { createResponseStore } from '../../src/storage/sql/responses.ts';
import { createRunStore } from '../../src/storage/sql/runs.ts';
import { createAuditStore } from '../../src/storage/sql/audit.ts';
import { createSignInStore } from '../../src/storage/sql/sign-ins.ts';
import { createUsageStore } from '../../src/storage/sql/usage.ts';
import { createWaitingRunStore } from '../../src/storage/sql/waiting-runs/waiting-runs.ts';
import { openPostgres, type PostgresDatabase } from '../../src/storage/postgres/postgres-database.ts';
import { describeUnless } from '../_support/missing.ts';
import { missingPostgres, startPostgres, type PostgresServer } from '../_support/postgres-server.ts';
import { describeChatStore } from '../storage/chat-store-contract.ts';
import { describeCredentialStore } from '../storage/credential-store-contract.ts';
import { describeGrantStore } from '../storage/grant-store-contract.ts';
import { describeNoteStore } from '../storage/note-store-contract.ts';
import { describeRegistry } from '../storage/registry-contract.ts';
import { describeResponseStore } from '../storage/response-store-contract.ts';
import { describeRunStore, keptRun } from '../storage/run-store-contract.ts';
import { auditStoreContract } from '../storage/audit-store-contract.ts';
import { describeSignInStore } from '../storage/sign-in-store-contract.ts';
import { describeWaitingRunStore, waitingRun } from '../storage/waiting-run-contract.ts';

describeUnless(missingPostgres, 'the stores on PostgreSQL', () => {
  let server: PostgresServer;
  let database: PostgresDatabase;
  let url: string;

  beforeAll(async () => {
    server = await startPostgres();
    url = await server.newDatabase();
    database = openPostgres({ url, now: Date.now });
    await database.migrate();
  });
  afterAll(async () => {
    await database.close();
    await server.stop();
  });

  async function clear(): Promise<void> {
    const tables = await database.read(() =>
      selectAll<{ name: string }>(`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_steps'`),
    );
    await database.write('registry', () => execute(`TRUNCATE ${tables.map(({ name }) => name).join(', ')}`));
  }
  beforeEach(clear);

  /** The contract closes what it opens, and the tests share the connections. */
  const shared = (): PostgresDatabase => ({ ...database, close: async () => undefined });
  const secret = 'a secret of tests';

  describeRunStore('PostgreSQL', () => createRunStore(shared()));
  describeWaitingRunStore('PostgreSQL', () => createWaitingRunStore(shared(), secret));
  describeNoteStore('PostgreSQL', () => createNoteStore(shared(), secret, 'state'));
  describeChatStore('PostgreSQL', (options) => createChatStore(shared(), options));
  describeResponseStore('PostgreSQL', (options) => createResponseStore(shared(), { secret, ...options }));
  describeCredentialStore('PostgreSQL', () => createCredentialStore(shared(), secret));
  describeSignInStore('PostgreSQL', () => createSignInStore(shared(), secret));
  auditStoreContract('on PostgreSQL', () => createAuditStore(shared()));
  describeGrantStore('PostgreSQL', (now) => createGrantStore(shared(), { secret, now }));
  describeRegistry('PostgreSQL', async (records) => {
    await clear();
    const registry = createRegistry(shared(), { secret, now: Date.now, cacheMs: 0 });
    await registry.replaceToolServers(records);
    return registry;
  });

  it('texts that PostgreSQL cannot hold are stored with a replacement, and poison nothing', async () => {
    const runs = createRunStore(shared());
    const odd = 'a\0b \uD800 c';
    await runs.save([keptRun({ model: odd, events: [{ type: 'warning', time: 1, data: { message: odd } }] }), keptRun({ id: 'run-b' })]);
    expect(await runs.find('run-a')).toMatchObject({ events: [{ data: { message: odd } }] });
    expect(await runs.find('run-b')).toBeDefined();
  });

  it('times and sums are numbers', async () => {
    const row = await database.read(() =>
      selectFirst<object>('SELECT 9007199254740991::int8 AS time, sum(x) AS total FROM (VALUES (1::int8)) AS v(x)'),
    );
    expect(row).toEqual({ time: 9_007_199_254_740_991, total: 1 });
  });

  it('a second migration changes nothing', async () => {
    await database.migrate();
    expect(await createRegistry(shared(), { secret, now: Date.now, cacheMs: 0 }).listKeys()).toEqual([]);
  });

  it('usage adds up over two gateways that save together', async () => {
    const other = openPostgres({ url, now: Date.now });
    const count = {
      day: '2026-01-01',
      keyId: 'k',
      personId: '',
      model: 'm',
      tool: '',
      requests: 1,
      tokensIn: 2,
      tokensOut: 3,
      toolCalls: 0,
      failures: 0,
    };
    const stores = [createUsageStore(shared()), createUsageStore(other)];
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => stores[index % 2]?.add([count], [{ keyId: 'k', id: 'ada', last: index }])),
    );
    const [row] = (await stores[0]?.report({ from: '2026-01-01', to: '2026-01-02', by: 'key', owner: undefined, limit: 10 })) ?? [];
    expect(row).toMatchObject({ requests: 20, tokensIn: 40, tokensOut: 60 });
    expect(await stores[1]?.listPeople({ limit: 5, offset: 0 })).toEqual([{ keyId: 'k', id: 'ada', last: 19 }]);
    await other.close();
  });

  it('of two gateways that decide the last two calls together, one resumes the run', async () => {
    const other = openPostgres({ url, now: Date.now });
    const [one, two] = [createWaitingRunStore(shared(), secret), createWaitingRunStore(other, secret)];
    for (let round = 0; round < 10; round += 1) {
      const run = waitingRun({ id: `run-${round}` });
      await one.save(run, { maxRunCharacters: 1e6, maxOfCaller: 100, maxCharacters: 1e7 });
      const [first, second] = run.calls.map(({ id }) => id);
      const place = { id: run.id, waitId: run.waitId };
      const effects = await Promise.all([
        one.decide({ ...place, callId: first ?? '' }, { decision: 'approve' }),
        two.decide({ ...place, callId: second ?? '' }, { decision: 'approve' }),
      ]);
      expect(effects.map(({ type }) => type).toSorted()).toEqual(['complete', 'recorded']);
    }
    await other.close();
  });

  it('records that two gateways make together are all kept, in one order', async () => {
    const other = openPostgres({ url, now: Date.now });
    const [one, two] = [shared(), other].map((opened) => createRegistry(opened, { secret, now: Date.now, cacheMs: 0 }));
    const preset = (id: string): PresetRecord => ({ id, origin: 'database', baseModel: 'demo', subAgents: [], params: {}, createdAt: 1 });
    await Promise.all(
      Array.from({ length: 10 }, async (_, index) => (index % 2 === 0 ? one : two)?.createPreset(preset(`p${index}`), 100)),
    );
    const lists = await Promise.all([one?.listPresets(), two?.listPresets()]);
    expect(lists[0]).toHaveLength(10);
    expect(lists[0]).toEqual(lists[1]);
    await other.close();
  });

  it('registrations with authorization servers are made once', async () => {
    const other = openPostgres({ url, now: Date.now });
    const stores = [createOAuthClientStore(shared(), secret), createOAuthClientStore(other, secret)];
    const place = { issuer: 'https://login.test', redirectUri: 'https://gateway.test/oauth/callback' };
    const found = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => stores[index % 2]?.findOrAdd(place, { id: `client-${index}`, method: 'none' })),
    );
    expect(new Set(found.map((client) => client?.id)).size).toBe(1);
    await other.close();
  });

  it('a write that fails undoes itself alone, though others share its transaction', async () => {
    const fail = (): never => {
      throw new Error('no');
    };
    const results = await Promise.allSettled([
      database.write('facts', () => execute(`INSERT INTO facts (name, value) VALUES ('a', '1')`)),
      database.write('facts', () => execute(`INSERT INTO facts (name, value) VALUES ('a', '2')`)),
      database.write('facts', fail),
      database.write('facts', () => execute(`INSERT INTO facts (name, value) VALUES ('b', '3')`)),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    expect(await database.read(() => selectAll('SELECT name, value FROM facts ORDER BY name'))).toEqual([
      { name: 'a', value: '1' },
      { name: 'b', value: '3' },
    ]);
  });

  it('one gateway without Redis keeps another away, until it ends', async () => {
    const ignore = (): void => undefined;
    const release = await database.lockForOne(ignore);
    await expect(database.lockForOne(ignore)).rejects.toMatchObject({
      code: 'storage_unavailable',
      message: expect.stringContaining('Another toolwharf'),
    });
    await release();
    await expect
      .poll(() =>
        database.lockForOne(ignore).then(
          (free) => free().then(() => 'free'),
          () => 'taken',
        ),
      )
      .toBe('free');
  });
});

describeUnless(missingPostgres, 'a PostgreSQL that fails', () => {
  let server: PostgresServer;
  let database: PostgresDatabase;
  beforeAll(async () => {
    server = await startPostgres();
    database = openPostgres({ url: await server.newDatabase(), now: Date.now });
    await database.migrate();
  });
  afterAll(async () => {
    await database.close();
    await server.stop();
  });

  const unavailable = { code: 'storage_unavailable' };

  describe('when it is killed', () => {
    it('refuses with the reason, and works again by itself', async () => {
      const notes = createNoteStore(database, 's', 'state');
      const note = { id: 'a', callerId: 'ada', value: 'kept', expires: Date.now() + 1e6 };
      const bounds = { maxNotes: 10, maxCharacters: 1e6, time: 0 };
      await notes.save(note, bounds);
      server.signal('SIGKILL');
      await expect.poll(() => notes.find('a', 1).catch((error: unknown) => error)).toMatchObject(unavailable);
      await expect(notes.save({ ...note, id: 'b' }, bounds)).rejects.toMatchObject(unavailable);
      await expect(database.requireWritable()).rejects.toMatchObject(unavailable);
      await server.start();
      expect(await notes.find('a', 1)).toBe('kept');
      await database.requireWritable();
    });
  });

  it('is refused while it is read-only, with the cure', async () => {
    const set = (state: string): Promise<number> =>
      database.write('facts', () => execute(`ALTER DATABASE test_1 SET default_transaction_read_only = ${state}`));
    await set('on');
    const other = openPostgres({ url: await urlOf(database), now: Date.now });
    await expect(other.requireWritable()).rejects.toMatchObject({ ...unavailable, message: expect.stringContaining('read-only') });
    await expect(other.write('facts', () => execute(`INSERT INTO facts VALUES ('x', 'y')`))).rejects.toMatchObject(unavailable);
    await other.close();
    await set('off');
  });

  it.each([
    ['a password that is wrong', 'postgres://nobody:x@127.0.0.1:1/x', 'cannot be reached'],
    ['a name that is no database', '', 'no database of the name'],
  ])('%s is said', async (_what, url, message) => {
    const address = url === '' ? (await urlOf(database)).replace(/test_\d+$/, 'elsewhere') : url;
    const other = openPostgres({ url: address, now: Date.now });
    await expect(other.migrate()).rejects.toMatchObject({ ...unavailable, message: expect.stringContaining(message) });
    await other.close();
  });

  async function urlOf(opened: PostgresDatabase): Promise<string> {
    const row = await opened.read(() => selectFirst<{ port: string }>(`SELECT current_setting('port') AS port`));
    return `postgres://toolwharf@127.0.0.1:${row?.port}/test_1`;
  }
});
