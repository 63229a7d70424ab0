import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { limits } from '../../../src/core/limits.ts';
import { OutboundError } from '../../../src/core/errors.ts';
import { readText, type OutboundRequest, type OutboundResponse, type SendOutbound } from '../../../src/core/outbound.ts';
import type { ToolServerRecord } from '../../../src/core/stores/registry.ts';
import type { Tool, ToolOutcome } from '../../../src/core/tools/tool.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { testApp } from '../../_support/build-app.ts';
import { jsonResponse } from '../scripted-send.ts';
import { callTool, mcpTools, mcpRecord, offerOf, requireTool } from './mcp-fixture.ts';
import { httpPeer, textResult, toolOf } from './scripted-peer.ts';
import { outboundBody } from '../../_support/outbound-body.ts';
import { mcpGivenUpMs } from '../../../src/tools/mcp/open-connection.ts';
import { mcpConnectTimeoutMs } from '../../../src/tools/mcp/transports/outbound-fetch.ts';

type Message = { id?: number; method?: string };
type Script = (message: Message, request: OutboundRequest) => OutboundResponse | Promise<OutboundResponse> | undefined;

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}

function eventStream(text: string): OutboundResponse {
  return { status: 200, headers: { 'content-type': 'text/event-stream' }, body: outboundBody(bytesOf(text)) };
}

function accepted(): OutboundResponse {
  return { status: 202, headers: {}, body: outboundBody(bytesOf('')) };
}

/** A server of the first era, written by hand, whose answer to a call is the script's. */
function legacyServer(onCall: Script, { session = 'session-1' } = {}): { send: SendOutbound; methods: string[] } {
  const methods: string[] = [];
  const result = (message: Message, value: object): OutboundResponse =>
    jsonResponse({ jsonrpc: '2.0', id: message.id ?? 0, result: { ...value } });
  return {
    methods,
    async send(request) {
      if (request.method !== 'POST') return jsonResponse({}, 405);
      const message = JSON.parse(String(request.body)) as Message;
      methods.push(message.method ?? '');
      switch (message.method ?? '') {
        case 'initialize': {
          const info = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1' } };
          const answer = result(message, info);
          return { ...answer, headers: { ...answer.headers, 'mcp-session-id': session } };
        }
        case 'tools/list':
          return result(message, { tools: [toolOf('echo')] });
        case 'tools/call':
          return (await onCall(message, request)) ?? result(message, textResult('done'));
        case 'server/discover':
          return jsonResponse({ jsonrpc: '2.0', id: message.id ?? 0, error: { code: -32601, message: 'Method not found' } });
        default:
          return accepted();
      }
    },
  };
}

/** The same over the transport of 2024: answers come on the stream that a GET has opened. */
function sseServer(onCall: Script): { send: SendOutbound; methods: string[] } {
  const old = legacyServer(onCall);
  let push: (text: string) => void = () => undefined;
  async function* events(): AsyncGenerator<Uint8Array> {
    const waiting: string[] = ['event: endpoint\ndata: /messages\n\n'];
    let wake = Promise.withResolvers<void>();
    push = (text) => {
      waiting.push(text);
      wake.resolve();
    };
    for (;;) {
      for (const text of waiting.splice(0)) yield* bytesOf(text);
      await wake.promise;
      wake = Promise.withResolvers();
    }
  }
  return {
    methods: old.methods,
    async send(request) {
      if (request.method === 'GET') return { status: 200, headers: { 'content-type': 'text/event-stream' }, body: outboundBody(events()) };
      if (new URL(request.url).pathname !== '/messages') return jsonResponse({}, 405);
      const { status, headers, body } = await old.send(request);
      const answer = await readText(body, 100_000);
      if (status !== 200) return { status, headers, body: outboundBody(bytesOf(answer.text)) };
      push(`event: message\ndata: ${answer.text}\n\n`);
      return accepted();
    },
  };
}

async function echoOf(send: SendOutbound, record: Partial<ToolServerRecord> = {}): Promise<Tool> {
  return requireTool(mcpTools({ send, records: [mcpRecord(record)] }), 'echo');
}

async function callOn(onCall: Script): Promise<{ outcome: ToolOutcome; methods: string[] }> {
  const server = legacyServer(onCall);
  const outcome = await callTool(await echoOf(server.send));
  return { outcome, methods: server.methods };
}

it.each([
  ['Streamable HTTP', legacyServer],
  ['HTTP with SSE', sseServer],
])('a call for which the token lacks scopes was not executed, and says which: over %s', async (_transport, serverOf) => {
  const server = serverOf(() => ({
    ...jsonResponse({ error: 'insufficient_scope' }, 403),
    headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="mail.read mail.send"' },
  }));
  expect(await callTool(await echoOf(server.send))).toMatchObject({
    type: 'error',
    state: 'not_started',
    message: expect.stringContaining('mail.read mail.send'),
  });
  expect(server.methods.filter((method) => method === 'tools/call')).toHaveLength(1);
});

it('a call in a session that a server over HTTP with SSE has forgotten is sent once more, over a new stream', async () => {
  let isRestarted = true;
  const server = sseServer(() => {
    if (!isRestarted) return undefined;
    isRestarted = false;
    return jsonResponse({ error: 'Session not found' }, 404);
  });
  expect(await callTool(await echoOf(server.send))).toMatchObject({ type: 'result', value: 'done' });
  expect(server.methods.filter((method) => method === 'initialize')).toHaveLength(2);
});

describe('an MCP server over HTTP', () => {
  it('of the new era is called without a session', async () => {
    const peer = httpPeer([toolOf('echo')]);
    expect(await callTool(await echoOf(peer.send))).toEqual({ type: 'result', value: 'echo done' });
    const headers = peer.requests.map((request) => new Headers(request.headers).get('mcp-protocol-version'));
    expect(headers.at(-1)).toBe('2026-07-28');
  });

  it('of the old era is called in its session', async () => {
    const sessions: (string | null)[] = [];
    const { outcome, methods } = await callOn((_message, { headers }) => void sessions.push(new Headers(headers).get('mcp-session-id')));
    expect(outcome).toEqual({ type: 'result', value: 'done' });
    expect(methods).toContain('initialize');
    expect(sessions).toEqual(['session-1']);
  });

  it.each<[name: string, record: Partial<ToolServerRecord>, header: string, value: string]>([
    ['bearer', { authType: 'bearer', key: 'top-secret' }, 'authorization', 'Bearer top-secret'],
    ['basic', { authType: 'basic', key: 'ada:top-secret' }, 'authorization', `Basic ${btoa('ada:top-secret')}`],
    ['header', { authType: 'header', authName: 'x-token', key: 'top-secret' }, 'x-token', 'top-secret'],
    ['own headers', { authType: 'none', headers: { 'X-User': '{{USER_ID}}' } }, 'x-user', 'ada'],
  ])('gets its credential with every request: %s', async (_name, record, header, value) => {
    const peer = httpPeer([toolOf('echo')]);
    const tool = await echoOf(peer.send, record);
    await callTool(tool, { run: { caller: { id: 'ada', role: 'user', isOpen: false } } });
    const call = peer.requests.find(({ body }) => String(body).includes('tools/call'));
    expect(new Headers(call?.headers).get(header)).toBe(value);
    expect(peer.requests.every(({ trust }) => trust.kind === 'configured' && trust.origin === 'http://peer.test')).toBe(true);
  });

  it('gets a key in the query where it wants it there', async () => {
    const peer = httpPeer([toolOf('echo')]);
    await echoOf(peer.send, { authType: 'query', authName: 'token', key: 'top-secret' });
    expect(new Set(peer.requests.map(({ url }) => url))).toEqual(new Set(['http://peer.test/mcp?token=top-secret']));
  });

  it('that has forgotten the session is met anew, and the call is sent once more', async () => {
    let count = 0;
    const { outcome, methods } = await callOn(() => ((count += 1) === 1 ? jsonResponse({ error: 'no such session' }, 404) : undefined));
    expect(outcome).toEqual({ type: 'result', value: 'done' });
    expect(methods.filter((method) => method === 'initialize')).toHaveLength(2);
    expect(methods.filter((method) => method === 'tools/call')).toHaveLength(2);
  });

  it.each<[name: string, onCall: Script, code: string, state: string | undefined, calls: number]>([
    ['breaks off its answer', () => eventStream(': nothing\n\n'), 'outcome_unknown', 'outcome_unknown', 1],
    ['fails', () => jsonResponse({}, 500), 'outcome_unknown', 'outcome_unknown', 1],
    ['lets nobody in', () => jsonResponse({}, 403), 'mcp_unavailable', 'not_started', 1],
    [
      'redirects',
      () => Promise.reject(new OutboundError('redirected', 'http://peer.test answered 307 and points elsewhere.')),
      'mcp_unavailable',
      'not_started',
      1,
    ],
    ['is cut', () => Promise.reject(new OutboundError('cut', 'http://peer.test broke off.')), 'outcome_unknown', 'outcome_unknown', 1],
    [
      'may not be reached',
      () => Promise.reject(new OutboundError('denied', 'http://peer.test is not allowed.')),
      'egress_denied',
      'not_started',
      1,
    ],
    [
      'is not there any more',
      () => Promise.reject(new OutboundError('unreachable', 'nobody', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))),
      'mcp_unavailable',
      'not_started',
      2,
    ],
    [
      'says no',
      ({ id = 0 }) => jsonResponse({ jsonrpc: '2.0', id, error: { code: -32602, message: 'No such city' } }),
      'tool_error',
      undefined,
      1,
    ],
  ])('that %s leaves the call in a known state', async (_name, onCall, code, state, calls) => {
    const { outcome, methods } = await callOn(onCall);
    expect(outcome).toMatchObject({ type: 'error', code });
    expect(outcome.type === 'error' ? outcome.state : 'none').toBe(state);
    expect(methods.filter((method) => method === 'tools/call')).toHaveLength(calls);
  });

  it('that gives a part of a result which is none has run the call, and the rest is read', async () => {
    const picture = { type: 'image', data: '!', mimeType: 'image/png' };
    const content = [{ type: 'text', text: 'Paid.' }, picture];
    const { outcome, methods } = await callOn(({ id = 0 }) => jsonResponse({ jsonrpc: '2.0', id, result: { content } }));
    expect(outcome).toMatchObject({ type: 'result', value: expect.stringMatching(/^Paid\.\n\[A part of the result .*"!"/) });
    expect(methods.filter((method) => method === 'tools/call')).toHaveLength(1);
  });

  it('that says the key again says it to nobody', async () => {
    const onCall: Script = ({ id = 0 }) => jsonResponse({ jsonrpc: '2.0', id, error: { code: -32000, message: 'top-secret is wrong' } });
    const tool = await echoOf(legacyServer(onCall).send, { authType: 'bearer', key: 'top-secret' });
    expect(await callTool(tool)).toMatchObject({ message: expect.not.stringContaining('top-secret') });
  });

  it('that gives the key back in a result gives it to nobody', async () => {
    const headers = { authorization: 'Bearer top-secret', note: 'top-secret, once more' };
    const peer = httpPeer([toolOf('echo')], () => ({
      content: [{ type: 'text', text: JSON.stringify(headers) }],
      structuredContent: { headers },
    }));
    const outcome = await callTool(await echoOf(peer.send, { authType: 'bearer', key: 'top-secret' }));
    expect(outcome.type).toBe('result');
    expect(JSON.stringify(outcome)).not.toContain('top-secret');
    expect(JSON.stringify(outcome)).toContain('[secret]');
  });

  it('that lists pages without end is offered as far as it is read', async () => {
    let pages = 0;
    const server = legacyServer(() => undefined);
    const send: SendOutbound = async (request) => {
      const message = request.method === 'POST' ? (JSON.parse(String(request.body)) as Message) : {};
      if (message.method !== 'tools/list') return server.send(request);
      pages += 1;
      return jsonResponse({
        jsonrpc: '2.0',
        id: message.id ?? 0,
        result: { tools: [{ name: `tool_${pages}`, inputSchema: { type: 'object' } }], nextCursor: `page ${pages}` },
      });
    };
    const { tools, warnings } = await offerOf(mcpTools({ send }));
    expect([tools.size, warnings]).toEqual([pages, []]);
    expect(pages).toBeLessThan(100);
  });
});

it('an argument that a server requires and has a default for may be left out, and is sent', async () => {
  const inputSchema = {
    type: 'object' as const,
    properties: { level: { type: 'string', enum: ['error', 'info'], default: 'info' }, text: { type: 'string' } },
    required: ['level', 'text'],
  };
  const seen: unknown[] = [];
  const peer = httpPeer([toolOf('messages', { inputSchema })], (_name, args) => {
    seen.push(args);
    return textResult('read');
  });
  await using app = await testApp({}, { registry: memoryRegistry([mcpRecord()]), send: peer.send });
  const invoke = (args: object) =>
    app.server.inject({
      method: 'POST',
      url: '/api/tools/peer/messages/invoke',
      headers: { host: '127.0.0.1:8080' },
      payload: { arguments: args },
    });
  expect((await invoke({ text: 'x' })).json()).toMatchObject({ result: 'read' });
  expect((await invoke({ text: 'x', level: 'error' })).json()).toMatchObject({ result: 'read' });
  expect((await invoke({})).json()).toMatchObject({ error: { code: 'args_invalid', message: expect.stringContaining('text') } });
  expect(seen).toEqual([
    { text: 'x', level: 'info' },
    { text: 'x', level: 'error' },
  ]);
});

it('a call that was given up keeps no request open at a server that answers neither it nor its cancellation', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const pending = new Map<string, OutboundRequest>();
  const hang = ({ method = '' }: Message, request: OutboundRequest): Promise<never> => {
    pending.set(method, request);
    return new Promise((_resolve, reject) => {
      request.signal.addEventListener('abort', () => reject(request.signal.reason as Error));
    });
  };
  const server = legacyServer(hang);
  const send: SendOutbound = async (request) => {
    const message = request.method === 'POST' ? (JSON.parse(String(request.body)) as Message) : {};
    return message.method === 'notifications/cancelled' ? hang(message, request) : server.send(request);
  };
  const tool = await echoOf(send);
  const givenUp = new AbortController();
  const outcome = callTool(tool, { signal: givenUp.signal }).catch(() => undefined);
  await vi.waitUntil(() => pending.has('tools/call'));
  givenUp.abort(new Error('given up'));
  await outcome;
  await vi.waitUntil(() => pending.has('notifications/cancelled'));
  expect(pending.get('tools/call')?.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(mcpGivenUpMs);
  expect(pending.get('tools/call')?.signal.aborted).toBe(true);
  // The way out ends it.
  expect(pending.get('notifications/cancelled')?.firstByteTimeoutMs).toBeLessThan(2 * mcpConnectTimeoutMs);
  expect(pending.get('tools/call')?.firstByteTimeoutMs).toBeGreaterThan(limits.mcpAnswerMs - 1);
});
