import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { parseToolServerConnection } from '../../../src/storage/tool-server-connection.ts';
import { listen } from '../../_support/build-app.ts';
import { outboundBody } from '../../_support/outbound-body.ts';
import { jsonResponse } from '../../tools/scripted-send.ts';
import { gatewayOf } from '../gateway.ts';
import { TaskServer, taskId, type Era, type Message } from './task-server.ts';

const form = { message: 'Which city?', requestedSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } };

interface Called {
  outcome: Promise<JsonObject>;
  progress: string[];
}

/** The gateway before such a server, and a client that may be asked. */
async function taskGateway(
  server: TaskServer,
  environment: NodeJS.ProcessEnv = {},
): Promise<{ call: (signal?: AbortSignal) => Called; questions: string[]; stop: () => Promise<void> }> {
  const record = parseToolServerConnection({ id: 'peer', type: 'mcp', url: 'http://peer.test/mcp' }, 'file');
  const gateway = await gatewayOf({ servers: [record], send: server.send, environment: { TOOLWHARF_DEMO: 'false', ...environment } });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const client = new Client({ name: 'tester', version: '1' }, { capabilities: { elicitation: {} } });
  const questions: string[] = [];
  client.setRequestHandler('elicitation/create', ({ params }) => {
    questions.push(params.message);
    return { action: 'accept', content: { city: 'Osaka' } };
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${await listen(gateway.app)}/mcp`)));
  onTestFinished(() => client.close());
  return {
    questions,
    stop: () => gateway.app.close(),
    call(signal) {
      const progress: string[] = [];
      const onprogress = (seen: { message?: string | undefined }): void => void progress.push(seen.message ?? '');
      const outcome = client.callTool({ name: 'render', arguments: {} }, { onprogress, ...(signal && { signal }) }) as Promise<unknown>;
      return { outcome: outcome as Promise<JsonObject>, progress };
    },
  };
}

describe.each<Era>(['2025-11-25', '2026-07-28'])('a tool that runs as a task, in the version %s', (era) => {
  const isModern = era === '2026-07-28';

  it('is offered, and polled until it has its result, with its status as progress', async () => {
    const server = new TaskServer(era);
    server.states = [
      { status: 'working', statusMessage: 'Half of it' },
      { status: 'working', statusMessage: 'Half of it' },
      { status: 'completed' },
    ];
    const { call } = await taskGateway(server);
    const { outcome, progress } = call();
    expect(await outcome).toMatchObject({ content: [{ type: 'text', text: 'Rendered.' }], structuredContent: { frames: 2, note: null } });
    expect(progress.filter((text) => text === 'Half of it')).toHaveLength(1);
    const gets = ['tasks/get', 'tasks/get', 'tasks/get'];
    expect(server.methods()).toEqual(['tools/call', ...gets, ...(isModern ? [] : ['tasks/result'])]);
    const called = server.asked.find(({ method }) => method === 'tools/call')?.params;
    const { task, _meta: meta } = called ?? {};
    const declared = (meta as JsonObject | undefined)?.['io.modelcontextprotocol/clientCapabilities'];
    const extensions = { 'io.modelcontextprotocol/ui': expect.anything(), 'io.modelcontextprotocol/tasks': {} };
    expect({ task, declared }).toMatchObject(isModern ? { declared: { extensions } } : { task: {} });
  });

  it('is polled as often as its server asks, and for longer than a call without progress may take', async () => {
    const server = new TaskServer(era);
    server.pollMs = 700;
    server.states = [{ status: 'working' }, { status: 'completed' }];
    const { call } = await taskGateway(server, { TOOL_TIMEOUT_MS: '500' });
    expect(await call().outcome).toMatchObject({ content: [{ text: 'Rendered.' }] });
    const [first = 0, second = 0] = server.times;
    expect(second - first).toBeGreaterThan(690);
  });

  it('ends with the total time of calls, and is then cancelled once', async () => {
    const server = new TaskServer(era);
    server.states = [{ status: 'working' }];
    const { call } = await taskGateway(server, { TOOL_TOTAL_TIMEOUT_MS: '400' });
    expect(await call().outcome).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^tool_timeout: /) }] });
    await expect.poll(() => server.methods().at(-1)).toBe('tasks/cancel');
    expect(server.asked.at(-1)?.params).toMatchObject({ taskId });
    expect(server.methods().filter((method) => method === 'tasks/cancel')).toHaveLength(1);
  });

  it('is cancelled with the call', async () => {
    const server = new TaskServer(era);
    server.states = [{ status: 'working' }];
    const { call } = await taskGateway(server);
    const leaving = new AbortController();
    const { outcome } = call(leaving.signal);
    await expect.poll(() => server.methods()).toContain('tasks/get');
    leaving.abort();
    await expect(outcome).rejects.toThrow('abort');
    await expect.poll(() => server.methods()).toContain('tasks/cancel');
  });

  it('is cancelled with the gateway, as it would find nobody after a restart', async () => {
    const server = new TaskServer(era);
    server.states = [{ status: 'working' }];
    const { call, stop } = await taskGateway(server, { DRAIN_TIMEOUT_MS: '100' });
    const { outcome } = call();
    outcome.catch(() => undefined);
    await expect.poll(() => server.methods()).toContain('tasks/get');
    await stop();
    expect(server.methods().filter((method) => method === 'tasks/cancel')).toHaveLength(1);
  });

  it('is not run again when its server is lost and comes back without the session', async () => {
    const server = new TaskServer(era);
    let failures = 2;
    server.answer = ({ method, id = 0 }) => {
      if (method !== 'tasks/get' || failures === 0) return undefined;
      failures -= 1;
      return failures === 1
        ? jsonResponse({}, 502)
        : jsonResponse({ jsonrpc: '2.0', id, error: { code: -32_001, message: 'Session not found' } }, 404);
    };
    const { call } = await taskGateway(server);
    expect(await call().outcome).toMatchObject({ content: [{ text: 'Rendered.' }] });
    expect(server.methods().filter((method) => method === 'tools/call')).toHaveLength(1);
  });

  it('that fails is reported as an error of its tool, and not run again', async () => {
    const server = new TaskServer(era);
    server.states = [{ status: 'failed', error: { code: -32_603, message: 'Out of paint' } }];
    server.answer = ({ method, id = 0 }) =>
      method === 'tasks/result' ? jsonResponse({ jsonrpc: '2.0', id, error: { code: -32_603, message: 'Out of paint' } }) : undefined;
    const { call } = await taskGateway(server);
    expect(await call().outcome).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('Out of paint') }] });
    expect(server.methods().filter((method) => method === 'tools/call')).toHaveLength(1);
  });
});

it('asks the user the question of a task of 2026-07-28 once', async () => {
  const server = new TaskServer('2026-07-28');
  const waiting = {
    status: 'input_required',
    inputRequests: { city: { method: 'elicitation/create', params: { mode: 'form', ...form } } },
  };
  server.states = [waiting, waiting, { status: 'completed' }];
  const { call, questions } = await taskGateway(server);
  expect(await call().outcome).toMatchObject({ content: [{ text: 'Rendered.' }] });
  expect(questions).toEqual([expect.stringContaining('Which city?')]);
  const updates = server.asked.filter(({ method }) => method === 'tasks/update');
  expect(updates.map(({ params }) => [params?.['taskId'], params?.['inputResponses']])).toEqual([
    [taskId, { city: { action: 'accept', content: { city: 'Osaka' } } }],
  ]);
});

it('shows the progress of a task of 2025-11-25, which has the token of its call', async () => {
  const server = new TaskServer('2025-11-25');
  let progressToken: unknown;
  server.answer = ({ id, method, params }) => {
    if (method === 'tools/call') progressToken = (params?.['_meta'] as JsonObject | undefined)?.['progressToken'];
    if (method !== 'tasks/get') return undefined;
    const messages = [
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1, total: 2, message: 'One of two' } },
      { jsonrpc: '2.0', id, result: { taskId, status: 'completed' } },
    ];
    const text = messages.map((message) => `event: message\ndata: ${JSON.stringify(message)}\n\n`).join('');
    const body = (async function* () {
      yield Buffer.from(text);
    })();
    return { status: 200, headers: { 'content-type': 'text/event-stream' }, body: outboundBody(body) };
  };
  const { call } = await taskGateway(server);
  const { outcome, progress } = call();
  expect(await outcome).toMatchObject({ content: [{ text: 'Rendered.' }] });
  expect(progress).toContain('One of two');
});

it('cancels a task that asks for something the gateway does not support', async () => {
  const server = new TaskServer('2026-07-28');
  server.states = [{ status: 'input_required', inputRequests: { text: { method: 'sampling/createMessage', params: {} } } }];
  const { call } = await taskGateway(server);
  expect(await call().outcome).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^tool_error: .*sampling/) }] });
  await expect.poll(() => server.methods().at(-1)).toBe('tasks/cancel');
});

it('asks the user the question of a task of 2025-11-25 on the stream of the request for its result', async () => {
  const server = new TaskServer('2025-11-25');
  server.states = [{ status: 'input_required' }];
  const answered = Promise.withResolvers<Message & { result?: JsonObject }>();
  server.answer = (message) => {
    if (message.method === undefined) answered.resolve(message);
    if (message.method !== 'tasks/result') return undefined;
    const event = (data: object): Buffer => Buffer.from(`event: message\ndata: ${JSON.stringify(data)}\n\n`);
    const body = (async function* () {
      yield event({ jsonrpc: '2.0', id: 7, method: 'elicitation/create', params: form });
      const { result } = await answered.promise;
      const content = [{ type: 'text', text: `Rendered ${String((result?.['content'] as JsonObject | undefined)?.['city'])}.` }];
      yield event({ jsonrpc: '2.0', id: message.id, result: { content } });
    })();
    return { status: 200, headers: { 'content-type': 'text/event-stream' }, body: outboundBody(body) };
  };
  const { call, questions } = await taskGateway(server);
  expect(await call().outcome).toMatchObject({ content: [{ text: 'Rendered Osaka.' }] });
  expect(questions).toEqual([expect.stringContaining('Which city?')]);
});
