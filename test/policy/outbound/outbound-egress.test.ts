import type { LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OutboundError } from '../../../src/core/errors.ts';
import type { Trust } from '../../../src/core/outbound.ts';
import { createOutbound } from '../../../src/policy/outbound/outbound-request.ts';
import { closeAll, openDoor, requested, settle, startPeer, startServer, textOf, type Peer } from './peers.ts';

const hasIPv6 = Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === '::1'));

/** Listeners that nothing may reach: on one port of 127.0.0.1, 127.0.0.2 and ::1. */
let canaries: Peer[] = [];

beforeEach(async ({ skip }) => {
  skip(process.platform !== 'linux', 'only Linux answers on every address of 127.0.0.0/8 without set-up');
  const first = await startPeer(answerHello);
  const places = [{ host: '127.0.0.2', port: first.port }, ...(hasIPv6 ? [{ host: '::1', port: first.port }] : [])];
  canaries = [first, ...(await Promise.all(places.map((place) => startPeer(answerHello, place))))];
});
afterEach(closeAll);

function answerHello(socket: { end(text: string): void }): void {
  socket.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello');
}

const visits = (): number => canaries.reduce((sum, canary) => sum + canary.connections.length, 0);
const canaryPort = (): number => canaries[0]?.port ?? 0;

/** Answers with one list of addresses after the other, and stays with the last. */
function lyingLookup(...answers: string[][]): LookupFunction & { calls: number } {
  const lookup: LookupFunction & { calls: number } = (_hostname, _options, callback) => {
    const addresses = answers[Math.min(lookup.calls, answers.length - 1)] ?? [];
    lookup.calls += 1;
    const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    setImmediate(() => callback(null, found));
  };
  lookup.calls = 0;
  return lookup;
}

/** Spellings that a socket of this machine would really reach. */
const arriving = [
  '127.0.0.1',
  '127.0.0.2',
  '127.1',
  '127.0.1',
  '127.0.0.1.',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0X7F.0x0.0x0.0x1',
  '0177.0.0.1',
  '017700000001',
  '１２７.０.０.１',
  '127。0。0。1',
  '①②⑦.⓪.⓪.①',
  '%31%32%37.0.0.1',
  '0',
  '0.0.0.0',
  'localhost',
  'LOCALHOST',
  'ｌｏｃａｌｈｏｓｔ',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:2]',
  '[0:0:0:0:0:FFFF:7F00:0001]',
  ...(hasIPv6 ? ['[::1]', '[0:0:0:0:0:0:0:1]', '[::]', '[0000::0001]'] : []),
];

/** Spellings of addresses that no test can listen on; reaching out at all would be the fault. */
const elsewhere = [
  '10.0.0.1',
  '012.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '3232235521',
  '100.64.0.1',
  '[fd12:3456::1]',
  '[::ffff:10.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b::10.0.0.1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[::127.0.0.1]',
  '224.0.0.1',
  '255.255.255.255',
];

const forbiddenToAll = [
  '169.254.169.254',
  '0xa9fea9fe',
  '2852039166',
  '169.254.43518',
  '0251.0376.0251.0376',
  '１６９.２５４.１６９.２５４',
  '169.254.169.254.',
  '[::ffff:169.254.169.254]',
  '[::ffff:a9fe:a9fe]',
  '[64:ff9b::a9fe:a9fe]',
  '[2002:a9fe:a9fe::]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '100.100.100.200',
  '168.63.129.16',
];

describe('addresses that a request supplies', () => {
  it.each([...arriving, ...elsewhere, ...forbiddenToAll])('are refused when they are not public: %s', async (host) => {
    const url = `http://${host}:${canaryPort()}/latest?key=secret`;
    const error: OutboundError = await openDoor()
      .send({ url, trust: requested })
      .then(
        () => expect.fail('the call went out'),
        (error) => error,
      );
    expect(error).toMatchObject({ name: 'OutboundError', failure: 'denied' });
    expect(error.message).not.toContain('secret');
    await settle(5);
    expect(visits()).toBe(0);
  });

  it.each(arriving)('reach the same listeners once the rule is "any": %s', async (host) => {
    const door = openDoor({ egress: { mode: 'any', allow: [] } });
    const response = await door.send({ url: `http://${host}:${canaryPort()}/`, trust: requested });
    expect(await textOf(response)).toBe('hello');
    expect(visits()).toBe(1);
  });

  it.each(forbiddenToAll)('are refused to everyone when credentials are handed out there: %s', async (host) => {
    const url = `http://${host}:${canaryPort()}/`;
    const door = openDoor({ egress: { mode: 'any', allow: [new URL(url).origin] }, connectTimeoutMs: 100 });
    await expect(door.send({ url, trust: requested })).rejects.toMatchObject({ failure: 'denied' });
    await expect(door.send({ url, trust: { kind: 'request', mayReachPrivate: true } })).rejects.toMatchObject({ failure: 'denied' });
    await expect(door.send({ url })).rejects.toMatchObject({ failure: 'denied' });
  });

  it('may be private for administrators, and where the operator lists them', async () => {
    const origin = `http://127.0.0.2:${canaryPort()}`;
    const asAdmin = await openDoor().send({ url: origin, trust: { kind: 'request', mayReachPrivate: true } });
    const asListed = await openDoor({ egress: { mode: 'none', allow: [origin] } }).send({ url: origin, trust: requested });
    expect([await textOf(asAdmin), await textOf(asListed)]).toEqual(['hello', 'hello']);
  });

  it('are told which line of the settings would allow them, by name and by address', async () => {
    const byName = openDoor().send({ url: `http://localhost:${canaryPort()}/x`, trust: requested });
    await expect(byName).rejects.toThrow(`TOOL_SERVER_ALLOW=http://localhost:${canaryPort()}`);
    const byAddress = openDoor().send({ url: `http://127.1:${canaryPort()}/x`, trust: requested });
    await expect(byAddress).rejects.toThrow(`TOOL_SERVER_ALLOW=http://127.0.0.1:${canaryPort()}`);
  });
});

describe('where a registered server leads', () => {
  const target = (): string => `http://127.0.0.2:${canaryPort()}/`;
  const from = (host: string): Trust => ({ kind: 'linked', from: `https://${host}` });

  it('is a private address only if the server itself has no public one', async () => {
    const addresses: Record<string, string[]> = {
      'home.test': ['10.0.0.1'],
      'public.test': ['1.1.1.1'],
      'both.test': ['10.0.0.1', '1.1.1.1'],
    };
    const lookup: LookupFunction = (host, _options, callback) => {
      const found = addresses[host];
      if (found === undefined) callback(new Error('unknown'), []);
      else
        callback(
          null,
          found.map((address) => ({ address, family: 4 })),
        );
    };
    const door = openDoor({ lookup, egress: { mode: 'none', allow: [] } });
    for (const host of ['home.test', '10.0.0.1', '[fd12::1]'])
      expect(await textOf(await door.send({ url: target(), trust: from(host) }))).toBe('hello');
    expect(visits()).toBe(3);
    for (const host of ['public.test', 'both.test', 'unknown.test', '1.1.1.1', '169.254.169.254', '[2606:4700::1]']) {
      const refused = door.send({ url: target(), trust: from(host) });
      await expect(refused).rejects.toThrow(
        `a tool server on a public address may refer to public ones only. To allow it, set: TOOL_SERVER_ALLOW=`,
      );
    }
    expect(visits()).toBe(3);
  });

  it('stays public for a name that had a public address, whatever it answers later', async () => {
    const egress = { mode: 'none', allow: [] } as const;
    const linked: Trust = { kind: 'linked', from: 'http://tools.example' };
    const refusal = 'a tool server on a public address may refer to public ones only';
    const asked = openDoor({ egress, lookup: lyingLookup(['1.1.1.1'], ['127.0.0.1']) });
    for (let times = 0; times < 2; times += 1) await expect(asked.send({ url: target(), trust: linked })).rejects.toThrow(refusal);
    // As when it is called itself before.
    const called = openDoor({ egress, connectTimeoutMs: 50, lookup: lyingLookup(['1.1.1.1'], ['127.0.0.1']) });
    const trust = { kind: 'configured', origin: 'http://tools.example' } as const;
    await called.send({ url: 'http://tools.example/', trust }).catch(() => undefined);
    await expect(called.send({ url: target(), trust: linked })).rejects.toThrow(refusal);
    expect(visits()).toBe(0);
    const home = openDoor({ egress, lookup: lyingLookup(['10.0.0.1'], ['127.0.0.1']) });
    expect(await textOf(await home.send({ url: target(), trust: linked }))).toBe('hello');
  });

  it('is listed by the operator otherwise', async () => {
    const door = openDoor({ egress: { mode: 'none', allow: [new URL(target()).origin] } });
    expect(await textOf(await door.send({ url: target(), trust: from('1.1.1.1') }))).toBe('hello');
  });
});

describe('names', () => {
  const name = (): string => `http://tools.example:${canaryPort()}/`;

  it.each([['127.0.0.2'], ['::1'], ['10.0.0.1'], ['169.254.169.254'], ['::ffff:7f00:2'], ['64:ff9b::7f00:2']])(
    'that lead to %s are refused to a request',
    async (address) => {
      const door = openDoor({ lookup: lyingLookup([address]) });
      await expect(door.send({ url: name(), trust: requested })).rejects.toMatchObject({ failure: 'denied' });
      expect(visits()).toBe(0);
    },
  );

  it('do not betray in the refusal where they lead', async () => {
    const door = openDoor({ lookup: lyingLookup(['10.11.12.13']) });
    const error: OutboundError = await door.send({ url: name(), trust: requested }).catch((error) => error);
    expect(error.failure).toBe('denied');
    expect(`${error.message} ${String(error.cause)}`).not.toContain('10.11.12.13');
  });

  it('of the local network are refused to a request as names that do not exist are', async () => {
    const refusals: unknown[] = [];
    const failing: LookupFunction = (_hostname, _options, callback) => callback(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), []);
    for (const lookup of [lyingLookup(['10.0.0.1']), lyingLookup(['127.0.0.2']), lyingLookup(['169.254.169.254']), failing]) {
      const error: OutboundError = await openDoor({ lookup })
        .send({ url: name(), trust: requested })
        .catch((error) => error);
      refusals.push([error.failure, error.message]);
    }
    expect(new Set(refusals.map((refusal) => JSON.stringify(refusal))).size).toBe(1);
    expect(refusals[0]).toEqual([
      'denied',
      expect.stringMatching(/its name does not exist, or leads to a private network.*TOOL_SERVER_ALLOW=/),
    ]);
    // To whoever may reach private addresses, the difference helps.
    const mayReachPrivate = { kind: 'request', mayReachPrivate: true } as const;
    await expect(openDoor({ lookup: failing }).send({ url: name(), trust: mayReachPrivate })).rejects.toMatchObject({
      failure: 'unreachable',
      message: expect.stringContaining('Is it spelled correctly?'),
    });
  });

  it('with some forbidden answers are called at the others only', async () => {
    const lookup = lyingLookup(['169.254.169.254', 'fe80::1', '127.0.0.2']);
    const door = openDoor({ lookup, egress: { mode: 'any', allow: [] } });
    expect(await textOf(await door.send({ url: name(), trust: requested }))).toBe('hello');
    expect(canaries.map(({ connections }) => connections.length).slice(0, 2)).toEqual([0, 1]);
  });

  it('that change their answer are judged again at the next connection', async () => {
    const lookup = lyingLookup(['127.0.0.1'], ['169.254.169.254'], ['127.0.0.1']);
    const door = openDoor({ lookup });
    const trust = { kind: 'configured', origin: new URL(name()).origin } as const;
    expect(await textOf(await door.send({ url: name(), trust }))).toBe('hello');
    await expect(door.send({ url: name(), trust })).rejects.toMatchObject({ failure: 'denied' });
    expect(await textOf(await door.send({ url: name(), trust }))).toBe('hello');
    expect(lookup.calls).toBe(3);
  });

  it('whose answer changes between check and use are caught at the connection, before a byte is sent', async () => {
    let reads = 0;
    const shifting = {
      family: 4,
      get address(): string {
        reads += 1;
        return reads === 1 ? '1.1.1.1' : '127.0.0.2';
      },
    };
    const door = openDoor({ lookup: (_hostname, _options, callback) => callback(null, [shifting]) });
    const call = door.send({ url: name(), method: 'POST', body: 'secret', headers: { 'x-key': 'secret' }, trust: requested });
    await expect(call).rejects.toMatchObject({ failure: 'denied' });
    await settle(20);
    expect(reads).toBeGreaterThan(1);
    expect(canaries[1]?.connections).toHaveLength(1);
    expect(canaries[1]?.received()).toBe('');
  });
});

describe('configured connections', () => {
  it('reach exactly their own origin', async () => {
    const configured = { kind: 'configured', origin: `http://127.0.0.1:${canaryPort()}` } as const;
    const door = openDoor();
    expect(await textOf(await door.send({ url: `http://127.0.0.1:${canaryPort()}/x`, trust: configured }))).toBe('hello');
    for (const url of [`http://127.0.0.2:${canaryPort()}/x`, `http://localhost:${canaryPort()}/`, 'http://127.0.0.1:1/']) {
      await expect(door.send({ url, trust: configured })).rejects.toMatchObject({ failure: 'denied' });
    }
    expect(visits()).toBe(1);
  });

  it('never lend their open connection to a request-supplied server', async () => {
    const server = await startServer((_request, response) => response.end('private'));
    const url = `http://localhost:${server.port}/`;
    const door = openDoor();
    expect(await textOf(await door.send({ url }))).toBe('private');
    await expect(door.send({ url, trust: requested })).rejects.toMatchObject({ failure: 'denied' });
    expect(await textOf(await door.send({ url, trust: { kind: 'request', mayReachPrivate: true } }))).toBe('private');
    expect(server.connections).toHaveLength(2);
    expect(await textOf(await door.send({ url }))).toBe('private');
    expect(server.connections).toHaveLength(2);
  });
});

describe('redirects', () => {
  it.each([300, 301, 302, 303, 304, 305, 307, 308, 399])('are not followed: %s', async (status) => {
    const location = `http://127.0.0.2:${canaryPort()}/steal?token=secret`;
    const server = await startServer((_request, response) => response.writeHead(status, { location }).end());
    const call = openDoor().send({ url: server.origin, method: 'POST', body: 'b', headers: { 'x-api-key': 'hunter2' } });
    const error: OutboundError = await call.then(
      () => expect.fail('the redirect was an answer'),
      (error) => error,
    );
    expect(error).toMatchObject({ failure: 'redirected', message: expect.stringContaining(`http://127.0.0.2:${canaryPort()}.`) });
    expect(error.message).not.toMatch(/secret|hunter2|steal/u);
    await settle(5);
    expect(visits()).toBe(0);
  });

  it.each(['if-none-match', 'if-modified-since'])('are no 304 that was asked for with %s', async (condition) => {
    const server = await startServer((_request, response) => response.writeHead(304, { etag: '"v1"' }).end());
    const answer = await openDoor().send({ url: server.origin, headers: { [condition]: '"v1"' } });
    expect(answer.status).toBe(304);
    for await (const _piece of answer.body) expect.fail('a 304 has no body');
  });

  it.each([
    ['no location', undefined, 'no valid URL'],
    ['a script', 'javascript:alert(1)', 'no valid URL'],
    ['nonsense', 'http://[', 'no valid URL'],
    ['the same server', '/login', 'another path of itself. Redirects are not followed. Often such a path is a login page'],
    ['another server', 'https://other.test/x', 'https://other.test. Redirects are not followed: configure the final URL'],
  ])('are explained when they point to %s', async (_, location, place) => {
    const server = await startServer((_request, response) => response.writeHead(302, location === undefined ? {} : { location }).end());
    await expect(openDoor().send({ url: server.origin })).rejects.toThrow(place);
  });

  it('close the connection that they came on', async () => {
    const server = await startServer((_request, response) => response.writeHead(302, { location: '/' }).write('endless'));
    await expect(openDoor().send({ url: server.origin })).rejects.toMatchObject({ failure: 'redirected' });
    await expect.poll(() => server.connections[0]?.destroyed).toBe(true);
  });
});

describe('createOutbound', () => {
  it.each(['*', 'localhost:8000', '192.168.1.5', 'ftp://a.example'])('does not start with %s in the list of allowed origins', (entry) => {
    expect(() => createOutbound({ egress: { mode: 'public', allow: [entry] } })).toThrow('TOOL_SERVER_ALLOW');
  });
});
