import { afterEach, describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { listen, testApp } from '../../_support/build-app.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { ollamaEnd, ollamaLine, startOllamaServer } from '../../_support/ollama-server.ts';
import { events, respond, startUpstream, stream } from '../../_support/upstream-server.ts';
import { documentOf, gatewayOf, serverOf } from '../gateway.ts';
import { askPlainly, bankGateway, decide } from '../approvals/approval-fixture.ts';

const none = { type: 'object', properties: {} };
const own = { type: 'function', function: { name: 'own', description: 'o', parameters: none } };
const question = { role: 'user', content: 'Go' };
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

interface Asked {
  answer: JsonObject;
  /** What the backend was asked, in order. */
  bodies: JsonObject[];
  messages: (turn: number) => JsonObject[];
  again: (messages: JsonObject[]) => Promise<JsonObject>;
}

/** A gateway before a backend that speaks the OpenAI API and answers with these deltas, a turn each; the last turn ends the answer. */
async function askOver(deltas: JsonObject[][], body: JsonObject): Promise<Asked> {
  const isStream = body['stream'] === true;
  const bodies: JsonObject[] = [];
  const backend = await startUpstream((request) => {
    if (request.method === 'GET') return respond(200, { data: [{ id: 'model' }] });
    bodies.push(request.json() as JsonObject);
    const turn = deltas[bodies.length - 1] ?? [{ content: 'Done.' }];
    const finish = turn.some((delta) => delta['tool_calls'] !== undefined) ? 'tool_calls' : 'stop';
    const choices = turn.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] }));
    const last = { choices: [{ index: 0, delta: {}, finish_reason: finish }] };
    if (isStream) return stream(events(...choices, last, '[DONE]'));
    const message = Object.assign({ role: 'assistant', content: null }, ...turn) as JsonObject;
    return respond(200, { choices: [{ index: 0, message, finish_reason: finish }] });
  });
  closers.push(() => backend.close());
  const server = `${backend.origin}/v1`;
  const shared = { kind: 'openai', origin: 'file', headers: {}, maxContext: 1, isExplicit: true } as const;
  const lab = { ...shared, url: server, urls: [server], name: 'lab' };
  const tools = await startUpstream(respond(200, { ok: true }));
  closers.push(() => tools.close());
  const registry = memoryRegistry([serverOf('s', documentOf({ act: none }), { url: tools.origin })]);
  const app = await testApp({}, { registry, config: { backends: [lab] } });
  closers.push(() => app.close());
  const url = await listen(app);
  const post = async (messages: JsonObject[]): Promise<JsonObject> => {
    const headers = { 'content-type': 'application/json' };
    const given = { model: 'model', messages, ...body };
    const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(given) });
    return isStream ? { text: await answer.text() } : ((await answer.json()) as JsonObject);
  };
  const answer = await post([question]);
  return { answer, bodies, messages: (turn) => (bodies[turn]?.['messages'] ?? []) as JsonObject[], again: post };
}

const callOf = (name: string, more: JsonObject = {}): JsonObject => ({
  tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name, arguments: '{}' }, ...more }],
});
const signed = { extra_content: { google: { thought_signature: 'c2lnbmVk' } } };

describe.each([true, false])('streaming: %s', (isStream) => {
  it.each(['reasoning_content', 'reasoning'])('what a model thought before a call goes back to it as `%s`', async (field) => {
    const turn = isStream
      ? [{ [field]: 'I have ' }, { [field]: 'to act.' }, callOf('act')]
      : [{ [field]: 'I have to act.' }, callOf('act')];
    const { messages } = await askOver([turn], { stream: isStream });
    expect(messages(1)[1]).toEqual({
      role: 'assistant',
      content: null,
      [field]: 'I have to act.',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'act', arguments: '{}' } }],
    });
  });

  it('the signature of a call goes back with it, also where it comes behind the call', async () => {
    const turn = isStream ? [callOf('act'), { tool_calls: [signed] }] : [callOf('act', signed)];
    const { messages } = await askOver([turn], { stream: isStream });
    expect(messages(1)[1]).toMatchObject({ tool_calls: [{ id: 'c1', ...signed }] });
  });

  it('the signature of a message goes back with its calls', async () => {
    const { messages } = await askOver([[signed, callOf('act')]], { stream: isStream });
    expect(messages(1)[1]).toMatchObject({ role: 'assistant', ...signed, tool_calls: [{ id: 'c1' }] });
  });

  it('signed details of its thoughts go back as they were, put together', async () => {
    const text = (words: string, more: JsonObject = {}): JsonObject => ({
      type: 'reasoning.text',
      index: 0,
      text: words,
      format: 'x-v1',
      ...more,
    });
    const secret = { type: 'reasoning.encrypted', index: 1, data: 'c2VjcmV0', id: 'r1' };
    const whole = [text('I have to act.', { signature: 'abc' }), secret];
    const pieces = [
      { reasoning_details: [text('I have ')] },
      { reasoning_details: [text('to act.')] },
      { reasoning_details: [text('', { signature: 'abc' })] },
      { reasoning_details: [secret] },
    ];
    const turn = [...(isStream ? pieces : [{ reasoning_details: whole }]), callOf('act')];
    const { messages } = await askOver([turn], { stream: isStream });
    expect(messages(1)[1]).toMatchObject({ role: 'assistant', reasoning_details: whole });
  });

  it('a caller without the gateway’s functions gets them with its calls', async () => {
    const details = [{ type: 'reasoning.encrypted', index: 0, data: 'c2VjcmV0' }];
    const turn = [{ reasoning_details: details }, callOf('own')];
    const { answer } = await askOver([turn], { stream: isStream, tools: [own], tool_ids: [] });
    expect(JSON.stringify(answer).replaceAll('\\', '')).toContain(`"reasoning_details":${JSON.stringify(details)}`);
  });

  it('what a model has thought within its text is no field of its own', async () => {
    const { messages } = await askOver([[{ content: '<think>Hm.</think>Well.' }, callOf('act')]], { stream: isStream });
    expect(Object.keys(messages(1)[1] ?? {})).toEqual(['role', 'content', 'tool_calls']);
  });
});

it('a caller gets the signature with a call of its own function, and its history brings it back', async () => {
  const { answer, again, messages } = await askOver([[callOf('own', signed)]], { tools: [own] });
  const [choice] = answer['choices'] as { message: JsonObject }[];
  expect(choice?.message['tool_calls']).toMatchObject([signed]);
  await again([question, choice?.message ?? {}, { role: 'tool', tool_call_id: 'c1', content: 'mine' }]);
  expect(messages(1)[1]).toMatchObject({ tool_calls: [{ id: 'c1', ...signed }] });
});

it('Ollama gets back what its model thought before a call', async () => {
  const ollama = await startOllamaServer([{ name: 'qwen3:latest', capabilities: ['completion', 'tools', 'thinking'] }]);
  closers.push(() => ollama.close());
  const call = { function: { name: 'act', arguments: {} } };
  ollama.answers.push(
    [ollamaLine({ thinking: 'I have ' }), ollamaLine({ thinking: 'to act.' }), ollamaLine({ tool_calls: [call] }), ollamaEnd()],
    [ollamaLine({ content: 'Done.' }), ollamaEnd()],
  );
  const tools = await startUpstream(respond(200, { ok: true }));
  closers.push(() => tools.close());
  const registry = memoryRegistry([serverOf('s', documentOf({ act: none }), { url: tools.origin })]);
  const app = await testApp({ OLLAMA_BASE_URLS: ollama.url }, { registry });
  closers.push(() => app.close());
  const payload = { model: 'qwen3', messages: [question] };
  await app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers: { host: '127.0.0.1:8080' }, payload });
  const messages = ollama.chats()[1]?.['messages'] as JsonObject[];
  expect(messages[1]).toMatchObject({ role: 'assistant', thinking: 'I have to act.', tool_calls: [{ function: { name: 'act' } }] });
});

it('an answer that is empty after tools have run is asked for once more, without tools', async () => {
  const empty: ScriptStep[] = [{ type: 'finish', reason: 'stop' }];
  const servers = [serverOf('s', documentOf({ act: none }))];
  await using gateway = await gatewayOf({
    turns: [calls(['act', {}]), empty, says('It is done.')],
    servers,
    answers: { 'http://s.test/act': { ok: 1 } },
  });
  const seen = await gateway.ask();
  expect([seen.text, seen.finish]).toEqual(['It is done.', ['stop']]);
  expect(gateway.model.requests[2]?.tools).toEqual([]);
});

it('a server that refuses what it has said itself is asked again without, and not twice', async () => {
  const refusal = new GatewayError('upstream_rejected', "Unsupported property 'reasoning_content' in messages.1");
  const thinks = (text: string): ScriptStep[] => [{ type: 'reasoning', text, field: 'reasoning_content' }, ...calls(['act', {}])];
  const turns = [thinks('One.'), [refusal], thinks('Two.'), says('Done.')];
  await using gateway = await gatewayOf({
    turns,
    servers: [serverOf('s', documentOf({ act: none }))],
    answers: { 'http://s.test/act': { ok: 1 } },
  });
  const seen = await gateway.ask();
  expect([seen.text, gateway.sent.length]).toEqual(['Done.', 2]);
  const sent = gateway.model.requests.map(({ messages }) => JSON.stringify(messages).includes('reasoning_content'));
  expect(sent).toEqual([false, true, false, false]);
});

it('another refusal is the caller’s to read', async () => {
  const refusal = new GatewayError('upstream_rejected', 'Missing `reasoning_content` field in messages.1');
  const thinks: ScriptStep[] = [{ type: 'reasoning', text: 'One.', field: 'reasoning' }, ...calls(['act', {}])];
  await using gateway = await gatewayOf({
    turns: [thinks, [refusal]],
    servers: [serverOf('s', documentOf({ act: none }))],
    answers: { 'http://s.test/act': { ok: 1 } },
  });
  const seen = await gateway.ask();
  expect(seen.raw).toContain('Missing `reasoning_content`');
});

it('it is there again when a run goes on after an approval', async () => {
  const thinks: ScriptStep[] = [
    { type: 'reasoning', text: 'I have to pay.', field: 'reasoning_content' },
    ...calls(['pay', { amount: 5 }]),
  ];
  await using gateway = await bankGateway({ turns: [thinks, says('Paid.')] });
  await decide(gateway, await askPlainly(gateway));
  expect(gateway.model.requests[1]?.messages[1]).toMatchObject({ role: 'assistant', extra: { reasoning_content: 'I have to pay.' } });
});
