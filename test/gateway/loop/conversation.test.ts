import { afterEach, describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../../src/core/chat/chat.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { backendOf, listen as listenOn, testApp } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import type { FakeBrowser, FakeBrowserOptions } from '../../_support/fake-browser.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { documentWith } from '../../tools/scripted-send.ts';
import { memoryNotes } from '../../_support/memory-stores.ts';
import { toolsFolder } from '../../_support/tools-folder.ts';
import { askPlainly, bankGateway, decide, linkOf, readRun, storesIn, visit } from '../approvals/approval-fixture.ts';
import { waitFor } from '../../_support/wait-for.ts';
import { functionGateway, listen } from '../functions/function-gateway.ts';
import { readSeen, selects } from '../gateway.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const tool_servers = [{ url: 'http://10.0.0.7:8000', openapi: documentWith('now', 'later') }];

interface Meeting {
  url: string;
  model: ScriptedModel;
  startKey: string;
  connect(options?: Partial<FakeBrowserOptions>): Promise<FakeBrowser>;
}

/** The whole gateway on a real port. */
async function meet(...turns: ScriptStep[][]): Promise<Meeting> {
  const model = new ScriptedModel(...turns);
  // Turns are found only in the conversation itself.
  const continuation = { ...memoryNotes(), find: async () => undefined };
  const app = await testApp({}, { backends: [backendOf(model)], noteStores: { continuation } });
  closers.push(() => app.close());
  const url = await listenOn(app);
  return {
    url,
    model,
    startKey: app.startKey ?? '',
    async connect(options = {}) {
      const browser = await connectFakeBrowser({ url, ...options });
      closers.push(async () => browser.terminate());
      return browser;
    },
  };
}

/** Sends a message and waits for the end of its answer. */
async function say(browser: FakeBrowser, content: string, more: JsonObject = {}): Promise<JsonObject> {
  browser.send({ type: 'message', data: { model: 'model', content, ...more } });
  return (await browser.next('assistant_end')).data;
}

/** A message as `role: content`, with the names of its calls. */
function told(messages: readonly ChatMessage[] | undefined): string[] {
  return (messages ?? []).map((message) => {
    const names = message.role === 'assistant' ? message.toolCalls.map(({ name }) => `${name}()`) : [];
    return [`${message.role}:`, message.content ?? '', ...names].filter((part) => part !== '').join(' ');
  });
}

const read = ({ model }: Meeting): string[] => told(model.requests.at(-1)?.messages);
const noon = () => 'noon';

describe('a conversation over the socket', () => {
  it('goes on with its user, assistant and tool messages, of its session or of its `chat_id` [S1-7]', async () => {
    const meeting = await meet(calls(['now', {}]), says('It is noon.'), says('In Osaka.'), says('Another one.'), says('First.'));
    const browser = await meeting.connect({ onExecuteTool: noon });
    await say(browser, 'What time is it?', { tool_servers });
    await say(browser, 'Where?', { tool_servers });
    const first = ['user: What time is it?', 'assistant: now()', 'tool: noon', 'assistant: It is noon.', 'user: Where?'];
    expect(read(meeting)).toEqual(first);
    await say(browser, 'Hello', { chat_id: 'other' });
    expect(read(meeting)).toEqual(['user: Hello']);
    await say(browser, 'And now?', { tool_servers });
    expect(read(meeting)).toEqual([...first, 'assistant: In Osaka.', 'user: And now?']);
  });

  it('in a prompt-based mode results stand with the questions that they answered; without tools as well [S1-7]', async () => {
    const meeting = await meet(selects(['now', {}]), says('It is noon.'), selects(), says('In Osaka.'), says('Yes.'));
    const browser = await meeting.connect({ onExecuteTool: noon });
    await say(browser, 'What time is it?', { tool_servers, mode: 'default' });
    await say(browser, 'Where?', { tool_servers, mode: 'default' });
    const first = ['user: What time is it?\n\nTool `now` Output: noon', 'assistant: It is noon.', 'user: Where?'];
    expect(read(meeting)).toEqual(first);
    await say(browser, 'Really?');
    expect(read(meeting)).toEqual([...first, 'assistant: In Osaka.', 'user: Really?']);
  });

  it('is replaced by `messages`, and keeps their system prompt [S1-7]', async () => {
    const meeting = await meet(says('One.'), says('Two.'), says('Three.'));
    const browser = await meeting.connect();
    await say(browser, 'Forget this.');
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Count.' },
    ];
    browser.send({ type: 'message', data: { model: 'model', messages } });
    await browser.next('assistant_end');
    await say(browser, 'Go on.');
    expect(read(meeting)).toEqual(['system: Be brief.', 'user: Count.', 'assistant: Two.', 'user: Go on.']);
  });

  it('goes on after a reconnection, and by `chat_id` from another session of the same caller [S1-7]', async () => {
    const meeting = await meet(says('One.'), says('Two.'), says('Three.'), says('Four.'));
    const first = await meeting.connect();
    await say(first, 'Hello');
    first.terminate();
    await first.closed;
    const again = await meeting.connect({ auth: { session_id: first.sessionId() } });
    await again.next('session', ({ data }) => data['resumed'] === true);
    await say(again, 'Again');
    expect(read(meeting)).toEqual(['user: Hello', 'assistant: One.', 'user: Again']);
    await say(again, 'Here', { chat_id: 'c' });
    await say(await meeting.connect(), 'There', { chat_id: 'c' });
    expect(read(meeting)).toEqual(['user: Here', 'assistant: Three.', 'user: There']);
  });

  it("hands calls of the client's functions over, and takes their results alone [S1-7]", async () => {
    const tools = [{ type: 'function', function: { name: 'mine', parameters: { type: 'object', properties: {} } } }];
    const meeting = await meet(calls(['now', {}]), calls(['mine', {}]), says('Both are there.'), says('Yes.'));
    const browser = await meeting.connect({ onExecuteTool: noon });
    const end = await say(browser, 'Call both.', { tool_servers, tools });
    const [call] = end['tool_calls'] as { id: string }[];
    browser.send({
      type: 'message',
      data: { model: 'model', messages: [{ role: 'tool', tool_call_id: call?.id ?? '', content: 'done' }], tool_servers, tools },
    });
    await browser.next('assistant_end');
    const both = ['user: Call both.', 'assistant: now()', 'tool: noon', 'assistant: mine()', 'tool: done'];
    expect(read(meeting)).toEqual(both);
    await say(browser, 'Sure?', { tool_servers, tools });
    expect(read(meeting)).toEqual([...both, 'assistant: Both are there.', 'user: Sure?']);
  });

  it.each([true, false])('gives the model back what it wants with its calls, with functions of the gateway: %s', async (hasServer) => {
    const tools = [{ type: 'function', function: { name: 'mine', parameters: { type: 'object', properties: {} } } }];
    const body = { tools, ...(hasServer && { tool_servers }) };
    const signed = { extra_content: { google: { thought_signature: 'c2ln' } } };
    const meeting = await meet(
      [
        { type: 'reasoning', text: 'I have ', field: 'reasoning' },
        { type: 'reasoning', text: 'to act.', field: 'reasoning' },
        { type: 'thought', fields: { reasoning_details: [1] } },
        { type: 'tool-call', call: { id: 'c1', name: 'mine', arguments: '{}', extra: signed } },
        { type: 'finish', reason: 'tool_calls' },
      ],
      says('Done.'),
    );
    const browser = await meeting.connect();
    await say(browser, 'Call it.', body);
    const messages = [{ role: 'tool', tool_call_id: 'c1', content: 'done' }];
    browser.send({ type: 'message', data: { model: 'model', messages, ...body } });
    await browser.next('assistant_end');
    expect(meeting.model.requests[1]?.messages[1]).toMatchObject({
      toolCalls: [{ id: 'c1', extra: signed }],
      extra: { reasoning: 'I have to act.', reasoning_details: [1] },
    });
  });

  it('answers two messages at once one after the other, and the second knows the first answer [S1-7]', async () => {
    const meeting = await meet(calls(['now', {}]), says('It is noon.'), says('In Osaka.'));
    const browser = await meeting.connect();
    browser.send({ type: 'message', data: { model: 'model', content: 'What time is it?', tool_servers } });
    browser.send({ type: 'message', data: { model: 'model', content: 'Where?', tool_servers } });
    browser.answer((await browser.next('execute:tool')).data['id'], { result: 'noon' });
    await browser.next('assistant_end');
    expect((await browser.next('assistant_end')).data['content']).toBe('In Osaka.');
    expect(read(meeting).at(-2)).toBe('assistant: It is noon.');
  });

  it('knows of an answer that failed, and what its functions did, so that the user can say "try again" [S1-7]', async () => {
    const meeting = await meet(calls(['now', {}]), [new Error('broken')], says('It is noon.'));
    const browser = await meeting.connect({ onExecuteTool: noon });
    browser.send({ type: 'message', data: { model: 'model', content: 'What time is it?', tool_servers } });
    await browser.next('error');
    await say(browser, 'Try again.', { tool_servers });
    expect(read(meeting)).toEqual([
      'user: What time is it?',
      'assistant: now()',
      'tool: noon',
      'assistant: The answer failed.',
      'user: Try again.',
    ]);
  });

  it('has an answer to each message, also where the model gave none [S1-7]', async () => {
    const silent = [{ type: 'finish', reason: 'stop' } as const];
    const meeting = await meet(silent, says('Yes.'));
    const browser = await meeting.connect();
    await say(browser, 'Hello?');
    await say(browser, 'Are you there?');
    expect(read(meeting)).toEqual(['user: Hello?', 'assistant: There was no answer.', 'user: Are you there?']);
  });
});

it('another caller with the same `chat_id` has another conversation, and interrupts nobody else [S1-7, S3-8]', async () => {
  const meeting = await meet([{ type: 'text', text: 'Hm' }, new Promise(() => undefined)], says('Hello, Bob.'), says('Bob again.'));
  const create = async (name: string, role: string, key: string): Promise<string> => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: JSON.stringify({ name, role }),
    };
    return ((await (await fetch(`${meeting.url}/api/keys`, init)).json()) as { key: string }).key;
  };
  const admin = await create('admin', 'admin', meeting.startKey);
  const [ada, bob] = [
    await meeting.connect({ token: await create('ada', 'user', admin) }),
    await meeting.connect({ token: await create('bob', 'user', admin) }),
  ];
  ada.send({ type: 'message', data: { model: 'model', content: 'I am Ada.', chat_id: 'c' } });
  await ada.next('assistant_chunk');
  expect((await say(bob, 'I am Bob.', { chat_id: 'c', interrupt: true }))['content']).toBe('Hello, Bob.');
  await say(bob, 'Who am I?', { chat_id: 'c' });
  expect(read(meeting)).toEqual(['user: I am Bob.', 'assistant: Hello, Bob.', 'user: Who am I?']);
  expect(ada.framesOf('assistant_end')).toEqual([]);
  ada.send({ type: 'cancel', data: {} });
  await ada.next('assistant_end');
});

describe('a conversation over the socket, cut off', () => {
  it('knows of a cancelled answer as far as it came [S1-7]', async () => {
    const meeting = await meet([{ type: 'text', text: 'It is' }, new Promise(() => undefined)], says('noon.'));
    const browser = await meeting.connect();
    browser.send({ type: 'message', data: { model: 'model', content: 'What time is it?' } });
    await browser.next('assistant_chunk');
    browser.send({ type: 'cancel', data: {} });
    await browser.next('assistant_end');
    await say(browser, 'Go on.');
    expect(read(meeting)).toEqual(['user: What time is it?', 'assistant: It is', 'user: Go on.']);
  });

  it('goes on after a restart of the gateway [S1-7]', async () => {
    using folder = toolsFolder({});
    const model = new ScriptedModel(says('One.'), says('Two.'));
    for (const content of ['Hello', 'Again']) {
      const stores = storesIn(folder.path);
      const app = await testApp({}, { backends: [backendOf(model)], ...stores });
      const browser = await connectFakeBrowser({ url: await listenOn(app) });
      await say(browser, content, { chat_id: 'c' });
      await browser.close();
      await app.close();
      await stores.close();
    }
    expect(told(model.requests.at(-1)?.messages)).toEqual(['user: Hello', 'assistant: One.', 'user: Again']);
  });

  it('goes on under a preset to which it was handed over [S1-7]', async () => {
    const meeting = await meet(calls(['transfer_to_agent', { agent: 'expert' }]), says('I am the expert.'), says('Still here.'));
    const headers = { 'content-type': 'application/json', 'x-api-key': meeting.startKey };
    for (const body of [
      { id: 'expert', base_model: 'model', tools: [] },
      { id: 'desk', base_model: 'model', tools: [], sub_agents: ['expert'] },
    ])
      expect((await fetch(`${meeting.url}/api/presets`, { method: 'POST', headers, body: JSON.stringify(body) })).status).toBe(201);
    const browser = await meeting.connect();
    await say(browser, 'Hello', { model: 'desk' });
    await say(browser, 'Who are you?', { model: 'expert' });
    expect(read(meeting)).toEqual([expect.stringContaining('user: Hello'), 'assistant: I am the expert.', 'user: Who are you?']);
  });
});

describe('a message that interrupts', () => {
  const unfinished = expect.stringMatching(/^tool: .*error/) as string;

  it.each([['of its session', {}] as const, ['of its `chat_id`', { chat_id: 'c' }] as const])(
    'cancels the running answer over the socket %s, and the history says what its functions did [S3-8]',
    async (_of, chat) => {
      const meeting = await meet(calls(['now', {}], ['later', {}]), says('I was interrupted.'));
      const browser = await meeting.connect();
      browser.send({ type: 'message', data: { model: 'model', content: 'What time is it?', tool_servers, ...chat } });
      const [one, two] = [await browser.next('execute:tool'), await browser.next('execute:tool')];
      browser.answer((one.data['name'] === 'now' ? one : two).data['id'], { result: 'noon' });
      await browser.next('tool_call');
      browser.send({ type: 'message', data: { model: 'model', content: 'Stop.', interrupt: true, tool_servers, ...chat } });
      expect((await browser.next('assistant_end')).data['finish_reason']).toBe('cancelled');
      expect((await browser.next('assistant_end')).data['content']).toBe('I was interrupted.');
      expect(read(meeting)).toEqual([
        'user: What time is it?',
        'assistant: now() later()',
        'tool: noon',
        unfinished,
        'assistant: The answer was cancelled.',
        'user: Stop.',
      ]);
    },
  );

  async function overHttp({ url }: Meeting, messages: JsonObject[], more: JsonObject): Promise<ReturnType<typeof readSeen>> {
    const body = { model: 'model', messages, stream: true, stream_options: { include_events: true }, tool_servers, ...more };
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    return readSeen(await (await fetch(`${url}/v1/chat/completions`, init)).text());
  }

  it('cancels the running answer over HTTP, and is asked with what its functions did before the new message [S3-8]', async () => {
    const meeting = await meet(
      calls(['now', {}], ['later', {}]),
      calls(['now', {}]),
      says('I was interrupted.'),
      says('The other goes on.'),
    );
    const browser = await meeting.connect();
    const session = { session_id: browser.sessionId() };
    const question = { role: 'user', content: 'What time is it?' };
    const first = overHttp(meeting, [question], { ...session, chat_id: 'c' });
    const [one, two] = [await browser.next('execute:tool'), await browser.next('execute:tool')];
    const other = overHttp(meeting, [question], { ...session, chat_id: 'd' });
    const third = await browser.next('execute:tool');
    browser.answer((one.data['name'] === 'now' ? one : two).data['id'], { result: 'noon' });
    await browser.next('event', ({ data }) => data['type'] === 'tool.result');
    const stop = { role: 'user', content: 'Stop.' };
    const next = await overHttp(meeting, [question, stop], { ...session, chat_id: 'c', interrupt: true });
    expect((await first).raw).toContain('run_cancelled');
    expect(next.text).toBe('I was interrupted.');
    expect(read(meeting)).toEqual([
      'user: What time is it?',
      'assistant: now() later()',
      'tool: noon',
      unfinished,
      'assistant: The answer was cancelled.',
      'user: Stop.',
    ]);
    browser.answer(third.data['id'], { result: 'noon' });
    expect((await other).text).toBe('The other goes on.');
  });

  it('without a running answer is an ordinary message; a wrong type is refused, and no backend gets the field [S3-8]', async () => {
    const meeting = await meet(says('Hello.'));
    const hello = [{ role: 'user', content: 'Hello' }];
    expect((await overHttp(meeting, hello, { chat_id: 'c', interrupt: true })).text).toBe('Hello.');
    expect(meeting.model.requests[0]?.parameters).not.toHaveProperty('interrupt');
    expect((await overHttp(meeting, hello, { chat_id: 'c', interrupt: 'yes' })).raw).toContain('interrupt');
  });

  it('cancels an answer that waits for an approval, and leaves the chats of others alone [S3-8]', async () => {
    await using gateway = await bankGateway({
      turns: [calls(['pay', { amount: 5 }]), calls(['pay', { amount: 5 }]), says('It was not paid.')],
    });
    const waiting = await askPlainly(gateway, { chat_id: 'c' });
    const other = await askPlainly(gateway, { chat_id: 'd' });
    const messages = [
      { role: 'user', content: 'Pay 5, please.' },
      { role: 'assistant', content: waiting.choices[0]?.message.content ?? '' },
      { role: 'user', content: 'Do not.' },
    ];
    await askPlainly(gateway, { chat_id: 'c', interrupt: true, messages });
    expect((await readRun(gateway, waiting)).status).toBe('cancelled');
    expect((await readRun(gateway, other)).status).toBe('waiting');
    expect((await decide(gateway, waiting)).statusCode).toBe(409);
    expect(told(gateway.model.requests.at(-1)?.messages)).toEqual([
      'user: Pay 5, please.',
      'assistant: pay()',
      expect.stringContaining('cancelled before this call was approved'),
      'assistant: It was cancelled and not run.',
      'user: Do not.',
    ]);
  });

  it('cancels an answer that goes on after an approval, and tells what it did once [S3-8]', async () => {
    const turns = [calls(['pay', { amount: 5 }]), [{ type: 'text' as const, text: 'Paid' }, new Promise(() => undefined)], says('Yes.')];
    await using gateway = await bankGateway({ turns });
    const asked = await askPlainly(gateway, { chat_id: 'c' });
    await visit(gateway, linkOf(asked), { form: { decision: 'approve' } });
    await waitFor(() => expect(gateway.model.requests).toHaveLength(2));
    const messages = [
      { role: 'user', content: 'Pay 5, please.' },
      { role: 'assistant', content: asked.choices[0]?.message.content ?? '' },
      { role: 'user', content: 'Is it paid?' },
    ];
    await askPlainly(gateway, { chat_id: 'c', interrupt: true, messages });
    expect((await readRun(gateway, asked)).status).toBe('cancelled');
    expect(told(gateway.model.requests.at(-1)?.messages)).toEqual([
      'user: Pay 5, please.',
      'assistant: pay()',
      expect.stringContaining('"paid": true'),
      'assistant: The answer after these calls was cancelled.',
      'user: Is it paid?',
    ]);
  });

  it('waits for critical sections, in prompt-based mode as well, whose history is text [S3-8]', async () => {
    using heard = listen();
    const tool = `
import { defineTool } from 'toolwharf';
export default defineTool({
  name: 'book', description: 'Books', parameters: { type: 'object', properties: {} },
  execute: (_, { critical }) => critical(async () => {
    await new Promise((resolve) => globalThis.tell(resolve));
    return 'booked';
  }),
});`;
    const turns = [selects(['book', {}]), selects(), says('It is booked.')];
    await using gateway = await functionGateway({ 'book.mjs': tool }, { turns });
    const question = { role: 'user', content: 'Book it.' };
    const chat = { chat_id: 'c', params: { function_calling: 'default' } };
    const first = gateway.ask({ messages: [question], ...chat });
    await waitFor(() => expect(heard.heard).toHaveLength(1));
    const again = (content: string) => gateway.ask({ messages: [question, { role: 'user', content }], ...chat, interrupt: true });
    const overtaken = again('Is it?');
    const next = again('Is it done?');
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(gateway.model.requests).toHaveLength(1);
    (heard.heard[0] as () => void)();
    expect((await first).raw).toContain('run_cancelled');
    expect((await overtaken).raw).toContain('run_cancelled');
    expect((await next).text).toBe('It is booked.');
    expect(told(gateway.model.requests.at(-1)?.messages)).toEqual([
      'user: Book it.\n\nTool `book` Output: booked',
      'assistant: The answer was cancelled.',
      'user: Is it done?',
    ]);
  });
});
