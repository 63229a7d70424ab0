import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import { limits } from '../../../src/core/limits.ts';
import { memoryWaitingRuns } from '../../_support/memory-stores.ts';
import { readChunks } from '../../_support/build-app.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { documentOf, readSeen, selects, serverOf } from '../gateway.ts';
import { askPlainly, bank, bankGateway, call, decide, lastResults, pathsSent, readRun, storesIn } from './approval-fixture.ts';
import type { Asked } from './approval-fixture.ts';
import { approvalTokenMs } from '../../../src/chat/suspend/store-suspended-run.ts';

const newFolder = temporaryFolders();

describe('an answer that waits for an approval', () => {
  it('says what is waiting, with a token for each call, and nothing of it has run [S2-11]', async () => {
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }])] });
    const asked = await askPlainly(gateway);
    expect(asked.choices[0]).toMatchObject({
      message: { content: `Waiting for your approval: pay({"amount":5}).\n\nDecide here: ${asked.approval.url}` },
      finish_reason: 'stop',
    });
    const [waiting] = asked.approval.calls;
    expect(asked.approval).toEqual({
      run_id: expect.stringMatching(/^\w{16,}$/),
      calls: [{ id: expect.any(String), tool: 'pay', arguments: { amount: 5 }, token: expect.stringMatching(/^v1\.\d+\.[\w-]{43}$/) }],
      token: waiting?.token,
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:8080\/approvals\/\w+\.[\w-]{43}$/),
    });
    expect(gateway.sent).toEqual([]);
    const run = await readRun(gateway, asked);
    expect(run.status).toBe('waiting');
    expect(run.events.map(({ type }) => type)).toEqual(['run.start', 'model.request', 'model.response', 'tool.call', 'approval.request']);
    expect(run.events.at(-1)?.data).toEqual({ id: waiting?.id, tool: 'pay', args: { amount: 5 }, server: 'bank' });
    expect(JSON.stringify(run)).not.toContain(waiting?.token);
  });

  it('streams it in a chunk that strict clients accept', async () => {
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }])] });
    const seen = await gateway.ask();
    const chunks = readChunks(seen.raw).filter((chunk) => typeof chunk !== 'string');
    expect(chunks.filter((chunk) => chunk['approval'] !== undefined)).toEqual([
      {
        id: expect.any(String),
        object: 'chat.completion.chunk',
        created: expect.any(Number),
        model: 'model',
        choices: [{ index: 0, delta: {}, finish_reason: null }],
        approval: expect.objectContaining({ run_id: expect.any(String), token: expect.any(String) }),
      },
    ]);
    expect([seen.text, seen.finish]).toEqual([
      expect.stringMatching(/^Waiting for your approval: pay\(\{"amount":5\}\)\.\n\nDecide here: http:/),
      ['stop'],
    ]);
    expect(seen.eventsOf('approval.request')).toHaveLength(1);
    expect(seen.eventsOf('run.end')).toEqual([{ run_id: expect.any(String), status: 'waiting' }]);
    expect(seen.raw.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('lets safe siblings run meanwhile, keeps their results, and runs them no second time', async () => {
    const turns = [calls(['look', { account: 'a' }], ['pay', { amount: 5 }]), says('Paid, 7 are left.')];
    await using gateway = await bankGateway({ turns });
    const asked = await askPlainly(gateway);
    expect(pathsSent(gateway)).toEqual(['/look']);
    expect(asked.sources).toHaveLength(1);
    const answer = (await decide(gateway, asked)).json<Asked>();
    expect(pathsSent(gateway)).toEqual(['/look', '/pay']);
    expect(lastResults(gateway)).toEqual(['{\n  "balance": 7\n}', '{\n  "paid": true\n}']);
    expect(answer.sources?.map(({ source }) => source)).toEqual([{ name: 'TOOL:bank/look' }, { name: 'TOOL:bank/pay' }]);
    const { events } = await readRun(gateway, asked);
    expect(events.map(({ type, data }) => [type, data['tool'] ?? null])).toEqual([
      ['run.start', null],
      ['model.request', null],
      ['model.response', null],
      ['tool.call', 'look'],
      ['tool.call', 'pay'],
      ['approval.request', 'pay'],
      ['tool.result', 'look'],
      ['approval.response', 'pay'],
      ['tool.result', 'pay'],
      ['model.request', null],
      ['model.response', null],
      ['run.end', null],
    ]);
  });
});

describe('a decision', () => {
  it('to approve lets the run go on, and is answered as the chat would have been', async () => {
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }]), says('Paid.')] });
    const asked = await askPlainly(gateway);
    const response = await decide(gateway, asked);
    expect([response.statusCode, response.headers['x-toolwharf-run-id']]).toEqual([200, asked.approval.run_id]);
    expect(response.json()).toMatchObject({
      object: 'chat.completion',
      model: 'model',
      choices: [{ message: { role: 'assistant', content: 'Paid.' }, finish_reason: 'stop' }],
      sources: [{ source: { name: 'TOOL:bank/pay' } }],
    });
    expect(response.json()).not.toHaveProperty('approval');
    expect(await readRun(gateway, asked)).toMatchObject({ status: 'completed', finished: expect.any(String) });
  });

  it('streams where the chat was streamed, with its events and its usage', async () => {
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }]), says('Paid.')] });
    const asked = readChunks((await gateway.ask()).raw).find(
      (chunk) => typeof chunk !== 'string' && chunk['approval'] !== undefined,
    ) as Asked;
    const response = await decide(gateway, asked);
    expect(response.headers['content-type']).toContain('text/event-stream');
    const seen = readSeen(response.body);
    expect([seen.text, seen.finish, seen.sources.length]).toEqual(['Paid.', ['stop'], 1]);
    expect(seen.eventsOf('tool.result')).toMatchObject([{ tool: 'pay', response: { paid: true } }]);
    expect(seen.usage).toBeDefined();
  });

  it('to reject is told to the model with its message [S2-11]', async () => {
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }]), says('As you wish.')] });
    const asked = await askPlainly(gateway);
    const answer = (await decide(gateway, asked, { decision: 'reject', message: 'Only after the first.' })).json<Asked>();
    expect(answer.choices[0]?.message.content).toBe('As you wish.');
    expect(lastResults(gateway)).toEqual([expect.stringContaining('The user says: Only after the first.')]);
    expect(gateway.sent).toEqual([]);
    const { events } = await readRun(gateway, asked);
    expect(events.find(({ type }) => type === 'approval.response')?.data).toMatchObject({
      decision: 'reject',
      message: 'Only after the first.',
    });
    expect(events.find(({ type }) => type === 'tool.result')?.data).toMatchObject({
      error: { code: 'approval_rejected', state: 'not_started' },
    });
  });

  it('may change the arguments, which are checked before the token is spent', async () => {
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }]), says('Paid.')] });
    const asked = await askPlainly(gateway);
    const wrong = await decide(gateway, asked, { arguments: { amount: 'much' } });
    expect([wrong.statusCode, wrong.json().error]).toEqual([400, expect.objectContaining({ param: 'arguments' })]);
    expect((await decide(gateway, asked, { arguments: { amount: 3 } })).statusCode).toBe(200);
    expect(gateway.sent.map(({ body }) => body)).toEqual(['{"amount":3}']);
    const { events } = await readRun(gateway, asked);
    expect(events.find(({ type }) => type === 'approval.response')?.data).toMatchObject({
      decision: 'approve',
      edited: true,
      args: { amount: 3 },
    });
  });

  it('may change them as an answer over a socket does', async () => {
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }]), says('Paid.')] });
    expect((await decide(gateway, await askPlainly(gateway), { params: { amount: 3 } })).statusCode).toBe(200);
    expect(gateway.sent.map(({ body }) => body)).toEqual(['{"amount":3}']);
  });

  it('with a field that nobody reads runs nothing, because it may hold the changed arguments', async () => {
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }]), says('Paid.')] });
    const asked = await askPlainly(gateway);
    const misspelt = await decide(gateway, asked, { args: { amount: 3 } });
    expect([misspelt.statusCode, misspelt.json().error.message]).toEqual([400, expect.stringContaining('args')]);
    expect(gateway.sent).toEqual([]);
    expect((await decide(gateway, asked, { arguments: { amount: 3 } })).statusCode).toBe(200);
    expect(gateway.sent.map(({ body }) => body)).toEqual(['{"amount":3}']);
  });

  it('that leaves others open is noted; the last one goes on, each having its own decision', async () => {
    await using gateway = await bankGateway({
      turns: [calls(['pay', { amount: 1 }], ['refund', { amount: 2 }], ['pay', { amount: 3 }]), says('Done.')],
    });
    const asked = await askPlainly(gateway);
    expect(asked.approval).not.toHaveProperty('token');
    const [first, , third] = asked.approval.calls;
    const noted = await decide(gateway, asked, { place: 1, decision: 'reject' });
    expect([noted.statusCode, noted.json()]).toEqual([202, { waiting: [first?.id, third?.id] }]);
    expect((await readRun(gateway, asked)).status).toBe('waiting');
    expect((await decide(gateway, asked, { place: 2, arguments: { amount: 4 } })).json()).toEqual({ waiting: [first?.id] });
    expect((await decide(gateway, asked)).json<Asked>().choices[0]?.message.content).toBe('Done.');
    expect(gateway.sent.map(({ url, body }) => [url, body])).toEqual([
      ['http://bank.test/pay', '{"amount":1}'],
      ['http://bank.test/pay', '{"amount":4}'],
    ]);
    expect((await readRun(gateway, asked)).status).toBe('completed');
  });

  it('is taken once, also when several come at once', async () => {
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }]), says('Paid.')] });
    const asked = await askPlainly(gateway);
    const responses = await Promise.all([decide(gateway, asked), decide(gateway, asked, { decision: 'reject' }), decide(gateway, asked)]);
    expect(responses.map(({ statusCode }) => statusCode).toSorted((left, right) => left - right)).toEqual([200, 409, 409]);
    const late = await decide(gateway, asked);
    expect([late.statusCode, late.json().error.code]).toEqual([409, 'conflict']);
    expect(gateway.sent.length).toBeLessThanOrEqual(1);
  });

  it('on calls to which the model gave one id goes to the call that was shown', async () => {
    const twice = calls(['pay', { amount: 1 }], ['pay', { amount: 2 }]).map((step) =>
      'type' in step && step.type === 'tool-call' ? { ...step, call: { ...step.call, id: 'call_0' } } : step,
    );
    await using gateway = await bankGateway({ turns: [twice, says('Done.')] });
    const asked = await askPlainly(gateway);
    expect(new Set(asked.approval.calls.map(({ id }) => id)).size).toBe(2);
    await decide(gateway, asked, { decision: 'reject' });
    await decide(gateway, asked, { place: 1 });
    expect(gateway.sent.map(({ body }) => body)).toEqual(['{"amount":2}']);
  });

  it('holds for one wait: a later call to which the model gives the same id is asked for anew, under another', async () => {
    const same = calls(['pay', { amount: 5 }]);
    await using gateway = await bankGateway({ turns: [same, same, says('Twice.')] });
    const first = await askPlainly(gateway);
    const second = (await decide(gateway, first)).json<Asked>();
    expect(second.approval.run_id).toBe(first.approval.run_id);
    expect((await decide(gateway, first)).json().error.code).toBe('not_found');
    expect(pathsSent(gateway)).toHaveLength(1);
    expect((await decide(gateway, second)).json<Asked>().choices[0]?.message.content).toBe('Twice.');
    expect(pathsSent(gateway)).toHaveLength(2);
  });

  it('to be remembered holds for this caller, chat and function alone', async () => {
    const pay = () => calls(['pay', { amount: 5 }]);
    await using gateway = await bankGateway({ turns: [pay(), says('1'), pay(), says('2'), calls(['refund', {}]), pay()] });
    await decide(gateway, await askPlainly(gateway, { chat_id: 'one' }), { remember: true });
    const again = await askPlainly(gateway, { chat_id: 'one' });
    expect([again.choices[0]?.message.content, again.approval]).toEqual(['2', undefined]);
    expect((await askPlainly(gateway, { chat_id: 'one' })).approval.calls[0]?.tool).toBe('refund');
    expect((await askPlainly(gateway, { chat_id: 'other' })).approval.calls[0]?.tool).toBe('pay');
    expect(pathsSent(gateway)).toEqual(['/pay', '/pay']);
  });
});

describe('a token', () => {
  it.each<[string, (asked: Asked) => string]>([
    ['of another call', ({ approval }) => approval.calls[1]?.token ?? ''],
    ['that was changed', ({ approval }) => (approval.calls[0]?.token ?? '').replace(/\d+/, '9')],
    ['with a longer life', ({ approval }) => (approval.calls[0]?.token ?? '').replace(/\.(\d+)\./, '.9$1.')],
    ['without a form', () => 'x'],
    ['that is empty', () => ''],
  ])('%s decides nothing', async (_name, tokenOf) => {
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }], ['pay', { amount: 6 }])] });
    const asked = await askPlainly(gateway);
    const response = await decide(gateway, asked, { token: tokenOf(asked) });
    expect([response.statusCode, response.json().error]).toEqual([
      403,
      expect.objectContaining({ code: 'invalid_approval_token', param: 'token' }),
    ]);
    expect((await readRun(gateway, asked)).status).toBe('waiting');
  });

  it('is good for a day, and then says so', async () => {
    let time = 1_000_000;
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }])], now: () => time });
    const asked = await askPlainly(gateway);
    time += approvalTokenMs;
    const response = await decide(gateway, asked);
    expect([response.statusCode, response.json().error.code]).toEqual([410, 'approval_expired']);
    expect(gateway.sent).toEqual([]);
  });

  it('is the caller’s own: for anybody else, an administrator too, there is no such run', async () => {
    const adminKey = 'sk-tw-fixed-administrator';
    await using gateway = await bankGateway({
      turns: [calls(['pay', { amount: 5 }]), says('Paid.')],
      environment: { TOOLWHARF_ADMIN_KEY: adminKey },
    });
    const keyOf = async (name: string): Promise<string> =>
      (await call(gateway, 'POST /api/keys', { key: adminKey, payload: { name, role: 'user' } })).json<{ key: string }>().key;
    const [ada, bob] = [await keyOf('ada'), await keyOf('bob')];
    const asked = await askPlainly(gateway, {}, ada);
    for (const key of [bob, adminKey]) expect((await decide(gateway, asked, { key })).json().error.code).toBe('not_found');
    expect((await decide(gateway, asked, { key: ada })).statusCode).toBe(200);
  });

  it.each<[object, string]>([
    [{ decision: 'maybe' }, 'decision'],
    [{ token: 5 }, 'token'],
    [{ arguments: [] }, 'arguments'],
    [{ message: 'x'.repeat(limits.approvalMessageCharacters + 1) }, 'message'],
    [{ remember: 'yes' }, 'remember'],
  ])('in a body with %j is not even looked at', async (fields, param) => {
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }])] });
    const response = await decide(gateway, await askPlainly(gateway), fields as never);
    expect([response.statusCode, response.json().error.param]).toEqual([400, param]);
  });

  it('is worthless once the run is cancelled', async () => {
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }])] });
    const asked = await askPlainly(gateway);
    const cancelled = await call(gateway, `POST /api/runs/${asked.approval.run_id}/cancel`, { payload: {} });
    expect(cancelled.json()).toEqual({ id: asked.approval.run_id, status: 'cancelled' });
    expect((await decide(gateway, asked)).statusCode).toBe(409);
    const run = await readRun(gateway, asked);
    expect([run.status, run.events.at(-1)]).toEqual([
      'cancelled',
      expect.objectContaining({ type: 'run.end', data: expect.objectContaining({ status: 'cancelled' }) }),
    ]);
    expect(gateway.sent).toEqual([]);
  });
});

describe('a run that waits', () => {
  it('survives a restart, secrets encrypted, and goes on in another process [S2-11]', async () => {
    const folder = newFolder();
    const before = storesIn(folder);
    const servers = [
      { url: 'http://own.test', openapi: documentOf({ send: { type: 'object', properties: {} } }), key: 'CANARY-KEY', auth_type: 'bearer' },
    ];
    const turn = calls(['look', {}], ['pay', { amount: 5 }]);
    const first = await bankGateway({ turns: [turn], ...before });
    const asked = await askPlainly(first, { tool_servers: servers, files: [{ type: 'text', name: 'note', content: 'CANARY-FILE' }] });
    await first[Symbol.asyncDispose]();
    await before.close();
    const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
    expect(files.filter((content) => /CANARY-(KEY|FILE)/.test(content))).toEqual([]);

    const after = storesIn(folder);
    await using second = await bankGateway({ turns: [says('Paid.')], ...after });
    // The first request of its life: nobody has looked at the log before.
    const answer = (await decide(second, asked)).json<Asked>();
    expect(answer.choices[0]?.message.content).toBe('Paid.');
    expect(pathsSent(second)).toEqual(['/pay']);
    expect(lastResults(second)).toEqual(['{\n  "balance": 7\n}', '{\n  "paid": true\n}']);
    expect(answer.sources?.map(({ source }) => source)).toEqual([{ name: 'note' }, { name: 'TOOL:bank/look' }, { name: 'TOOL:bank/pay' }]);
    expect(second.model.requests[0]?.tools.map(({ name }) => name)).toContain('send');
    const run = await readRun(second, asked);
    expect([run.status, ...run.events.map(({ type }) => type)]).toEqual([
      'completed',
      'run.start',
      'model.request',
      'model.response',
      'tool.call',
      'tool.call',
      'approval.request',
      'tool.result',
      'approval.response',
      'tool.result',
      'model.request',
      'model.response',
      'run.end',
    ]);
    // Questions are numbered over the restart.
    expect(run.events.flatMap(({ type, data }) => (type === 'model.request' ? [data['question']] : []))).toEqual([1, 2]);
    expect((await decide(second, asked)).statusCode).toBe(409);
    await after.close();
  });

  it('is not to be had with another secret', async () => {
    const folder = newFolder();
    const before = storesIn(folder);
    const first = await bankGateway({ turns: [calls(['pay', { amount: 5 }])], ...before });
    const asked = await askPlainly(first);
    await first[Symbol.asyncDispose]();
    await before.close();
    const after = storesIn(folder, 'another secret');
    await using second = await bankGateway({ ...after });
    expect((await decide(second, asked)).statusCode).toBe(404);
    await after.close();
  });

  it.each<[string, object[], object]>([
    ['that has changed', [{ pay: { type: 'object', properties: { amount: { type: 'number' } } } }], { code: 'definition_changed' }],
    ['that is gone', [{ look: { type: 'object' } }], { code: 'tool_not_found', message: expect.stringContaining('no longer offered') }],
  ])('does not run a function %s meanwhile, and says so', async (_name, [document], error) => {
    const waitingRuns = memoryWaitingRuns();
    const secret = 'one secret for both';
    await using first = await bankGateway({ turns: [calls(['pay', { amount: 5 }])], waitingRuns, config: { secret } });
    const asked = await askPlainly(first);
    const { extra } = bank;
    const changed = serverOf('bank', documentOf(document as never), { extra });
    await using second = await bankGateway({ turns: [says('So be it.')], servers: [changed], waitingRuns, config: { secret } });
    expect((await decide(second, asked)).json<Asked>().choices[0]?.message.content).toBe('So be it.');
    expect(second.sent).toEqual([]);
    const { events } = await readRun(second, asked);
    expect(events.find(({ type }) => type === 'tool.result')?.data).toMatchObject({ error });
  });

  it('in a prompt-based mode goes on with the answer, without another selection', async () => {
    await using gateway = await bankGateway({ turns: [selects(['pay', { amount: 5 }]), says('Paid.')] });
    const asked = await askPlainly(gateway, { params: { function_calling: 'default' } });
    expect(asked.approval.calls[0]?.tool).toBe('pay');
    expect((await decide(gateway, asked)).json<Asked>().choices[0]?.message.content).toBe('Paid.');
    expect(JSON.stringify(gateway.model.requests[1]?.messages)).toContain('Tool `bank/pay` Output:');
    expect(gateway.model.requests).toHaveLength(2);
  });

  it('goes on in the mode in which it began, also where another process knows nothing of its reasons', async () => {
    const stores = { waitingRuns: memoryWaitingRuns(), config: { secret: 'one secret for both' } };
    const refusal = new GatewayError('tools_unsupported', 'No tools here.');
    await using first = await bankGateway({ turns: [[refusal], selects(['pay', { amount: 5 }])], ...stores });
    const asked = await askPlainly(first);
    await using second = await bankGateway({ turns: [says('Paid.')], ...stores });
    expect((await decide(second, asked)).json<Asked>().choices[0]?.message.content).toBe('Paid.');
    expect(second.model.requests.map(({ tools }) => tools)).toEqual([[]]);
    expect(pathsSent(second)).toEqual(['/pay']);
  });

  it('hands over calls of the caller’s own functions when it goes on', async () => {
    const own = [{ type: 'function', function: { name: 'mine', parameters: { type: 'object', properties: {} } } }];
    await using gateway = await bankGateway({ turns: [calls(['mine', {}], ['pay', { amount: 5 }])] });
    const asked = await askPlainly(gateway, { tools: own });
    expect([asked.choices[0]?.finish_reason, asked.choices[0]?.message.tool_calls]).toEqual(['stop', undefined]);
    const answer = (await decide(gateway, asked)).json<Asked>();
    expect(answer.choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { tool_calls: [{ function: { name: 'mine' } }] } });
    expect(pathsSent(gateway)).toEqual(['/pay']);
  });

  it('that cannot be kept is no end: the model is told that the call was not run', async () => {
    const waitingRuns = { ...memoryWaitingRuns(), save: async () => ({ type: 'refused' as const }) };
    await using gateway = await bankGateway({ turns: [calls(['pay', { amount: 5 }]), says('Later, then.')], waitingRuns });
    const seen = await gateway.ask();
    expect([seen.text, seen.eventsOf('warning').map(({ code }) => code)]).toEqual(['Later, then.', ['overloaded']]);
    expect(seen.eventsOf('tool.result')).toMatchObject([{ error: { code: 'approval_required' } }]);
    expect(gateway.sent).toEqual([]);
  });
});

describe('who needs an approval', () => {
  it('a server with needs_approval: true has each call approved', async () => {
    const server = { ...bank, extra: { config: { needs_approval: true } } };
    await using gateway = await bankGateway({ servers: [server], turns: [calls(['look', {}])] });
    expect((await askPlainly(gateway)).approval.calls[0]?.tool).toBe('look');
  });

  it('a function that is called by itself answers 409 approval_required, and does not run', async () => {
    await using gateway = await bankGateway();
    const refused = await call(gateway, 'POST /api/tools/bank/pay/invoke', { payload: { arguments: { amount: 5 } } });
    expect([refused.statusCode, refused.json().error.code]).toEqual([409, 'approval_required']);
    const plain = await call(gateway, 'POST /api/tools/bank/look/invoke', { payload: { arguments: {} } });
    expect(plain.statusCode).toBe(200);
    expect(pathsSent(gateway)).toEqual(['/look']);
  });

  it('a preset adds what it wants approved', async () => {
    const presets = [{ id: 'careful', base_model: 'model', needs_approval: ['look'] }];
    await using gateway = await bankGateway({ turns: [calls(['look', {}]), says('7.')] });
    await call(gateway, 'POST /api/presets', { payload: presets[0] ?? {} });
    const asked = await askPlainly(gateway, { model: 'careful' });
    expect(asked.approval.calls[0]?.tool).toBe('look');
    const answer = (await decide(gateway, asked)).json<Asked>();
    expect([answer['model'], answer.choices[0]?.message.content]).toEqual(['careful', '7.']);
  });

  it('a preset to which the run was handed over goes on with it, under the name that was asked for', async () => {
    const turns = [calls(['transfer_to_agent', { agent: 'payer' }]), calls(['pay', { amount: 5 }]), says('Paid.')];
    await using gateway = await bankGateway({ turns });
    await call(gateway, 'POST /api/presets', { payload: { id: 'payer', base_model: 'model', system: 'You pay.' } });
    await call(gateway, 'POST /api/presets', { payload: { id: 'desk', base_model: 'model', sub_agents: ['payer'] } });
    const asked = await askPlainly(gateway, { model: 'desk' });
    const answer = (await decide(gateway, asked)).json<Asked>();
    expect([answer['model'], answer.choices[0]?.message.content, pathsSent(gateway)]).toEqual(['desk', 'Paid.', ['/pay']]);
    const last = gateway.model.requests.at(-1);
    expect(last?.messages[0]).toMatchObject({ role: 'system', content: 'You pay.' });
    expect(last?.tools.map(({ name }) => name)).not.toContain('transfer_to_agent');
  });
});
