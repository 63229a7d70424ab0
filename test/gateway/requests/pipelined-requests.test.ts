import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { backendOf, listen, testApp } from '../../_support/build-app.ts';
import { says, ScriptedModel } from '../../_support/scripted-model.ts';
import { waitFor } from '../../_support/wait-for.ts';

async function gatewayWith(
  model: ScriptedModel,
): Promise<{ socket: Socket; send: (path: string, body?: object) => void; read: () => string }> {
  const app = await testApp({}, { backends: [backendOf(model)] });
  onTestFinished(() => app[Symbol.asyncDispose]());
  const { hostname, port, host } = new URL(await listen(app));
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  let text = '';
  socket.on('data', (piece: Buffer) => (text += piece.toString()));
  return {
    socket,
    read: () => text,
    send(path, body) {
      const json = body === undefined ? '' : JSON.stringify(body);
      const head = body === undefined ? `GET ${path}` : `POST ${path}`;
      const type = body === undefined ? '' : `content-type: application/json\r\ncontent-length: ${json.length}\r\n`;
      socket.write(`${head} HTTP/1.1\r\nhost: ${host}\r\n${type}\r\n${json}`);
    },
  };
}

const ask = (content: string): object => ({ model: 'model', messages: [{ role: 'user', content }] });

async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await nextTurn();
}

it('requests that are sent ahead begin one after the other, and are answered in order', async () => {
  const gate = Promise.withResolvers<void>();
  const model = new ScriptedModel([gate.promise, ...says('one')], says('two'));
  const { send, read } = await gatewayWith(model);
  send('/v1/chat/completions', ask('first'));
  send('/v1/chat/completions', ask('second'));
  await waitFor(() => expect(model.requests).toHaveLength(1));
  await someTurns();
  expect(model.requests).toHaveLength(1);
  gate.resolve();
  await waitFor(() => expect(read()).toMatch(/"one".*"two"/s));
});

it('what was sent ahead never begins when the client has gone', async () => {
  const model = new ScriptedModel([new Promise(() => undefined)], says('two'));
  const { socket, send } = await gatewayWith(model);
  send('/v1/chat/completions', ask('first'));
  send('/v1/chat/completions', ask('second'));
  await waitFor(() => expect(model.requests).toHaveLength(1));
  socket.destroy();
  await waitFor(() => expect(model.requests[0]?.signal.aborted).toBe(true));
  await someTurns();
  expect(model.requests).toHaveLength(1);
});

it('a connection with hundreds of requests that wait is closed', async () => {
  const model = new ScriptedModel([new Promise(() => undefined)]);
  const { socket, send } = await gatewayWith(model);
  send('/v1/chat/completions', ask('first'));
  await waitFor(() => expect(model.requests).toHaveLength(1));
  const closed = once(socket, 'close');
  socket.on('error', () => undefined);
  for (let index = 0; index < 300; index += 1) send('/health');
  await closed;
  await waitFor(() => expect(model.requests[0]?.signal.aborted).toBe(true));
});
