import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { createRequestTurns } from '../../src/http/request-turns.ts';
import { listen, testApp } from '../_support/build-app.ts';

test('so many requests begin in a turn, and the others in later ones, in their order', async () => {
  const planned: (() => void)[] = [];
  const turns = createRequestTurns(2, (begin) => planned.push(begin));
  const begun: number[] = [];
  for (let index = 0; index < 5; index += 1) {
    const turn = turns.take();
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
  expect(turns.take()).toBeUndefined();
});

test.each([
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
