import { afterEach, describe, expect, it } from 'vitest';
import type { ChatEvent } from '../../../../src/core/chat/chat.ts';
import { GatewayError } from '../../../../src/core/errors.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { createInProcessBus } from '../../../../src/relay/bus.ts';
import { connectFakeBrowser } from '../../../_support/fake-browser.ts';
import type { FakeBrowser, FakeBrowserOptions } from '../../../_support/fake-browser.ts';
import { ada, openDoor } from '../../../gateway/requests/socket-fixture.ts';
import type { Script } from '../../../gateway/requests/socket-fixture.ts';
import type { RunEvent } from '../../../../src/core/chat/run-event.ts';

const browsers: FakeBrowser[] = [];
async function connectBrowser(options: FakeBrowserOptions): Promise<FakeBrowser> {
  const browser = await connectFakeBrowser({ token: 'ada-key', ...options });
  browsers.push(browser);
  return browser;
}
afterEach(() => {
  for (const browser of browsers.splice(0)) browser.terminate();
});

const source = {
  source: { name: 'TOOL:time/now' },
  document: ['12:00'],
  metadata: [{ source: 'TOOL:time/now' }],
  tool_result: true as const,
};
const event = (type: 'tool.call' | 'tool.result' | 'run.start' | 'warning', data: JsonObject): ChatEvent => ({
  type: 'run-event',
  event: { type, data } as RunEvent,
});

const aMoment = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 20));

/** A run with one round of two calls; the second fails. */
async function* useTools(_given?: unknown, whileRunning: () => Promise<unknown> = aMoment): AsyncGenerator<ChatEvent> {
  yield event('run.start', { model: 'demo' });
  yield { type: 'reasoning', text: 'Hm.' };
  yield event('tool.call', { id: 'c1', tool: 'now', args: { zone: 'UTC' }, server: 'time' });
  yield event('tool.call', { id: 'c2', tool: 'later', args: {}, server: 'time' });
  await whileRunning();
  yield event('tool.result', { id: 'c1', tool: 'now', response: { time: '12:00' }, duration_ms: 3 });
  yield { type: 'source', source };
  yield event('tool.result', { id: 'c2', tool: 'later', error: { code: 'tool_error', message: 'no' }, duration_ms: 1 });
  yield { type: 'usage', usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } };
  yield { type: 'text', text: 'It is ' };
  yield { type: 'text', text: 'noon.', choice: 0 };
  yield { type: 'text', text: 'another choice', choice: 1 };
  yield { type: 'usage', usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 } };
  yield { type: 'finish', reason: 'stop' };
}

/** Waits for the abort, and honours it. */
const waitForAbort: Script = async function* ({ signal }) {
  yield { type: 'text', text: 'Let me think' };
  await new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
};

function textOf(browser: FakeBrowser): string {
  return browser.framesOf('assistant_chunk').reduce((text, frame) => text + (frame.data['content'] as string), '');
}

describe('messages that wait for the answer before them', () => {
  it('are counted while they wait, whatever session sent them, and end where there is no room', async () => {
    const waiting: { callerId: string; size: number; controller: AbortController }[] = [];
    const { url, chats } = await openDoor({
      script: waitForAbort,
      holdWaiting(request) {
        waiting.push(request);
        return () => void waiting.splice(waiting.indexOf(request), 1);
      },
    });
    const [browser, other] = [await connectBrowser({ url }), await connectBrowser({ url })];
    browser.send({ type: 'message', data: { content: 'Think.', model: 'demo', id: 'm1', chat_id: 'chat1' } });
    await browser.next('assistant_chunk');
    expect(waiting).toEqual([]);
    other.send({ type: 'message', data: { content: 'x'.repeat(1_000), model: 'demo', id: 'm2', chat_id: 'chat1' } });
    await expect.poll(() => waiting.length).toBe(1);
    expect(waiting[0]?.callerId).toBe(ada.id);
    expect(waiting[0]?.size).toBeGreaterThan(1_000);
    waiting[0]?.controller.abort(new GatewayError('overloaded', 'No room.'));
    expect((await other.next('error')).data).toMatchObject({ code: 'overloaded', message_id: 'm2' });
    expect([waiting.length, chats.length]).toEqual([0, 1]);
  });
});

describe('a chat over the socket', () => {
  it('answers in the frames of the contract, in order [S1-17, S1-18]', async () => {
    const { url } = await openDoor({ script: useTools });
    const browser = await connectBrowser({ url });
    browser.send({ type: 'message', data: { content: 'What time is it?', model: 'demo', id: 'm1', chat_id: 'chat1' } });
    await browser.next('assistant_end');
    const [, ...frames] = browser.frames;
    expect(frames.map((frame) => frame.type)).toEqual([
      'assistant_start', 'event', 'reasoning_chunk', 'event', 'event', 'tool_calls_start',
      'event', 'tool_call', 'event', 'tool_call', 'assistant_chunk', 'assistant_chunk', 'assistant_end',
    ]); // prettier-ignore
    const of = (type: string): JsonObject[] => browser.framesOf(type).map((frame) => frame.data);
    expect(of('assistant_start')).toEqual([{ run_id: 'run_1', model: 'demo', chat_id: 'chat1', message_id: 'm1' }]);
    expect(of('event')[1]).toEqual({
      run_id: 'run_1',
      chat_id: 'chat1',
      message_id: 'm1',
      type: 'tool.call',
      data: { id: 'c1', tool: 'now', args: { zone: 'UTC' }, server: 'time' },
    });
    expect(of('tool_calls_start')).toEqual([
      {
        tools: [
          { id: 'c1', name: 'now', args: { zone: 'UTC' } },
          { id: 'c2', name: 'later', args: {} },
        ],
        run_id: 'run_1',
      },
    ]);
    expect(of('tool_call')).toEqual([
      { toolName: 'now', toolResult: '{\n  "time": "12:00"\n}', id: 'c1', run_id: 'run_1' },
      { toolName: 'later', toolResult: '{"error":"no"}', id: 'c2', run_id: 'run_1', error: { code: 'tool_error', message: 'no' } },
    ]);
    expect(of('assistant_end')).toEqual([
      {
        finish_reason: 'stop',
        usage: { prompt_tokens: 11, completion_tokens: 22, total_tokens: 33 },
        sources: [source],
        run_id: 'run_1',
        content: 'It is noon.',
      },
    ]);
  });

  it('announces calls while they run, not when they are done', async () => {
    const running = Promise.withResolvers<void>();
    const { url } = await openDoor({ script: (given) => useTools(given, () => running.promise) });
    const browser = await connectBrowser({ url });
    browser.send({ type: 'message', content: 'hi', model: 'demo' });
    await browser.next('tool_calls_start');
    expect(browser.framesOf('tool_call')).toEqual([]);
    running.resolve();
    await browser.next('tool_call');
  });

  it('can be read by a flat client: fields at the top level, as in the data', async () => {
    const { url } = await openDoor({ script: useTools });
    const browser = await connectBrowser({ url });
    browser.send({ type: 'message', content: 'hi', mode: 'function_call', model: 'demo' });
    await browser.next('assistant_end');
    for (const type of ['assistant_start', 'assistant_chunk', 'tool_calls_start', 'tool_call', 'assistant_end']) {
      for (const frame of browser.framesOf(type)) expect(frame).toEqual({ type, ...frame.data, data: frame.data });
    }
  });

  it.each([
    [
      { content: 'hi', mode: 'react' },
      { messages: [{ role: 'user', content: 'hi' }], params: { function_calling: 'react' } },
    ],
    [
      { content: [{ type: 'text', text: 'hi' }], params: { temperature: 0 }, mode: 'native' },
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }], params: { temperature: 0, function_calling: 'native' } },
    ],
    [
      {
        messages: [{ role: 'user', content: 'hi' }],
        tool_ids: ['server:time'],
        temperature: 1,
        background: true,
        stream: false,
        session_id: 'stolen',
      },
      { messages: [{ role: 'user', content: 'hi' }], tool_ids: ['server:time'], temperature: 1 },
    ],
  ])('makes a body of %j', async (fields, expected) => {
    const { url, chats } = await openDoor();
    const browser = await connectBrowser({ url });
    browser.send({ type: 'message', data: { ...fields, model: 'demo' } });
    await browser.next('assistant_end');
    expect(chats[0]?.body).toEqual({ ...expected, model: 'demo', stream: true, session_id: browser.sessionId() });
  });

  it('takes the default model, and says what is missing', async () => {
    const { url, chats } = await openDoor();
    const browser = await connectBrowser({ url });
    browser.send({ type: 'message', data: { content: 'hi', id: 'm1' } });
    expect((await browser.next('error')).data).toMatchObject({ code: 'invalid_request', param: 'model', message_id: 'm1' });
    browser.send({ type: 'message', data: { model: 'demo' } });
    expect((await browser.next('error')).data).toMatchObject({ code: 'invalid_request', param: 'content' });
    browser.send({ type: 'message', data: { model: 'demo', content: 'a', messages: [] } });
    expect((await browser.next('error')).data).toMatchObject({ code: 'invalid_request', param: 'content' });
    expect(chats).toEqual([]);
    const other = await openDoor({ defaultModel: () => Promise.resolve('first') });
    const easy = await connectBrowser({ url: other.url });
    easy.send({ type: 'message', content: 'hi' });
    expect((await easy.next('assistant_start')).data).toMatchObject({ model: 'first' });
  });

  it('tells a failure by an error frame and nothing after it; our own faults stay in the log', async () => {
    const faults = [new GatewayError('upstream_timeout', 'The backend is silent.'), new Error('secret detail')];
    const { url } = await openDoor({
      // eslint-disable-next-line require-yield
      async *script() {
        throw faults.shift() ?? new Error('none');
      },
    });
    const browser = await connectBrowser({ url });
    browser.send({ type: 'message', content: 'hi', model: 'demo' });
    expect((await browser.next('error')).data).toEqual({ code: 'upstream_timeout', message: 'The backend is silent.', run_id: 'run_1' });
    browser.send({ type: 'message', content: 'hi', model: 'demo' });
    const { data } = await browser.next('error');
    expect(data).toMatchObject({ code: 'internal_error', run_id: 'run_2' });
    expect(JSON.stringify(data)).not.toContain('secret');
    expect(browser.framesOf('assistant_end')).toEqual([]);
  });

  it("hands the caller's own calls over at the end", async () => {
    const { url } = await openDoor({
      async *script() {
        yield { type: 'tool-call', call: { id: 'c9', name: 'mine', arguments: '{"a":1}' } };
        yield { type: 'finish', reason: 'tool_calls' };
      },
    });
    const browser = await connectBrowser({ url });
    browser.send({ type: 'message', content: 'hi', model: 'demo' });
    expect((await browser.next('assistant_end')).data).toMatchObject({
      finish_reason: 'tool_calls',
      tool_calls: [{ id: 'c9', type: 'function', function: { name: 'mine', arguments: '{"a":1}' } }],
    });
  });

  it('runs a tool in the browser that asked', async () => {
    const { url } = await openDoor({
      async *script({ relay, invocation }) {
        const call = { callId: 'c', name: 'add', offeredName: 'add', params: { a: 1, b: 2 }, server: { url: 'http://here' } };
        const outcome = await relay.callBrowser(call, invocation);
        yield { type: 'text', text: JSON.stringify(outcome) };
      },
    });
    const browser = await connectBrowser({ url, onExecuteTool: ({ params }) => Number((params as JsonObject)['a']) + 2 });
    browser.send({ type: 'message', content: 'hi', model: 'demo' });
    expect((await browser.next('assistant_end')).data['content']).toBe('{"type":"result","value":3}');
  });

  it('allows a session so many chats at once', async () => {
    const { url } = await openDoor({ script: waitForAbort });
    const browser = await connectBrowser({ url });
    for (let index = 0; index < 17; index += 1) browser.send({ type: 'message', content: 'hi', model: 'demo' });
    expect((await browser.next('error')).data).toMatchObject({ code: 'overloaded' });
    expect(browser.framesOf('assistant_start').length).toBeLessThanOrEqual(16);
  });
});

describe('cancelling over the socket', () => {
  it('ends an own run with finish_reason cancelled', async () => {
    const { url, chats } = await openDoor({ script: waitForAbort });
    const browser = await connectBrowser({ url });
    browser.send({ type: 'message', content: 'hi', model: 'demo' });
    await browser.next('assistant_chunk');
    browser.send({ type: 'cancel', data: { run_id: 'run_1' } });
    expect((await browser.next('assistant_end')).data).toMatchObject({
      finish_reason: 'cancelled',
      run_id: 'run_1',
      content: 'Let me think',
    });
    expect(chats[0]?.signal.aborted).toBe(true);
  });

  it('still shows what became of the calls under way', async () => {
    const code = 'tool_cancelled';
    const { url } = await openDoor({
      async *script({ signal }) {
        for (const id of ['c1', 'c2']) yield event('tool.call', { id, tool: 'now', args: {}, server: 'time' });
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        for (const id of ['c1', 'c2']) yield event('tool.result', { id, tool: 'now', error: { code, message: 'no' }, duration_ms: 1 });
        signal.throwIfAborted();
      },
    });
    const browser = await connectBrowser({ url });
    browser.send({ type: 'message', content: 'hi', model: 'demo' });
    await browser.next('tool_calls_start');
    browser.send({ type: 'cancel', data: { run_id: 'run_1' } });
    await browser.next('assistant_end');
    expect(browser.framesOf('tool_call').map(({ data }) => data)).toMatchObject([
      { id: 'c1', error: { code } },
      { id: 'c2', error: { code } },
    ]);
  });

  it('ends no run of another caller, whose id it may know', async () => {
    const { url, chats } = await openDoor({ script: waitForAbort });
    const browser = await connectBrowser({ url });
    const stranger = await connectBrowser({ url, token: 'bob-key' });
    browser.send({ type: 'message', content: 'hi', model: 'demo' });
    await browser.next('assistant_chunk');
    stranger.send({ type: 'cancel', data: { run_id: 'run_1' } });
    expect((await stranger.next('error')).data).toMatchObject({ code: 'not_found' });
    expect(chats[0]?.signal.aborted).toBe(false);
  });

  it('reaches runs that were started elsewhere, and shows a run cancelled from elsewhere', async () => {
    const cancelled: string[] = [];
    const { url } = await openDoor({
      cancelRun: (runId) => cancelled.push(runId) > 0,
      async *script() {
        yield { type: 'text', text: 'a' };
        throw new GatewayError('run_cancelled', 'Cancelled by an administrator.');
      },
    });
    const browser = await connectBrowser({ url });
    browser.send({ type: 'cancel', data: { run_id: 'of-http' } });
    browser.send({ type: 'message', content: 'hi', model: 'demo' });
    expect((await browser.next('assistant_end')).data).toMatchObject({ finish_reason: 'cancelled' });
    expect(cancelled).toEqual(['of-http']);
    expect(browser.framesOf('error')).toEqual([]);
  });
});

describe('a chat whose socket is cut', () => {
  const slowly: Script = async function* () {
    for (let n = 0; n < 10; n += 1) {
      yield { type: 'text', text: String(n) };
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    yield { type: 'finish', reason: 'stop' };
  };

  it('goes on for the socket that takes its session up, without a gap', async () => {
    const { url } = await openDoor({ script: slowly });
    const first = await connectBrowser({ url });
    first.send({ type: 'message', content: 'hi', model: 'demo' });
    await first.next('assistant_chunk');
    await first.close();
    const second = await connectBrowser({ url, auth: { token: 'ada-key', session_id: first.sessionId() } });
    const end = await second.next('assistant_end');
    const text = textOf(first) + textOf(second);
    expect(text).toBe('0123456789');
    expect(end.data).toMatchObject({ finish_reason: 'stop', content: '0123456789' });
  });

  it('goes on for a socket on another replica', async () => {
    const bus = createInProcessBus();
    const here = await openDoor({ script: slowly, bus });
    const there = await openDoor({ bus });
    const first = await connectBrowser({ url: here.url });
    first.send({ type: 'message', content: 'hi', model: 'demo' });
    await first.next('assistant_chunk');
    await first.close();
    const second = await connectFakeBrowser({ url: there.url, auth: { token: 'ada-key', session_id: first.sessionId() } });
    browsers.push(second);
    expect(second.sessionId()).toBe(first.sessionId());
    await second.next('assistant_end');
    const text = textOf(first) + textOf(second);
    expect(text).toBe('0123456789');
  });

  it('is aborted when nobody comes back', async () => {
    const { url, chats, relay } = await openDoor({ script: waitForAbort, graceMs: 50 });
    const browser = await connectBrowser({ url });
    browser.send({ type: 'message', content: 'hi', model: 'demo' });
    await browser.next('assistant_chunk');
    browser.terminate();
    const signal = chats[0]?.signal;
    expect(signal?.aborted).toBe(false);
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(signal?.aborted).toBe(true);
    expect(await relay.sendTo(browser.sessionId(), ada, { type: 'note' })).toBe(false);
  });

  it('is aborted at once when its key is revoked', async () => {
    const { url, chats, relay } = await openDoor({ script: waitForAbort });
    const browser = await connectBrowser({ url });
    browser.send({ type: 'message', content: 'hi', model: 'demo' });
    await browser.next('assistant_chunk');
    await relay.closeSessionsOf('ada');
    expect(chats[0]?.signal.aborted).toBe(true);
  });
});
