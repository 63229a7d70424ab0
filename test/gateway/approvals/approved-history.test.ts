import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../../src/core/chat/chat.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { selects } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import {
  askPlainly,
  bankGateway,
  call,
  decide,
  ended,
  linkOf,
  pathsSent,
  readRun,
  storesIn,
  textOfPage,
  visit,
} from './approval-fixture.ts';
import type { Asked } from './approval-fixture.ts';
import { waitFor } from '../../_support/wait-for.ts';

const newFolder = temporaryFolders();
const question = { role: 'user', content: 'Pay 5, please.' };
const pay = calls(['pay', { amount: 5 }]);

interface Turned {
  asked: Asked;
  /** The conversation as the frontend has it, with a further message of the user. */
  next: (content?: string) => Promise<Asked>;
}

async function asking(gateway: Gateway, fields: object = {}): Promise<Turned> {
  const asked = await askPlainly(gateway, fields);
  const history = [question, { role: 'assistant', content: asked.choices[0]?.message.content }];
  return {
    asked,
    next: (content = 'And now?') => askPlainly(gateway, { ...fields, messages: [...history, { role: 'user', content }] }),
  };
}

/** What the model read before its last answer, in short. */
function readBy({ model }: Gateway): unknown[] {
  return (model.requests.at(-1)?.messages ?? []).map((message: ChatMessage) =>
    message.role === 'assistant' && message.toolCalls.length > 0
      ? [message.role, message.content, ...message.toolCalls.map(({ name, arguments: args }) => `${name}(${args})`)]
      : [message.role, message.content],
  );
}

async function approve(gateway: Gateway, asked: Asked, form: Record<string, string> = {}): Promise<void> {
  await visit(gateway, linkOf(asked), { form: { decision: 'approve', ...form } });
  await ended(gateway, asked);
}

describe('the next request of a chat after an approval on its page', () => {
  it('has the calls, their results and the answer in the place of the text with the link [S2-11]', async () => {
    await using gateway = await bankGateway({ turns: [[{ type: 'text', text: 'I pay.' }, ...pay], says('Paid.'), says('Nothing more.')] });
    const { asked, next } = await asking(gateway);
    expect(asked.choices[0]?.message.content).toMatch(/^I pay\.\n\nWaiting for your approval/);
    await approve(gateway, asked);
    expect((await next()).choices[0]?.message.content).toBe('Nothing more.');
    expect(readBy(gateway)).toEqual([
      ['user', question.content],
      ['assistant', 'I pay.', 'pay({"amount":5})'],
      ['tool', '{\n  "paid": true\n}'],
      ['assistant', 'Paid.'],
      ['user', 'And now?'],
    ]);
    expect(pathsSent(gateway)).toEqual(['/pay']);
  });

  it('shows the arguments that ran, not those that were asked for', async () => {
    await using gateway = await bankGateway({ turns: [pay, says('Paid.'), says('Yes.')] });
    const { asked, next } = await asking(gateway);
    await approve(gateway, asked, { call: asked.approval.calls[0]?.id ?? '', arguments: '{"amount": 3}' });
    await next();
    expect(readBy(gateway)[1]).toEqual(['assistant', null, 'pay({"amount":3})']);
  });

  it('tells a rejection, and what the user said to it', async () => {
    await using gateway = await bankGateway({ turns: [pay, says('As you wish.'), says('Yes.')] });
    const { asked, next } = await asking(gateway);
    await visit(gateway, linkOf(asked), { form: { decision: 'reject', message: 'Too much.' } });
    await ended(gateway, asked);
    await next();
    expect(readBy(gateway).slice(1, 4)).toEqual([
      ['assistant', null, 'pay({"amount":5})'],
      ['tool', expect.stringContaining('The user says: Too much.')],
      ['assistant', 'As you wish.'],
    ]);
  });

  it('takes a typed yes for no decision: it still waits, and the model does not see the link', async () => {
    await using gateway = await bankGateway({
      turns: [calls(['look', {}], ['pay', { amount: 5 }]), says('Please decide on the page.'), says('Paid.'), says('Done.')],
    });
    const { asked, next } = await asking(gateway);
    await next('yes');
    expect(readBy(gateway).slice(1)).toEqual([
      ['assistant', null, 'look({})', 'pay({"amount":5})'],
      ['tool', '{\n  "balance": 7\n}'],
      ['tool', expect.stringContaining('waits for an approval')],
      ['assistant', 'Waiting for your approval: pay({"amount":5}).'],
      ['user', 'yes'],
    ]);
    expect(pathsSent(gateway)).toEqual(['/look']);
    expect((await readRun(gateway, asked)).status).toBe('waiting');
    await approve(gateway, asked);
    await next('yes');
    expect(readBy(gateway).slice(2, 5)).toEqual([
      ['tool', '{\n  "balance": 7\n}'],
      ['tool', '{\n  "paid": true\n}'],
      ['assistant', 'Paid.'],
    ]);
    expect(pathsSent(gateway)).toEqual(['/look', '/pay']);
  });

  it('says so while the run still goes on, and once it was cancelled or nobody decided in time', async () => {
    let time = Date.now();
    const paused = Promise.withResolvers<void>();
    const turns = [pay, [paused.promise, ...says('Paid.')], says('Wait.'), pay, says('A pity.'), pay, says('Too late.')];
    await using gateway = await bankGateway({ turns, now: () => time });
    const first = await asking(gateway);
    await visit(gateway, linkOf(first.asked), { form: { decision: 'approve' } });
    await waitFor(() => expect(gateway.model.requests).toHaveLength(2));
    await first.next();
    expect(readBy(gateway)[2]).toEqual(['tool', expect.stringContaining('Do not call it again')]);
    paused.resolve();
    await ended(gateway, first.asked);

    const second = await asking(gateway);
    await call(gateway, `POST /api/runs/${second.asked.approval.run_id}/cancel`, { payload: {} });
    await second.next();
    expect(readBy(gateway).slice(2, 4)).toEqual([
      ['tool', expect.stringContaining('cancelled before')],
      ['assistant', 'It was cancelled and not run.'],
    ]);

    const third = await asking(gateway);
    time += 25 * 60 * 60 * 1000;
    await third.next();
    expect(readBy(gateway)[2]).toEqual(['tool', expect.stringContaining('Nobody approved this call in time')]);
  });

  it('knows what ran although the answer after it failed', async () => {
    await using gateway = await bankGateway({ turns: [pay, [new Error('down')], says('I am back.')] });
    const { asked, next } = await asking(gateway);
    await visit(gateway, linkOf(asked), { form: { decision: 'approve' } });
    const { run_id: id } = asked.approval;
    await waitFor(async () => expect((await visit(gateway, linkOf(asked))).body).toContain('Try again'));
    await waitFor(async () => expect((await call(gateway, `GET /api/runs/${id}`)).json()).toMatchObject({ status: 'waiting' }));
    await next();
    expect(readBy(gateway).slice(2, 4)).toEqual([
      ['tool', '{\n  "paid": true\n}'],
      ['assistant', 'The answer after these calls failed.'],
    ]);
  });

  it('has an answer after the results where the model gave none', async () => {
    const silent: ScriptStep[] = [{ type: 'finish', reason: 'stop' }];
    await using gateway = await bankGateway({ turns: [pay, silent, silent, says('It is paid.')] });
    const { asked, next } = await asking(gateway);
    await approve(gateway, asked);
    await next();
    expect(readBy(gateway).slice(2)).toEqual([
      ['tool', '{\n  "paid": true\n}'],
      ['assistant', 'The model gave no answer after its last tool calls.'],
      ['user', 'And now?'],
    ]);
  });

  it('knows all rounds of a run that asked twice, from the first link on', async () => {
    const turns = [pay, calls(['refund', { amount: 1 }]), says('Paid and refunded.'), says('Yes.')];
    await using gateway = await bankGateway({ turns });
    const { asked, next } = await asking(gateway);
    const { headers } = await visit(gateway, linkOf(asked), { form: { decision: 'approve' } });
    await waitFor(async () => expect(textOfPage(await visit(gateway, linkOf(asked)))).toContain('other calls now need approval'));
    expect((await visit(gateway, linkOf(asked))).body).not.toContain('href=');
    const after = await visit(gateway, `${linkOf(asked)}${headers.location}`);
    const [, further = ''] = /href="\.\/([^"]*)"/.exec(after.body) ?? [];
    expect((await visit(gateway, linkOf(asked), { form: { decision: 'approve' } })).statusCode).toBe(409);
    await visit(gateway, `/approvals/${further}`, { form: { decision: 'approve' } });
    await ended(gateway, asked);
    expect(textOfPage(await visit(gateway, linkOf(asked)))).toMatch(
      /pay Approved, completed.*refund Approved, completed.*The answer Paid and refunded/,
    );
    await next();
    expect(readBy(gateway).slice(1, 6)).toEqual([
      ['assistant', null, 'pay({"amount":5})'],
      ['tool', '{\n  "paid": true\n}'],
      ['assistant', null, 'refund({"amount":1})'],
      ['tool', '{\n  "refunded": true\n}'],
      ['assistant', 'Paid and refunded.'],
    ]);
  });

  it('has it once where the client has the answer to the decision of a program as well', async () => {
    await using gateway = await bankGateway({ turns: [pay, says('Paid.'), says('Yes.')] });
    const asked = await askPlainly(gateway);
    const answer = (await decide(gateway, asked)).json<Asked>();
    const said = [asked, answer].map(({ choices }) => ({ role: 'assistant', content: choices[0]?.message.content }));
    await askPlainly(gateway, { messages: [question, ...said, { role: 'user', content: 'Sure?' }] });
    expect(readBy(gateway).slice(1)).toEqual([
      ['assistant', null, 'pay({"amount":5})'],
      ['tool', '{\n  "paid": true\n}'],
      ['assistant', 'Paid.'],
      ['user', 'Sure?'],
    ]);
  });

  it('has each call once where the run went on to a function of the caller', async () => {
    const turns = [pay, calls(['look', {}], ['theirs', {}]), says('Done.')];
    await using gateway = await bankGateway({ turns });
    const tools = [{ type: 'function', function: { name: 'theirs', parameters: { type: 'object' } } }];
    const asked = await askPlainly(gateway, { tools });
    const answer = (await decide(gateway, asked)).json<Asked>().choices[0]?.message;
    const handed = answer?.tool_calls?.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'their result' })) ?? [];
    const said = { role: 'assistant', content: asked.choices[0]?.message.content };
    await askPlainly(gateway, { tools, messages: [question, said, answer, ...handed] });
    expect(readBy(gateway)).toEqual([
      ['user', question.content],
      ['assistant', null, 'pay({"amount":5})'],
      ['tool', '{\n  "paid": true\n}'],
      ['assistant', null, 'look({})', 'theirs({})'],
      ['tool', '{\n  "balance": 7\n}'],
      ['tool', 'their result'],
    ]);
  });

  it('puts it into words where tools are chosen by a prompt', async () => {
    const turns: ScriptStep[][] = [selects(['pay', { amount: 5 }]), says('Paid.'), selects(), says('Nothing more.')];
    await using gateway = await bankGateway({ turns });
    const { asked, next } = await asking(gateway, { params: { function_calling: 'default' } });
    await approve(gateway, asked);
    expect((await next()).choices[0]?.message.content).toBe('Nothing more.');
    const [selection, answering] = gateway.model.requests.slice(-2).map(({ messages }) => messages);
    expect(selection?.at(-1)?.content).toBe(
      'Query: History:\nUSER: """Pay 5, please.\n\nTool `bank/pay` Output: {\n  "paid": true\n}"""\nASSISTANT: """Paid."""\nQuery: And now?',
    );
    expect(answering?.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'Pay 5, please.\n\nTool `bank/pay` Output: {\n  "paid": true\n}'],
      ['assistant', 'Paid.'],
      ['user', 'And now?'],
    ]);
  });

  it('puts it into words where the next request has no tools', async () => {
    await using gateway = await bankGateway({ turns: [pay, says('Paid.'), says('A payment')] });
    const { asked } = await asking(gateway);
    await approve(gateway, asked);
    const history = [question, { role: 'assistant', content: asked.choices[0]?.message.content }, { role: 'user', content: 'And now?' }];
    await askPlainly(gateway, { messages: history, tool_ids: [] });
    expect(readBy(gateway)).toEqual([
      ['user', 'Pay 5, please.\n\nTool `bank/pay` Output: {\n  "paid": true\n}'],
      ['assistant', 'Paid.'],
      ['user', 'And now?'],
    ]);
  });

  it('knows what came of a preset that was called as a tool', async () => {
    const turns = [calls(['clerk', { request: 'Pay 5' }]), pay, says('I paid.'), says('The clerk paid.'), says('Yes.')];
    await using gateway = await bankGateway({ turns });
    await call(gateway, 'POST /api/presets', { payload: { id: 'clerk', base_model: 'model', tools: ['server:bank'] } });
    const { asked, next } = await asking(gateway, { tool_ids: ['preset:clerk'] });
    await approve(gateway, asked);
    await next();
    expect(readBy(gateway).slice(1, 4)).toEqual([
      ['assistant', null, 'clerk({"request":"Pay 5"})'],
      ['tool', 'I paid.'],
      ['assistant', 'The clerk paid.'],
    ]);
  });

  it('knows it after a restart', async () => {
    const folder = newFolder();
    const before = storesIn(folder);
    const first = await bankGateway({ ...before, turns: [pay, says('Paid.')] });
    const { asked } = await asking(first);
    await approve(first, asked);
    await first.app.close();
    await before.close();
    const after = storesIn(folder);
    await using gateway = await bankGateway({ ...after, turns: [says('Yes.')] });
    const said = { role: 'assistant', content: asked.choices[0]?.message.content };
    await askPlainly(gateway, { messages: [question, said, { role: 'user', content: 'Sure?' }] });
    expect(readBy(gateway).slice(1, 4)).toEqual([
      ['assistant', null, 'pay({"amount":5})'],
      ['tool', '{\n  "paid": true\n}'],
      ['assistant', 'Paid.'],
    ]);
    await after.close();
  });
});

describe('a link in a history', () => {
  const adminKey = 'sk-tw-administrator';

  it('of another caller tells nothing, and reaches no model', async () => {
    await using gateway = await bankGateway({ turns: [pay, says('Paid.'), says('Hm.')], environment: { TOOLWHARF_ADMIN_KEY: adminKey } });
    const key = async (name: string): Promise<string> =>
      (await call(gateway, 'POST /api/keys', { key: adminKey, payload: { name, role: 'user' } })).json<{ key: string }>().key;
    const [anna, bert] = [await key('anna'), await key('bert')];
    const asked = await askPlainly(gateway, {}, anna);
    await visit(gateway, linkOf(asked), { form: { decision: 'approve' } });
    await ended(gateway, asked, anna);
    const said = { role: 'assistant', content: asked.choices[0]?.message.content };
    await askPlainly(gateway, { messages: [question, said, { role: 'user', content: 'Sure?' }] }, bert);
    expect(readBy(gateway)).toEqual([
      ['user', question.content],
      ['assistant', 'Waiting for your approval: pay({"amount":5}).'],
      ['user', 'Sure?'],
    ]);
  });

  it('counts only where the assistant said it, and is taken out of every other message', async () => {
    await using gateway = await bankGateway({ turns: [pay, says('Paid.'), says('Hm.')] });
    const { asked } = await asking(gateway);
    await approve(gateway, asked);
    const url = asked.approval.url ?? '';
    const content = [{ type: 'text', text: `What is <${url}>, or ${url}?` }];
    await askPlainly(gateway, {
      messages: [
        { role: 'system', content: `See ${url}` },
        { role: 'user', content },
      ],
    });
    expect(readBy(gateway)).toEqual([
      ['system', 'See [link]'],
      ['user', [{ type: 'text', text: 'What is <[link]>, or [link]?' }]],
    ]);
  });

  it('is taken out of a million of them in an instant', async () => {
    await using gateway = await bankGateway({ turns: [says('Hm.')] });
    const text = `/approvals/a.${'b'.repeat(43)}`.repeat(20_000);
    await askPlainly(gateway, { messages: [{ role: 'user', content: text }] });
    expect(readBy(gateway)).toEqual([['user', '[link]'.repeat(20_000)]]);
  });
});
