import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { watchJobNames } from '../../_support/watch-job-names.ts';
import { limits } from '../../../src/core/limits.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import type { FakeBrowser, FakeBrowserOptions } from '../../_support/fake-browser.ts';
import { openDoor } from './socket-fixture.ts';

const browsers: FakeBrowser[] = [];
async function connectBrowser(options: FakeBrowserOptions): Promise<FakeBrowser> {
  const browser = await connectFakeBrowser(options);
  browsers.push(browser);
  return browser;
}
afterEach(() => {
  for (const browser of browsers.splice(0)) browser.terminate();
});

describe('authentication of a socket', () => {
  it.each([
    ['a bearer header', { headers: { authorization: 'Bearer ada-key' } }],
    ['x-api-key', { headers: { 'x-api-key': 'ada-key' } }],
    ['basic with the key as password', { headers: { authorization: `Basic ${Buffer.from('any:ada-key').toString('base64')}` } }],
    ['the subprotocol', { token: 'ada-key' }],
    ['a first frame', { auth: { token: 'ada-key' } }],
  ])('works by %s', async (_name, options) => {
    const { url } = await openDoor();
    const browser = await connectBrowser({ url, ...options });
    expect(browser.sessionId()).toMatch(/^[\w-]{22,}$/);
    expect(browser.socket.protocol).toBe('toolwharf.v1');
    expect(browser.framesOf('session')).toHaveLength(1);
  });

  it('never echoes the key, and needs no subprotocol', async () => {
    const { url } = await openDoor();
    const browser = await connectBrowser({ url, protocols: [], auth: { token: 'ada-key' } });
    expect(browser.socket.protocol).toBe('');
    await expect(connectBrowser({ url, protocols: ['bearer.ada-key'] })).rejects.toThrow('no subprotocol');
  });

  it('refuses a wrong key: by status where a program reads it, by close code where a page does', async () => {
    const { url } = await openDoor();
    await expect(connectBrowser({ url, headers: { authorization: 'Bearer wrong' } })).rejects.toThrow('HTTP 401');
    for (const options of [{ token: 'wrong' }, { auth: { token: 'wrong' } }, { auth: {} }]) {
      const browser = await connectBrowser({ url, ...options, waitsForSession: false });
      expect(await browser.closed).toMatchObject({ code: 4401, reason: expect.stringMatching(/page Keys|"token":"<key>"/) });
      expect(browser.frames).toEqual([]);
    }
  });

  it('refuses anything before auth', async () => {
    const { url, chats } = await openDoor();
    for (const text of ['{"type":"message","content":"hi"}', 'not json', '{"type":"auth","data":{"token":7}}']) {
      const browser = await connectBrowser({ url, waitsForSession: false });
      browser.socket.send(text);
      expect(await browser.closed).toMatchObject({
        code: 4401,
        reason: expect.stringContaining('{"type":"auth","data":{"token":"<key>"}}'),
      });
    }
    expect(chats).toEqual([]);
  });

  it('takes no more of a stranger than an auth frame is long', async () => {
    const { url } = await openDoor();
    const browser = await connectBrowser({ url, waitsForSession: false });
    browser.send({ type: 'auth', data: { token: 'ada-key', more: 'x'.repeat(10_000) } });
    expect(await browser.closed).toMatchObject({ code: 4401, reason: 'The first frame is too large for an auth frame.' });
  });

  it('lets a page in however many sockets say nothing: the oldest of those gives way', async () => {
    const { url } = await openDoor();
    const first = await connectBrowser({ url, waitsForSession: false });
    for (let count = 1; count < 256; count += 1) await connectBrowser({ url, waitsForSession: false });
    expect(first.socket.readyState).toBe(first.socket.OPEN);
    const page = await connectBrowser({ url, auth: { token: 'ada-key' } });
    expect(page.sessionId()).toMatch(/./);
    expect(await first.closed).toMatchObject({ code: 1013 });
    // The page no longer counts among them.
    const last = await connectBrowser({ url, waitsForSession: false });
    expect(browsers.filter(({ socket }) => socket.readyState === socket.OPEN)).toHaveLength(257);
    expect(last.socket.readyState).toBe(last.socket.OPEN);
  });

  // Other systems have no second loopback address.
  it.skipIf(process.platform !== 'linux')(
    'keeps a page that has not sent its auth frame yet, however many sockets another address opens',
    async () => {
      const { url } = await openDoor();
      const page = await connectBrowser({ url, waitsForSession: false });
      const silent = { url, waitsForSession: false, localAddress: '127.0.0.2' };
      const flood = await Promise.all(Array.from({ length: 300 }, () => connectBrowser(silent)));
      await expect.poll(() => flood.filter(({ socket }) => socket.readyState === socket.OPEN).length).toBeLessThanOrEqual(255);
      expect(page.socket.readyState).toBe(page.socket.OPEN);
      page.send({ type: 'auth', data: { token: 'ada-key' } });
      expect((await page.next('session')).data).toMatchObject({ session_id: expect.stringMatching(/./) });
    },
  );

  it('keeps frames that come behind the auth frame, without reading them before it is known whose they are', async () => {
    let letIn = (): void => undefined;
    const known = new Promise<void>((resolve) => (letIn = resolve));
    const { url, tokens } = await openDoor({ authenticateToken: (token) => known.then(() => tokens.get(token)) });
    const browser = await connectBrowser({ url, auth: { token: 'ada-key' }, waitsForSession: false });
    browser.send({ type: 'nonsense', data: { text: 'x'.repeat(20_000) } });
    letIn();
    await browser.next('session');
    expect((await browser.next('error')).data).toMatchObject({ code: 'invalid_frame' });
    const flooding = await connectBrowser({
      url: (await openDoor({ authenticateToken: () => new Promise(() => undefined) })).url,
      auth: { token: 'ada-key' },
      waitsForSession: false,
    });
    for (let count = 0; count < 3; count += 1) flooding.socket.send('x'.repeat(limits.socketFrameBytes / 2));
    expect(await flooding.closed).toMatchObject({ code: 1008 });
  });

  it('is not needed while the gateway is open, and a leftover key does no harm', async () => {
    const { url } = await openDoor({ isOpen: true });
    for (const options of [{}, { token: 'old' }, { headers: { authorization: 'Bearer old' } }]) {
      expect((await connectBrowser({ url, ...options })).sessionId()).not.toBe('');
    }
    const browser = await connectBrowser({ url, auth: { token: 'old' } });
    await browser.next('session');
    browser.send({ type: 'auth', data: {} });
    expect((await browser.next('error')).data).toMatchObject({ code: 'invalid_frame' });
  });

  it('closes a socket whose key is revoked, and one whose key goes while it opens', async () => {
    const { url, relay, tokens } = await openDoor();
    const browser = await connectBrowser({ url, token: 'ada-key' });
    await relay.closeSessionsOf('ada');
    expect(await browser.closed).toMatchObject({ code: 4401 });
    let isFirst = true;
    const late = await openDoor({
      authenticateToken(token) {
        const caller = isFirst ? tokens.get(token) : undefined;
        isFirst = false;
        return caller;
      },
    });
    const racing = await connectBrowser({ url: late.url, auth: { token: 'ada-key' }, waitsForSession: false });
    expect(await racing.closed).toMatchObject({ code: 4401 });
    expect(late.relay.counts().sessions).toBe(0);
  });

  it('allows a caller so many sockets, and gives a place back when one closes', async () => {
    const { url } = await openDoor();
    const open: FakeBrowser[] = [];
    for (let index = 0; index < limits.socketsPerCaller; index += 1) open.push(await connectBrowser({ url, token: 'ada-key' }));
    const refused = await connectBrowser({ url, token: 'ada-key', waitsForSession: false });
    expect(await refused.closed).toMatchObject({ code: 1013, reason: expect.stringContaining('16 sockets') });
    await connectBrowser({ url, token: 'bob-key' });
    await open[0]?.close();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await connectBrowser({ url, token: 'ada-key' });
  });
});

describe('the origin of a socket', () => {
  it.each([
    [undefined, 'let in'],
    ['own', 'let in'],
    ['https://chat.example', 'let in'],
    ['null', 'HTTP 403'],
    ['https://evil.example', 'HTTP 403'],
    ['https://chat.example.evil.example', 'HTTP 403'],
    ['http://chat.example', 'HTTP 403'],
    ['http://127.0.0.1:1', 'HTTP 403'],
    ['garbage', 'HTTP 403'],
  ])('%s: %s', async (origin, expected) => {
    for (const isOpen of [true, false]) {
      const { url } = await openDoor({ isOpen });
      const sent = origin === undefined ? {} : { origin: origin === 'own' ? url : origin };
      const result = await connectBrowser({ url, token: 'ada-key', ...sent }).then(
        () => 'let in',
        (error: Error) => error.message,
      );
      expect(result).toBe(expected);
    }
  });

  it('is free when every origin is allowed', async () => {
    const { url } = await openDoor({ allowedOrigins: ['*'] });
    await connectBrowser({ url, token: 'ada-key', origin: 'https://any.example' });
  });
});

describe('the door for plain HTTP', () => {
  it('tells what it is for', async () => {
    const { url } = await openDoor();
    const response = await fetch(`${url}/ws`);
    expect(response.status).toBe(426);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_request', message: expect.stringContaining('WebSocket') } });
  });

  it.each(['h2c', 'websocket'])('leaves other addresses to the HTTP server when a client offers an upgrade to %s', async (upgrade) => {
    const { url } = await openDoor();
    const outgoing = request(`${url}/plain`, { headers: { connection: 'upgrade', upgrade } });
    outgoing.end();
    const [response] = (await once(outgoing, 'response')) as [{ statusCode: number; resume(): void }];
    response.resume();
    expect(response.statusCode).toBe(200);
  });
});

describe('a session that is taken up', () => {
  it('continues within the grace, by the auth frame of a key', async () => {
    const { url } = await openDoor();
    const first = await connectBrowser({ url, token: 'ada-key' });
    first.terminate();
    await first.closed;
    const second = await connectBrowser({ url, auth: { token: 'ada-key', session_id: first.sessionId() } });
    expect(second.framesOf('session').map((frame) => frame.data)).toEqual([{ session_id: first.sessionId(), resumed: true }]);
  });

  it.each([
    ['an open gateway', { isOpen: true }, {}],
    ['a key in the handshake', { isOpen: false }, { token: 'ada-key' }],
  ])('continues with %s by a first frame auth after the session frame', async (_name, door, credential) => {
    const { url, relay } = await openDoor(door);
    const first = await connectBrowser({ url, ...credential });
    first.terminate();
    await first.closed;
    const second = await connectBrowser({ url, ...credential, auth: { session_id: first.sessionId() } });
    const resumed = await second.next('session');
    expect(resumed.data).toEqual({ session_id: first.sessionId(), resumed: true });
    expect(relay.counts().sessions, 'the provisional one is gone').toBe(1);
    expect(second.socket.readyState).toBe(second.socket.OPEN);
  });

  it('belongs to its caller; a stranger gets a session of his own', async () => {
    const { url } = await openDoor();
    const first = await connectBrowser({ url, token: 'ada-key' });
    const stranger = await connectBrowser({ url, auth: { token: 'bob-key', session_id: first.sessionId() } });
    expect(stranger.framesOf('session')[0]?.data).toEqual({ session_id: expect.not.stringMatching(first.sessionId()), resumed: false });
    expect(first.socket.readyState).toBe(first.socket.OPEN);
    const mixed = await connectBrowser({ url, token: 'ada-key', auth: { token: 'bob-key', session_id: first.sessionId() } });
    expect(await mixed.closed).toMatchObject({ code: 4401 });
  });

  it('closes the socket that had it', async () => {
    const { url } = await openDoor();
    const first = await connectBrowser({ url, token: 'ada-key' });
    await connectBrowser({ url, auth: { token: 'ada-key', session_id: first.sessionId() } });
    expect(await first.closed).toMatchObject({ code: 4409 });
  });
});

describe('a socket and bad manners', () => {
  it.each([
    ['text that is no JSON', 'nonsense'],
    ['an array', '[]'],
    ['no type', '{"data":{}}'],
    ['an unknown type', '{"type":"constructor"}'],
    ['an id that is an object', '{"type":"execute:tool:result","data":{"id":{"a":1}}}'],
    ['a missing id', '{"type":"execute:tool:result","data":{}}'],
    ['a run that is no id', '{"type":"cancel","run_id":7}'],
    ['deep nesting', `{"type":"message","data":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`],
    ['a binary frame', Buffer.from('{"type":"cancel","run_id":"x"}')],
  ])('is told of %s and goes on', async (_name, frame) => {
    const { url, relay } = await openDoor();
    const browser = await connectBrowser({ url, token: 'ada-key' });
    browser.socket.send(frame);
    expect((await browser.next('error')).data).toEqual({ code: 'invalid_frame', message: expect.any(String) });
    expect(await relay.sendTo(browser.sessionId(), { id: 'ada', role: 'user', isOpen: false }, { type: 'note', data: {} })).toBe(true);
    await browser.next('note');
  });

  it('is closed after twenty bad frames', async () => {
    const { url } = await openDoor();
    const browser = await connectBrowser({ url, token: 'ada-key' });
    for (let index = 0; index < 21; index += 1) browser.socket.send('x');
    expect(await browser.closed).toMatchObject({ code: 1008 });
    expect(browser.framesOf('error')).toHaveLength(20);
  });

  it('is closed when it floods', async () => {
    const { url } = await openDoor();
    const browser = await connectBrowser({ url, token: 'ada-key' });
    for (let index = 0; index < 1_000; index += 1) browser.send({ type: 'execute:tool:result', data: { id: 'x' } });
    expect(await browser.closed).toMatchObject({ code: 1008 });
  });

  it('is told of a frame that holds too much, which is parsed in a worker, and frames behind it do not overtake it', async () => {
    const { url } = await openDoor();
    const browser = await connectBrowser({ url, token: 'ada-key' });
    const workerJobs = watchJobNames();
    browser.socket.send(
      `{"type":"execute:tool:result","data":{"id":"x","result":[${Array.from({ length: 170_000 }, () => '[]').join()}]}}`,
    );
    browser.send({ type: 'behind' });
    expect((await browser.next('error')).data).toMatchObject({ code: 'invalid_frame', message: expect.stringContaining('50000 values') });
    expect((await browser.next('error')).data).toMatchObject({ message: expect.stringContaining('Unknown type "behind"') });
    expect(workerJobs).toEqual(['parseJsonJob']);
  });

  it('answers a heavy frame within the limits as any other', async () => {
    const { url, chats } = await openDoor();
    const browser = await connectBrowser({ url, token: 'ada-key' });
    const workerJobs = watchJobNames();
    const messages = Array.from({ length: 12_000 }, () => ({ role: 'user', content: 'Hello' }));
    browser.send({ type: 'message', data: { model: 'm', messages } });
    await browser.next('assistant_end');
    expect(chats[0]?.body['messages']).toHaveLength(12_000);
    expect(workerJobs).toEqual(['parseJsonJob']);
  });

  it('is closed for a frame that is too large, and the others live on', async () => {
    const { url } = await openDoor();
    const other = await connectBrowser({ url, token: 'ada-key' });
    const browser = await connectBrowser({ url, token: 'ada-key' });
    browser.socket.send('x'.repeat(limits.socketFrameBytes + 1));
    expect(await browser.closed).toMatchObject({ code: 1009 });
    expect(other.socket.readyState).toBe(other.socket.OPEN);
  });

  it('loses no frame that came before its session was open', async () => {
    const { url, chats } = await openDoor();
    const browser = await connectBrowser({ url, waitsForSession: false });
    browser.send({ type: 'auth', data: { token: 'ada-key' } });
    for (const content of ['1', '2', '3']) browser.send({ type: 'message', content, model: 'demo' });
    await browser.next('assistant_end');
    await browser.next('assistant_end');
    await browser.next('assistant_end');
    expect(browser.frames[0]?.type).toBe('session');
    expect(chats.map((chat) => (chat.body['messages'] as { content: string }[])[0]?.content)).toEqual(['1', '2', '3']);
  });

  it('is cut off when it does not answer pings', async () => {
    const { url, relay } = await openDoor({ pingIntervalMs: 20 });
    const lively = await connectBrowser({ url, token: 'ada-key' });
    const dead = await connectBrowser({ url, token: 'bob-key' });
    dead.socket.pause();
    const call = { callId: 'c', name: 't', offeredName: 't', params: {}, server: { url: 'http://x' } };
    const signal = new AbortController().signal;
    const caller = { id: 'bob', role: 'user', isOpen: false } as const;
    const run = { runId: 'r', caller, chatId: undefined, messageId: undefined, sessionId: dead.sessionId(), signal };
    const outcome = await relay.callBrowser(call, { callId: 'c', args: {}, run, signal, timeoutMs: 5_000 });
    expect(outcome).toMatchObject({ type: 'error', code: 'client_disconnected' });
    expect(lively.socket.readyState).toBe(lively.socket.OPEN);
  });

  it('is closed when it does not read', async () => {
    const { url, relay } = await openDoor();
    const browser = await connectBrowser({ url, token: 'ada-key' });
    browser.socket.pause();
    const caller = { id: 'ada', role: 'user', isOpen: false } as const;
    const frame = { type: 'note', data: { text: 'x'.repeat(512 * 1024) } };
    for (let index = 0; index < 64; index += 1) await relay.sendTo(browser.sessionId(), caller, frame);
    browser.socket.resume();
    expect(await browser.closed).toMatchObject({ code: 1013 });
    expect(browser.framesOf('note').length).toBeLessThan(32);
  });

  it('survives a raw socket that talks nonsense after its upgrade', async () => {
    const { url, relay } = await openDoor({ isOpen: true });
    const { hostname, port } = new URL(url);
    for (const bytes of [
      [0xff, 0xff, 0xff, 0xff],
      [0xc1, 0x80, 0, 0, 0, 0],
      [0x09, 0xfe, 0, 200],
      [0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe],
    ]) {
      const raw = connect(Number(port), hostname);
      raw.write(
        `GET /ws HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\n\r\n`,
      );
      await once(raw, 'data');
      raw.write(Buffer.from(bytes));
      raw.resume();
      raw.on('error', () => undefined);
      await once(raw, 'close');
    }
    await connectBrowser({ url });
    expect(relay.counts().sessions).toBeGreaterThan(0);
  });
});

describe('closing the gateway', () => {
  it('closes its sockets with 1001', async () => {
    const { url, app } = await openDoor();
    const browser = await connectBrowser({ url, token: 'ada-key' });
    await app.close();
    expect(await browser.closed).toMatchObject({ code: 1001 });
  });
});
