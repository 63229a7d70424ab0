import { getEventListeners } from 'node:events';

import { afterEach, describe, expect, it } from 'vitest';

import { closeAll, openDoor, settle, startPeer, startServer, textOf } from './peers.ts';

afterEach(closeAll);

const chunkedHead = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

describe('a request', () => {
  it('arrives as it was given, with no more than the connection needs', async () => {
    const peer = await startPeer((socket) => socket.end('HTTP/1.1 204 No Content\r\n\r\n'));
    const body = new TextEncoder().encode('{"ä":1}');
    const response = await openDoor().send({
      url: `${peer.origin}/a%2Fb/./c?x=1&y=a b#fragment`,
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Api-Key': 'k' },
      body,
    });
    expect(response.status).toBe(204);
    expect(await textOf(response)).toBe('');
    expect(Buffer.from(peer.received(), 'latin1').toString()).toBe(
      [
        'POST /a%2Fb/c?x=1&y=a%20b HTTP/1.1',
        `host: 127.0.0.1:${peer.port}`,
        'connection: keep-alive',
        'content-type: application/json',
        'x-api-key: k',
        'accept-encoding: identity',
        `content-length: ${body.byteLength}`,
        '',
        '{"ä":1}',
      ].join('\r\n'),
    );
  });
});

it('carries its trace as headers, unless it has a trace of its own', async () => {
  const sent: unknown[] = [];
  const server = await startServer(({ headers: { traceparent, tracestate } }, response) => {
    sent.push([traceparent, tracestate]);
    response.end();
  });
  const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00', tracestate: 'vendor=1' };
  const headers = Object.freeze({ 'x-api-key': 'k' });
  await openDoor().send({ url: server.origin, headers, trace });
  await openDoor().send({ url: server.origin, headers });
  await openDoor().send({ url: server.origin, headers: { traceparent: 'its own' }, trace });
  expect(sent).toEqual([
    [trace.traceparent, 'vendor=1'],
    [undefined, undefined],
    ['its own', undefined],
  ]);
});

describe('an answer', () => {
  it('has its headers in lower case and joined, and its status as it came', async () => {
    const peer = await startPeer((socket) =>
      socket.end(
        'HTTP/1.1 418 Teapot\r\nX-A: 1\r\nx-a: 2\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n__proto__: x\r\nContent-Length: 2\r\n\r\nhi',
      ),
    );
    const response = await openDoor().send({ url: peer.origin });
    expect(response.status).toBe(418);
    expect(response.headers).toMatchObject({ 'x-a': '1, 2', 'set-cookie': 'a, b', 'content-length': '2' });
    expect(Object.getOwnPropertyDescriptor(response.headers, '__proto__')?.value).toBe('x');
    expect(await textOf(response)).toBe('hi');
  });

  it('comes after interim answers', async () => {
    const interim = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n';
    const peer = await startPeer((socket) => socket.end(`${interim}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi`));
    expect(await textOf(await openDoor().send({ url: peer.origin }))).toBe('hi');
  });

  it('may be compressed where the caller asked for it', async () => {
    const server = await startServer((_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('bytes'));
    const response = await openDoor().send({ url: server.origin, headers: { 'Accept-Encoding': 'gzip' } });
    expect(await textOf(response)).toBe('bytes');
  });

  it('arrives piece by piece', async () => {
    const peer = await startPeer((socket) => socket.write(chunkedHead + chunk('one')));
    const response = await openDoor().send({ url: peer.origin });
    const seen: string[] = [];
    for await (const piece of response.body) {
      seen.push(Buffer.from(piece).toString());
      peer.connections[0]?.write(seen.length === 1 ? chunk('two') : '0\r\n\r\n');
    }
    expect(seen).toEqual(['one', 'two']);
  });

  it('leaves its connection to the next call when it was read to the end', async () => {
    const server = await startServer((request, response) => response.end(request.url));
    const door = openDoor();
    for (const path of ['/1', '/2', '/3']) {
      expect(await textOf(await door.send({ url: server.origin + path }))).toBe(path);
      await settle(5);
    }
    expect(server.connections).toHaveLength(1);
  });
});

describe('leaving', () => {
  it('the loop early closes the connection at once', async () => {
    const peer = await startPeer((socket) => socket.write(chunkedHead + chunk('one')));
    const response = await openDoor().send({ url: peer.origin });
    for await (const piece of response.body) {
      expect(Buffer.from(piece).toString()).toBe('one');
      break;
    }
    await expect.poll(() => peer.connections[0]?.destroyed).toBe(true);
  });

  it.each(['connecting', 'waiting', 'reading', 'reading-not'] as const)(
    'by the signal while %s throws its reason and closes',
    async (moment) => {
      const peer = await startPeer((socket) => {
        if (moment !== 'waiting') socket.write(chunkedHead + chunk('one'));
      });
      const abort = new AbortController();
      const reason = new Error('the caller left');
      const door = openDoor(moment === 'connecting' ? { lookup: () => {} } : {});
      const url = moment === 'connecting' ? 'http://tools.example/' : peer.origin;
      const reading = (async () => {
        const response = await door.send({ url, signal: abort.signal });
        if (moment === 'reading-not') await settle(60);
        for await (const piece of response.body) expect(Buffer.from(piece).toString()).toBe('one');
      })();
      setTimeout(() => abort.abort(reason), 30);
      await expect(reading).rejects.toBe(reason);
      await expect.poll(() => peer.connections.every(({ destroyed }) => destroyed)).toBe(true);
    },
  );

  it('before the start sends nothing', async () => {
    const peer = await startPeer(() => {});
    const signal = AbortSignal.abort(new Error('already gone'));
    await expect(openDoor().send({ url: peer.origin, signal })).rejects.toBe(signal.reason);
    expect(peer.connections).toHaveLength(0);
  });

  it('after the end changes nothing', async () => {
    const server = await startServer((_request, response) => response.end('done'));
    const abort = new AbortController();
    const response = await openDoor().send({ url: server.origin, signal: abort.signal });
    expect(await textOf(response)).toBe('done');
    abort.abort();
    await settle(5);
    expect(server.connections[0]?.destroyed).toBe(false);
  });

  it('by closing the door ends what is under way, and refuses what comes', async () => {
    const peer = await startPeer((socket) => socket.write(chunkedHead + chunk('one')));
    const door = openDoor();
    const response = await door.send({ url: peer.origin });
    const reading = textOf(response);
    await Promise.all([door.close(), expect(reading).rejects.toMatchObject({ failure: 'cut' })]);
    await expect(door.send({ url: peer.origin })).rejects.toMatchObject({ failure: 'unreachable' });
  });

  it('by closing a door that was never used keeps it closed', async () => {
    const peer = await startPeer(() => {});
    const door = openDoor();
    await door.close();
    await expect(door.send({ url: peer.origin })).rejects.toMatchObject({
      failure: 'unreachable',
      message: expect.stringContaining('is shutting down'),
    });
    expect(peer.connections).toHaveLength(0);
  });
});

describe('the signal', () => {
  it('is let go when the call is over, however it ended', async () => {
    const server = await startServer((request, response) => {
      if (request.url === '/redirect') response.writeHead(302);
      response.end('done');
    });
    const { signal } = new AbortController();
    const door = openDoor();
    await textOf(await door.send({ url: server.origin, signal }));
    await door.send({ url: `${server.origin}/redirect`, signal }).catch(() => {});
    await door.send({ url: 'http://127.0.0.1:1/', signal }).catch(() => {});
    for await (const _ of (await door.send({ url: server.origin, signal })).body) break;
    await expect.poll(() => getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('time', () => {
  it('that our own reader takes is not the peer’s', async () => {
    const peer = await startPeer((socket) => socket.write(chunkedHead + chunk('one')));
    const response = await openDoor().send({ url: peer.origin, idleTimeoutMs: 500 });
    const seen: string[] = [];
    for await (const piece of response.body) {
      seen.push(Buffer.from(piece).toString());
      await settle(600);
      setTimeout(() => peer.connections[0]?.write(seen.length === 1 ? chunk('two') : '0\r\n\r\n'), 10);
    }
    expect(seen).toEqual(['one', 'two']);
  });

  it('counts anew with each piece', async () => {
    const peer = await startPeer((socket) => {
      socket.write(chunkedHead);
      let count = 0;
      const drip = setInterval(() => {
        count += 1;
        socket.write(count < 9 ? chunk('x') : '0\r\n\r\n');
        if (count === 9) clearInterval(drip);
      }, 75);
    });
    expect(await textOf(await openDoor().send({ url: peer.origin, idleTimeoutMs: 500 }))).toBe('xxxxxxxx');
  });

  it('ends for an answer that nobody reads', async () => {
    const peer = await startPeer((socket) => socket.write(chunkedHead + chunk('one')));
    const response = await openDoor().send({ url: peer.origin, idleTimeoutMs: 40 });
    await expect.poll(() => peer.connections[0]?.destroyed).toBe(true);
    await expect(textOf(response)).rejects.toMatchObject({ failure: 'timeout', message: expect.stringContaining('was not read for') });
  });

  it('runs while a call waits for a free connection', async () => {
    const peer = await startPeer(() => {});
    const door = openDoor({ maxConnectionsPerOrigin: 1 });
    const leaving = new AbortController();
    const first = door.send({ url: peer.origin, signal: leaving.signal });
    await expect.poll(() => peer.connections).toHaveLength(1);
    await expect(door.send({ url: peer.origin, firstByteTimeoutMs: 50 })).rejects.toMatchObject({ failure: 'timeout' });
    expect(peer.connections).toHaveLength(1);
    leaving.abort();
    await expect(first).rejects.toMatchObject({ name: 'AbortError' });
  });

  it.each([0, Number.POSITIVE_INFINITY])('without a limit (%s) is a mistake', async (limit) => {
    await expect(openDoor().send({ url: 'http://127.0.0.1:1/', idleTimeoutMs: limit })).rejects.toThrow(RangeError);
    await expect(openDoor().send({ url: 'http://127.0.0.1:1/', firstByteTimeoutMs: limit })).rejects.toThrow(RangeError);
  });
});
