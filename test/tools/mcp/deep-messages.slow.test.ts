import { ReadableStream } from 'node:stream/web';
import { describe, expect, it } from 'vitest';
import type { OutboundResponse, SendOutbound } from '../../../src/core/outbound.ts';
import type { ToolOutcome } from '../../../src/core/tools/tool.ts';
import { outboundBody } from '../../_support/outbound-body.ts';
import { jsonResponse } from '../scripted-send.ts';
import { callTool, mcpTools, mcpRecord, offerOf, requireTool } from './mcp-fixture.ts';

type Path = readonly (string | number)[];

/** Every message that a server sends, with what is due when nothing of it is nested. */
const results: Record<string, object> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: { listChanged: true }, logging: {} },
    serverInfo: { name: 'deep', version: '1' },
  },
  'tools/list': {
    tools: [
      { name: 'echo', inputSchema: { type: 'object', properties: {} } },
      { name: 'deep', description: 'Deep', inputSchema: { type: 'object', properties: {} } },
    ],
  },
  'tools/call': { content: [{ type: 'text', text: 'done' }] },
  ping: {},
};
/** Sent before the result of a call. */
const told: Record<string, object> = {
  'notifications/progress': { progressToken: 1, progress: 1 },
  'notifications/message': { level: 'info', data: 'still here' },
  'notifications/tools/list_changed': {},
  'notifications/cancelled': { requestId: 'none', reason: 'x' },
  'notifications/unknown': {},
};
const asked: Record<string, object> = {
  'elicitation/create': { message: 'Which?', requestedSchema: { type: 'object', properties: {} } },
  'sampling/createMessage': { messages: [], maxTokens: 1 },
  'roots/list': {},
  ping: {},
  unknown: {},
};

/** A field of a message that is nested. `isOdd`: the protocol has a text or a flag there, so that the message may be refused. */
interface Place {
  kind: 'result' | 'notification' | 'request' | 'error';
  method: string;
  path: Path;
  isOdd?: boolean;
}

const resultPlaces: Place[] = [
  ...paths('result', 'initialize', ['capabilities', 'tools', 'x'], ['serverInfo', 'x'], ['_meta', 'x'], ['x']),
  ...odd(
    'result',
    'initialize',
    ['capabilities', 'experimental', 'x'],
    ['instructions'],
    ['serverInfo', 'name'],
    ['protocolVersion'],
    ['capabilities'],
  ),
  ...paths(
    'result',
    'tools/list',
    ...['properties', 'default', 'enum', 'anyOf', 'not', '$defs', 'x'].map((name) => ['tools', 1, 'inputSchema', name]),
  ),
  ...paths(
    'result',
    'tools/list',
    ...['inputSchema', 'outputSchema', 'annotations', '_meta', 'icons', 'execution', 'title', 'description', 'name', 'x'].map((name) => [
      'tools',
      1,
      name,
    ]),
  ),
  ...paths('result', 'tools/list', ['tools', 1], ['_meta', 'x'], ['x']),
  ...odd('result', 'tools/list', ['tools'], ['nextCursor']),
  ...paths('result', 'tools/call', ['structuredContent', 'x'], ['_meta', 'x'], ['content', 0, '_meta', 'x'], ['content', 0, 'x'], ['x']),
  ...odd(
    'result',
    'tools/call',
    ['content', 1],
    ['content'],
    ['content', 0, 'text'],
    ['content', 0, 'annotations'],
    ['structuredContent'],
    ['isError'],
    [],
  ),
  ...paths('error', 'tools/call', ['data'], ['x'], ['message'], ['code']).map((place) => ({ ...place, isOdd: true })),
];
const sentPlaces: Place[] = [
  ...Object.keys(told).flatMap((method) => paths('notification', method, ['x'], ['_meta', 'x'], ['progress'], ['message'], ['data'])),
  ...Object.keys(asked).flatMap((method) =>
    paths('request', method, ['x'], ['_meta', 'x'], ['requestedSchema'], ['messages'], ['message']),
  ),
];

function paths(kind: Place['kind'], method: string, ...all: Path[]): Place[] {
  return all.map((path) => ({ kind, method, path }));
}

function odd(kind: Place['kind'], method: string, ...all: Path[]): Place[] {
  return paths(kind, method, ...all).map((place) => ({ ...place, isOdd: true }));
}

const marker = '(deep)';
const depths = [100, 1_000, 10_000, 100_000];
const forms: [open: string, close: string][] = [
  ['{"not":', '}'],
  ['[', ']'],
  ['{"anyOf":[', ']}'],
  ['{"properties":{"a":', '}}'],
];

/** JSON is written by hand: `JSON.stringify` cannot nest so deep. */
function nest(value: unknown, depth: number, [open, close]: [string, string]): string {
  return JSON.stringify(value).replace(`"${marker}"`, () => `${open.repeat(depth)}{}${close.repeat(depth)}`);
}

function withMarker(value: unknown, path: Path): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return marker;
  if (typeof step === 'number') {
    const list = Array.isArray(value) ? [...(value as unknown[])] : [];
    list[step] = withMarker(list[step], rest);
    return list;
  }
  const object = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  return { ...object, [step]: withMarker(object[step], rest) };
}

interface Sending {
  place: Place;
  isStream: boolean;
  write: (message: object) => string;
}

/** A server whose message of one kind has something nested in one place. */
function deepServer({ place, isStream, write }: Sending): SendOutbound {
  const answer = (messages: string[]): OutboundResponse => ({
    status: 200,
    headers: { 'content-type': isStream ? 'text/event-stream' : 'application/json' },
    body: outboundBody(
      ReadableStream.from([new TextEncoder().encode(isStream ? messages.map((text) => `data: ${text}\n\n`).join('') : messages.at(-1))]),
    ),
  });
  return async (request) => {
    if (request.method !== 'POST') return jsonResponse({}, 405);
    const { id, method = '' } = JSON.parse(String(request.body)) as { id?: number; method?: string };
    if (id === undefined || method === '') return { status: 202, headers: {}, body: outboundBody(ReadableStream.from([])) };
    const result = results[method];
    if (result === undefined) return jsonResponse({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
    const isPlace = place.method === method;
    if (place.kind === 'error' && isPlace)
      return answer([write({ jsonrpc: '2.0', id, error: withMarker({ code: -32000, message: 'no' }, place.path) })]);
    const isSent = place.kind === 'notification' || place.kind === 'request';
    const params = withMarker((place.kind === 'request' ? asked : told)[place.method], place.path);
    const before = { jsonrpc: '2.0', method: place.method, params, ...(place.kind === 'request' && { id: 'asked' }) };
    const sent = isSent && method === 'tools/call' ? [write(before)] : [];
    const due = { jsonrpc: '2.0', id, result: place.kind === 'result' && isPlace ? withMarker(result, place.path) : result };
    return answer([...sent, write(due)]);
  };
}

/** What came of a chat with this server; a promise that fails without a handler fails the test. */
async function echoAt(sending: Sending): Promise<ToolOutcome | undefined> {
  const mcp = mcpTools({ send: deepServer(sending) });
  if (sending.place.isOdd !== true) return callTool(await requireTool(mcp, 'echo'));
  const { tools } = await offerOf(mcp);
  const echo = tools.get('echo');
  return echo && (await callTool(echo));
}

const nameOf = ({ kind, method, path }: Place): string => `${kind} ${method}: ${path.join('.')}`;

/** At every depth, as a body and as an event stream, in several forms. */
async function outcomesAt(place: Place, sendings: readonly boolean[]): Promise<(ToolOutcome | undefined)[]> {
  const outcomes: (ToolOutcome | undefined)[] = [];
  for (const [index, depth] of depths.entries())
    for (const isStream of sendings) {
      const form = forms[(index + Number(isStream)) % forms.length] ?? ['[', ']'];
      outcomes.push(await echoAt({ place, isStream, write: (message) => nest(message, depth, form) }));
    }
  return outcomes;
}

const rows = (places: readonly Place[]): [string, Place][] => places.map((place) => [nameOf(place), place]);
const done = (times: number): object[] => Array.from({ length: times }, () => ({ type: 'result', value: 'done' }));

describe('what a server nests too deep ends nothing, and costs no other tool and no text of a result', () => {
  it.each(rows(resultPlaces.filter(({ isOdd }) => isOdd !== true)))('%s', async (_name, place) => {
    expect(await outcomesAt(place, [false, true])).toEqual(done(8));
  });

  it.each(rows(resultPlaces.filter(({ isOdd }) => isOdd === true)))('%s, where nothing may be nested', async (_name, place) => {
    // The message may be refused. What counts is that there is an end, and that no promise fails without a handler.
    expect(await outcomesAt(place, [false, true])).toHaveLength(8);
  });

  it.each(rows(sentPlaces))('%s', async (_name, place) => {
    expect(await outcomesAt(place, [true])).toEqual(done(4));
  });

  it('a tool whose definition was cut is left out, and the report says why', async () => {
    const place: Place = { kind: 'result', method: 'tools/list', path: ['tools', 1, '_meta', 'x'] };
    const record = mcpRecord();
    const send = deepServer({ place, isStream: false, write: (message) => nest(message, 1_000, ['[', ']']) });
    const mcp = mcpTools({ send, records: [record] });
    await requireTool(mcp, 'echo');
    expect(mcp.inspector.reportOf(record)?.omitted).toEqual([
      { operation: 'tools/call deep', reason: 'its definition is not valid: it is nested more than 252 levels deep' },
    ]);
  });
});
