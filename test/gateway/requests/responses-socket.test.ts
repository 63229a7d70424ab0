import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { backendOf, listen } from '../../_support/build-app.ts';
import { calls, generatedBy, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { documentOf, gatewayOf, serverOf, textOfMessage } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';

const item = { type: 'object', properties: { item: { type: 'string' } }, required: ['item'] };
const shop = [
  serverOf('shop', documentOf({ price: item })),
  serverOf('till', documentOf({ buy: item }), { extra: { config: { needs_approval: true } } }),
];
const answers = { 'http://shop.test/price': { euros: 7 }, 'http://till.test/buy': { bought: true } };

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

interface Client {
  socket: WebSocket;
  frames: JsonObject[];
  /** Sends `response.create` and resolves with its last event. */
  ask(body: JsonObject): Promise<JsonObject>;
  send(frame: unknown): void;
  /** Resolves with the number-th last event of a response, from 1. */
  ending(number: number): Promise<JsonObject>;
}

const endings = new Set<unknown>(['response.completed', 'response.incomplete', 'response.failed', 'error']);

async function begin(turns: ScriptStep[][], options: GatewayOptions = {}): Promise<{ gateway: Gateway; url: string }> {
  const gateway = await gatewayOf({ turns, servers: shop, answers, ...options });
  closers.push(() => gateway[Symbol.asyncDispose]());
  return { gateway, url: await listen(gateway.app) };
}

function socketOf(url: string, headers: Record<string, string> = {}): WebSocket {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses?model=model`, { headers });
  // One that was refused has no connection to end.
  socket.on('error', () => undefined);
  closers.push(() => socket.terminate());
  return socket;
}

async function connect(url: string, headers: Record<string, string> = {}): Promise<Client> {
  const socket = socketOf(url, headers);
  const frames: JsonObject[] = [];
  const ended = (): JsonObject[] => frames.filter(({ type }) => endings.has(type));
  socket.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString()) as JsonObject));
  await once(socket, 'open');
  const send = (frame: unknown): void => socket.send(JSON.stringify(frame));
  const ending = async (number: number): Promise<JsonObject> => {
    while (ended().length < number) await once(socket, 'message');
    return ended()[number - 1] ?? {};
  };
  return {
    socket,
    frames,
    send,
    ending,
    ask(body) {
      const number = ended().length + 1;
      send({ type: 'response.create', model: 'model', ...body });
      return ending(number);
    },
  };
}

async function refusal(socket: WebSocket): Promise<number | undefined> {
  const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  return answer.statusCode;
}

function responseIn(event: JsonObject): JsonObject {
  return event['response'] as JsonObject;
}

function idIn(event: JsonObject): string {
  return String(responseIn(event)['id']);
}

function typesOf(items: unknown): unknown[] {
  return (items as JsonObject[]).map(({ type }) => type);
}

describe('Responses over a websocket', () => {
  it('sends the events of the stream, one in a frame', async () => {
    const turns = [calls(['price', { item: 'tea' }]), says('It costs 7 euros.')];
    const { url, gateway } = await begin([...turns, ...turns]);
    const body = { model: 'model', input: 'What does tea cost?' };
    const streamed = await fetch(`${url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, stream: true }),
    });
    const types = (await streamed.text()).split('\n').flatMap((line) => (line.startsWith('event: ') ? [line.slice(7)] : []));
    const client = await connect(url);
    const last = await client.ask(body);
    expect(typesOf(client.frames)).toEqual(types);
    expect(client.frames.map((frame) => frame['sequence_number'])).toEqual(types.map((_, index) => index));
    expect(typesOf(responseIn(last)['output'])).toEqual(['mcp_call', 'message']);
    expect(gateway.sent).toHaveLength(2);
  });

  it('continues the last response of the connection without a store', async () => {
    const { url, gateway } = await begin([calls(['price', { item: 'tea' }]), says('It costs 7 euros.'), says('Tea.')]);
    const client = await connect(url);
    const first = await client.ask({ input: 'What does tea cost?', store: false });
    const second = await client.ask({ input: 'What did I ask about?', previous_response_id: idIn(first), store: false });
    expect(responseIn(second)).toMatchObject({ previous_response_id: idIn(first), store: false, status: 'completed' });
    const seen = gateway.model.requests[2]?.messages ?? [];
    expect(seen.map(({ role }) => role).filter((role) => role !== 'system')).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
    expect(textOfMessage(seen.at(-1))).toBe('What did I ask about?');
    expect(gateway.sent).toHaveLength(1);
  });

  it('takes the result of a function of the client with the id of the response that called it', async () => {
    const tool = { type: 'function', name: 'weather', parameters: { type: 'object', properties: {} } };
    const { url, gateway } = await begin([calls(['weather', {}]), says('Sunny.')]);
    const client = await connect(url);
    const first = await client.ask({ input: 'How is the weather?', tools: [tool] });
    const [call] = responseIn(first)['output'] as JsonObject[];
    const result = { type: 'function_call_output', call_id: call?.['call_id'] ?? '', output: 'sun' };
    const second = await client.ask({ input: [result], tools: [tool], previous_response_id: idIn(first) });
    expect(second['type']).toBe('response.completed');
    expect(gateway.model.requests[1]?.messages.filter(({ role }) => role === 'tool')).toHaveLength(1);
  });

  it('answers requests one after another', async () => {
    const { url } = await begin([says('one'), says('two'), says('three')]);
    const client = await connect(url);
    for (const input of ['1', '2', '3']) client.send({ type: 'response.create', model: 'model', input });
    await client.ending(3);
    const created = client.frames.flatMap((frame, index) => (frame['type'] === 'response.created' ? [index] : []));
    const completed = client.frames.flatMap((frame, index) => (frame['type'] === 'response.completed' ? [index] : []));
    expect(created.slice(1)).toEqual(completed.slice(0, 2).map((index) => index + 1));
  });

  it('names a response that the connection does not know, and goes on', async () => {
    const { url } = await begin([says('Hello.'), says('Again.')]);
    const first = await (await connect(url)).ask({ input: 'Hi' });
    const client = await connect(url);
    const missed = await client.ask({ input: 'And now?', previous_response_id: idIn(first) });
    expect(missed).toMatchObject({
      type: 'error',
      status: 400,
      error: { code: 'previous_response_not_found', param: 'previous_response_id' },
    });
    expect(await client.ask({ input: 'Hi' })).toMatchObject({ type: 'response.completed' });
  });

  it('forgets a response when continuing it failed', async () => {
    const { url, gateway } = await begin([says('Hello.')]);
    const client = await connect(url);
    const first = await client.ask({ input: 'Hi' });
    const lost = { type: 'function_call_output', call_id: 'call_lost', output: 'x' };
    const failed = await client.ask({ input: [lost], previous_response_id: idIn(first) });
    expect(failed).toMatchObject({ type: 'error', status: 400, error: { param: 'input.0.call_id' } });
    const again = await client.ask({ input: 'Hi', previous_response_id: idIn(first) });
    expect(again).toMatchObject({ error: { code: 'previous_response_not_found' } });
    expect(gateway.model.requests).toHaveLength(1);
  });

  it('prepares a conversation without asking the model', async () => {
    const { url, gateway } = await begin([says('Hello.')]);
    const client = await connect(url);
    const ready = await client.ask({ input: [{ role: 'developer', content: 'Be brief.' }], generate: false });
    expect(responseIn(ready)).toMatchObject({ status: 'completed', output: [] });
    expect(gateway.model.requests).toHaveLength(0);
    await client.ask({ input: 'Hi', previous_response_id: idIn(ready) });
    expect(gateway.model.requests[0]?.messages.map(textOfMessage)).toEqual(['Be brief.', 'Hi']);
  });

  it('goes on with a run that waited for an approval', async () => {
    const { url, gateway } = await begin([calls(['buy', { item: 'tea' }]), says('Bought.')]);
    const client = await connect(url);
    const waiting = await client.ask({ input: 'Buy tea' });
    const request = (responseIn(waiting)['output'] as JsonObject[]).find(({ type }) => type === 'mcp_approval_request');
    const decision = { type: 'mcp_approval_response', approval_request_id: request?.['id'] ?? '', approve: true };
    const done = await client.ask({ input: [decision], previous_response_id: idIn(waiting) });
    expect(done['type']).toBe('response.completed');
    expect(gateway.sent).toHaveLength(1);
  });

  it('continues stored responses of other connections', async () => {
    const { url, gateway } = await begin([says('Hello.'), says('Hi.'), says('Bye.')], { environment: { STORE_CHATS: 'true' } });
    const first = await (await connect(url)).ask({ input: 'One' });
    expect(responseIn(first)['store']).toBe(true);
    const client = await connect(url);
    const second = await client.ask({ input: 'Two', previous_response_id: idIn(first) });
    await client.ask({ input: 'Three', previous_response_id: idIn(second), store: false });
    expect(gateway.model.requests[2]?.messages.map(textOfMessage)).toEqual(['One', 'Hello.', 'Two', 'Hi.', 'Three']);
  });

  it.each<[string, unknown, object]>([
    ['text that is no JSON', '{', { code: 'invalid_request' }],
    ['another type', { type: 'session.update' }, { param: 'type' }],
    ['no model', { type: 'response.create', input: 'Hi' }, { param: 'model' }],
    ['a response in the background', { type: 'response.create', model: 'model', input: 'Hi', background: true }, { param: 'background' }],
    ['an unknown model', { type: 'response.create', model: 'other', input: 'Hi' }, { code: 'model_not_found' }],
  ])('answers %s with a frame error', async (_, sent, error) => {
    const { url } = await begin([]);
    const client = await connect(url);
    client.socket.send(typeof sent === 'string' ? sent : JSON.stringify(sent));
    const frame = await client.ending(1);
    expect(frame).toMatchObject({ type: 'error', error });
    expect(Number(frame['status'])).toBeGreaterThanOrEqual(400);
    expect(client.socket.readyState).toBe(WebSocket.OPEN);
  });

  it('cancels the run of a client that disconnects', async () => {
    const ended = Promise.withResolvers<unknown>();
    const model = generatedBy(async function* ({ signal }) {
      yield { type: 'text', text: 'Well, ' };
      await once(signal, 'abort');
      ended.resolve(signal.reason);
    });
    const { url } = await begin([], { backends: [backendOf(model)] });
    const client = await connect(url);
    client.send({ type: 'response.create', model: 'model', input: 'Hi' });
    await once(client.socket, 'message');
    client.socket.terminate();
    expect(await ended.promise).toMatchObject({ name: 'AbortError' });
  });

  it('ends the run of a client that does not read', async () => {
    const piece = 'x'.repeat(64 * 1024);
    let pieces = 0;
    const ended = Promise.withResolvers<unknown>();
    const model = generatedBy(async function* ({ signal }) {
      signal.addEventListener('abort', () => ended.resolve(signal.reason));
      for (; pieces < 2_000 && !signal.aborted; pieces += 1) yield { type: 'text', text: piece };
    });
    const { url } = await begin([], { backends: [backendOf(model)], environment: { CLIENT_STALL_TIMEOUT_MS: '300' } });
    const client = await connect(url);
    client.send({ type: 'response.create', model: 'model', input: 'Hi' });
    await once(client.socket, 'message');
    client.socket.pause();
    expect(await ended.promise).toMatchObject({ name: 'AbortError' });
    expect(pieces).toBeLessThan(1_000);
  });
});

describe('the door of the websocket for Responses', () => {
  it('needs a key, as every route', async () => {
    const { url } = await begin([says('Hello.')], { environment: { TOOLWHARF_ADMIN_KEY: 'secret-key-of-this-test' } });
    expect(await refusal(socketOf(url))).toBe(401);
    const client = await connect(url, { authorization: 'Bearer secret-key-of-this-test' });
    expect(await client.ask({ input: 'Hi' })).toMatchObject({ type: 'response.completed' });
  });

  it('is closed for pages of other sites', async () => {
    const { url } = await begin([]);
    expect(await refusal(socketOf(url, { origin: 'https://evil.example' }))).toBe(403);
  });

  it('ends when its key is deleted', async () => {
    const admin = { authorization: 'Bearer secret-key-of-this-test', 'content-type': 'application/json' };
    const { url } = await begin([says('Hello.')], { environment: { TOOLWHARF_ADMIN_KEY: 'secret-key-of-this-test' } });
    const made = await fetch(`${url}/api/keys`, {
      method: 'POST',
      headers: admin,
      body: JSON.stringify({ name: 'ada', role: 'user', limits: { requests_per_minute: 1 } }),
    });
    const { id, key } = (await made.json()) as { id: string; key: string };
    const client = await connect(url, { authorization: `Bearer ${key}` });
    expect(await client.ask({ input: 'Hi' })).toMatchObject({ type: 'response.completed' });
    expect(await client.ask({ input: 'Hi' })).toMatchObject({ type: 'error', status: 429, error: { code: 'rate_limit_exceeded' } });
    await fetch(`${url}/api/keys/${id}`, { method: 'DELETE', headers: { authorization: admin.authorization } });
    const closed = once(client.socket, 'close');
    expect(await client.ask({ input: 'Hi' })).toMatchObject({ type: 'error', status: 401 });
    expect((await closed)[0]).toBe(4401);
  });

  it('takes larger frames than the websocket of pages, up to 4 MB', async () => {
    const { url } = await begin([says('Long.')]);
    const client = await connect(url);
    expect(await client.ask({ input: 'x'.repeat(3 * 1024 * 1024) })).toMatchObject({ type: 'response.completed' });
    const closed = once(client.socket, 'close');
    client.socket.send('x'.repeat(5 * 1024 * 1024));
    expect((await closed)[0]).toBe(1009);
  });

  it('says to plain HTTP how it is used', async () => {
    const { url } = await begin([]);
    const answer = await fetch(`${url}/v1/responses`);
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('POST');
  });
});
