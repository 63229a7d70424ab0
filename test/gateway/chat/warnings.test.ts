import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { parseToolServerConnection } from '../../../src/storage/tool-server-connection.ts';
import { backendOf, listen, readChunks, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { says, ScriptedModel } from '../../_support/scripted-model.ts';

const messages = [{ role: 'user', content: 'Hi' }];
/** Nobody listens there any more. */
const deadUrl = await closedAddress();
const deadServer = { url: deadUrl, execution: 'gateway' };
const ofRequest = [{ code: 'tool_server_unreachable', message: expect.stringContaining('tool_servers.0') }];

async function closedAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return `http://127.0.0.1:${port}`;
}

function ask(app: TestApp, body: object) {
  const headers = { host: '127.0.0.1:8080', 'content-type': 'application/json' };
  return app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload: { model: 'model', messages, ...body } });
}

function appThatSays(parts: Parameters<typeof testApp>[1] = {}): Promise<TestApp> {
  return testApp({}, { backends: [backendOf(new ScriptedModel(says('Hello.'), says('Hello.')))], ...parts });
}

it('a completion names the tool server of its request that could not be used', async () => {
  await using app = await appThatSays();
  const answer = await ask(app, { tool_servers: [deadServer] });
  expect(answer.json()).toMatchObject({ choices: [{ message: { content: 'Hello.' } }], warnings: ofRequest });
});

it('a completion of a request that could be served whole has no warnings', async () => {
  await using app = await appThatSays();
  expect((await ask(app, {})).json()).not.toHaveProperty('warnings');
});

it('a registered server that cannot be reached is named too, without its address for users', async () => {
  const registry = memoryRegistry([parseToolServerConnection({ id: 'maps', url: deadUrl }, 'database')]);
  await using app = await appThatSays({ registry });
  const { warnings } = (await ask(app, {})).json<{ warnings: unknown }>();
  expect(warnings).toEqual([{ code: 'tool_server_unreachable', message: expect.stringContaining('"maps"') }]);
});

it('in a stream each warning comes once, in a whole chunk with an empty delta, before the text', async () => {
  await using app = await appThatSays();
  const chunks = objectsIn((await ask(app, { stream: true, tool_servers: [deadServer] })).body);
  const [, second] = chunks;
  expect(second).toEqual({
    id: expect.stringMatching(/^chatcmpl-/),
    object: 'chat.completion.chunk',
    created: expect.any(Number),
    model: 'model',
    choices: [{ index: 0, delta: {}, finish_reason: null }],
    warnings: ofRequest,
  });
  expect(chunks.filter((chunk) => 'warnings' in chunk)).toHaveLength(1);
});

it('a stream with events has the warning in both forms', async () => {
  await using app = await appThatSays();
  const body = { stream: true, stream_options: { include_events: true }, tool_servers: [deadServer] };
  const chunks = objectsIn((await ask(app, body)).body);
  expect(chunks.filter((chunk) => 'warnings' in chunk)).toMatchObject([{ warnings: ofRequest, event: { type: 'warning' } }]);
});

it('a model that refuses the question keeps its HTTP status beside a warning', async () => {
  await using app = await testApp({}, { backends: [backendOf(new ScriptedModel([new Error('The backend broke.')]))] });
  expect((await ask(app, { stream: true, tool_servers: [deadServer] })).statusCode).toBe(500);
});

it('what was renamed and could be used is no warning to the caller', async () => {
  const openapi = {
    openapi: '3.1.0',
    info: { title: 'Clock', version: '1' },
    paths: { '/now': { get: { operationId: 'now', responses: {} } } },
  };
  await using app = await appThatSays();
  const tools = [{ type: 'function', function: { name: 'now', parameters: { type: 'object', properties: {} } } }];
  const answer = await ask(app, { tools, tool_servers: [{ ...deadServer, openapi }] });
  expect(answer.json()).not.toHaveProperty('warnings');
});

function objectsIn(stream: string): Record<string, unknown>[] {
  return readChunks(stream).filter((chunk) => typeof chunk === 'object');
}

interface Frame {
  type: string;
  data: Record<string, unknown>;
}

async function openSocket(
  app: TestApp,
): Promise<{ frames: Frame[]; socket: WebSocket; sessionId: string; until: (isLast: (frame: Frame) => boolean) => Promise<void> }> {
  const socket = new WebSocket(`${(await listen(app)).replace('http', 'ws')}/ws`);
  const frames: Frame[] = [];
  const arrived = new EventTarget();
  socket.on('message', (data: Buffer) => {
    frames.push(JSON.parse(data.toString()) as Frame);
    arrived.dispatchEvent(new Event('frame'));
  });
  async function until(isLast: (frame: Frame) => boolean): Promise<void> {
    while (!frames.some(isLast)) await once(arrived, 'frame');
  }
  await until(({ type }) => type === 'session');
  return { frames, socket, sessionId: String(frames[0]?.data['session_id']), until };
}

it('a chat over a socket says it at its end', async () => {
  await using app = await appThatSays();
  const { frames, socket, until } = await openSocket(app);
  socket.send(JSON.stringify({ type: 'message', data: { model: 'model', content: 'Hi', tool_servers: [deadServer] } }));
  await until(({ type }) => type === 'assistant_end');
  expect(frames.at(-1)?.data).toMatchObject({ warnings: ofRequest });
  socket.close();
});

it('a session gets the events of an HTTP chat that names it, and no text of it', async () => {
  await using app = await appThatSays();
  const { frames, socket, sessionId, until } = await openSocket(app);
  const answer = await ask(app, { session_id: sessionId, chat_id: 'chat-1', id: 'message-1', tool_servers: [deadServer] });
  await until(({ data }) => data['type'] === 'run.end');
  const run_id = answer.headers['x-toolwharf-run-id'];
  expect(frames.slice(1)).toMatchObject([
    { type: 'event', data: { run_id, chat_id: 'chat-1', message_id: 'message-1', type: 'run.start' } },
    { type: 'event', data: { run_id, type: 'warning', data: { code: 'tool_server_unreachable' } } },
    { type: 'event', data: { run_id, type: 'run.end', data: { status: 'completed' } } },
  ]);
  socket.close();
});

it('a chat over the socket itself sends each event once', async () => {
  await using app = await appThatSays();
  const { frames, socket, until } = await openSocket(app);
  socket.send(JSON.stringify({ type: 'message', data: { model: 'model', content: 'Hi' } }));
  await until(({ type }) => type === 'assistant_end');
  expect(frames.filter(({ data }) => data['type'] === 'run.start')).toHaveLength(1);
  socket.close();
});

it('the end of a failed HTTP chat reaches its session', async () => {
  await using app = await testApp({}, { backends: [backendOf(new ScriptedModel([new Error('The backend broke.')]))] });
  const { frames, socket, sessionId, until } = await openSocket(app);
  await ask(app, { session_id: sessionId });
  await until(({ data }) => data['type'] === 'run.end');
  expect(frames.at(-1)?.data['data']).toMatchObject({ status: 'failed', error: { code: 'internal_error' } });
  socket.close();
});

it('events go to no session of another caller', async () => {
  await using app = await testApp(
    { TOOLWHARF_ADMIN_KEY: 'sk-tw-admin-0000000000000000' },
    { backends: [backendOf(new ScriptedModel(says('Hello.'), says('Hello.')))] },
  );
  const headers = { authorization: 'Bearer sk-tw-admin-0000000000000000', 'content-type': 'application/json' };
  const made = await app.server.inject({ method: 'POST', url: '/api/keys', headers, payload: { name: 'ada', role: 'user' } });
  const url = (await listen(app)).replace('http', 'ws');
  const socket = new WebSocket(`${url}/ws`, { headers });
  const frames: Frame[] = [];
  const session = Promise.withResolvers<string>();
  socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as Frame;
    frames.push(frame);
    session.resolve(String(frame.data['session_id']));
  });
  const payload = { model: 'model', messages, session_id: await session.promise };
  const ask = (authorization: string) =>
    app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers: { ...headers, authorization }, payload });
  await ask(`Bearer ${made.json<{ key: string }>().key}`);
  expect(frames).toHaveLength(1);
  await ask(headers.authorization);
  while (frames.length < 2) await once(socket, 'message');
  expect(frames[1]).toMatchObject({ type: 'event', data: { type: 'run.start' } });
  socket.close();
});
