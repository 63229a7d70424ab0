import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { memoryRegistry, memoryWaitingRuns } from '../../_support/memory-stores.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { selects } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';
import { askPlainly, bank, bankGateway, call, decide, lastResults, pathsSent, readRun, storesIn } from './approval-fixture.ts';
import type { Asked } from './approval-fixture.ts';

const newFolder = temporaryFolders();
const payer = { id: 'payer', base_model: 'model', tools: ['server:bank'] };
const boss = { id: 'boss', base_model: 'model', tools: ['preset:payer'] };

async function gatewayWith(turns: ScriptStep[][], options: GatewayOptions = {}, presets: JsonObject[] = [payer, boss]): Promise<Gateway> {
  const gateway = await bankGateway({ turns, ...options });
  for (const payload of presets) expect((await call(gateway, 'POST /api/presets', { payload })).statusCode).toBe(201);
  return gateway;
}

/** The turns of the models with ids that the test knows. */
function turn(...wanted: [id: string, name: string, args: JsonObject][]): ScriptStep[] {
  const made = wanted.map(([id, name, args]): ScriptStep => ({ type: 'tool-call', call: { id, name, arguments: JSON.stringify(args) } }));
  return [...made, { type: 'finish', reason: 'tool_calls' }];
}
const tokens = (count: number): ScriptStep => ({
  type: 'usage',
  usage: { prompt_tokens: count, completion_tokens: 0, total_tokens: count },
});
const withPayer = { tool_ids: ['preset:payer'] };
const textOf = (asked: Asked): unknown => asked.choices[0]?.message.content;
const shownBy = ({ approval }: Asked): unknown[] => approval.calls.map(({ id, tool, arguments: args }) => [id, tool, args]);

describe('an approval that a preset called as a tool needs', () => {
  const payFive = (): ScriptStep[][] => [
    [tokens(1), ...turn(['out', 'payer', { request: 'Pay 5.' }])],
    [tokens(10), ...turn(['see', 'look', { account: 'a' }])],
    [tokens(100), ...turn(['in', 'pay', { amount: 5 }])],
  ];

  it('is asked on the outer run under the path of the calls, and its result comes back through both [S2-17]', async () => {
    await using gateway = await gatewayWith([
      ...payFive(),
      [tokens(1_000), ...says('Paid, says the payer.')],
      [tokens(10_000), ...says('Done.')],
    ]);
    const asked = await askPlainly(gateway, withPayer);
    expect(asked.choices[0]).toMatchObject({
      message: { content: expect.stringContaining('Waiting for your approval: pay({"amount":5}).') },
      finish_reason: 'stop',
    });
    expect(shownBy(asked)).toEqual([['out.in', 'pay', { amount: 5 }]]);
    expect(asked['usage']).toMatchObject({ prompt_tokens: 111 });
    expect(pathsSent(gateway)).toEqual(['/look']);
    expect((await readRun(gateway, asked)).status).toBe('waiting');

    const answer = (await decide(gateway, asked)).json<Asked>();
    expect([textOf(answer), answer['usage']]).toEqual(['Done.', expect.objectContaining({ prompt_tokens: 11_000 })]);
    expect(pathsSent(gateway)).toEqual(['/look', '/pay']);
    expect(lastResults(gateway)).toEqual(['Paid, says the payer.']);
    const inner = gateway.model.requests[3]?.messages.map(({ role, content }) => [role, content]);
    expect(inner).toEqual([
      ['user', 'Pay 5.'],
      ['assistant', null],
      ['tool', '{\n  "balance": 7\n}'],
      ['assistant', null],
      ['tool', '{\n  "paid": true\n}'],
    ]);
    const { status, events, usage } = await readRun(gateway, asked);
    expect([status, usage]).toEqual(['completed', expect.objectContaining({ prompt_tokens: 11_111 })]);
    const told = events.filter(({ type }) => /^(run|approval)\.|^tool\.(call|result)$/.test(type));
    expect(told.map(({ type, data }) => [type, data['id'] ?? null, data['within'] ?? null])).toEqual([
      ['run.start', null, null],
      ['tool.call', 'out', null],
      ['tool.call', 'out.see', 'out'],
      ['tool.result', 'out.see', 'out'],
      ['tool.call', 'out.in', 'out'],
      ['approval.request', 'out.in', 'out'],
      ['approval.response', 'out.in', 'out'],
      ['tool.result', 'out.in', 'out'],
      ['tool.result', 'out', null],
      ['run.end', null, null],
    ]);
  });

  it('outlives a restart, and nothing that has run runs again [S2-17]', async () => {
    const folder = newFolder();
    const registry = memoryRegistry([bank]);
    const before = storesIn(folder);
    const first = await gatewayWith(payFive(), { ...before, registry });
    const asked = await askPlainly(first, withPayer);
    expect(pathsSent(first)).toEqual(['/look']);
    await first[Symbol.asyncDispose]();
    await before.close();

    const after = storesIn(folder);
    const second = await bankGateway({ turns: [says('Paid, says the payer.'), says('Done.')], ...after, registry });
    expect(textOf((await decide(second, asked)).json<Asked>())).toBe('Done.');
    expect(pathsSent(second)).toEqual(['/pay']);
    expect(JSON.stringify(second.model.requests[0]?.messages)).toContain('balance');
    expect((await readRun(second, asked)).status).toBe('completed');
    await second[Symbol.asyncDispose]();
    await after.close();
  });

  it('is found two levels deep [S2-17]', async () => {
    const turns = [
      turn(['a', 'boss', { request: 'Have 5 paid.' }]),
      turn(['b', 'payer', { request: 'Pay 5.' }]),
      turn(['c', 'pay', { amount: 5 }]),
      says('innermost'),
      says('middle'),
      says('outermost'),
    ];
    await using gateway = await gatewayWith(turns);
    const asked = await askPlainly(gateway, { tool_ids: ['preset:boss'] });
    expect(shownBy(asked)).toEqual([['a.b.c', 'pay', { amount: 5 }]]);
    expect(textOf((await decide(gateway, asked)).json<Asked>())).toBe('outermost');
    expect(pathsSent(gateway)).toEqual(['/pay']);
    expect(lastResults(gateway)).toEqual(['middle']);
    const { events } = await readRun(gateway, asked);
    const results = events.filter(({ type }) => type === 'tool.result').map(({ data }) => [data['id'], data['within'] ?? null]);
    expect(results).toEqual([
      ['a.b.c', 'a.b'],
      ['a.b', 'a'],
      ['a', null],
    ]);
  });

  it('comes after that of a call of the outer run which stands before it, and what stands behind waits with both [S2-17]', async () => {
    const turns = [
      turn(['x', 'pay', { amount: 1 }], ['p', 'payer', { request: 'Pay 1.' }], ['y', 'look', {}]),
      turn(['x', 'pay', { amount: 1 }], ['z', 'refund', { amount: 2 }]),
      says('Only refunded.'),
      says('So it is.'),
    ];
    await using gateway = await gatewayWith(turns);
    const outer = await askPlainly(gateway, { tool_ids: ['preset:payer', 'server:bank'] });
    expect(shownBy(outer)).toEqual([['x', 'pay', { amount: 1 }]]);
    expect(pathsSent(gateway)).toEqual([]);
    const inner = (await decide(gateway, outer)).json<Asked>();
    expect(shownBy(inner)).toEqual([
      ['p.x', 'pay', { amount: 1 }],
      ['p.z', 'refund', { amount: 2 }],
    ]);
    expect(pathsSent(gateway)).toEqual(['/pay']);
    const rejection = { place: 0, decision: 'reject', message: 'Not twice.' };
    expect((await decide(gateway, inner, rejection)).json()).toEqual({ waiting: ['p.z'] });
    expect(textOf((await decide(gateway, inner, { place: 1, arguments: { amount: 3 } })).json<Asked>())).toBe('So it is.');
    expect(gateway.sent.map(({ url, body }) => [new URL(url).pathname, body])).toEqual([
      ['/pay', '{"amount":1}'],
      ['/refund', '{"amount":3}'],
      ['/look', expect.anything()],
    ]);
    const read = gateway.model.requests[2]?.messages.flatMap((each) => (each.role === 'tool' ? [each.content] : []));
    expect(read).toEqual([expect.stringContaining('The user says: Not twice.'), expect.stringContaining('refunded')]);
    expect((await readRun(gateway, inner)).status).toBe('completed');
  });

  it('may come again after it was given, with arguments that are checked, and what was said before is not lost [S2-17]', async () => {
    const turns = [
      turn(['out', 'payer', { request: 'Pay twice.' }]),
      [{ type: 'text' as const, text: 'First. ' }, ...turn(['in', 'pay', { amount: 5 }])],
      [{ type: 'text' as const, text: 'Second. ' }, ...turn(['in', 'pay', { amount: 5 }])],
      says('Both.'),
      says('Done.'),
    ];
    await using gateway = await gatewayWith(turns);
    const first = await askPlainly(gateway, withPayer);
    expect((await decide(gateway, first, { arguments: { amount: 'x' } })).statusCode).toBe(400);
    const second = (await decide(gateway, first)).json<Asked>();
    // The model gives its second call the id of the first.
    const newId = expect.stringMatching(/^out\.[a-zA-Z0-9]{9}$/) as string;
    expect([shownBy(second), pathsSent(gateway)]).toEqual([[[newId, 'pay', { amount: 5 }]], ['/pay']]);
    expect((await decide(gateway, first)).json().error.code).toBe('not_found');
    expect(textOf((await decide(gateway, second)).json<Asked>())).toBe('Done.');
    expect(pathsSent(gateway)).toEqual(['/pay', '/pay']);
    const [result] = lastResults(gateway);
    expect(String(result).replaceAll(/\s+/g, ' ')).toBe('First. Second. Both.');
  });

  it('is asked of one preset after the other, where two of them stand in one round', async () => {
    const paying = turn(['in', 'pay', { amount: 5 }]);
    const turns = [turn(['a', 'payer', { request: 'First.' }], ['b', 'payer', { request: 'Second.' }]), paying];
    await using gateway = await gatewayWith([...turns, says('One of two.'), paying, says('Two of two.'), says('Done.')]);
    const asked = await askPlainly(gateway, withPayer);
    expect(asked.approval.calls.map(({ id }) => id)).toEqual(['a.in']);
    const again = (await decide(gateway, asked, { decision: 'reject' })).json<Asked>();
    expect(again.approval.calls.map(({ id }) => id)).toEqual(['b.in']);
    expect(textOf((await decide(gateway, again)).json<Asked>())).toBe('Done.');
    expect(pathsSent(gateway)).toEqual(['/pay']);
    const inner = [gateway.model.requests[2], gateway.model.requests[4]]
      .map((request) => request?.messages ?? [])
      .map((messages) => [messages[0]?.content, messages.at(-1)?.content]);
    expect(inner).toEqual([
      ['First.', expect.stringContaining('rejected')],
      ['Second.', expect.stringContaining('paid')],
    ]);
  });

  it('is asked for in a prompt-based mode, and goes on with the answer', async () => {
    const turns = [turn(['a', 'payer', { request: 'Pay 5.' }]), selects(['pay', { amount: 5 }]), says('Paid.'), says('Done.')];
    await using gateway = await gatewayWith(turns, {}, [{ ...payer, function_calling: 'default' }]);
    const asked = await askPlainly(gateway, withPayer);
    expect(asked.approval.calls.map(({ tool }) => tool)).toEqual(['pay']);
    expect(textOf((await decide(gateway, asked)).json<Asked>())).toBe('Done.');
    expect([pathsSent(gateway), lastResults(gateway), gateway.model.requests.length]).toEqual([['/pay'], ['Paid.'], 4]);
  });

  it('is asked for by a preset to which the inner one has handed over', async () => {
    const desk = { id: 'desk', base_model: 'model', tools: [], sub_agents: ['payer'] };
    const turns = [
      turn(['a', 'desk', { request: 'Pay 5.' }]),
      turn(['b', 'transfer_to_agent', { agent: 'payer' }]),
      turn(['c', 'pay', { amount: 5 }]),
      says('Paid.'),
      says('Done.'),
    ];
    await using gateway = await gatewayWith(turns, {}, [payer, desk]);
    const asked = await askPlainly(gateway, { tool_ids: ['preset:desk'] });
    expect(shownBy(asked)).toEqual([['a.c', 'pay', { amount: 5 }]]);
    expect(textOf((await decide(gateway, asked)).json<Asked>())).toBe('Done.');
    expect([pathsSent(gateway), lastResults(gateway)]).toEqual([['/pay'], ['Paid.']]);
    expect(JSON.stringify(gateway.model.requests[3]?.messages)).toContain('Handed over to payer.');
  });

  it('that is to be remembered holds in the preset and outside of it, for this chat [S2-17]', async () => {
    const turns = [
      ...payFive(),
      says('Paid.'),
      says('1'),
      ...payFive(),
      says('Paid.'),
      says('2'),
      turn(['own', 'pay', { amount: 9 }]),
      says('3'),
    ];
    await using gateway = await gatewayWith(turns);
    const chat = { ...withPayer, chat_id: 'one' };
    await decide(gateway, await askPlainly(gateway, chat), { remember: true });
    expect(textOf(await askPlainly(gateway, chat))).toBe('2');
    expect(textOf(await askPlainly(gateway, { chat_id: 'one' }))).toBe('3');
  });

  it('of a preset whose own call was approved with other words goes on with those', async () => {
    const careful = { ...boss, id: 'careful', needs_approval: true };
    const turns = [turn(['out', 'payer', { request: 'Pay 5.' }]), turn(['in', 'pay', { amount: 3 }]), says('Paid 3.'), says('Done.')];
    await using gateway = await gatewayWith(turns, {}, [payer, careful]);
    const first = await askPlainly(gateway, { model: 'careful' });
    expect(shownBy(first)).toEqual([['out', 'payer', { request: 'Pay 5.' }]]);
    const second = (await decide(gateway, first, { arguments: { request: 'Pay 3.' } })).json<Asked>();
    expect(shownBy(second)).toEqual([['out.in', 'pay', { amount: 3 }]]);
    expect(textOf((await decide(gateway, second)).json<Asked>())).toBe('Done.');
    expect(gateway.model.requests[1]?.messages).toEqual([{ role: 'user', content: 'Pay 3.' }]);
    expect(gateway.model.requests[3]?.messages.at(-2)).toMatchObject({ toolCalls: [{ arguments: '{"request":"Pay 3."}' }] });
  });

  it('that cannot be waited for is told to the model, with what was done', async () => {
    const waitingRuns = { ...memoryWaitingRuns(), save: async () => ({ type: 'refused' as const }) };
    await using gateway = await gatewayWith([...payFive(), says('Later, then.')], { waitingRuns });
    const seen = await gateway.ask(withPayer);
    expect(seen.text).toBe('Later, then.');
    expect(seen.usage).toMatchObject({ prompt_tokens: 111 });
    expect(lastResults(gateway)).toEqual([expect.stringMatching(/needs a person's approval of 'pay'.*Before that it had called: look\./)]);
    expect(seen.eventsOf('approval.response')).toEqual([{ id: 'out.in', tool: 'pay', decision: 'unavailable', within: 'out' }]);
    expect(pathsSent(gateway)).toEqual(['/look']);
  });

  it('does not open a way around the end of a circle [S2-17]', async () => {
    const circle = { ...payer, tools: ['server:bank', 'preset:boss'] };
    const turns = [
      turn(['a', 'boss', { request: 'x' }]),
      turn(['b', 'payer', { request: 'x' }]),
      turn(['c', 'pay', { amount: 5 }]),
      turn(['d', 'boss', { request: 'again' }]),
      says('innermost'),
      says('middle'),
      says('outermost'),
    ];
    await using gateway = await gatewayWith(turns, {}, [circle, boss]);
    const asked = await askPlainly(gateway, { tool_ids: ['preset:boss'] });
    expect(textOf((await decide(gateway, asked)).json<Asked>())).toBe('outermost');
    const { events } = await readRun(gateway, asked);
    expect(events.find(({ data }) => data['id'] === 'a.b.d' && data['error'] !== undefined)?.data['error']).toMatchObject({
      message: expect.stringContaining('boss -> payer -> boss'),
    });
  });

  it('goes with its run when that is cancelled', async () => {
    await using gateway = await gatewayWith(payFive());
    const asked = await askPlainly(gateway, withPayer);
    await call(gateway, `POST /api/runs/${asked.approval.run_id}/cancel`, { payload: {} });
    expect((await decide(gateway, asked)).statusCode).toBe(409);
    expect(pathsSent(gateway)).toEqual(['/look']);
  });
});

it('what a preset had called before its model failed is told', async () => {
  const fault = new GatewayError('upstream_unreachable', 'The model is gone.');
  const turns = [calls(['payer', { request: 'Look.' }]), calls(['look', {}]), [fault], says('Sorry.')];
  await using gateway = await gatewayWith(turns);
  expect((await gateway.ask(withPayer)).text).toBe('Sorry.');
  expect(lastResults(gateway)).toEqual([JSON.stringify({ error: 'The model is gone. Before that it had called: look.' })]);
});
