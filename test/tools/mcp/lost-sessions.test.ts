import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { OutboundResponse, SendOutbound } from '../../../src/core/outbound.ts';
import type { Tool } from '../../../src/core/tools/tool.ts';
import { retryDelayMs } from '../../../src/tools/mcp/transports/outbound-fetch.ts';
import { outboundBody } from '../../_support/outbound-body.ts';
import { jsonResponse } from '../scripted-send.ts';
import { callTool, mcpTools, mcpRecord, requireTool } from './mcp-fixture.ts';
import { scriptedPeer, textResult, toolOf } from './scripted-peer.ts';

interface Message {
  id?: number;
  method?: string;
  params?: { name?: string };
}

type Answer = OutboundResponse | Promise<OutboundResponse>;

/** A server of the first era, which knows its sessions until it is restarted. */
class SessionServer {
  executed: string[] = [];
  sessions = new Set<string>();
  opened = 0;
  /** For whom each request was sent. */
  users: [method: string | undefined, user: string | null][] = [];
  refuse: (message: Message) => Answer = () => jsonResponse({}, 404);
  onCall: (name: string, message: Message, signal: AbortSignal) => Promise<OutboundResponse | undefined> = async () => undefined;

  restart(): void {
    this.sessions.clear();
  }

  readonly send: SendOutbound = async (request) => {
    if (request.method !== 'POST') return jsonResponse({}, 405);
    const message = JSON.parse(String(request.body)) as Message;
    const { id = 0, method, params } = message;
    const result = (value: JsonObject): OutboundResponse => jsonResponse({ jsonrpc: '2.0', id, result: value });
    this.users.push([method, new Headers(request.headers).get('x-user')]);
    if (method === 'server/discover') return jsonResponse({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
    if (method === 'initialize') {
      const session = `session-${(this.opened += 1)}`;
      this.sessions.add(session);
      const answer = result({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1' } });
      return { ...answer, headers: { ...answer.headers, 'mcp-session-id': session } };
    }
    if (!this.sessions.has(new Headers(request.headers).get('mcp-session-id') ?? '')) return this.refuse(message);
    if (message.id === undefined) return { status: 202, headers: {}, body: outboundBody(new Response('').body ?? nothing()) };
    if (method === 'tools/list') return result({ tools: [toolOf('write'), toolOf('slow')] as unknown as JsonObject[] });
    const refusal = await this.onCall(params?.name ?? '', message, request.signal);
    if (refusal !== undefined) return refusal;
    this.executed.push(params?.name ?? '');
    return result(textResult('done') as JsonObject);
  };
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  yield* [];
}

const unavailable = (retryAfter: string): OutboundResponse => ({ ...jsonResponse({}, 503), headers: { 'retry-after': retryAfter } });
const rpcError =
  (code: number, message: string, status = 200) =>
  ({ id = 0 }: Message) =>
    jsonResponse({ jsonrpc: '2.0', id, error: { code, message } }, status);
const done = { type: 'result', value: 'done' };

async function toolsOf(server: SessionServer): Promise<{ write: Tool; slow: Tool }> {
  const mcp = mcpTools({ send: server.send });
  return { write: await requireTool(mcp, 'write'), slow: await requireTool(mcp, 'slow') };
}

describe('a call to a server that does not know the session any more', () => {
  it.each<[form: string, refuse: SessionServer['refuse']]>([
    ['404', () => jsonResponse({}, 404)],
    ['410', () => jsonResponse({}, 410)],
    ['401', () => jsonResponse({ error: 'unknown session' }, 401)],
    ['400', rpcError(-32_000, 'Bad Request: No valid session ID provided', 400)],
    ['403 in words', rpcError(-32_000, 'Session expired', 403)],
    ['500 in words', rpcError(-32_603, 'Unknown session', 500)],
    ['200 with -32001', rpcError(-32_001, 'Session not found')],
    ['200 with -32002', rpcError(-32_002, 'Server not initialized')],
    ['200 with -32602', rpcError(-32_602, 'Invalid request parameters: received request before initialization was complete')],
  ])('is sent once more over a new session, and so is every other call that was refused: %s', async (_form, refuse) => {
    const server = new SessionServer();
    const { write } = await toolsOf(server);
    server.refuse = refuse;
    server.restart();
    expect(await callTool(write)).toEqual(done);
    server.restart();
    expect(await Promise.all([callTool(write), callTool(write)])).toEqual([done, done]);
    expect(server.executed).toEqual(['write', 'write', 'write']);
  });

  it('is sent once more where the server is still starting and says when to come again', async () => {
    const server = new SessionServer();
    const { write } = await toolsOf(server);
    server.restart();
    server.refuse = () => unavailable('0');
    expect(await callTool(write)).toEqual(done);
    expect(server.executed).toEqual(['write']);
  });

  it('waits as long as a server that is starting says, and keeps its session', async () => {
    const server = new SessionServer();
    const { write } = await toolsOf(server);
    let readyAt = Infinity;
    server.onCall = async () => {
      if (readyAt === Infinity) readyAt = performance.now() + 900;
      return performance.now() < readyAt ? unavailable('1') : undefined;
    };
    expect(await callTool(write)).toEqual(done);
    expect([server.executed, server.opened]).toEqual([['write'], 1]);
  });

  it('says when a server that names a long time wants to be tried again', async () => {
    const server = new SessionServer();
    const { write } = await toolsOf(server);
    server.onCall = async () => unavailable('60');
    const message = expect.stringContaining('503, and asks to be tried again in 60 s');
    expect(await callTool(write)).toMatchObject({ type: 'error', code: 'mcp_unavailable', message, state: 'not_started' });
    expect(server.executed).toEqual([]);
  });

  it.each([
    ['3', 3_000],
    ['Thu, 01 Jan 1970 00:00:12 GMT', 2_000],
    ['Thu, 01 Jan 1970 00:00:01 GMT', 0],
    ['soon', 0],
  ])('reads Retry-After: %s', (header, ms) => {
    expect(retryDelayMs(header, 10_000)).toBe(ms);
  });

  it.each<[reason: string, code: number, words: string]>([
    ['about a session of its own', -32_602, 'Session not found: the browser was closed'],
    ['with another reason', -32_001, 'The request timed out'],
    ['about its own failure', -32_603, 'Unknown session'],
  ])('is not repeated after an error of the tool %s', async (_reason, code, words) => {
    const server = new SessionServer();
    const { write } = await toolsOf(server);
    let calls = 0;
    server.onCall = async (_name, message) => {
      calls += 1;
      return rpcError(code, words)(message);
    };
    expect(await callTool(write)).toMatchObject({ type: 'error', code: 'tool_error', message: expect.stringContaining(words) });
    expect(calls).toBe(1);
  });
});

describe('a connection that all calls of a server share', () => {
  it('is replaced for the call that was refused, and ends when the calls that run on it have ended', async () => {
    const server = new SessionServer();
    const { write, slow } = await toolsOf(server);
    const [isRunning, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let refusals = 0;
    server.onCall = async (name) => {
      if (name === 'write' && (refusals += 1) === 1) return jsonResponse({}, 400);
      if (name === 'slow') isRunning.resolve();
      if (name === 'slow') await mayEnd.promise;
      return undefined;
    };
    const running = callTool(slow);
    await isRunning.promise;
    expect(await callTool(write)).toEqual(done);
    mayEnd.resolve();
    expect(await running).toEqual(done);
    expect([server.opened, server.executed]).toEqual([2, ['write', 'slow']]);
  });

  it('stays while calls run on it, though the list of tools fails', async () => {
    const [isRunning, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const peer = scriptedPeer([toolOf('slow')], async () => {
      isRunning.resolve();
      await mayEnd.promise;
      return textResult('done');
    });
    const record = mcpRecord();
    const mcp = mcpTools({ records: [record], transports: peer.transports });
    const slow = await requireTool(mcp, 'slow');
    const running = callTool(slow);
    await isRunning.promise;
    const { tools } = peer;
    Object.defineProperty(peer, 'tools', {
      configurable: true,
      get: () => {
        throw new Error('busy');
      },
    });
    const report = await mcp.inspector.refresh(record, new AbortController().signal);
    expect(report).toMatchObject({ ok: false, error: expect.stringContaining('busy') });
    mayEnd.resolve();
    expect(await running).toEqual(done);
    Object.defineProperty(peer, 'tools', { value: tools });
    expect(await callTool(slow)).toEqual(done);
    expect(peer.connections).toBe(1);
  });

  it('is opened anew by the first refresh after a restart of the server', async () => {
    const server = new SessionServer();
    const record = mcpRecord();
    const mcp = mcpTools({ send: server.send, records: [record] });
    await requireTool(mcp, 'write');
    server.restart();
    expect(await mcp.inspector.refresh(record, new AbortController().signal)).toMatchObject({ ok: true });
    expect(server.opened).toBe(2);
  });
});

it('the list of a server is requested for nobody while a call of one caller is running', async () => {
  const server = new SessionServer();
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  server.onCall = async () => {
    begun.resolve();
    await held;
    return undefined;
  };
  const record = mcpRecord({ headers: { 'X-User': '{{USER_ID}}' } });
  const mcp = mcpTools({ send: server.send, records: [record] });
  const running = callTool(await requireTool(mcp, 'slow'), { run: { caller: { id: 'ada', role: 'user', isOpen: false } } });
  await begun.promise;
  await mcp.inspector.refresh(record, new AbortController().signal);
  release();
  expect(await running).toMatchObject(done);
  expect(server.users.filter(([, user]) => user === 'ada')).toEqual([['tools/call', 'ada']]);
  expect(server.users.filter(([method]) => method === 'tools/list')).toHaveLength(2);
});

it('a call during which the server floods is ended, with its answer, and those of others go on', async () => {
  const server = new SessionServer();
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  server.onCall = async (name, { params }, signal) => {
    if (name === 'slow') {
      await held;
      return undefined;
    }
    const { _meta: meta } = params as { _meta?: { progressToken?: number } };
    const step: JsonObject = {
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: meta?.progressToken ?? null, progress: 1 },
    };
    const piece = Buffer.from(`data: ${JSON.stringify(step)}\n\n`.repeat(1_000));
    async function* steps(): AsyncGenerator<Uint8Array> {
      for (; !signal.aborted; await nextTurn()) yield piece;
      ended.resolve();
    }
    return { status: 200, headers: { 'content-type': 'text/event-stream' }, body: outboundBody(steps()) };
  };
  const { write, slow } = await toolsOf(server);
  const running = callTool(slow);
  expect(await callTool(write)).toMatchObject({ type: 'error', code: 'outcome_unknown' });
  await ended.promise;
  release();
  expect(await running).toMatchObject(done);
  expect(server.opened).toBe(1);
});
