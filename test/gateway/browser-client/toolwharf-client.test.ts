import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { BrowserCall } from '../../../src/core/tools/browser-call.ts';
import type { ToolOutcome } from '../../../src/core/tools/tool.ts';
import { ada, openDoor } from '../requests/socket-fixture.ts';
import type { Door, DoorOptions, Script } from '../requests/socket-fixture.ts';
import { ExactNumber } from '../../../src/shared/json/exact-number.ts';

interface Frame {
  type: string;
  data: JsonObject;
}
interface Chat extends AsyncIterable<Frame> {
  done: Promise<{ content: string; finish_reason: string; sources: JsonObject[] }>;
  runId(): string | undefined;
  cancel(): void;
}
interface Client {
  ready(): Promise<string>;
  sessionId(): string | undefined;
  chat(message: string | JsonObject, handlers?: { onText?: (text: string) => void }): Chat;
  follow(runId: string): Chat;
  cancel(runId?: string): void;
  close(): void;
}
const module = (await import(new URL('../../../src/client/toolwharf-client.js', import.meta.url).href)) as {
  connect(options: Record<string, unknown>): Client;
};

function connectClient(options: Record<string, unknown>): Client {
  const client = module.connect({ token: 'ada-key', retryMs: 10, ...options });
  onTestFinished(() => client.close());
  return client;
}

async function openDoorAndClient(door: DoorOptions, options: Record<string, unknown> = {}): Promise<Door & { client: Client }> {
  const opened = await openDoor(door);
  return { ...opened, client: connectClient({ url: opened.url, ...options }) };
}

/** A tool server of the user's own network. */
async function startToolServer(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const browserCall = (url: string, request: Partial<BrowserCall['request']> = {}): BrowserCall => ({
  callId: 'c',
  name: 'get_thing',
  offeredName: 'get_thing',
  params: { n: 1 },
  server: { url },
  request: { method: 'GET', url: `${url}/thing`, headers: { accept: 'application/json' }, ...request },
});

/** A run that makes one call and says its outcome. */
const calling = (call: BrowserCall, timeoutMs = 2_000): Script =>
  async function* ({ relay, invocation }) {
    yield { type: 'text', text: JSON.stringify(await relay.callBrowser(call, { ...invocation, timeoutMs })) };
    yield { type: 'finish', reason: 'stop' };
  };

async function outcomeOf(client: Client): Promise<ToolOutcome> {
  return JSON.parse((await client.chat({ content: 'go', model: 'demo' }).done).content) as ToolOutcome;
}

describe('the browser client: connecting', () => {
  it.each([
    ['a key', false, { token: 'ada-key' }],
    ['an open gateway', true, { token: undefined }],
  ])('gets a session with %s', async (_name, isOpen, options) => {
    const { client } = await openDoorAndClient({ isOpen }, options);
    expect(await client.ready()).toBe(client.sessionId());
  });

  it('sends a key that fits into no subprotocol as its first frame', async () => {
    const { client } = await openDoorAndClient(
      { authenticateToken: (token) => (token === 'a key/with=signs' ? ada : undefined) },
      { token: 'a key/with=signs' },
    );
    await client.ready();
  });

  it('gives up with a wrong key, and says so', async () => {
    const statuses: string[] = [];
    const { client } = await openDoorAndClient({}, { token: 'wrong', onStatus: (status: string) => statuses.push(status) });
    await expect(client.ready()).rejects.toThrow('key');
    await expect(client.chat('hi').done).rejects.toMatchObject({ code: 'client_unavailable' });
    expect(statuses).toEqual(['connecting', 'closed']);
  });

  it.each([true, false])('takes its session up again when it is cut off (open gateway: %s)', async (isOpen) => {
    const sessions: [string, boolean][] = [];
    const onSession = (id: string, isResumed: boolean): void => void sessions.push([id, isResumed]);
    const { cutConnections, client } = await openDoorAndClient({ isOpen }, { onSession, ...(isOpen ? { token: undefined } : {}) });
    const id = await client.ready();
    cutConnections();
    await expect
      .poll(() => sessions)
      .toEqual([
        [id, false],
        [id, true],
      ]);
  });

  it('leaves a session that another connection has taken up', async () => {
    const { url, client } = await openDoorAndClient({});
    const id = await client.ready();
    const { connectFakeBrowser } = await import('../../_support/fake-browser.ts');
    const other = await connectFakeBrowser({ url, auth: { token: 'ada-key', session_id: id } });
    await expect
      .poll(async () =>
        client.ready().then(
          () => 'there',
          (error: Error) => error.message,
        ),
      )
      .toContain('another connection');
    other.terminate();
  });
});

describe('the browser client: numbers with more digits than JavaScript keeps', () => {
  it('reach the page as texts, and go back from a server as they were written', async () => {
    const url = await startToolServer((_request, response) =>
      response.setHeader('access-control-allow-origin', '*').end('{"id":9007199254740993,"price":0.12345678901234567890,"n":5}'),
    );
    const call = { ...browserCall(url), params: { id: new ExactNumber('9007199254740993') } };
    const frames: Frame[] = [];
    const { client } = await openDoorAndClient(
      { script: calling(call) },
      { servers: { [url]: {} }, onFrame: (frame: Frame) => void frames.push(frame) },
    );
    const { content } = await client.chat({ content: 'go', model: 'demo' }).done;
    expect(content).toContain('{"id":9007199254740993,"price":0.12345678901234567890,"n":5}');
    expect(frames.find(({ type }) => type === 'execute:tool')?.data['params']).toEqual({ id: '9007199254740993' });
  });
});

describe('the browser client: chats', () => {
  it('go on in another client that takes up the session', async () => {
    const more = Promise.withResolvers<void>();
    const { url, client } = await openDoorAndClient({
      async *script() {
        yield { type: 'text', text: 'Hel' };
        await more.promise;
        yield { type: 'text', text: 'lo' };
        yield { type: 'finish', reason: 'stop' };
      },
    });
    const chat = client.chat({ content: 'hi', model: 'demo' });
    for await (const { type } of chat) if (type === 'assistant_chunk') break;
    const [sessionId, runId = ''] = [client.sessionId(), chat.runId()];
    client.close();
    const other = connectClient({ url, sessionId });
    const followed = other.follow(runId);
    expect(await other.ready()).toBe(sessionId);
    more.resolve();
    expect(await followed.done).toMatchObject({ content: 'Hello', finish_reason: 'stop' });
    // Of a session that is gone nothing more comes.
    const late = connectClient({ url, sessionId: 'gone' });
    await expect(late.follow(runId).done).rejects.toMatchObject({ code: 'client_disconnected' });
    const stranger = connectClient({ url, sessionId, token: 'bob-key' });
    await expect(stranger.follow(runId).done).rejects.toMatchObject({ code: 'client_disconnected' });
  });

  it('streams by callback, by iteration and as a whole', async () => {
    const { client, chats } = await openDoorAndClient({});
    const texts: string[] = [];
    const chat = client.chat({ content: 'hi', model: 'demo', mode: 'native' }, { onText: (text) => texts.push(text) });
    const types: string[] = [];
    for await (const frame of chat) types.push(frame.type);
    expect(types).toEqual(['assistant_start', 'assistant_chunk', 'assistant_chunk', 'assistant_end']);
    expect(texts).toEqual(['Hel', 'lo']);
    expect(await chat.done).toMatchObject({ content: 'Hello', finish_reason: 'stop' });
    expect(chats[0]?.body).toMatchObject({ params: { function_calling: 'native' }, messages: [{ role: 'user', content: 'hi' }] });
  });

  it('tells chats apart that run at the same time', async () => {
    const { client } = await openDoorAndClient({
      async *script({ body }) {
        const [message] = body['messages'] as { content: string }[];
        for (let n = 0; n < 3; n += 1) {
          await new Promise((resolve) => setTimeout(resolve, 1));
          yield { type: 'text', text: message?.content ?? '' };
        }
      },
    });
    const answers = await Promise.all(['a', 'b', 'c'].map((content) => client.chat({ content, model: 'demo' }).done));
    expect(answers.map((answer) => answer.content)).toEqual(['aaa', 'bbb', 'ccc']);
  });

  it('fails with the gateway’s code, in `done` and in the loop', async () => {
    const { client } = await openDoorAndClient({});
    const chat = client.chat('no model');
    await expect(chat.done).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(Array.fromAsync(chat)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('cancels, also before the answer has begun', async () => {
    const { client } = await openDoorAndClient({
      async *script({ signal }) {
        yield { type: 'text', text: 'hm' };
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      },
    });
    const early = client.chat({ content: 'hi', model: 'demo' });
    early.cancel();
    expect(await early.done).toMatchObject({ finish_reason: 'cancelled' });
    const late = client.chat({ content: 'hi', model: 'demo' }, { onText: () => late.cancel() });
    expect(await late.done).toMatchObject({ finish_reason: 'cancelled', content: 'hm' });
  });

  it('cancels all its chats at once', async () => {
    const { client } = await openDoorAndClient({
      async *script({ signal }) {
        yield { type: 'text', text: 'hm' };
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      },
    });
    const begun = ['a', 'b'].map((chat_id) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      return { promise, chat: client.chat({ content: 'hi', model: 'demo', chat_id }, { onText: () => resolve() }) };
    });
    await Promise.all(begun.map(({ promise }) => promise));
    client.cancel();
    for (const { chat } of begun) expect(await chat.done).toMatchObject({ finish_reason: 'cancelled' });
  });

  it('goes on with a chat over a cut connection', async () => {
    const { cutConnections, client } = await openDoorAndClient({
      async *script() {
        for (const text of ['a', 'b', 'c', 'd']) {
          yield { type: 'text', text };
          await new Promise((resolve) => setTimeout(resolve, 25));
        }
      },
    });
    let cuts = 0;
    const onText = (): void => {
      if (cuts > 0) return;
      cuts += 1;
      cutConnections();
    };
    expect(await client.chat({ content: 'hi', model: 'demo' }, { onText }).done).toMatchObject({ content: 'abcd' });
  });

  it('fails a chat whose session is gone', async () => {
    const { client, relay } = await openDoorAndClient({
      async *script({ signal }) {
        yield { type: 'text', text: 'hm' };
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      },
    });
    const chat = client.chat({ content: 'hi', model: 'demo' }, { onText: () => void relay.closeSessionsOf('ada') });
    await expect(chat.done).rejects.toMatchObject({ code: 'client_disconnected' });
  });
});

describe('the browser client: tools', () => {
  it('sends bytes as bytes', async () => {
    const seen = Promise.withResolvers<Buffer>();
    const server = await startToolServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        seen.resolve(Buffer.concat(chunks));
        response.end('ok');
      });
    });
    const headers = { 'content-type': 'application/octet-stream' };
    const call = browserCall(server, { method: 'PUT', url: `${server}/file`, headers, body: 'AP+A', bodyEncoding: 'base64' });
    const { client } = await openDoorAndClient({ script: calling(call) }, { servers: { [server]: {} } });
    expect(await outcomeOf(client)).toEqual({ type: 'result', value: 'ok' });
    expect(await seen.promise).toEqual(Buffer.from([0, 255, 128]));
  });

  it('sends the prepared request with what the page lends', async () => {
    const seen: JsonObject[] = [];
    const server = await startToolServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { authorization, 'content-type': type } = request.headers;
        seen.push({ method: request.method, url: request.url, authorization, type, body: Buffer.concat(chunks).toString() });
        response.setHeader('content-type', 'application/json').end('{"ok":true}');
      });
    });
    const call = browserCall(server, {
      method: 'POST',
      url: `${server}/api/things?x=1`,
      headers: { 'content-type': 'application/json', authorization: 'Bearer of-the-gateway' },
      body: '{"n":1}',
    });
    const servers = { [`${server}/api/`]: { headers: () => Promise.resolve({ Authorization: 'Bearer mine' }) } };
    const { client } = await openDoorAndClient({ script: calling(call) }, { servers });
    expect(await outcomeOf(client)).toEqual({ type: 'result', value: { ok: true } });
    expect(seen).toEqual([
      { method: 'POST', url: '/api/things?x=1', authorization: 'Bearer mine', type: 'application/json', body: '{"n":1}' },
    ]);
  });

  it.each([
    ['plain text', (response: ServerResponse) => response.end('sunny'), { type: 'result', value: 'sunny' }],
    ['nothing', (response: ServerResponse) => response.writeHead(204).end(), { type: 'result', value: null }],
    [
      'an error status',
      (response: ServerResponse) => response.writeHead(404).end('{"detail":"no such thing"}'),
      { type: 'error', code: 'tool_error', message: 'HTTP 404 Not Found', detail: { status: 404, body: { detail: 'no such thing' } } },
    ],
    [
      'too much',
      (response: ServerResponse) => response.end('x'.repeat(2_000)),
      { type: 'error', code: 'tool_error', message: expect.stringContaining('too large') },
    ],
  ])('reads %s', async (_name, respond, expected) => {
    const server = await startToolServer((_request, response) => void respond(response));
    const { client } = await openDoorAndClient(
      { script: calling(browserCall(server)) },
      { servers: { [server]: {} }, maxResultBytes: 1_000 },
    );
    expect(await outcomeOf(client)).toEqual(expected);
  });

  it.each([
    ['another origin', 'http://127.0.0.1:1/thing'],
    ['a sibling path', '{server}/apix/thing'],
    ['a path above', '{server}/thing'],
    ['dots', '{server}/api/../thing'],
    ['encoded dots', '{server}/api/%2e%2e/thing'],
    ['encoded slashes', '{server}/api/..%2fthing'],
    ['a name before the host', 'http://{host}@127.0.0.1:1/api/thing'],
  ])('sends nothing to %s, whatever the gateway says', async (_name, template) => {
    let requests = 0;
    const server = await startToolServer((_request, response) => {
      requests += 1;
      response.end('{}');
    });
    const url = template.replace('{server}', server).replace('{host}', new URL(server).host);
    const { client } = await openDoorAndClient({ script: calling(browserCall(server, { url })) }, { servers: { [`${server}/api`]: {} } });
    expect(await outcomeOf(client)).toMatchObject({ type: 'error', code: 'tool_error', message: expect.stringContaining('not allowed') });
    expect(requests).toBe(0);
  });

  it('says that the outcome is unknown, and what to do, when it may not read the answer', async () => {
    const server = await startToolServer((request) => request.socket.destroy());
    const { client } = await openDoorAndClient({ script: calling(browserCall(server)) }, { servers: { [server]: {} } });
    const message = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+ did not return an answer .* the call may have succeeded.*CORS/);
    expect(await outcomeOf(client)).toEqual({ type: 'error', code: 'tool_error', message });
  });

  it('follows no redirect, which could carry credentials elsewhere', async () => {
    const paths: (string | undefined)[] = [];
    const server = await startToolServer((request, response) => {
      paths.push(request.url);
      response.writeHead(302, { location: '/elsewhere' }).end();
    });
    const { client } = await openDoorAndClient({ script: calling(browserCall(server)) }, { servers: { [server]: {} } });
    expect(await outcomeOf(client)).toMatchObject({ type: 'error', code: 'tool_error' });
    expect(paths).toEqual(['/thing']);
  });

  it('asks the page about other servers, and lends them nothing', async () => {
    const server = await startToolServer((_request, response) => response.end('"ok"'));
    const asked: string[] = [];
    const allowServer = (url: string): boolean => asked.push(url) > 0;
    const { client } = await openDoorAndClient({ script: calling(browserCall(server)) }, { allowServer });
    expect(await outcomeOf(client)).toEqual({ type: 'result', value: 'ok' });
    expect(asked).toEqual([`${server}/thing`]);
  });

  it.each([
    ['a result', (params: JsonObject) => ({ doubled: Number(params['n']) * 2 }), { type: 'result', value: { doubled: 2 } }],
    ['a failure', () => Promise.reject(new Error('no luck')), { type: 'error', code: 'tool_error', message: 'no luck' }],
    ['nothing', () => undefined, { type: 'result', value: null }],
    ['what is no JSON', () => 1n, { type: 'error', code: 'tool_error', message: expect.stringContaining('BigInt') }],
    ['a thrown text', () => Promise.reject('no luck'), { type: 'error', code: 'tool_error', message: 'no luck' }],
  ])('runs a function of the page: %s', async (_name, run, expected) => {
    const { request: _request, ...call } = browserCall('http://page');
    const { client } = await openDoorAndClient({ script: calling(call) }, { functions: { get_thing: run } });
    expect(await outcomeOf(client)).toEqual(expected);
  });

  it('says when the page has no such function', async () => {
    const { request: _request, ...call } = browserCall('http://page');
    const { client } = await openDoorAndClient({ script: calling({ ...call, name: 'constructor' }) });
    expect(await outcomeOf(client)).toMatchObject({ code: 'tool_error', message: "This page has no function 'constructor'." });
  });

  it('aborts a request that the gateway no longer wants', async () => {
    const { promise: left, resolve } = Promise.withResolvers<string>();
    const server = await startToolServer((request) => request.once('close', () => resolve('left')));
    const { client } = await openDoorAndClient({ script: calling(browserCall(server), 80) }, { servers: { [server]: {} } });
    expect(await outcomeOf(client)).toMatchObject({ code: 'tool_timeout' });
    expect(await left).toBe('left');
  });
});
