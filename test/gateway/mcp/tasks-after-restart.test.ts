import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { textOf } from '../../../src/core/chat/chat.ts';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import type { SendOutbound } from '../../../src/core/outbound.ts';
import type { ToolServerRecord } from '../../../src/core/stores/registry.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { parseToolServerConnection } from '../../../src/storage/tool-server-connection.ts';
import { serverPatienceMs } from '../../../src/tools/servers/registered-servers.ts';
import { backendOf, listen, readChunks, testApp } from '../../_support/build-app.ts';
import { memoryRegistry, memoryWaitingRuns, openStores } from '../../_support/memory-stores.ts';
import { generatedBy } from '../../_support/scripted-model.ts';
import { servedClients } from '../../http/dialects/parity/clients.ts';
import { documentWith, jsonResponse, neverAnswers, scriptedSend } from '../../tools/scripted-send.ts';
import { documentOf, serverOf } from '../gateway.ts';
import { TaskServer, type Era } from './task-server.ts';

/** A task outlives the gateway that began it. The next one takes it up when the request comes again. */
const headers = { host: '127.0.0.1:8080' };
const line =
  'The same request was interrupted after this call had begun: peer/render. It is not repeated, and the answer continues from there. To run it again, ask for that in a new message.';

type Parts = NonNullable<Parameters<typeof testApp>[1]>;

interface Around {
  /** Of the MCP server. */
  connection?: JsonObject;
  called?: string[];
  /** What other servers answer. */
  others?: ReturnType<typeof scriptedSend>;
  servers?: ToolServerRecord[];
}

/** Gateways over one data folder, one after the other. Their model makes its calls once, then says what it has read. */
function gatewaysOver(
  server: TaskServer,
  { connection = {}, called = ['render'], others = scriptedSend(), servers = [], ...given }: Parts & Around = {},
) {
  const record = parseToolServerConnection({ id: 'peer', type: 'mcp', url: 'http://peer.test/mcp', ...connection }, 'file');
  const registry = memoryRegistry([record, ...servers]);
  const folder = mkdtempSync(join(tmpdir(), 'tasks-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const asked: ModelRequest[] = [];
  const model = generatedBy(async function* (request) {
    asked.push({ ...request, messages: structuredClone(request.messages) });
    const results = request.messages.filter(({ role }) => role === 'tool').map(({ content }) => textOf(content));
    if (results.length === 0) {
      for (const [index, name] of called.entries()) yield { type: 'tool-call', call: { id: `call-${index}`, name, arguments: '{}' } };
      yield { type: 'finish', reason: 'tool_calls' };
      return;
    }
    yield { type: 'text', text: `Read: ${results.join(' | ')}` };
    yield { type: 'finish', reason: 'stop' };
  });
  return {
    asked,
    /** Gives a gateway that offers its tools, or is about to. */
    async start({ isReady = true } = {}) {
      let hasCrashed = false;
      const send: SendOutbound = (request) => {
        if (hasCrashed) return neverAnswers(request);
        return request.url.startsWith('http://peer.test/') ? server.send(request) : others.send(request);
      };
      const environment = { TOOLWHARF_SECRET: '0123456789abcdef0123456789abcdef', DRAIN_TIMEOUT_MS: '50', TOOLWHARF_DEMO: 'false' };
      const { waitingRuns, runs, database } = openStores({ file: join(folder, 'toolwharf.db'), secret: 'a secret' });
      const app = await testApp(environment, { backends: [backendOf(model)], send, registry, waitingRuns, runs, ...given });
      const close = async (): Promise<void> => {
        await app.close();
        await database.close();
      };
      onTestFinished(close);
      const post = (url: string, payload: object, more: Record<string, string> = {}) =>
        app.server.inject({ method: 'POST', url, payload, headers: { ...headers, ...more } });
      const ask = (body: JsonObject = {}) =>
        post('/v1/chat/completions', { model: 'model', messages: [{ role: 'user', content: 'Render it.' }], ...body });
      const list = () => app.server.inject({ method: 'GET', url: '/api/tools', headers });
      if (isReady) await expect.poll(async () => (await list()).body).toContain('render');
      /** A shutdown, or the end of everything it does without one. */
      const end = async (how: string): Promise<void> => {
        hasCrashed = how === 'a crash';
        if (!hasCrashed) await close();
      };
      return { app, close, end, post, ask };
    },
  };
}

function textIn(answer: { json: () => unknown }): string | undefined {
  const { choices } = answer.json() as { choices?: { message: { content: string } }[] };
  return choices?.[0]?.message.content;
}

function callsOf(server: TaskServer): number {
  return server.methods().filter((method) => method === 'tools/call').length;
}

async function untilFollowed(server: TaskServer): Promise<void> {
  await expect.poll(() => server.methods()).toContain('tasks/get');
}

describe.each<Era>(['2025-11-25', '2026-07-28'])('a task of %s', (era) => {
  it.each(['a shutdown', 'a crash'])('is taken up again after %s, when its request comes again, once', async (how) => {
    const server = new TaskServer(era);
    server.states = [{ status: 'working' }];
    const gateways = gatewaysOver(server);
    const first = await gateways.start();
    void first.ask();
    await untilFollowed(server);
    await first.end(how);
    const second = await gateways.start();
    server.states = [{ status: 'completed' }];
    const answer = await second.ask();
    expect(textIn(answer)).toMatch(`${line}\n\nRead: Rendered.`);
    expect(answer.json()).toMatchObject({
      warnings: [{ code: 'calls_not_repeated', message: line }],
      sources: [{ source: { name: 'TOOL:peer/render' } }],
    });
    expect([callsOf(server), server.methods().includes('tasks/cancel')]).toEqual([1, false]);
    expect(gateways.asked.at(-1)?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(textIn(await second.ask())).toMatch(/^Read: Rendered\./u);
    expect(callsOf(server)).toBe(2);
  });
});

describe.each(servedClients.map((client) => ({ name: client.name, client })))('$name', ({ client }) => {
  it.each([true, false])('has the result of a task from before the restart, streaming: %s', async (stream) => {
    const server = new TaskServer('2026-07-28');
    server.states = [{ status: 'working' }];
    const gateways = gatewaysOver(server);
    const first = await gateways.start();
    const body = client.write({ turns: [{ role: 'user', text: 'Render it.' }] }, stream);
    const cutOff = first.post(client.path, body, client.headers);
    await untilFollowed(server);
    await first.close();
    await cutOff;
    server.states = [{ status: 'completed' }];
    const second = await gateways.start();
    const answer = await second.post(client.path, body, client.headers);
    const read = stream ? client.readStream(answer.body) : client.read(answer.json());
    expect(read.text).toMatch(`${line}\n\nRead: Rendered.`);
    expect([read.sources, read.warnings]).toEqual([['TOOL:peer/render'], ['calls_not_repeated']]);
    expect(callsOf(server)).toBe(1);
  });
});

it.each(['a shutdown', 'a crash'])('is followed after %s beside a call that has run, and before one that had not begun', async (how) => {
  const server = new TaskServer('2026-07-28');
  server.states = [{ status: 'working' }];
  const others = scriptedSend({ 'http://disk.test/save': { saved: true }, 'http://clock.test/look': { time: 'noon' } });
  const none = { type: 'object', properties: {} };
  const servers = [serverOf('disk', documentOf({ save: none })), serverOf('clock', documentWith('look'))];
  const gateways = gatewaysOver(server, { called: ['look', 'render', 'save'], others, servers });
  const first = await gateways.start();
  void first.ask();
  await untilFollowed(server);
  await first.end(how);
  const sentBefore = others.requests.map(({ url }) => url);
  const second = await gateways.start();
  server.states = [{ status: 'completed' }];
  const answer = await second.ask({ stream: true, stream_options: { include_events: true } });
  expect(sentBefore).toEqual(['http://clock.test/look']);
  const text =
    gateways.asked
      .at(-1)
      ?.messages.filter(({ role }) => role === 'tool')
      .map(({ content }) => textOf(content)) ?? [];
  expect(text.map((result) => /noon|Rendered|saved/u.exec(result)?.[0])).toEqual(['noon', 'Rendered', 'saved']);
  expect(callsOf(server)).toBe(1);
  const events = readChunks(answer.body).flatMap((chunk) => (typeof chunk === 'object' && chunk['event'] ? [chunk['event']] : []));
  const shown = (events as { type: string; data: { tool?: string } }[]).filter(
    ({ type }) => type === 'tool.call' || type === 'tool.result',
  );
  expect(shown.map(({ type, data }) => `${type} ${data.tool}`)).toEqual([
    'tool.call render',
    'tool.call save',
    'tool.result render',
    'tool.result save',
  ]);
  expect(others.requests.filter(({ url }) => url.endsWith('/save'))).toHaveLength(1);
});

it('is followed although its server takes longer to start than a chat waits for it', async () => {
  const server = new TaskServer('2026-07-28');
  server.states = [{ status: 'working' }];
  const gateways = gatewaysOver(server);
  const first = await gateways.start();
  const cutOff = first.ask();
  await untilFollowed(server);
  await first.close();
  await cutOff;
  server.states = [{ status: 'completed' }];
  server.answer = async ({ method }) => (method === 'tools/list' ? setTimeout(serverPatienceMs + 500, undefined) : undefined);
  const second = await gateways.start({ isReady: false });
  expect(textIn(await second.ask())).toMatch(`${line}\n\nRead: Rendered.`);
});

it('is taken up again after a second restart', async () => {
  const server = new TaskServer('2026-07-28');
  server.states = [{ status: 'working' }];
  const gateways = gatewaysOver(server);
  for (let time = 1; time <= 2; time += 1) {
    const gateway = await gateways.start();
    const before = server.methods().length;
    const cutOff = gateway.ask();
    await expect.poll(() => server.methods().slice(before)).toContain('tasks/get');
    await gateway.close();
    await cutOff;
  }
  server.states = [{ status: 'completed' }];
  const third = await gateways.start();
  expect(textIn(await third.ask())).toContain('Read: Rendered.');
  expect(callsOf(server)).toBe(1);
});

it('says that the outcome is unknown where the server has forgotten the task', async () => {
  const server = new TaskServer('2026-07-28');
  server.states = [{ status: 'working' }];
  const gateways = gatewaysOver(server);
  const first = await gateways.start();
  const cutOff = first.ask();
  await untilFollowed(server);
  await first.close();
  await cutOff;
  server.answer = ({ method, id = 0 }) =>
    method === 'tasks/get' ? jsonResponse({ jsonrpc: '2.0', id, error: { code: -32_602, message: 'Unknown task' } }) : undefined;
  const second = await gateways.start();
  const text = textIn(await second.ask());
  expect(text).toContain('The server does not know its task any more: Unknown task');
  expect(text).toContain('It is not known whether the call took effect');
  expect(callsOf(server)).toBe(1);
});

it.each(['cancelled', 'left'])('is cancelled with a run that was %s, and not taken up again', async (how) => {
  const server = new TaskServer('2026-07-28');
  server.states = [{ status: 'working' }];
  const gateways = gatewaysOver(server);
  const first = await gateways.start();
  const leaving = new AbortController();
  const body = JSON.stringify({ model: 'model', messages: [{ role: 'user', content: 'Render it.' }] });
  const url = `${await listen(first.app)}/v1/chat/completions`;
  const { signal } = leaving;
  const asking = fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal }).catch(() => undefined);
  await untilFollowed(server);
  if (how === 'left') leaving.abort();
  else {
    const listed = await first.app.server.inject({ method: 'GET', url: '/api/runs', headers });
    await first.post(`/api/runs/${listed.json<{ data: { id: string }[] }>().data[0]?.id}/cancel`, {});
  }
  await asking;
  await expect.poll(() => server.methods()).toContain('tasks/cancel');
  await first.close();
  server.states = [{ status: 'completed' }];
  const second = await gateways.start();
  expect((await second.ask()).json()).not.toHaveProperty('warnings');
  expect(callsOf(server)).toBe(2);
});

it('is not taken up again if its run is cancelled while it is being stored', async () => {
  const server = new TaskServer('2026-07-28');
  server.states = [{ status: 'working' }];
  const store = memoryWaitingRuns();
  const saving = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const save: typeof store.save = async (run, bounds) => {
    saving.resolve();
    await released.promise;
    return store.save(run, bounds);
  };
  const gateways = gatewaysOver(server, { waitingRuns: { ...store, save } });
  const gateway = await gateways.start();
  const asking = gateway.ask();
  await saving.promise;
  const listed = await gateway.app.server.inject({ method: 'GET', url: '/api/runs', headers });
  await gateway.post(`/api/runs/${listed.json<{ data: { id: string }[] }>().data[0]?.id}/cancel`, {});
  released.resolve();
  await asking;
  await expect.poll(() => server.methods()).toContain('tasks/cancel');
  expect(await store.callersWithFailed(Date.now())).toEqual([]);
});

it('is cancelled with the gateway where the request says that it is not to be continued', async () => {
  const server = new TaskServer('2026-07-28');
  server.states = [{ status: 'working' }];
  const gateways = gatewaysOver(server);
  const first = await gateways.start();
  const cutOff = first.ask({ params: { resume_failed: false } });
  await untilFollowed(server);
  await first.close();
  await cutOff;
  expect(server.methods()).toContain('tasks/cancel');
});

it('goes on with the decision that approved it, sent again after a shutdown', async () => {
  const server = new TaskServer('2026-07-28');
  server.states = [{ status: 'working' }];
  const gateways = gatewaysOver(server, { connection: { config: { needs_approval: true } } });
  const first = await gateways.start();
  const { approval } = (await first.ask()).json<{ approval: { run_id: string; token: string; calls: { id: string }[] } }>();
  const url = `/api/runs/${approval.run_id}/approvals/${approval.calls[0]?.id}`;
  const decision = { decision: 'approve', token: approval.token };
  const cutOff = first.post(url, decision);
  await untilFollowed(server);
  await first.close();
  expect((await cutOff).statusCode).toBe(503);
  server.states = [{ status: 'completed' }];
  const second = await gateways.start();
  expect(textIn(await second.post(url, decision))).toMatch(/^Read: Rendered\./u);
  expect([callsOf(server), server.methods().includes('tasks/cancel')]).toEqual([1, false]);
});
