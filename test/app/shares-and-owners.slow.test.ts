import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createResultCache, cachedResultsLimit } from '../../src/chat/results/result-cache.ts';
import type { Caller } from '../../src/core/callers/caller.ts';
import type { NoteStore, NoteKind } from '../../src/core/stores/note-store.ts';
import type { ChatStore } from '../../src/core/stores/chat-store.ts';
import type { ResponseStore } from '../../src/core/stores/response-store.ts';
import type { GrantStore } from '../../src/core/stores/grant-store.ts';
import type { SignInStore } from '../../src/core/stores/sign-in-store.ts';
import type { WaitingRunStore } from '../../src/core/runs/suspended-run.ts';
import type { JsonObject } from '../../src/shared/json/json.ts';
import type { Lesson } from '../../src/core/models/lesson.ts';
import type { ModelBackend } from '../../src/core/models/model.ts';
import type { RunStore } from '../../src/core/runs/run-log.ts';
import { createMcpLogLevels } from '../../src/http/mcp/mcp-log-levels.ts';
import { createOwnedEntries } from '../../src/http/mcp/owned-entries.ts';
import { RefusalMemory, rememberedLessons } from '../../src/models/remedies/refusal-memory.ts';
import { createRunLog } from '../../src/observability/run-log.ts';
import { loggedRuns } from '../../src/observability/save-runs.ts';
import { unsavedRunsLimit } from '../../src/observability/unsaved-runs.ts';
import { createRateLimiter } from '../../src/policy/rate-limits.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite-database.ts';
import type { SqliteDatabase } from '../../src/storage/sqlite/sqlite-database.ts';
import { memoryChats, memoryRuns } from '../_support/memory-stores.ts';
import { migrate } from '../../src/storage/sqlite/connection/migrate.ts';
import { createNoteStore } from '../../src/storage/sql/notes.ts';
import { createChatStore, storedChatsCharacters } from '../../src/storage/sql/chats.ts';
import { createResponseStore, storedResponsesCharacters } from '../../src/storage/sql/responses.ts';
import { createGrantStore } from '../../src/storage/sql/grants.ts';
import { createRunStore } from '../../src/storage/sql/runs.ts';
import { createSignInStore } from '../../src/storage/sql/sign-ins.ts';
import { createWaitingRunStore } from '../../src/storage/sql/waiting-runs/waiting-runs.ts';
import { createFunctionStates, stateChats } from '../../src/tools/functions/run/function-state.ts';
import { backendOf, listen } from '../_support/build-app.ts';
import { memoryContinuations, turnOf } from '../_support/continuations.ts';
import { connectFakeBrowser } from '../_support/fake-browser.ts';
import { askModel } from '../_support/model-answers.ts';
import { calls, says, generatedBy } from '../_support/scripted-model.ts';
import type { ScriptStep } from '../_support/scripted-model.ts';
import { runContext, toolNamed } from '../_support/tools.ts';
import { askPlainly, bankGateway, call, decide, pathsSent, readRun } from '../gateway/approvals/approval-fixture.ts';
import type { Asked } from '../gateway/approvals/approval-fixture.ts';
import { testNote } from '../storage/note-store-contract.ts';
import { storedChat } from '../storage/chat-store-contract.ts';
import { storedResponse } from '../storage/response-store-contract.ts';
import { keptRun } from '../storage/run-store-contract.ts';
import { testGrant } from '../storage/grant-store-contract.ts';
import { testSignIn } from '../storage/sign-in-store-contract.ts';
import { waitingRun } from '../storage/waiting-run-contract.ts';
import type { Gateway, GatewayOptions } from '../gateway/gateway.ts';
import { continuationsLimit } from '../../src/chat/suspend/continuations.ts';
import { chatConfigs } from '../../src/chat/config/chat-configs.ts';
import { grants, registeredClients } from '../../src/http/authorization-server/grant-bounds.ts';
import { mcpSessions } from '../../src/http/mcp/mcp-sessions.ts';
import { conversationsLimit } from '../../src/http/dialects/socket/kept-conversations.ts';
import { recordedPrompts } from '../../src/observability/prompt-log.ts';
import { waitingRunCharacters, waitingRunsCharacters } from '../../src/chat/suspend/store-suspended-run.ts';
import { rememberedApprovals } from '../../src/policy/approvals/remembered-approvals.ts';
import { transcriptsLimit } from '../../src/chat/suspend/run-transcripts.ts';
import { signInsLimit } from '../../src/tools/credentials/sign-ins.ts';
import { logins } from '../../src/policy/logins.ts';
import { consoleChatsOfAll } from '../../src/http/routes/chats/console-chat-notes.ts';

/**
 * Callers against stores. First table: one caller fills a store, and nobody else loses anything. Second table: nobody reads, changes, decides or
 * cancels what is another caller's.
 */

function connect(): SqliteDatabase {
  const connection = openSqlite({ file: ':memory:', now: Date.now });
  onTestFinished(() => connection.close());
  return connection;
}

/** One store with a limit that `count` entries of one caller exceed. */
interface OpenedStore {
  put(owner: string, number: number): unknown;
  has(owner: string, number: number): Promise<boolean> | boolean;
  /** Where it does so later by itself. */
  settle?(): Promise<unknown>;
  count: number;
  /** Whoever has the most is refused, and loses nothing. */
  isRefusing?: boolean;
}

interface StoreRow {
  store: string;
  /** The constant that bounds it; `one a caller`: nobody can hold more. */
  /** Nothing where there is one entry for each caller. */
  limit: number | undefined;
  /** Its table, where it is in SQLite. */
  table?: string;
  open(): OpenedStore;
}

const few = 40;
const idOf = (owner: string, number: number): string => `${owner}-${number}`;
const callerOf = (id: string): Caller => ({ id, role: 'user', isOpen: false });

function waitingRuns(store: WaitingRunStore): OpenedStore {
  const bounds = { maxRunCharacters: waitingRunCharacters, maxOfCaller: 1_000, maxCharacters: few * 2_000 };
  return {
    count: 2 * few,
    isRefusing: true,
    put: (callerId, number) => store.save(waitingRun({ id: idOf(callerId, number), callerId, loop: { text: 'x'.repeat(2_000) } }), bounds),
    has: async (owner, number) => (await store.find(idOf(owner, number)))?.type === 'open',
  };
}

function runs(store: RunStore): OpenedStore {
  return {
    count: 2 * few,
    put: (callerId, number) => store.save([keptRun({ id: idOf(callerId, number), callerId, created: 1_000 + number })]),
    settle: () => store.prune({ since: 0, maxRuns: few, maxCharacters: 1_000_000 }),
    has: async (owner, number) => (await store.find(idOf(owner, number))) !== undefined,
  };
}

function notes(memory: NoteStore): OpenedStore {
  const bounds = { time: 0, maxNotes: few, maxCharacters: 1_000_000 };
  return {
    count: 2 * few,
    put: (callerId, number) => memory.save(testNote({ id: idOf(callerId, number), callerId }), bounds),
    has: async (owner, number) => (await memory.find(idOf(owner, number), 1)) !== undefined,
  };
}

function signIns(store: SignInStore): OpenedStore {
  const bounds = { time: 0, maxOfCaller: 1_000, max: few, maxCharacters: 1_000_000 };
  return {
    count: 2 * few,
    put: (callerId, number) => store.add(testSignIn({ id: idOf(callerId, number), callerId }), bounds),
    has: async (owner, number) => (await store.find(idOf(owner, number), 1)) !== undefined,
  };
}

function grantsOf(store: GrantStore, kind: 'client' | 'grant'): OpenedStore {
  const bounds = { time: 0, max: few, maxOfOwner: 1_000 };
  return {
    count: 2 * few,
    put: (ownerId, number) => store.save(testGrant({ kind, id: idOf(ownerId, number), ownerId, grantId: '' }), bounds),
    has: async (owner, number) => (await store.find(kind, idOf(owner, number), 1)) !== undefined,
  };
}

const chatBounds = { ageMs: 1_000_000, chatsPerCaller: 1_000, charactersPerCaller: 1_000_000, characters: 10_000 };
function chats(store: ChatStore): OpenedStore {
  return {
    count: 4 * few,
    put: (callerId, number) => store.save(storedChat({ id: idOf(callerId, number), callerId, created: 1_000 + number })),
    has: async (owner, number) => (await store.find(owner, idOf(owner, number))) !== undefined,
  };
}

const responseBounds = { ageMs: 1_000_000, responsesPerCaller: 1_000, charactersPerCaller: 1_000_000, characters: 20_000 };
function responses(store: ResponseStore): OpenedStore {
  return {
    count: 4 * few,
    put: (callerId, number) => store.add(storedResponse({ id: idOf(callerId, number), callerId })),
    has: async (owner, number) => (await store.find(owner, idOf(owner, number))) !== undefined,
  };
}

function continuations(): OpenedStore {
  const kept = memoryContinuations();
  const callsOf = (owner: string, number: number) => [{ id: idOf(owner, number), name: 'theirs', arguments: '{}' }];
  const turn = (owner: string, number: number) => ({ role: 'assistant' as const, content: null, toolCalls: callsOf(owner, number) });
  return {
    count: continuationsLimit + 10,
    put: (owner, number) =>
      kept.save(callerOf(owner), turnOf(callsOf(owner, number), [turn(owner, number), { role: 'tool', toolCallId: 'g', content: 'done' }])),
    has: async (owner, number) =>
      (await kept.restore(callerOf(owner), [turn(owner, number)], { model: 'model', fallbacks: [] })).length > 1,
  };
}

function functionState(): OpenedStore {
  const states = createFunctionStates();
  const open = (owner: string, number: number) => states.open(runContext({ caller: callerOf(owner), chatId: String(number) }));
  return {
    count: stateChats + 10,
    async put(owner, number) {
      const state = await open(owner, number);
      state.set('seen', true);
      await state.commit();
    },
    has: async (owner, number) => (await open(owner, number)).get('seen') === true,
  };
}

function cachedResults(): OpenedStore {
  const cache = createResultCache(() => 0);
  const tool = toolNamed('look', 1, { cacheTtlMs: 1_000 });
  return {
    count: cachedResultsLimit + 10,
    put: (owner, number) => cache.save({ caller: callerOf(owner), tool, args: { number }, value: number }),
    has: (owner, number) => cache.find(callerOf(owner), tool, { number }) !== undefined,
  };
}

function unsavedRuns(): OpenedStore {
  const store = { ...memoryRuns(), save: () => Promise.reject(new Error('full')) };
  const log = createRunLog({ store, now: Date.now, logger: { error: () => undefined } });
  onTestFinished(() => log.close());
  return {
    count: unsavedRunsLimit + 10,
    put: (callerId, number) =>
      log.begin({ id: idOf(callerId, number), callerId, model: 'model', mode: undefined }).end({ status: 'completed' }),
    has: async (owner, number) => (await log.find(idOf(owner, number))) !== undefined,
  };
}

function requestCounts(): OpenedStore {
  const limiter = createRateLimiter({ now: () => 0, elapsed: () => 0 });
  const held = (id: string): Caller => ({ ...callerOf(id), limits: { requestsPerMinute: 1 } });
  const isRefused = (owner: string): boolean => {
    try {
      limiter.admit(held(owner));
      return false;
    } catch {
      return true;
    }
  };
  return { count: 20_000, put: isRefused, has: (owner, number) => number > 0 || isRefused(owner) };
}

function logLevels(): OpenedStore {
  const levels = createMcpLogLevels();
  return {
    count: 2_000,
    put: (owner) => levels.set(owner, 'error'),
    has: (owner, number) => number > 0 || !levels.includes('info', owner),
  };
}

function leftByMcpClients(): OpenedStore {
  const left = createOwnedEntries({ perOwner: 16, total: 100, end: () => undefined });
  const idOf = (owner: string, number: number): string => `${owner} ${number}`;
  return {
    count: 2_000,
    put: (owner, number) => left.add(idOf(owner, number), owner, number),
    has: (owner, number) => left.find(idOf(owner, number), owner) !== undefined,
  };
}

function lessons(): OpenedStore {
  const memory = new RefusalMemory(() => 0);
  const lessonAbout = (name: string): Lesson => ({
    kind: 'function',
    subject: name,
    change: 'simplified',
    content: 'schema',
    warning: { code: 'function_schema_refused', message: `The function "${name}" is offered in a simpler form.` },
  });
  const requestOf = (callerId: string) => askModel({ origin: { callerId, sourceOf: () => ({ server: 'box', isOwn: false }) } });
  return {
    count: rememberedLessons + 10,
    put: (owner, number) =>
      memory.of('llm', 'm').learn(lessonAbout(idOf(owner, number)), { request: requestOf(owner), pointsAt: 'function', rule: 'own' }),
    has: (owner, number) =>
      memory
        .of('llm', 'm')
        .recall('function', requestOf(owner))
        .some(({ subject }) => subject === idOf(owner, number)),
  };
}

const kinds: [NoteKind, string, number][] = [
  ['approval', 'remembered decisions', rememberedApprovals],
  ['state', 'state of functions', stateChats],
  ['config', 'changes of chats', chatConfigs],
  ['continuation', 'turns that go on', continuationsLimit],
  ['prompt', 'recorded prompts', recordedPrompts],
  ['transcript', 'what suspended runs did', transcriptsLimit],
  ['conversation', 'conversations over sockets', conversationsLimit],
  ['login', 'logins', logins],
  ['console-chat', 'chats of the console', consoleChatsOfAll],
];
const rows: StoreRow[] = [
  {
    store: 'runs that wait',
    limit: waitingRunsCharacters,
    table: 'waiting_runs',
    open: () => waitingRuns(createWaitingRunStore(connect(), 'secret')),
  },
  { store: 'the log of runs', limit: loggedRuns, table: 'runs', open: () => runs(createRunStore(connect())) },
  { store: 'runs that cannot be written', limit: unsavedRunsLimit, open: unsavedRuns },
  ...kinds.map(([kind, store, limit]): StoreRow => ({
    store,
    limit,
    table: 'chat_memory',
    open: () => notes(createNoteStore(connect(), 'secret', kind)),
  })),
  { store: 'turns that go on, in memory', limit: continuationsLimit, open: continuations },
  { store: 'state of functions, in memory', limit: stateChats, open: functionState },
  { store: 'results of functions', limit: cachedResultsLimit, open: cachedResults },
  {
    store: 'stored chats',
    limit: storedChatsCharacters,
    table: 'chats',
    open: () => chats(createChatStore(connect(), { now: () => 2_000, bounds: chatBounds })),
  },
  {
    store: 'stored responses',
    limit: storedResponsesCharacters,
    table: 'responses',
    open: () => responses(createResponseStore(connect(), { secret: 'secret', now: () => 2_000, bounds: responseBounds })),
  },
  {
    store: 'links to connect',
    limit: signInsLimit,
    table: 'sign_ins',
    open: () => signIns(createSignInStore(connect(), 'secret')),
  },
  {
    store: 'programs that have registered',
    limit: registeredClients,
    table: 'grant_records',
    open: () => grantsOf(createGrantStore(connect(), { secret: 'secret', now: () => 0 }), 'client'),
  },
  {
    store: 'consents to programs',
    limit: grants,
    open: () => grantsOf(createGrantStore(connect(), { secret: 'secret', now: () => 0 }), 'grant'),
  },
  { store: 'what refusals of backends taught', limit: rememberedLessons, open: lessons },
  { store: 'counts of requests', limit: undefined, open: requestCounts },
  { store: 'levels of logs', limit: undefined, open: logLevels },
  { store: 'sessions and waiting calls of MCP clients', limit: mcpSessions, open: leftByMcpClients },
];

describe('one caller who fills', () => {
  it.each(rows.map((row): [string, StoreRow] => [row.store, row]))('%s takes nothing from another', async (_name, row) => {
    const store = row.open();
    await store.put('ada', 0);
    for (let number = 0; number < store.count; number += 1) await store.put('eve', number);
    await store.settle?.();
    expect(await store.has('ada', 0)).toBe(true);
    if (row.limit === undefined) return;
    // It was full: otherwise this would show nothing.
    expect(await store.has('eve', store.isRefusing === true ? store.count - 1 : 0)).toBe(false);
    await store.put('bob', 0);
    await store.settle?.();
    expect([await store.has('ada', 0), await store.has('bob', 0)]).toEqual([true, true]);
  });

  it('any table of the database that has an owner is among them', () => {
    const database = new DatabaseSync(':memory:');
    migrate(database, { file: ':memory:' });
    const tables = database
      .prepare(`SELECT m.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table' AND c.name = 'caller_id'`)
      .all()
      .map(({ name }) => String(name));
    // Credentials are never lost to others: each key has a bound of its own, which the suite of their store tests.
    const named = new Set(['credentials', ...rows.flatMap(({ table }) => table ?? [])]);
    expect(tables.toSorted()).toEqual([...named].toSorted());
    database.close();
  });
});

it('one caller who deletes many stored chats leaves others the place of their list', async () => {
  const now = 1_700_000_000_000;
  const kept = memoryChats({ now: () => now });
  const chatStore: ChatStore = { ...kept, delete: async (_callerId, id) => ({ id, created: now }) };
  const { gateway, keys } = await openOffice([], { chats: chatStore });
  await call(gateway, 'DELETE /v1/chat/completions/gone', { key: keys.ada });
  for (let number = 0; number < 1_005; number += 1) await call(gateway, `DELETE /v1/chat/completions/chat-${number}`, { key: keys.eve });
  const statusOf = async (key: string, id: string): Promise<number> =>
    (await call(gateway, `GET /v1/chat/completions?after=${id}`, { key })).statusCode;
  expect([await statusOf(keys.ada, 'gone'), await statusOf(keys.eve, 'chat-0'), await statusOf(keys.eve, 'gone')]).toEqual([200, 400, 400]);
});

const adminKey = 'sk-tw-fixed-administrator';

/** A gateway with the users Ada and Eve, and an administrator. */
async function openOffice(turns: ScriptStep[][], parts: GatewayOptions = {}) {
  const environment = { TOOLWHARF_ADMIN_KEY: adminKey, STORE_CHATS: 'true' };
  const gateway = await bankGateway({ turns, environment, ...parts });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  async function keyOf(name: string): Promise<string> {
    const payload = { name, role: 'user' };
    return (await call(gateway, 'POST /api/keys', { key: adminKey, payload })).json<{ key: string }>().key;
  }
  return { gateway, keys: { ada: await keyOf('ada'), eve: await keyOf('eve'), admin: adminKey } };
}

/** Pays whenever it is asked, and says so when it could not. */
const payingModel: ModelBackend = generatedBy(async function* ({ messages }) {
  const isTold = messages.at(-1)?.role === 'tool';
  if (isTold) yield { type: 'text', text: 'Later, then.' };
  else yield { type: 'tool-call', call: { id: 'pay', name: 'pay', arguments: '{"amount":5}' } };
  yield { type: 'finish', reason: isTold ? 'stop' : 'tool_calls' };
});

it('whoever fills the store of runs that wait leaves others their decisions', async () => {
  const store = createWaitingRunStore(connect(), 'secret');
  const waitingRunStore: WaitingRunStore = { ...store, save: (run, bounds) => store.save(run, { ...bounds, maxCharacters: 500_000 }) };
  const { gateway, keys } = await openOffice([], { backends: [backendOf(payingModel)], waitingRuns: waitingRunStore });
  const early = await askPlainly(gateway, {}, keys.ada);
  const long = { messages: [{ role: 'user', content: `Pay 5. ${'x'.repeat(20_000)}` }] };
  const flood: Asked[] = [];
  let refused: Asked;
  for (;;) {
    refused = await askPlainly(gateway, long, keys.eve);
    if (refused.choices[0]?.message.content === 'Later, then.') break;
    flood.push(refused);
  }
  expect(flood.length).toBeGreaterThan(4);
  const late = await askPlainly(gateway, long, keys.ada);
  expect([early.approval.calls.length, late.approval.calls.length]).toEqual([1, 1]);
  for (const asked of [early, late]) expect((await decide(gateway, asked, { key: keys.ada })).statusCode).toBe(200);
  const [oldest, second] = flood as [Asked, Asked];
  expect((await decide(gateway, oldest, { key: keys.eve })).statusCode).toBe(409);
  const run = await readRun(gateway, oldest, keys.eve);
  expect([run.status, run.events.at(-1)?.data['error']]).toEqual(['failed', expect.objectContaining({ code: 'overloaded' })]);
  expect((await decide(gateway, second, { key: keys.eve })).statusCode).toBe(200);
});

interface AdasThings {
  gateway: Gateway;
  asked: Asked;
  chatId: string;
  responseId: string;
  runningId: string;
}

/** A run of hers that waits, one that is under way, and a stored chat. */
async function openAdasThings(): Promise<AdasThings & { keys: Record<'ada' | 'eve' | 'admin', string>; end(): Promise<JsonObject> }> {
  const gate = Promise.withResolvers<void>();
  const { gateway, keys } = await openOffice([
    says('Stored.'),
    says('Stored, too.'),
    calls(['pay', { amount: 5 }]),
    [{ type: 'text', text: 'Well' }, gate.promise, { type: 'finish', reason: 'stop' }],
    says('Paid.'),
  ]);
  const stored = await askPlainly(gateway, { store: true, tool_ids: [] }, keys.ada);
  const payload = { model: 'model', input: 'Keep it.', background: true, tool_ids: [] };
  const { id: responseId } = (await call(gateway, 'POST /v1/responses', { key: keys.ada, payload })).json<{ id: string }>();
  const statusOf = async (): Promise<unknown> =>
    (await call(gateway, `GET /v1/responses/${responseId}`, { key: keys.ada })).json<JsonObject>()['status'];
  await expect.poll(statusOf).toBe('completed');
  const asked = await askPlainly(gateway, {}, keys.ada);
  const slow = askPlainly(gateway, { tool_ids: [] }, keys.ada);
  const idsUnderWay = async (): Promise<string[]> => {
    const listed = (await call(gateway, 'GET /api/runs', { key: keys.ada })).json<{ data: { id: string; status: string }[] }>().data;
    return listed.filter(({ status }) => status === 'running').map(({ id }) => id);
  };
  await expect.poll(idsUnderWay).toHaveLength(1);
  const [runningId = ''] = await idsUnderWay();
  return {
    gateway,
    asked,
    keys,
    chatId: String(stored['id']),
    responseId,
    runningId,
    async end() {
      gate.resolve();
      return slow;
    },
  };
}

type Attempt = (things: AdasThings) => [route: string, payload?: object];
const decision = (things: AdasThings): object => ({ decision: 'approve', token: things.asked.approval.calls[0]?.token });
const waitingCallOf = ({ asked }: AdasThings): string => asked.approval.calls[0]?.id ?? '';
const attempts: [name: string, attempt: Attempt, isOpenToAdministrators: boolean][] = [
  ['reads a run that waits', ({ asked }) => [`GET /api/runs/${asked.approval.run_id}`], true],
  ['reads a run that is under way', ({ runningId }) => [`GET /api/runs/${runningId}`], true],
  [
    'decides a call',
    (things) => [`POST /api/runs/${things.asked.approval.run_id}/approvals/${waitingCallOf(things)}`, decision(things)],
    false,
  ],
  ['cancels a call', ({ runningId }) => [`POST /api/runs/${runningId}/calls/call/cancel`], true],
  ['reads a stored chat', ({ chatId }) => [`GET /v1/chat/completions/${chatId}`], false],
  ['reads the messages of a stored chat', ({ chatId }) => [`GET /v1/chat/completions/${chatId}/messages`], false],
  ['changes a stored chat', ({ chatId }) => [`POST /v1/chat/completions/${chatId}`, { metadata: { a: 'b' } }], false],
  ['deletes a stored chat', ({ chatId }) => [`DELETE /v1/chat/completions/${chatId}`], false],
  ['reads a stored response', ({ responseId }) => [`GET /v1/responses/${responseId}`], false],
  ['reads the input of a stored response', ({ responseId }) => [`GET /v1/responses/${responseId}/input_items`], false],
  ['cancels a response', ({ responseId }) => [`POST /v1/responses/${responseId}/cancel`], false],
  ['deletes a stored response', ({ responseId }) => [`DELETE /v1/responses/${responseId}`], false],
  ['cancels a run that waits', ({ asked }) => [`POST /api/runs/${asked.approval.run_id}/cancel`], true],
  ['cancels a run that is under way', ({ runningId }) => [`POST /api/runs/${runningId}/cancel`], true],
  ['stops a task', ({ runningId }) => [`POST /api/tasks/stop/${runningId}`], true],
];

describe('nobody', () => {
  it('reads, changes, decides or cancels what is another caller’s', async () => {
    const things = await openAdasThings();
    const { gateway, keys } = things;
    for (const [name, attempt, isOpenToAdministrators] of attempts) {
      const [route, payload] = attempt(things);
      const strangers = isOpenToAdministrators ? [keys.eve] : [keys.eve, keys.admin];
      for (const key of strangers) {
        const answer = await call(gateway, route, { key, ...(payload && { payload }) });
        expect([name, answer.statusCode, answer.json<Asked>()['error']]).toEqual([
          name,
          404,
          expect.objectContaining({ code: 'not_found' }),
        ]);
      }
    }
    const lists = ['GET /api/runs', 'GET /v1/chat/completions'].map((route) => call(gateway, route, { key: keys.eve }));
    expect((await Promise.all(lists)).map((answer) => answer.json<{ data: unknown[] }>().data)).toEqual([[], []]);
    // All of it is still hers, and as it was.
    expect((await things.end())['choices']).toMatchObject([{ message: { content: 'Well' } }]);
    expect(pathsSent(gateway)).toEqual([]);
    for (const [name, attempt] of attempts.slice(4, 13)) {
      const [route, payload] = attempt(things);
      expect([name, (await call(gateway, route, { key: keys.ada, ...(payload && { payload }) })).statusCode]).toEqual([name, 200]);
    }
  });

  it('gets another caller’s session, its frames or its calls', async () => {
    const { gateway, keys } = await openOffice([says('Hello.')]);
    const url = await listen(gateway.app);
    const ada = await connectFakeBrowser({ url, token: keys.ada });
    const sessionId = ada.sessionId();
    const eve = await connectFakeBrowser({ url, token: keys.eve, auth: { session_id: sessionId } });
    onTestFinished(() => (ada.terminate(), eve.terminate()));
    expect(eve.framesOf('session').at(-1)?.data['session_id']).not.toBe(sessionId);
    const payload = { model: 'model', messages: [{ role: 'user', content: 'hi' }], background: true, session_id: sessionId };
    const answer = await call(gateway, 'POST /v1/chat/completions', { key: keys.eve, payload });
    expect([answer.statusCode, ada.framesOf('assistant_start')]).toEqual([400, []]);
  });

  it('uses what another caller has allowed for a chat, or the turn that another caller goes on with', async () => {
    const own = { tools: [{ type: 'function', function: { name: 'mine', parameters: { type: 'object', properties: {} } } }] };
    const turn = (): ScriptStep[] => [
      { type: 'tool-call', call: { id: 'one', name: 'look', arguments: '{"account":"a"}' } },
      { type: 'tool-call', call: { id: 'two', name: 'mine', arguments: '{}' } },
      { type: 'finish', reason: 'tool_calls' },
    ];
    const { gateway, keys } = await openOffice([
      calls(['pay', { amount: 5 }]),
      says('Paid.'),
      calls(['pay', { amount: 5 }]),
      turn(),
      says('For Ada.'),
      says('For Eve.'),
    ]);
    const inChat = { chat_id: 'kitchen' };
    const { approval } = await askPlainly(gateway, inChat, keys.ada);
    const [waiting] = approval.calls;
    const payload = { decision: 'approve', token: waiting?.token, remember: true };
    await call(gateway, `POST /api/runs/${approval.run_id}/approvals/${waiting?.id ?? ''}`, { key: keys.ada, payload });
    expect((await askPlainly(gateway, inChat, keys.eve)).approval.calls).toHaveLength(1);

    const first = await askPlainly(gateway, own, keys.ada);
    const asked = first.choices[0]?.message as unknown as JsonObject & { tool_calls: { id: string }[] };
    const messages = [
      { role: 'user', content: 'Pay 5, please.' },
      asked,
      { role: 'tool', tool_call_id: asked.tool_calls[0]?.id ?? '', content: 'done' },
    ];
    await askPlainly(gateway, { ...own, messages }, keys.ada);
    await askPlainly(gateway, { ...own, messages }, keys.eve);
    const seen = gateway.model.requests.slice(-2).map((request) => request.messages.filter(({ role }) => role === 'tool').length);
    expect(seen).toEqual([2, 1]);
  });
});
