import { afterEach, expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { backendOf, listen, testApp } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import type { FakeBrowser, FakeBrowserOptions } from '../../_support/fake-browser.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { documentWith } from '../../tools/scripted-send.ts';
import { question, readSeen } from '../gateway.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const toolServers = [{ url: 'http://10.0.0.7:8000', openapi: documentWith('now', 'later') }];

interface Meeting {
  url: string;
  browser: FakeBrowser;
  model: ScriptedModel;
  /** A chat over HTTP that names the browser's session. */
  ask(): Promise<ReturnType<typeof readSeen>>;
}

/** The whole gateway on a real port, and a browser at its socket. */
async function meet(turns: ScriptStep[][], onExecuteTool?: FakeBrowserOptions['onExecuteTool'], limitMs = '5000'): Promise<Meeting> {
  const model = new ScriptedModel(...turns);
  const app = await testApp({ BROWSER_TOOL_TIMEOUT_MS: limitMs }, { backends: [backendOf(model)] });
  closers.push(() => app.close());
  const url = await listen(app);
  const browser = await connectFakeBrowser({ url, ...(onExecuteTool === undefined ? {} : { onExecuteTool }) });
  closers.push(async () => browser.terminate());
  return {
    url,
    browser,
    model,
    async ask() {
      const body = {
        model: 'model',
        messages: [{ role: 'user', content: question }],
        stream: true,
        stream_options: { include_events: true },
        session_id: browser.sessionId(),
        tool_servers: toolServers,
      };
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
      return readSeen(await (await fetch(`${url}/v1/chat/completions`, init)).text());
    },
  };
}

const tellTime = ({ name }: JsonObject) => ({ time: name === 'now' ? '12:00' : '13:00' });
const lastRead = ({ model }: Meeting) => model.requests.at(-1)?.messages.at(-1)?.content;

it('a message frame starts a chat whose answer streams back on the socket, and whose tools its browser executes [S1-7]', async () => {
  const { browser, model } = await meet([calls(['now', { city: 'Osaka' }]), says('It is noon.')], tellTime);
  browser.send({ type: 'message', data: { model: 'model', content: question, tool_servers: toolServers } });
  const end = await browser.next('assistant_end');
  expect(browser.framesOf('execute:tool').map((frame) => frame.data)).toMatchObject([{ name: 'now', params: { city: 'Osaka' } }]);
  expect(model.requests[1]?.messages.at(-1)?.content).toBe('{\n  "time": "12:00"\n}');
  expect(browser.framesOf('assistant_chunk').map((frame) => frame.data['content'])).toEqual(['It is noon.']);
  expect(end.data).toMatchObject({ finish_reason: 'stop', content: 'It is noon.', sources: [{ source: { name: 'TOOL:now' } }] });
});

it('the frames of a chat keep their order over several rounds, and the end comes once [S1-18]', async () => {
  const turns = [
    [{ type: 'text' as const, text: 'Let me see.' }, ...calls(['now', {}], ['later', {}])],
    calls(['later', {}]),
    says('It is noon.'),
  ];
  const { browser } = await meet(turns, tellTime);
  browser.send({ type: 'message', data: { model: 'model', content: question, tool_servers: toolServers } });
  await browser.next('assistant_end');
  await new Promise((resolve) => setTimeout(resolve, 20));
  const chat = new Set(['assistant_start', 'assistant_chunk', 'tool_calls_start', 'tool_call', 'assistant_end']);
  const frames = browser.frames.filter((frame) => chat.has(frame.type));
  expect(frames.map((frame) => [frame.type, frame.data['content'] ?? frame.data['toolName'] ?? null])).toEqual([
    ['assistant_start', null],
    ['assistant_chunk', 'Let me see.'],
    ['tool_calls_start', null],
    ['tool_call', 'now'],
    ['tool_call', 'later'],
    ['tool_calls_start', null],
    ['tool_call', 'later'],
    ['assistant_chunk', '\n\n'],
    ['assistant_chunk', 'It is noon.'],
    ['assistant_end', 'Let me see.\n\nIt is noon.'],
  ]);
  expect(browser.framesOf('tool_calls_start').map((frame) => (frame.data['tools'] as JsonObject[]).map((tool) => tool['name']))).toEqual([
    ['now', 'later'],
    ['later'],
  ]);
});

it('each result is shown as soon as it is there, over the socket and over HTTP, and the model reads them in the order of its calls [S1-7]', async () => {
  const turns = [calls(['later', {}], ['now', {}]), says('Done.')];
  let shown = Promise.withResolvers<void>();
  const meeting = await meet([...turns, ...turns], async (call) => {
    if (call['name'] === 'later') await shown.promise;
    return tellTime(call);
  });
  const { browser, model } = meeting;
  browser.send({ type: 'message', data: { model: 'model', content: question, tool_servers: toolServers } });
  expect((await browser.next('tool_call')).data['toolName']).toBe('now');
  shown.resolve();
  expect((await browser.next('tool_call')).data['toolName']).toBe('later');
  await browser.next('assistant_end');
  expect(model.requests[1]?.messages.slice(-2).map((message) => message.content)).toEqual([
    '{\n  "time": "13:00"\n}',
    '{\n  "time": "12:00"\n}',
  ]);

  shown = Promise.withResolvers();
  const earlier = new Set(browser.frames);
  const asked = meeting.ask();
  const told = await browser.next('event', (frame) => !earlier.has(frame) && frame.data['type'] === 'tool.result');
  expect(told.data['data']).toMatchObject({ tool: 'now' });
  shown.resolve();
  expect((await asked).eventsOf('tool.result').map((data) => data['tool'])).toEqual(['now', 'later']);
});

it('a `cancel` without a run cancels the chats whose answers go to the session, and no others [S1-7]', async () => {
  const meeting = await meet([calls(['now', {}]), calls(['now', {}]), calls(['now', {}])]);
  const { browser } = meeting;
  const asked = meeting.ask();
  await browser.next('execute:tool');
  for (const chat_id of ['a', 'b'])
    browser.send({
      type: 'message',
      data: { model: 'model', messages: [{ role: 'user', content: question }], chat_id, tool_servers: toolServers },
    });
  const [first, second] = [await browser.next('execute:tool'), await browser.next('execute:tool')];
  expect(first.data['id']).not.toBe(second.data['id']);
  browser.send({ type: 'cancel', data: {} });
  for (const _ of ['a', 'b']) expect((await browser.next('assistant_end')).data['finish_reason']).toBe('cancelled');
  browser.answer(browser.framesOf('execute:tool')[0]?.data['id'], { result: 'noon' });
  expect((await asked).eventsOf('tool.result')).toMatchObject([{ response: 'noon' }]);
});

it('with a session a function of the request is asked from the browser, and its answer is the result [S4-20]', async () => {
  const meeting = await meet([calls(['now', { city: 'Osaka', invented: 1 }]), says('Noon.')], tellTime);
  const seen = await meeting.ask();
  expect(meeting.browser.framesOf('execute:tool').map((frame) => frame.data)).toEqual([
    expect.objectContaining({
      id: expect.stringMatching(/^[\da-f-]{32,36}$/),
      name: 'now',
      params: { city: 'Osaka' },
      server: expect.objectContaining({ url: 'http://10.0.0.7:8000', info: expect.anything() }),
      session_id: meeting.browser.sessionId(),
      timeout_ms: 5_000,
    }),
  ]);
  expect(lastRead(meeting)).toBe('[Ignored because unknown: invented. Known: city.]\n\n{\n  "time": "12:00"\n}');
  expect(seen.text).toBe('Noon.');
});

it('a socket that closes settles the call that it was asked [S4-20]', async () => {
  const meeting = await meet([calls(['now', {}]), says('Your browser has left.')]);
  const asked = meeting.ask();
  await meeting.browser.next('execute:tool');
  await meeting.browser.close();
  const seen = await asked;
  expect(seen.eventsOf('tool.result')).toMatchObject([{ error: { code: 'client_disconnected' } }]);
  expect(lastRead(meeting)).toContain('The browser disconnected');
  expect(seen.text).toBe('Your browser has left.');
});

it('a browser that does not answer within the limit settles the call as timed out [S4-20]', async () => {
  const meeting = await meet([calls(['now', {}]), says('Your browser is slow.')], undefined, '60');
  const seen = await meeting.ask();
  expect(seen.eventsOf('tool.result')).toMatchObject([{ error: { code: 'tool_timeout' } }]);
  expect(lastRead(meeting)).toBe(`{"error":"Tool 'now' timed out after 0.06s"}`);
  expect(seen.text).toBe('Your browser is slow.');
});

it('the frames of an answer have their fields at the top level and in `data`', async () => {
  const { browser } = await meet([
    [{ type: 'reasoning', text: 'Hmm.' }, ...says('It is noon.')],
    [new GatewayError('upstream_unreachable', 'Nobody is there.')],
  ]);
  for (const end of ['assistant_end', 'error']) {
    browser.send({ type: 'message', data: { model: 'model', content: question, tool_ids: [] } });
    await browser.next(end);
  }
  const flat = browser.frames.filter(({ type }) => type !== 'session' && type !== 'event');
  expect(new Set(flat.map(({ type }) => type))).toEqual(
    new Set(['assistant_start', 'reasoning_chunk', 'assistant_chunk', 'assistant_end', 'error']),
  );
  for (const { type, data, ...fields } of flat) expect({ type, fields }).toEqual({ type, fields: data });
});

it('an answer in the background streams to its session without `stream: true`', async () => {
  const rest = Promise.withResolvers<undefined>();
  const { browser, model, url } = await meet([[{ type: 'text', text: 'It is ' }, rest.promise, ...says('noon.')]]);
  const body = {
    model: 'model',
    messages: [{ role: 'user', content: question }],
    background: true,
    session_id: browser.sessionId(),
    tool_ids: [],
  };
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  expect(await (await fetch(`${url}/v1/chat/completions`, init)).json()).toMatchObject({ status: true });
  expect((await browser.next('assistant_chunk')).data['content']).toBe('It is ');
  rest.resolve(undefined);
  await browser.next('assistant_end');
  expect(model.requests.map(({ stream }) => stream)).toEqual([true]);
});
