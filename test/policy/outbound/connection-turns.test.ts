import type { ServerResponse } from 'node:http';

import { afterEach, expect, it } from 'vitest';

import { closeAll, openDoor, startServer, textOf, type Peer, type TestDoor, type TestRequest } from './peers.ts';

afterEach(closeAll);

interface Line {
  /** Sends a request whose path is its name, for the caller, and resolves when it has ended. */
  ask: (caller: string | undefined, name: string, request?: Partial<TestRequest>) => Promise<string>;
  /** Every connection has a request, and all others wait. */
  isHeld: () => Promise<void>;
  /** From now on, answers are given at once. */
  release: () => void;
  /** The names of the requests in the order in which they arrived. */
  arrived: string[];
  peer: Peer;
  door: TestDoor;
}

async function openLine(connections: number): Promise<Line> {
  const arrived: string[] = [];
  const held = Promise.withResolvers<void>();
  const first = Promise.withResolvers<void>();
  const peer = await startServer((request, response: ServerResponse) => {
    arrived.push(request.url?.slice(1) ?? '');
    if (arrived.length === connections) first.resolve();
    void held.promise.then(() => response.end('said'));
  });
  const door = openDoor({ maxConnectionsPerOrigin: connections });
  return {
    ask: async (caller, name, request = {}) => textOf(await door.send({ url: `${peer.origin}/${name}`, caller, ...request })),
    isHeld: () => first.promise,
    release: held.resolve,
    arrived,
    peer,
    door,
  };
}

it('callers take turns for a connection, and so does the gateway, however many requests one of them has waiting', async () => {
  const { ask, release, arrived } = await openLine(1);
  const calls = Array.from({ length: 60 }, (_, index) => ask('key_a', `a${index}`));
  calls.push(ask('key_b', 'b0'), ask('key_b', 'b1'), ask(undefined, 'own'));
  release();
  await Promise.all(calls);
  expect(arrived.slice(0, 7)).toEqual(['a0', 'a1', 'b0', 'own', 'a2', 'b1', 'a3']);
  expect(arrived).toHaveLength(63);
});

it('the people of one key share its turns', async () => {
  const { ask, release, arrived } = await openLine(1);
  const calls = [ask('key_a/1', 'a0')];
  for (let person = 1; person <= 20; person += 1) calls.push(ask(`key_a/${person}`, `a${person}`));
  calls.push(ask('key_b', 'b0'), ask('key_b', 'b1'));
  release();
  await Promise.all(calls);
  expect(arrived.slice(0, 5)).toEqual(['a0', 'a1', 'b0', 'a2', 'b1']);
});

it('as many requests as there are connections run at once, and never more', async () => {
  const { ask, isHeld, release, arrived, peer } = await openLine(3);
  const calls = Array.from({ length: 30 }, (_, index) => ask(`key_${index % 4}`, String(index)));
  await isHeld();
  expect(arrived.toSorted()).toEqual(['0', '1', '2']);
  release();
  await Promise.all(calls);
  expect(arrived).toHaveLength(30);
  expect(peer.connections).toHaveLength(3);
});

it.each([
  [3, 3],
  [64, 63],
  [128, 126],
])('of %i connections one key has %i at most, so that others need not wait for its requests', async (connections, most) => {
  const { ask, isHeld, release, arrived } = await openLine(connections);
  const busy = Array.from({ length: 2 * connections }, (_, index) => ask(`key_a/${index}`, 'a'));
  const others = Array.from({ length: connections - most }, (_, index) => ask(`key_${index}`, 'other'));
  await isHeld();
  expect(arrived.filter((name) => name === 'a')).toHaveLength(most);
  expect(arrived).toHaveLength(connections);
  release();
  await Promise.all([...busy, ...others]);
  expect(arrived).toHaveLength(3 * connections - most);
});

it('a request that is aborted while it waits loses its place, and is never sent', async () => {
  const { ask, isHeld, release, arrived, peer } = await openLine(1);
  const leaving = new AbortController();
  const first = ask('key_a', 'a0');
  await isHeld();
  const left = [ask('key_a', 'a1', { signal: leaving.signal }), ask('key_b', 'b0', { signal: leaving.signal })];
  const rest = [ask('key_a', 'a2'), ask('key_c', 'c0'), ask('key_b', 'b1')];
  leaving.abort();
  for (const call of left) await expect(call).rejects.toMatchObject({ name: 'AbortError' });
  release();
  await Promise.all([first, ...rest]);
  expect(arrived).toEqual(['a0', 'a2', 'b1', 'c0']);
  expect(peer.connections).toHaveLength(1);
});

it('a turn that comes as its request is aborted goes to the next one', async () => {
  const { ask, isHeld, release, arrived } = await openLine(1);
  const [holding, leaving] = [new AbortController(), new AbortController()];
  const first = ask('key_a', 'a0', { signal: holding.signal });
  await isHeld();
  const second = ask('key_a', 'a1', { signal: leaving.signal });
  const third = ask('key_b', 'b0');
  leaving.abort();
  holding.abort();
  for (const call of [first, second]) await expect(call).rejects.toMatchObject({ name: 'AbortError' });
  release();
  expect(await third).toBe('said');
  expect(arrived).toEqual(['a0', 'b0']);
});

it.each<{ how: string; end: (origin: string, door: TestDoor) => Promise<unknown> }>([
  { how: 'with its body read', end: async (origin, door) => textOf(await door.send({ url: origin })) },
  { how: 'with its body closed', end: async (origin, door) => (await door.send({ url: `${origin}/endless` })).body.close() },
  { how: 'with a server error', end: async (origin, door) => textOf(await door.send({ url: `${origin}/error` })) },
  { how: 'by a redirect', end: (origin, door) => door.send({ url: `${origin}/redirect` }) },
  { how: 'by a reset', end: (origin, door) => door.send({ url: `${origin}/reset` }) },
  { how: 'by the limit for its first byte', end: (origin, door) => door.send({ url: `${origin}/silent`, firstByteTimeoutMs: 20 }) },
  {
    how: 'by a signal amid its body',
    async end(origin, door) {
      const leaving = new AbortController();
      const response = await door.send({ url: `${origin}/endless`, signal: leaving.signal });
      leaving.abort();
      return textOf(response);
    },
  },
  {
    how: 'by a signal before it has a connection',
    end(origin, door) {
      const leaving = new AbortController();
      const call = door.send({ url: origin, signal: leaving.signal });
      leaving.abort();
      return call;
    },
  },
  {
    how: 'by a body that fails',
    end(origin, door) {
      return door.send({ url: `${origin}/silent`, method: 'POST', body: failingBody() });
    },
  },
])('a request that ends $how leaves its connection to the next one', async ({ end }) => {
  const peer = await startServer((request, response) => {
    if (request.url === '/reset') return void request.socket.resetAndDestroy();
    if (request.url === '/silent') return;
    if (request.url === '/endless') return void response.write('said');
    if (request.url === '/redirect') return void response.writeHead(302, { location: '/' }).end();
    response.writeHead(request.url === '/error' ? 500 : 200).end('said');
  });
  const door = openDoor({ maxConnectionsPerOrigin: 1 });
  const ending = end(peer.origin, door).catch(() => undefined);
  const next = door.send({ url: peer.origin, caller: 'key_b' });
  await ending;
  expect(await textOf(await next)).toBe('said');
  expect(await textOf(await door.send({ url: peer.origin }))).toBe('said');
});

async function* failingBody(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('said');
  throw new Error('nothing more');
}

it('closing ends the requests that wait', async () => {
  const { ask, isHeld, door } = await openLine(1);
  const first = ask('key_a', 'a0');
  await isHeld();
  const calls = [first, ask('key_a', 'a1'), ask('key_b', 'b0')];
  const ended = Promise.allSettled(calls);
  await door.close();
  expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
});
