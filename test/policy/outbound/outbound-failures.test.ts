import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, LookupFunction, Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

import { afterEach, beforeAll, describe, expect, it } from 'vitest';

import { OutboundError } from '../../../src/core/errors.ts';
import { certificates } from './certificates.ts';
import { closeAll, openDoor, settle, startPeer, startServer, textOf, type TestDoor } from './peers.ts';

afterEach(closeAll);

function failingLookup(code: string): LookupFunction {
  return (_hostname, _options, callback) => setImmediate(() => callback(Object.assign(new Error(code), { code }), []));
}

async function failureOf(call: Promise<unknown>): Promise<OutboundError> {
  const error: unknown = await call.then(
    () => expect.fail('the call succeeded'),
    (error) => error,
  );
  if (!(error instanceof OutboundError)) throw error;
  return error;
}

describe('before the answer', () => {
  it('a closed port is unreachable, with the place and a cure', async () => {
    const peer = await startPeer(() => {});
    await closeAll();
    const error = await failureOf(openDoor().send({ url: `${peer.origin}/x?token=secret` }));
    expect(error).toMatchObject({
      failure: 'unreachable',
      message: `Nothing listens at ${peer.origin}. Is it running, and is the port right?`,
    });
  });

  it.each([
    ['ENOTFOUND', 'unreachable', 'does not exist'],
    ['EAI_AGAIN', 'unreachable', 'cannot be resolved'],
    ['EHOSTUNREACH', 'unreachable', 'no route'],
    ['ETIMEDOUT', 'timeout', 'in time'],
    ['EMFILE', 'no_files', 'ulimit -n'],
    ['ENFILE', 'no_files', 'fs.file-max'],
    ['EOTHER', 'unreachable', '(EOTHER)'],
  ])('%s is %s', async (code, failure, message) => {
    const door = openDoor({ lookup: failingLookup(code) });
    const error = await failureOf(door.send({ url: 'http://tools.example:8000/?token=secret' }));
    expect(error).toMatchObject({ failure, message: expect.stringContaining(message) });
    expect(error.message).toContain('tools.example:8000');
    expect(error.message).not.toContain('secret');
  });

  it('a name whose every address refuses is unreachable', async () => {
    const peer = await startPeer(() => {});
    await closeAll();
    const found = [
      { address: '127.0.0.1', family: 4 },
      { address: '127.0.0.2', family: 4 },
    ];
    const door = openDoor({ lookup: (_hostname, _options, callback) => callback(null, found) });
    const error = await failureOf(door.send({ url: `http://tools.example:${peer.port}/` }));
    expect(error).toMatchObject({ failure: 'unreachable', message: expect.stringContaining('Nothing listens') });
  });

  it('a peer that says nothing is a timeout at the first-byte limit, and its connection ends', async () => {
    const peer = await startPeer(() => {});
    const error = await failureOf(openDoor().send({ url: peer.origin, firstByteTimeoutMs: 60 }));
    expect(error).toMatchObject({ failure: 'timeout', message: `${peer.origin} did not answer within 0.06 s.` });
    await expect.poll(() => peer.connections[0]?.destroyed).toBe(true);
  });

  it('a peer that drips headers for ever is a timeout as well', async () => {
    const peer = await startPeer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const drip = setInterval(() => socket.write('x-a: b\r\n'), 10);
      socket.once('close', () => clearInterval(drip));
    });
    expect((await failureOf(openDoor().send({ url: peer.origin, firstByteTimeoutMs: 80 }))).failure).toBe('timeout');
  });

  it('a peer that sends interim answers for ever is a timeout as well', async () => {
    const peer = await startPeer((socket) => {
      const drip = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 10);
      socket.once('close', () => clearInterval(drip));
    });
    expect((await failureOf(openDoor().send({ url: peer.origin, firstByteTimeoutMs: 80 }))).failure).toBe('timeout');
  });

  it.each<[string, (socket: Socket) => void]>([
    ['a reset', (socket) => socket.resetAndDestroy()],
    ['an end', (socket) => socket.end()],
    ['an end amid the headers', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-')],
    ['a switch of protocols', (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')],
    ['no HTTP at all', (socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n')],
    ['a carriage return in a header', (socket) => socket.end('HTTP/1.1 200 OK\r\nx-a: b\rx-c: d\r\ncontent-length: 0\r\n\r\n')],
    ['two lengths', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab')],
    ['a length and chunks', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n')],
    ['200 headers of 1 kB', (socket) => socket.end(`HTTP/1.1 200 OK\r\n${`x-a: ${'b'.repeat(1_000)}\r\n`.repeat(200)}\r\n`)],
    ['compression that nobody asked for', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 1\r\n\r\nx')],
  ])('%s is unreachable, and nothing is sent a second time', async (_, script) => {
    const peer = await startPeer(script);
    const error = await failureOf(openDoor().send({ url: peer.origin, method: 'POST', body: 'once' }));
    expect(error).toMatchObject({ failure: 'unreachable', message: expect.stringContaining(peer.origin) });
    await settle(20);
    expect(peer.connections).toHaveLength(1);
    expect(peer.received().match(/once/gu)).toHaveLength(1);
  });

  it('a reset of a connection that was kept alive is not repeated either', async () => {
    let requests = 0;
    const server = await startServer((request, response) => {
      requests += 1;
      if (requests === 1) response.end('ok');
      else request.socket.resetAndDestroy();
    });
    const door = openDoor();
    expect(await textOf(await door.send({ url: server.origin }))).toBe('ok');
    await settle(5);
    expect((await failureOf(door.send({ url: server.origin, method: 'POST', body: 'x' }))).failure).toBe('unreachable');
    await settle(20);
    expect(requests).toBe(2);
    expect(server.connections).toHaveLength(1);
  });
});

describe('invalid requests', () => {
  it('never reach the peer, and their errors hold no value', async () => {
    const peer = await startPeer(() => {});
    const door = openDoor();
    const wrong = [
      { headers: { 'x-token': 'hunter2\r\nx-evil: 1' } },
      { headers: { host: 'evil.example' } },
      { method: 'CONNECT' },
      { url: `http://user:hunter2@127.0.0.1:${peer.port}/` },
      { url: 'file:///etc/passwd' },
    ];
    for (const part of wrong) {
      const error = await failureOf(door.send({ url: peer.origin, ...part }));
      expect(error.failure).toBe('invalid_request');
      expect(`${error.message} ${error.stack} ${String(error.cause)}`).not.toContain('hunter2');
    }
    expect(peer.connections).toHaveLength(0);
  });
});

describe('amid the body', () => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n';

  it.each<[string, string, 'resetAndDestroy' | 'end']>([
    ['a reset within the length', `${head}content-length: 10\r\n\r\nabc`, 'resetAndDestroy'],
    ['an end within the length', `${head}content-length: 10\r\n\r\nabc`, 'end'],
    ['an end within the length of a closing connection', `${head}connection: close\r\ncontent-length: 10\r\n\r\nabc`, 'end'],
    ['a reset between chunks', `${head}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n`, 'resetAndDestroy'],
    ['an end between chunks', `${head}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n`, 'end'],
    ['an end inside a chunk', `${head}transfer-encoding: chunked\r\n\r\na\r\nabc`, 'end'],
    [
      'an end before the last chunk of a closing connection',
      `${head}connection: close\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n`,
      'end',
    ],
    ['a reset where only the end would delimit', `${head}connection: close\r\n\r\nabc`, 'resetAndDestroy'],
    ['a reset of HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\nabc', 'resetAndDestroy'],
  ])('%s gives what came and then is cut', async (_, bytes, ending) => {
    const peer = await startPeer((socket) => {
      socket.write(bytes);
      setTimeout(() => socket[ending](), 30);
    });
    const response = await openDoor().send({ url: peer.origin });
    let text = '';
    const reading = (async () => {
      for await (const piece of response.body) text += Buffer.from(piece).toString();
    })();
    expect((await failureOf(reading)).failure).toBe('cut');
    expect(text).toBe('abc');
  });

  it('garbage instead of a chunk is cut', async () => {
    const peer = await startPeer((socket) => socket.write(`${head}transfer-encoding: chunked\r\n\r\nzz\r\nabc`));
    const call = openDoor().send({ url: peer.origin });
    const error = await failureOf(call.then(textOf));
    expect(['cut', 'unreachable']).toContain(error.failure);
  });

  it('an end that delimits the body is no fault', async () => {
    const peer = await startPeer((socket) => socket.end(`${head}connection: close\r\n\r\nabc`));
    expect(await textOf(await openDoor().send({ url: peer.origin }))).toBe('abc');
  });

  it('a silent peer is a timeout at the idle limit, and its connection ends', async () => {
    const peer = await startPeer((socket) => socket.write(`${head}content-length: 10\r\n\r\nabc`));
    const response = await openDoor().send({ url: peer.origin, idleTimeoutMs: 60 });
    const error = await failureOf(textOf(response));
    expect(error).toMatchObject({ failure: 'timeout', message: `${peer.origin} sent nothing for 0.06 s.` });
    await expect.poll(() => peer.connections[0]?.destroyed).toBe(true);
  });
});

describe('TLS', () => {
  beforeAll(() => {
    const { trusted, otherHost, expired } = certificates;
    setDefaultCACertificates([...getCACertificates('bundled'), trusted.cert, otherHost.cert, expired.cert]);
  });

  async function callWith(name: keyof typeof certificates, door: TestDoor): Promise<string> {
    const server = createTlsServer(certificates[name], (_request, response) => response.end('safe'));
    const { promise, resolve } = Promise.withResolvers<void>();
    server.listen(0, '127.0.0.1', resolve);
    await promise;
    try {
      return await textOf(await door.send({ url: `https://localhost:${(server.address() as AddressInfo).port}/` }));
    } finally {
      server.close();
      await door.close();
    }
  }

  it('works with a certificate that is trusted', async () => {
    expect(await callWith('trusted', openDoor())).toBe('safe');
  });

  it.each(['unknown', 'expired', 'otherHost'] as const)('refuses a certificate that is %s', async (name) => {
    const error = await failureOf(callWith(name, openDoor()));
    expect(error).toMatchObject({ failure: 'unreachable', message: expect.stringContaining('certificate') });
  });

  it('is told apart from a server that speaks plain HTTP', async () => {
    const server = await startServer((_request, response) => response.end('plain'));
    const error = await failureOf(openDoor().send({ url: server.origin.replace('http:', 'https:') }));
    expect(error).toMatchObject({ failure: 'unreachable', message: expect.stringContaining('TLS') });
  });
});

describe('the connection of an answer', () => {
  it.each([
    [200, 1],
    [404, 1],
    [500, 2],
    [503, 2],
  ])('%d: two calls after another take %d connections', async (status, count) => {
    const peer = await startServer((request, response) => {
      request.resume().on('end', () => response.writeHead(status).end('said'));
    });
    const door = openDoor();
    for (let call = 0; call < 2; call++) {
      expect(await textOf(await door.send({ url: peer.origin, method: 'POST', body: 'x' }))).toBe('said');
      // A connection that goes back to the pool is there in the next turn of the loop.
      await settle(5);
    }
    expect(peer.connections).toHaveLength(count);
  });

  it('that has failed may be closed by the server without losing the next call', async () => {
    const peer = await startPeer((socket) => {
      socket.on('data', () => undefined);
      const status = peer.connections.length === 1 ? '500 Oops' : '200 OK';
      socket.write(`HTTP/1.1 ${status}\r\ncontent-length: 4\r\n\r\nsaid`);
      // The second request would meet this: nobody answers it.
      socket.once('data', () => socket.destroy());
    });
    const door = openDoor();
    for (const status of [500, 200]) {
      const response = await door.send({ url: peer.origin, method: 'POST', body: 'x' });
      expect([response.status, await textOf(response)]).toEqual([status, 'said']);
      await settle(5);
    }
  });

  it('is closed while calls wait for it, and they get another one', async () => {
    const peer = await startServer((_request, response) => void response.writeHead(500).end('said'));
    const door = openDoor({ maxConnectionsPerOrigin: 1 });
    const answers = await Promise.all(Array.from({ length: 5 }, async () => textOf(await door.send({ url: peer.origin }))));
    expect(answers).toEqual(Array.from({ length: 5 }, () => 'said'));
    expect(peer.connections).toHaveLength(5);
  });
});

describe('the limit of connections to one origin', () => {
  it('is told for each request that has to wait, and for no other', async () => {
    const held = Promise.withResolvers<void>();
    const peer = await startServer((_request, response) => void held.promise.then(() => response.end('said')));
    const waits: unknown[] = [];
    const door = openDoor({ maxConnectionsPerOrigin: 2, onConnectionLimit: (...told) => waits.push(told) });
    const ask = async (): Promise<string> => textOf(await door.send({ url: peer.origin }));
    const within = [ask(), ask()];
    expect(waits).toEqual([]);
    const beyond = [ask(), ask(), ask()];
    expect(waits).toEqual(Array.from({ length: 3 }, () => [peer.origin, 2]));
    held.resolve();
    expect(await Promise.all([...within, ...beyond])).toEqual(Array.from({ length: 5 }, () => 'said'));
    await ask();
    expect(waits).toHaveLength(3);
  });

  it('is what a request is told that has waited in vain', async () => {
    const peer = await startServer(() => undefined);
    const door = openDoor({ maxConnectionsPerOrigin: 1 });
    const first = failureOf(door.send({ url: peer.origin, firstByteTimeoutMs: 400 }));
    const second = await failureOf(door.send({ url: peer.origin, firstByteTimeoutMs: 100 }));
    expect(second).toMatchObject({ failure: 'timeout', message: expect.stringContaining('UPSTREAM_MAX_CONNECTIONS') });
    expect((await first).message).toContain('did not answer within 0.4 s');
  });
});
