import { expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import { memoryChats, memoryNotes } from '../../_support/memory-stores.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { functionModule } from '../../_support/tools-folder.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { functionGateway } from '../functions/function-gateway.ts';
import { askPlainly, bankGateway, call, decide, lastResults, pathsSent, storesIn } from '../approvals/approval-fixture.ts';
import type { Asked } from '../approvals/approval-fixture.ts';
import { waitFor } from '../../_support/wait-for.ts';

const newFolder = temporaryFolders();

it('a decision to be remembered outlives a restart', async () => {
  const folder = newFolder();
  const pay = calls(['pay', { amount: 5 }]);
  const before = storesIn(folder);
  const first = await bankGateway({ turns: [pay, says('1')], ...before });
  await decide(first, await askPlainly(first, { chat_id: 'one' }), { remember: true });
  await first[Symbol.asyncDispose]();
  await before.close();
  const after = storesIn(folder);
  const second = await bankGateway({ turns: [pay, says('2'), pay], ...after });
  expect((await askPlainly(second, { chat_id: 'one' })).choices[0]?.message.content).toBe('2');
  expect((await askPlainly(second, { chat_id: 'other' })).approval.calls[0]?.tool).toBe('pay');
  expect(pathsSent(second)).toEqual(['/pay']);
  await second[Symbol.asyncDispose]();
  await after.close();
});

it('a decision to be remembered holds for this once where it cannot be kept', async () => {
  const fault = async (): Promise<never> => {
    throw new GatewayError('storage_unavailable', 'The disk is full.');
  };
  const approval = { ...memoryNotes(), save: fault, find: fault };
  const pay = calls(['pay', { amount: 5 }]);
  await using gateway = await bankGateway({ turns: [pay, says('1'), pay], noteStores: { approval } });
  const answer = await decide(gateway, await askPlainly(gateway, { chat_id: 'one' }), { remember: true });
  expect(answer.json<Asked>().choices[0]?.message.content).toBe('1');
  expect((await askPlainly(gateway, { chat_id: 'one' })).approval.calls).toHaveLength(1);
});

it('what a function remembers of a chat outlives a restart of the gateway', async () => {
  const folder = newFolder();
  const execute = "(args, { state }) => { const n = (state.get('n') ?? 0) + 1; state.set('n', n); return n; }";
  const results: unknown[] = [];
  for (const chat of ['one', 'one', 'other']) {
    const stores = storesIn(folder);
    const turns = [calls(['count', {}]), says('ok')];
    const gateway = await functionGateway({ 'a.js': functionModule('count', { execute }) }, { turns, noteStores: stores.noteStores ?? {} });
    results.push((await gateway.ask({ chat_id: chat })).eventsOf('tool.result')[0]?.['response']);
    await gateway[Symbol.asyncDispose]();
    await stores.close();
  }
  expect(results).toEqual([1, 2, 1]);
});

it('what lasts about chats goes with the key of their caller', async () => {
  const adminKey = 'sk-tw-fixed-administrator';
  const approval = memoryNotes();
  const ids: string[] = [];
  const memory = { ...approval, save: (...given: Parameters<typeof approval.save>) => (ids.push(given[0].id), approval.save(...given)) };
  await using gateway = await bankGateway({
    turns: [calls(['pay', { amount: 5 }]), says('Paid.')],
    environment: { TOOLWHARF_ADMIN_KEY: adminKey },
    noteStores: { approval: memory },
  });
  const made = (await call(gateway, 'POST /api/keys', { key: adminKey, payload: { name: 'ada', role: 'user' } })).json<{
    id: string;
    key: string;
  }>();
  const asked = await askPlainly(gateway, { chat_id: 'one' }, made.key);
  await decide(gateway, asked, { remember: true, key: made.key });
  expect(await approval.find(ids[0] ?? '', Date.now())).toBe('approve');
  await call(gateway, `DELETE /api/keys/${made.id}`, { key: adminKey });
  await waitFor(async () => expect(await approval.find(ids[0] ?? '', Date.now())).toBeUndefined());
});

it('a chat with store: true is kept once its approval was given, also where the first answer to that has failed', async () => {
  const fault = new GatewayError('upstream_unreachable', 'The backend is gone.');
  const turns = [calls(['pay', { amount: 5 }]), [fault], says('Paid.')];
  await using gateway = await bankGateway({ turns, environment: { STORE_CHATS: 'true' }, chats: memoryChats({ now: Date.now }) });
  const asked = await askPlainly(gateway, { store: true, metadata: { topic: 'bills' } });
  const path = `GET /v1/chat/completions/chatcmpl-${asked.approval.run_id}`;
  expect((await call(gateway, path)).statusCode).toBe(404);
  expect((await decide(gateway, asked)).statusCode).toBe(502);
  expect((await call(gateway, path)).statusCode).toBe(404);
  const answer = (await decide(gateway, asked)).json<Asked>();
  const stored = (await call(gateway, path)).json<Asked>();
  expect(stored).toMatchObject({ id: answer['id'], metadata: { topic: 'bills' }, choices: [{ message: { content: 'Paid.' } }] });
  expect((await call(gateway, `${path}/messages`)).json()).toMatchObject({ data: [{ role: 'user', content: 'Pay 5, please.' }] });
  expect(pathsSent(gateway)).toEqual(['/pay']);
});

it('so is one that was stored as a stream, and one whose approval a preset within it needed', async () => {
  const turns = [calls(['payer', { request: 'Pay 5.' }]), calls(['pay', { amount: 5 }]), says('Paid.'), says('Done.')];
  await using gateway = await bankGateway({ turns, environment: { STORE_CHATS: 'true' } });
  await call(gateway, 'POST /api/presets', { payload: { id: 'payer', base_model: 'model', tools: ['server:bank'] } });
  const seen = await gateway.ask({ store: true, tool_ids: ['preset:payer'] });
  const line = seen.raw.split('\n').find((each) => each.includes('"approval":')) ?? '';
  const asked = JSON.parse(line.slice('data: '.length)) as Asked;
  expect((await decide(gateway, asked)).statusCode).toBe(200);
  const stored = (await call(gateway, `GET /v1/chat/completions/chatcmpl-${asked.approval.run_id}`)).json<Asked>();
  expect(stored.choices[0]?.message.content).toBe('Done.');
});

it('a turn with calls of the caller and of the gateway goes on after a restart as if there had been none', async () => {
  const folder = newFolder();
  const mixed = calls(['look', { account: 'a' }], ['mine', {}]);
  const tools = [{ type: 'function', function: { name: 'mine', parameters: { type: 'object', properties: {} } } }];
  const before = storesIn(folder);
  const first = await bankGateway({ turns: [mixed], ...before });
  const [choice] = (await askPlainly(first, { tools })).choices;
  const theirs = choice?.message.tool_calls ?? [];
  expect(theirs).toMatchObject([{ function: { name: 'mine' } }]);
  await first[Symbol.asyncDispose]();
  await before.close();

  const after = storesIn(folder);
  const second = await bankGateway({ turns: [says('Seven.')], ...after });
  const messages = [
    { role: 'user', content: 'Look.' },
    { role: 'assistant', content: null, tool_calls: theirs },
    { role: 'tool', tool_call_id: theirs[0]?.['id'] ?? '', content: 'done' },
  ];
  await askPlainly(second, { tools, messages });
  const turn = second.model.requests[0]?.messages.find((message) => message.role === 'assistant');
  expect(turn?.toolCalls.map(({ name }) => name)).toEqual(['look', 'mine']);
  expect(lastResults(second)).toEqual([expect.stringContaining('7'), 'done']);
  expect(pathsSent(second)).toEqual([]);
  await second[Symbol.asyncDispose]();
  await after.close();
});
