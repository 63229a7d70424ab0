import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { addressOwner } from '../../../src/http/auth/address-owner.ts';
import { createRequestTurns } from '../../../src/http/request-turns.ts';
import { FairQueue } from '../../../src/shared/fairness/fair-queue.ts';
import { groupOf } from '../../../src/shared/fairness/fair-shares.ts';
import { listen, testApp } from '../../_support/build-app.ts';

it('so many requests begin in a turn, and the others in later ones, in their order', async () => {
  const planned: (() => void)[] = [];
  const turns = createRequestTurns(2, (begin) => planned.push(begin));
  const begun: number[] = [];
  for (let index = 0; index < 5; index += 1) {
    const turn = turns.take('key_a');
    if (turn === undefined) begun.push(index);
    else void turn.then(() => begun.push(index));
  }
  expect(begun).toEqual([0, 1]);
  const counts: number[] = [];
  for (let begin = planned.shift(); begin !== undefined; begin = planned.shift()) {
    begin();
    await Promise.resolve();
    counts.push(begun.length);
  }
  expect(begun).toEqual([0, 1, 2, 3, 4]);
  expect(counts).toEqual([4, 5, 5]);
  expect(turns.take('key_a')).toBeUndefined();
});

it.each([
  { what: 'keys', others: ['key_b', 'key_c'] },
  { what: 'the people of one key', others: ['key_a/2', 'key_a/3'] },
])('$what take turns, however many requests one of them has queued', async ({ others }) => {
  const planned: (() => void)[] = [];
  const turns = createRequestTurns(2, (begin) => planned.push(begin));
  const begun: string[] = [];
  const begin = (owner: string): void => {
    void (turns.take(owner) ?? Promise.resolve()).then(() => begun.push(owner));
  };
  for (let index = 0; index < 256; index += 1) begin('key_a/1');
  for (const owner of others) begin(owner);
  for (let next = planned.shift(); next !== undefined; next = planned.shift()) {
    next();
    await Promise.resolve();
  }
  expect(begun).toHaveLength(258);
  // Two began at once, and after them everybody has one turn before anybody has another.
  for (const owner of others) expect(begun.indexOf(owner)).toBeLessThan(2 + 3);
});

it('a key with many people gets no more turns than another key', () => {
  const queue = new FairQueue<string>();
  for (let person = 0; person < 50; person += 1) queue.push(`key_a/${person}`, `a${person}`);
  for (const entry of ['b0', 'b1', 'b2']) queue.push('key_b', entry);
  expect(Array.from({ length: 7 }, () => queue.shift())).toEqual(['a0', 'b0', 'a1', 'b1', 'a2', 'b2', 'a3']);
  expect(queue.size).toBe(46);
});

it('addresses of one IPv6 network share their turns', () => {
  const owners = ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', '2001:db8:1:3::1', '::ffff:192.0.2.1', '192.0.2.1'].map(addressOwner);
  expect(owners.map(groupOf)).toEqual([
    'address 2001:db8:1:2',
    'address 2001:db8:1:2',
    'address 2001:db8:1:3',
    'address 192.0.2.1',
    'address 192.0.2.1',
  ]);
  expect(new Set(owners.slice(0, 2)).size).toBe(2);
});

it.each([
  { what: 'another key', path: '/api/tools', quiet: 'quiet' },
  { what: 'a request without a valid key', path: '/api/tools', quiet: 'nobody' },
  { what: 'a client of /mcp', path: '/mcp', quiet: 'quiet' },
])('$what is answered among the first while one key has 256 requests waiting', async ({ path, quiet }) => {
  await using app = await testApp({ TOOLWHARF_ADMIN_KEY: 'sk-administrator' });
  const newKey = async (name: string): Promise<string> => {
    const headers = { authorization: 'Bearer sk-administrator' };
    const made = await app.server.inject({ method: 'POST', url: '/api/keys', headers, payload: { name, role: 'user' } });
    return made.json<{ key: string }>().key;
  };
  const keys = { flood: await newKey('flood'), quiet: await newKey('quiet'), nobody: 'sk-nobody' };
  const answered: string[] = [];
  const ask = async (who: keyof typeof keys): Promise<void> => {
    const isMcp = path === '/mcp';
    const headers = { authorization: `Bearer ${keys[who]}`, accept: 'application/json, text/event-stream' };
    const payload = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    await app.server.inject({ method: isMcp ? 'POST' : 'GET', url: path, headers, ...(isMcp && { payload }) });
    answered.push(who);
  };
  await ask('flood');
  const flood = Array.from({ length: 256 }, () => ask('flood'));
  await Promise.all([...flood, ask(quiet as keyof typeof keys)]);
  expect(answered).toHaveLength(258);
  expect(answered.indexOf(quiet)).toBeLessThan(64);
});

it.each([
  { path: '/api/tools', status: 200 },
  { path: '/health', status: 200 },
  { path: '/approvals/nothing', status: 404 },
  { path: '/nothing', status: 404 },
])('200 requests for $path on one connection are answered over many turns of the event loop, all of them', async ({ path, status }) => {
  await using app = await testApp({});
  const url = new URL(await listen(app));
  const answeredIn: number[] = [];
  let turn = 0;
  const count = (): void => {
    turn += 1;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const { promise, resolve } = Promise.withResolvers<void>();
  const answer = `HTTP/1.1 ${status}`;
  let answers = '';
  const socket: Socket = connect(Number(url.port), url.hostname);
  await once(socket, 'connect');
  socket.on('data', (piece: Buffer) => {
    answeredIn.push(turn);
    answers += piece.toString();
    if (answers.split(answer).length > 200) resolve();
  });
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${url.host}\r\n\r\n`.repeat(200));
  await promise;
  clearImmediate(counting);
  socket.destroy();
  expect(answers.split(answer)).toHaveLength(201);
  expect(new Set(answeredIn).size).toBeGreaterThan(15);
});
