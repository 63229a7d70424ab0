import { join } from 'node:path';
import type { LightMyRequestResponse } from 'fastify';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { limits } from '../../../src/core/limits.ts';
import { openSqlite } from '../../../src/storage/sqlite/sqlite-database.ts';
import { memoryRuns } from '../../_support/memory-stores.ts';
import { createRunStore } from '../../../src/storage/sql/runs.ts';
import { backendOf, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { toolServerRecord } from '../../storage/records.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { gatewayOf, selects, serverOf } from '../gateway.ts';
import { documentWith, neverAnswers } from '../../tools/scripted-send.ts';

const newFolder = temporaryFolders();
const adminKey = 'sk-tw-fixed-administrator';
const clocks = serverOf('time', documentWith('now', 'later'));
const clockAnswers = { 'http://time.test/now': { time: '12:00' } };
const usage: ScriptStep = { type: 'usage', usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } };

interface Wire extends JsonObject {
  id: string;
  status: string;
  events: { type: string; time: string; data: JsonObject }[];
}

/** A request to an open gateway, or with a key. */
function call(app: TestApp, route: string, { key, payload }: { key?: string; payload?: object } = {}): Promise<LightMyRequestResponse> {
  const [method, url] = route.split(' ');
  const headers = { host: '127.0.0.1:8080', ...(key !== undefined && { authorization: `Bearer ${key}` }) };
  return app.server.inject({ method: method as 'GET', url: url ?? '', headers, ...(payload !== undefined && { payload }) });
}

const messages = [{ role: 'user', content: 'Hi' }];
const chat = (app: TestApp, fields: object = {}, key?: string): Promise<LightMyRequestResponse> =>
  call(app, 'POST /v1/chat/completions', { payload: { model: 'model', messages, ...fields }, ...(key !== undefined && { key }) });
const idOf = (response: LightMyRequestResponse): string => String(response.headers['x-toolwharf-run-id']);

async function lastRun(app: TestApp): Promise<Wire> {
  const { data } = (await call(app, 'GET /api/runs?limit=1')).json<{ data: Wire[] }>();
  return (await call(app, `GET /api/runs/${data[0]?.id ?? ''}`)).json<Wire>();
}

async function appOf(turns: ScriptStep[][], environment: NodeJS.ProcessEnv = {}): Promise<TestApp & { model: ScriptedModel }> {
  const model = new ScriptedModel(...turns);
  return { ...(await testApp(environment, { backends: [backendOf(model)] })), model };
}

describe('a run that has ended', () => {
  it('can be read under the id in the header, with the fields of the contract', async () => {
    await using app = await appOf([[usage, ...says('Hello.')]]);
    const id = idOf(await chat(app));
    const run = (await call(app, `GET /api/runs/${id}`)).json<Wire>();
    expect(Object.keys(run).toSorted()).toEqual(['created', 'events', 'finished', 'id', 'mode', 'model', 'status', 'usage']);
    expect(run).toMatchObject({ id, status: 'completed', model: 'model', mode: 'none', usage: { total_tokens: 7 } });
    expect(run.events.map(({ type }) => type)).toEqual(['run.start', 'model.request', 'model.response', 'run.end']);
    const times = [run['created'], ...run.events.map(({ time }) => time), run['finished']].map(String);
    expect(times.filter((time) => !/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(time))).toEqual([]);
    expect(times).toEqual(times.toSorted((left, right) => left.localeCompare(right)));
  });

  it('has every call with its arguments, its result and its duration, in order, and what the rounds used together', async () => {
    const turns = [
      [usage, ...calls(['now', { city: 'Osaka' }])],
      [usage, ...calls(['later', {}])],
      [usage, ...says('Noon.')],
    ];
    await using gateway = await gatewayOf({ turns, servers: [clocks], answers: clockAnswers });
    await gateway.ask();
    const run = await lastRun(gateway.app);
    expect(run).toMatchObject({
      status: 'completed',
      mode: 'native',
      usage: { prompt_tokens: 9, completion_tokens: 12, total_tokens: 21 },
    });
    expect(run.events.map(({ type, data }) => [type, data['tool'] ?? null])).toEqual([
      ['run.start', null],
      ['model.request', null],
      ['model.response', null],
      ['tool.call', 'now'],
      ['tool.result', 'now'],
      ['model.request', null],
      ['model.response', null],
      ['tool.call', 'later'],
      ['tool.result', 'later'],
      ['model.request', null],
      ['model.response', null],
      ['run.end', null],
    ]);
    expect(run.events[3]?.data).toMatchObject({ args: { city: 'Osaka' }, server: 'time' });
    expect(run.events[4]?.data).toMatchObject({ response: { time: '12:00' }, duration_ms: expect.any(Number) });
    expect(run.events[8]?.data).toMatchObject({ error: { code: 'tool_error', message: expect.any(String) } });
  });

  it('tells why no tool was called: mode, functions on offer, what was selected and dropped, and warnings [S1-25]', async () => {
    const turns = [selects(['invented', {}]), says('I cannot.')];
    const broken = toolServerRecord({ id: 'broken', url: 'http://broken.test' });
    await using gateway = await gatewayOf({ turns, servers: [clocks, broken], answers: clockAnswers });
    await gateway.ask({ params: { function_calling: 'default' } });
    const run = await lastRun(gateway.app);
    const dataOf = (type: string): JsonObject[] => run.events.filter((event) => event.type === type).map(({ data }) => data);
    expect(dataOf('run.start')).toMatchObject([{ mode: 'default', tools: 2, functions: ['now', 'later'] }]);
    expect(dataOf('selection')).toMatchObject([
      { model: 'model', found: [], dropped: [{ name: 'invented', reason: 'no such function is offered' }] },
    ]);
    expect(dataOf('warning')).toMatchObject([{ code: 'tool_server_unreachable', message: expect.stringContaining('broken') }]);
    expect(dataOf('tool.call')).toEqual([]);
  });

  it('tells of the limit of rounds', async () => {
    const turns = [calls(['now', {}]), says('Enough.')];
    await using gateway = await gatewayOf({ turns, servers: [clocks], answers: clockAnswers });
    await gateway.ask({ params: { max_tool_rounds: 1 } });
    expect((await lastRun(gateway.app)).events).toContainEqual(
      expect.objectContaining({ type: 'limit.reached', data: { limit: 'tool_rounds', value: 1 } }),
    );
  });

  it.each([true, false])('failed with the code that its client got (stream: %s)', async (stream) => {
    await using app = await appOf([[{ type: 'text', text: 'He' }, new Error('CANARY of a defect')]]);
    const id = idOf(await chat(app, { stream }));
    const run = (await call(app, `GET /api/runs/${id}`)).json<Wire>();
    expect(run).toMatchObject({ status: 'failed', finished: expect.any(String) });
    expect(run.events.at(-1)).toMatchObject({ type: 'run.end', data: { run_id: id, status: 'failed', error: { code: 'internal_error' } } });
    expect(JSON.stringify(run)).not.toContain('CANARY');
  });

  it('is there also when it failed before it began', async () => {
    await using app = await appOf([]);
    const refused = await chat(app, { model: 'unknown' });
    expect(refused.statusCode).toBe(404);
    const run = (await call(app, `GET /api/runs/${idOf(refused)}`)).json<Wire>();
    expect(run).toMatchObject({ status: 'failed', model: 'unknown', mode: null, usage: null });
    expect(run.events).toMatchObject([{ type: 'run.end', data: { error: { code: 'model_not_found' } } }]);
  });
});

describe('the list of runs', () => {
  it('goes newest first, without events, page by page', async () => {
    await using app = await appOf(['1', '2', '3'].map(says));
    const ids: string[] = [];
    for (let index = 0; index < 3; index += 1) ids.unshift(idOf(await chat(app)));
    const inOrder = (await call(app, 'GET /api/runs')).json<{ data: Wire[]; next: null }>();
    expect(inOrder.data.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    expect(inOrder.next).toBeNull();
    expect(inOrder.data[0]).not.toHaveProperty('events');
    const first = (await call(app, 'GET /api/runs?limit=2')).json<{ data: Wire[]; next: string }>();
    const second = (await call(app, `GET /api/runs?limit=2&after=${first.next}`)).json<{ data: Wire[]; next: null }>();
    expect([...first.data, ...second.data]).toEqual(inOrder.data);
    expect([first.data.length, second.next]).toEqual([2, null]);
  });

  it('finds runs by what they did, with what a line of it shows', async () => {
    const turns = [calls(['now', {}]), says('Noon.'), calls(['later', {}]), says('Later.'), says('Hello.')];
    await using gateway = await gatewayOf({ turns, servers: [clocks], answers: clockAnswers });
    for (let index = 0; index < 3; index += 1) await gateway.ask();
    const find = async (query: string): Promise<JsonObject[]> =>
      (await call(gateway.app, `GET /api/runs?${query}`)).json<{ data: JsonObject[] }>().data;
    const [plain, failing, calling] = await find('');
    expect([plain?.['calls'], plain?.['tools']]).toEqual([0, []]);
    expect(calling).toMatchObject({ model_requests: 2, calls: 1, failed_calls: 0, tools: ['now'], servers: ['time'] });
    expect(calling?.['last_event']).toMatchObject({ type: 'run.end', time: expect.stringMatching(/Z$/) });
    expect(await find('tool=now')).toEqual([calling]);
    expect(await find('server=time')).toEqual([failing, calling]);
    expect(await find('errors=true')).toEqual([failing]);
    expect(await find(`id=${String(plain?.['id']).slice(4, 20)}`)).toEqual([plain]);
    expect(await find('model=other')).toEqual([]);
    expect(await find('status=running')).toEqual([]);
    expect(await find(`to=${String(calling?.['created'])}`)).toContainEqual(calling);
    expect(await find('from=2100-01-01T00:00:00%2B02:00')).toEqual([]);
  });

  it.each([
    ['limit=0', 'limit', 'from 1 to 200'],
    ['limit=201', 'limit', 'from 1 to 200'],
    ['limit=1.5', 'limit', 'a whole number'],
    ['limit=x', 'limit', 'a whole number'],
    ['after=x', 'after', '`next`'],
    ['after=1.a&after=2.b', 'after', ''],
    ['status=done', 'status', 'one of running, waiting'],
    ['errors=yes', 'errors', 'true or false'],
    ['from=yesterday', 'from', 'a time such as'],
  ])('refuses ?%s and says what may stand there', async (query, param, cure) => {
    await using app = await appOf([]);
    const { statusCode, body } = await call(app, `GET /api/runs?${query}`);
    const { error } = JSON.parse(body) as { error: JsonObject };
    expect([statusCode, error]).toEqual([400, expect.objectContaining({ param, message: expect.stringContaining(cure) })]);
  });
});

describe('another caller', () => {
  /** Two users and an administrator. */
  async function open(turns: ScriptStep[][]) {
    const app = await appOf(turns, { TOOLWHARF_ADMIN_KEY: adminKey });
    const keyOf = async (name: string): Promise<{ id: string; key: string }> =>
      (await call(app, 'POST /api/keys', { key: adminKey, payload: { name, role: 'user' } })).json();
    return { app, ada: await keyOf('ada'), bob: await keyOf('bob') };
  }

  it('sees no run but its own, and an administrator all with their callers', async () => {
    const { app, ada, bob } = await open([says('Hello.')]);
    await using _closing = app;
    const id = idOf(await chat(app, {}, ada.key));
    const idsFor = async (key: string): Promise<string[]> =>
      (await call(app, 'GET /api/runs', { key })).json<{ data: Wire[] }>().data.map((run) => run.id);
    expect([await idsFor(ada.key), await idsFor(bob.key), await idsFor(adminKey)]).toEqual([[id], [], [id]]);
    const callerOf = (key: string, owner: string) => call(app, `GET /api/runs?caller=${owner}`, { key });
    expect((await callerOf(adminKey, ada.id)).json()).toMatchObject({ data: [{ id }] });
    expect((await callerOf(bob.key, ada.id)).json()).toMatchObject({ data: [] });
    expect((await call(app, `GET /api/runs/${id}`, { key: ada.key })).json()).not.toHaveProperty('caller');
    expect((await call(app, `GET /api/runs/${id}`, { key: adminKey })).json()).toMatchObject({ id, caller: ada.id });
    const unknown = await call(app, 'GET /api/runs/nobody', { key: bob.key });
    const foreign = await call(app, `GET /api/runs/${id}`, { key: bob.key });
    expect([unknown.statusCode, foreign.statusCode]).toEqual([404, 404]);
    expect(foreign.body).toBe(unknown.body.replace('nobody', id));
  });

  it('cannot end a run or a call of it, and an administrator can', async () => {
    const { app, ada, bob } = await open([[new Promise(() => undefined)]]);
    await using _closing = app;
    const asked = chat(app, {}, ada.key);
    const id = await runningId(app, ada.key);
    const paths = [`/api/runs/${id}/cancel`, `/api/tasks/stop/${id}`, `/api/runs/${id}/calls/call-1/cancel`];
    const answers = await Promise.all(paths.map((path) => call(app, `POST ${path}`, { key: bob.key })));
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([404, 404, 404]);
    expect((await call(app, `GET /api/runs/${id}`, { key: ada.key })).json()).toMatchObject({ status: 'running', finished: null });
    expect((await call(app, `POST /api/runs/${id}/cancel`, { key: adminKey })).json()).toEqual({ id, status: 'cancelled' });
    expect((await asked).json()).toMatchObject({ error: { code: 'run_cancelled' } });
  });
});

/** The id of the one run that is under way, once its model has been asked. */
async function runningId(app: TestApp & { model?: ScriptedModel }, key?: string): Promise<string> {
  await expect.poll(() => app.model?.requests.length ?? 1).toBeGreaterThan(0);
  const { data } = (await call(app, 'GET /api/runs', key === undefined ? {} : { key })).json<{ data: Wire[] }>();
  expect(data).toMatchObject([{ status: 'running' }]);
  return data[0]?.id ?? '';
}

describe('cancelling a run', () => {
  it.each(['/api/runs/:id/cancel', '/api/tasks/stop/:id'])('by POST %s ends the stream with run_cancelled', async (path) => {
    await using app = await appOf([[{ type: 'text', text: 'He' }, new Promise(() => undefined), ...says('llo.')]]);
    const asked = chat(app, { stream: true });
    const id = await runningId(app);
    const route = `POST ${path.replace(':id', id)}`;
    expect((await call(app, route)).json()).toEqual({ id, status: 'cancelled' });
    const { body } = await asked;
    expect(body).toContain('"code":"run_cancelled"');
    expect(body).not.toContain('[DONE]');
    const run = await lastRun(app);
    expect(run).toMatchObject({ status: 'cancelled', finished: expect.any(String) });
    expect(run.events.at(-1)).toMatchObject({ type: 'run.end', data: { status: 'cancelled', error: { code: 'run_cancelled' } } });
    // Once more changes nothing.
    expect((await call(app, route)).json()).toEqual({ id, status: 'cancelled' });
    expect((await lastRun(app)).events).toEqual(run.events);
  });

  it('aborts the calls that are under way, starts none that waits, and asks no further question [S1-20]', async () => {
    const cities = Array.from({ length: limits.parallelToolCalls + 4 }, (_, index): [string, JsonObject] => ['now', { city: `${index}` }]);
    const turns = [calls(...cities), says('Never said.')];
    await using gateway = await gatewayOf({ turns, servers: [clocks], answers: { 'http://time.test/now': neverAnswers } });
    const asked = gateway.ask();
    await expect.poll(() => gateway.sent.length).toBe(limits.parallelToolCalls);
    const [run] = (await gateway.get('/api/runs')).json<{ data: Wire[] }>().data;
    await call(gateway.app, `POST /api/runs/${run?.id ?? ''}/cancel`);
    expect((await asked).raw).toContain('run_cancelled');
    expect(gateway.sent.map(({ signal }) => signal.aborted)).toEqual(cities.slice(0, limits.parallelToolCalls).map(() => true));
    expect(gateway.model.requests).toHaveLength(1);
    expect((await lastRun(gateway.app)).status).toBe('cancelled');
  });

  it('aborts the question that is under way [S1-20]', async () => {
    await using app = await appOf([[new Promise(() => undefined)]]);
    const asked = chat(app);
    await call(app, `POST /api/runs/${await runningId(app)}/cancel`);
    expect((await asked).json()).toMatchObject({ error: { code: 'run_cancelled' } });
    expect(app.model.requests.map(({ signal }) => signal.aborted)).toEqual([true]);
    expect((await lastRun(app)).status).toBe('cancelled');
  });

  it('takes a JSON request without a body, as frontends send it', async () => {
    await using app = await appOf([says('Hello.')]);
    const id = idOf(await chat(app));
    const headers = { host: '127.0.0.1:8080', 'content-type': 'application/json' };
    const answer = await app.server.inject({ method: 'POST', url: `/api/tasks/stop/${id}`, headers });
    expect(answer.json()).toEqual({ id, status: 'completed' });
  });

  it('of a run that is not there is a 404', async () => {
    await using app = await appOf([]);
    expect((await call(app, 'POST /api/runs/nobody/cancel')).json()).toMatchObject({ error: { code: 'not_found' } });
  });

  it('is what a client that leaves does', async () => {
    await using app = await appOf([[{ type: 'text', text: 'He' }, new Promise(() => undefined)]]);
    const url = await app.server.listen({ host: '127.0.0.1', port: 0 });
    const leave = new AbortController();
    const body = JSON.stringify({ model: 'model', messages, stream: true });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal: leave.signal };
    await fetch(`${url}/v1/chat/completions`, init);
    leave.abort();
    await expect.poll(async () => (await lastRun(app)).status).toBe('cancelled');
    expect((await lastRun(app)).events.at(-1)?.data).toMatchObject({ error: { message: 'The client disconnected.' } });
  });
});

describe('cancelling a call', () => {
  it('ends it alone: its sibling has its result, the model reads of both, and the run goes on', async () => {
    const turns = [calls(['now', {}], ['later', {}]), says('One was cancelled.')];
    const answers = { 'http://time.test/now': neverAnswers, 'http://time.test/later': { time: '13:00' } };
    await using gateway = await gatewayOf({ turns, servers: [clocks], answers });
    const asked = gateway.ask();
    await expect.poll(() => gateway.sent.length).toBe(2);
    const { id, events } = await lastRun(gateway.app);
    const callId = String(events.find(({ type, data }) => type === 'tool.call' && data['tool'] === 'now')?.data['id']);
    const route = `POST /api/runs/${id}/calls/${callId}/cancel`;
    expect((await call(gateway.app, route)).json()).toEqual({ id, call_id: callId, cancelled: true });
    expect((await asked).text).toBe('One was cancelled.');
    expect(gateway.sent.map(({ url, signal }) => [url, signal.aborted])).toContainEqual(['http://time.test/now', true]);
    const run = await lastRun(gateway.app);
    const results = run.events.filter(({ type }) => type === 'tool.result').map(({ data }) => data);
    expect(results.find(({ id: settled }) => settled === callId)).toMatchObject({
      error: { code: expect.stringMatching(/^(?:tool_cancelled|outcome_unknown)$/) as unknown },
    });
    expect(results.find(({ id: settled }) => settled !== callId)).toMatchObject({ response: { time: '13:00' } });
    expect(run.status).toBe('completed');
    expect((await call(gateway.app, route)).statusCode).toBe(404);
  });

  it('that is not under way is a 404', async () => {
    await using app = await appOf([says('Hello.')]);
    const id = idOf(await chat(app));
    const answer = await call(app, `POST /api/runs/${id}/calls/call-1/cancel`);
    expect(answer.json()).toMatchObject({
      error: { code: 'not_found', message: 'This run has no running call call-1. GET /api/runs/{id} shows its calls.' },
    });
  });
});

describe('a restart', () => {
  it('shows what had ended as it ended, and what a killed gateway left running as failed', async () => {
    const file = join(newFolder(), 'toolwharf.db');
    const connect = () => openSqlite({ file, now: Date.now });
    const before = connect();
    const killed = await testApp({}, { backends: [backendOf(new ScriptedModel(says('Hello.')))], runs: createRunStore(before) });
    const ended = idOf(await chat(killed));
    await killed.close();
    await createRunStore(before).save([
      { id: 'left', callerId: 'local', status: 'running', model: 'model', created: Date.now(), events: [] },
    ]);
    await before.close();

    const after = connect();
    await using app = await testApp({}, { backends: [], runs: createRunStore(after) });
    expect((await call(app, `GET /api/runs/${ended}`)).json()).toMatchObject({ status: 'completed' });
    expect((await call(app, 'GET /api/runs/left')).json()).toMatchObject({
      status: 'failed',
      events: [{ type: 'run.end', data: { error: { code: 'interrupted' } } }],
    });
    await after.close();
  });

  it('finds the runs that a shutdown cut off as failed', async () => {
    const runs = memoryRuns();
    const model = new ScriptedModel([{ type: 'text', text: 'He' }, new Promise(() => undefined)]);
    const app = await testApp({ DRAIN_TIMEOUT_MS: '10' }, { backends: [backendOf(model)], runs });
    const asked = chat(app, { stream: true });
    await expect.poll(() => model.requests.length).toBe(1);
    await app.close();
    expect((await asked).body).toContain('server_shutting_down');
    const {
      runs: [run],
    } = await runs.list({ callerId: undefined, limit: 9, after: undefined, since: 0 });
    expect(run).toMatchObject({ status: 'failed' });
    expect((await runs.find(run?.id ?? ''))?.events.at(-1)?.data).toMatchObject({ error: { code: 'server_shutting_down' } });
  });
});

it('a store that cannot be read costs nobody a chat', async () => {
  const fail = (): Promise<never> => Promise.reject(new Error('no disk'));
  const runs = { save: fail, find: fail, list: fail, endInterrupted: fail, prune: fail, deleteAllOf: fail };
  await using app = await testApp({}, { backends: [backendOf(new ScriptedModel(says('Hello.')))], runs });
  const answer = await chat(app);
  expect(answer.statusCode).toBe(200);
  expect((await call(app, `GET /api/runs/${idOf(answer)}`)).json()).toMatchObject({ status: 'completed' });
});
