import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { timeServerDocument } from '../../../src/demo/time/openapi-document.ts';
import { createDemoBackend, demoModel } from '../../../src/models/demo/demo-model.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { backendOf, listen, testApp } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { ollamaPeer, openAiPeer } from '../../_support/tool-using-peers.ts';
import type { PeerOptions, Peers } from '../../_support/tool-using-peers.ts';
import { documentWith, scriptedSend } from '../../tools/scripted-send.ts';
import { gatewayOf, question, readSeen, selects, serverOf } from '../gateway.ts';
import type { Seen } from '../gateway.ts';

const clocks = serverOf('time', documentWith('now', 'later'));
const clockAnswers = { 'http://time.test/now': { time: '12:00' }, 'http://time.test/later': { time: '13:00' } };

const step = says('Thought: The time?\nAction: now\nAction Input: {}');
const conclusion = says('Thought: I know.\nFinal Answer: It is noon.');

/** Of each name that may stand in a request: the way it means, and what a model says then. */
const ways: [name: string, mode: string, turns: ScriptStep[][]][] = [
  ...['native', 'function_call'].map((name): [string, string, ScriptStep[][]] => [
    name,
    'native',
    [calls(['now', {}]), says('It is noon.')],
  ]),
  ...['default', 'legacy', 'prompt'].map((name): [string, string, ScriptStep[][]] => [
    name,
    'default',
    [selects(['now', {}]), says('It is noon.')],
  ]),
  ['react', 'react', [step, conclusion]],
  ['simple', 'native', [calls(['now', {}], ['later', {}]), says('It is noon.')]],
  ['auto', 'native', [calls(['now', {}]), says('It is noon.')]],
];

async function overHttp([name, mode, turns]: (typeof ways)[number]): Promise<void> {
  await using gateway = await gatewayOf({ turns, servers: [clocks], answers: clockAnswers });
  const seen = await gateway.ask({ params: { function_calling: name } });
  expect([name, seen.eventsOf('run.start')]).toMatchObject([name, [{ mode }]]);
  expect(gateway.sent.map((request) => request.url)).toEqual(['http://time.test/now']);
  expect([seen.text, seen.finish]).toEqual(['It is noon.', ['stop']]);
  expect(seen.sources).toMatchObject([{ source: { name: 'TOOL:time/now' } }]);
}

async function overSocket([name, mode, turns]: (typeof ways)[number]): Promise<void> {
  const model = new ScriptedModel(...turns);
  const parts = { backends: [backendOf(model)], registry: memoryRegistry([clocks]), send: scriptedSend(clockAnswers).send };
  await using app = await testApp({}, parts);
  const browser = await connectFakeBrowser({ url: await listen(app) });
  try {
    browser.send({ type: 'message', data: { model: 'model', content: question, mode: name } });
    const end = await browser.next('assistant_end');
    expect(end.data).toMatchObject({
      finish_reason: 'stop',
      content: 'It is noon.',
      sources: [{ source: { name: 'TOOL:time/now' } }],
    });
    expect(browser.framesOf('tool_call').map((frame) => frame.data['toolName'])).toEqual(['now']);
    expect(browser.framesOf('event').find((frame) => frame.data['type'] === 'run.start')?.data['data']).toMatchObject({ mode });
    const thoughts = browser.framesOf('reasoning_chunk').map((frame) => frame.data['content']);
    expect(thoughts.join('').includes('The time?')).toBe(name === 'react');
  } finally {
    browser.terminate();
  }
}

describe('the way of a request', () => {
  it('is each of the modes by each of its names over HTTP, and one call runs [S1-16]', async () => {
    for (const way of ways) await overHttp(way);
  });

  it('is each of the modes by each of its names over the socket [S1-16]', async () => {
    for (const way of ways) await overSocket(way);
  });

  it('that is unknown is a 400 that names the known ones [S1-16]', async () => {
    await using gateway = await gatewayOf({ servers: [clocks] });
    const seen = await gateway.ask({ params: { function_calling: 'magic' } });
    expect(seen.status).toBe(400);
    expect(JSON.parse(seen.raw)).toMatchObject({ error: { code: 'unknown_mode', param: 'params.function_calling' } });
    for (const [name] of ways) expect(seen.raw).toContain(name);
  });

  it('is the setting’s where the request names none', async () => {
    await using gateway = await gatewayOf({
      turns: [step, conclusion],
      servers: [clocks],
      answers: clockAnswers,
      environment: { FUNCTION_CALLING: 'react' },
    });
    expect((await gateway.ask()).eventsOf('run.start')).toMatchObject([{ mode: 'react' }]);
  });

  it('simple allows one call, whatever the model can do [S1-16]', async () => {
    const turns = [selects(['now', {}], ['later', {}]), says('It is noon.')];
    const backends = [backendOf(new ScriptedModel(...turns), ['model'], { capabilities: ['completion'] })];
    await using gateway = await gatewayOf({ servers: [clocks], answers: clockAnswers, backends });
    const seen = await gateway.ask({ params: { function_calling: 'simple' } });
    expect(seen.eventsOf('run.start')).toMatchObject([{ mode: 'default' }]);
    expect(gateway.sent.map((request) => request.url)).toEqual(['http://time.test/now']);
    expect(seen.text).toBe('It is noon.');
  });
});

describe('thought and action', () => {
  it('give functions to a model without native calls, in plain text, and its thoughts are streamed as reasoning [S1-19]', async () => {
    const turns = [
      says('Thought: First the one.\nAction: now\nAction Input: {"city": "Osaka"}'),
      says('Thought: Then the other.\nAction: later\nAction Input: {}'),
      says('Thought: Done.\nFinal Answer: Noon, then one.'),
    ];
    await using gateway = await gatewayOf({ turns, servers: [clocks], answers: clockAnswers });
    const seen = await gateway.ask({ params: { function_calling: 'react' } });
    expect(gateway.sent.map((request) => request.url)).toEqual(['http://time.test/now?city=Osaka', 'http://time.test/later']);
    expect(gateway.model.requests.map((request) => request.tools.length)).toEqual([0, 0, 0]);
    expect(gateway.model.requests[1]?.messages.at(-1)?.content).toBe('Observation: {\n  "time": "12:00"\n}');
    expect(seen.text).toBe('Noon, then one.');
    for (const thought of ['First the one.', 'Then the other.', 'Done.']) expect(seen.reasoning).toContain(thought);
    expect(seen.raw.indexOf('TOOL:time/now')).toBeLessThan(seen.raw.indexOf('Noon'));
  });
});

const peers: [string, (options?: PeerOptions) => Peers][] = [
  ['an OpenAI-compatible server', openAiPeer],
  ['an Ollama', ollamaPeer],
];

/** One chat through the real adapters, their peers and the tool server being scripted. */
async function askPeer(peer: Peers, mode: string): Promise<Seen & { warnings: unknown[] }> {
  const { send } = scriptedSend({ ...clockAnswers, ...peer.answers });
  await using app = await testApp(peer.environment, { registry: memoryRegistry([clocks]), send });
  const payload = {
    model: 'm',
    messages: [{ role: 'user', content: question }],
    stream: true,
    stream_options: { include_events: true },
    params: { function_calling: mode },
  };
  const headers = { host: '127.0.0.1:8080' };
  const { statusCode, body } = await app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload });
  const seen = readSeen(body);
  return { status: statusCode, ...seen, warnings: seen.eventsOf('warning').map((data) => data['code']) };
}

describe.each(peers)('with %s', (_name, peerOf) => {
  it.each(['native', 'default', 'react', 'simple', 'auto'])('%s works through its real adapter', async (mode) => {
    const peer = peerOf();
    const seen = await askPeer(peer, mode);
    expect(seen.text).toBe('It is noon.');
    expect(seen.eventsOf('tool.call')).toMatchObject([{ tool: 'now' }]);
    expect(seen.sources).toHaveLength(1);
    const isNative = ['native', 'simple', 'auto'].includes(mode);
    expect(peer.chats.some((body) => body['tools'] !== undefined)).toBe(isNative);
    const isFormed = peer.chats.map((body) => (body['response_format'] ?? body['format']) !== undefined);
    expect(isFormed).toEqual(mode === 'default' ? [true, false] : [false, false]);
  });

  it('auto answers by a selection where it refuses functions, and the selection goes without a form where it refuses forms', async () => {
    const peer = peerOf({ refusesTools: true, refusesForms: true });
    const seen = await askPeer(peer, 'auto');
    expect(seen.text).toBe('It is noon.');
    expect(seen.eventsOf('selection')).toMatchObject([{ found: ['now'] }]);
    expect(seen.eventsOf('tool.call')).toHaveLength(1);
  });
});

it('the demo model follows every way of choosing', async () => {
  for (const mode of ['native', 'default', 'react', 'simple', 'auto']) {
    await using app = await testApp(
      { TOOLWHARF_DEMO: 'true' },
      { registry: memoryRegistry([clocks]), send: scriptedSend(clockAnswers).send },
    );
    const payload = { model: 'demo', messages: [{ role: 'user', content: 'Please call now' }], params: { function_calling: mode } };
    const headers = { host: '127.0.0.1:8080' };
    const answer = await app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload });
    const completion = answer.json<{ choices: { message: { content: string } }[]; sources?: unknown[] }>();
    expect([mode, completion.sources?.length]).toEqual([mode, 1]);
    expect(completion.choices[0]?.message.content).toMatch(/^Demo model: .*now says time = 12:00/);
  }
});

describe('the demo model among more functions than one question chooses from', () => {
  const demoBackend = { name: 'demo', isLocal: true, backend: createDemoBackend(), list: async () => [demoModel] };
  const others = Array.from({ length: 30 }, (_, index) => `list_kind_${index}`);
  const clock = serverOf('clock', timeServerDocument as unknown as JsonObject);
  const shelf = serverOf('shelf', documentWith('reset_local_time', 'search_paintings', ...others));

  it.each([
    ['What time is it in Tokyo?', ['format_current_time'], { timezone: 'Asia/Tokyo' }],
    ['How many days between 2026-01-01 and 2026-03-01?', ['elapsed_time'], { units: 'days' }],
    ['What is the current UTC time?', ['get_current_utc'], {}],
    ['Search paintings in Paris', ['search_paintings'], { city: 'Paris' }],
    ['Tell me a joke', [], {}],
  ])('finds them by their names first: %s', async (asked, names, args) => {
    await using gateway = await gatewayOf({ servers: [clock, shelf], backends: [demoBackend] });
    const body = { model: 'demo', messages: [{ role: 'user', content: asked }], params: { function_calling: 'default' } };
    const called = (await gateway.ask(body)).eventsOf('tool.call');
    expect(called).toMatchObject(names.map((name) => ({ tool: expect.stringContaining(name), args })));
  });
});
