import { afterAll, describe, expect, it } from 'vitest';
import type { AssistantMessage, ToolCall } from '../../../src/core/chat/chat.ts';
import { isJsonObject, type JsonObject } from '../../../src/shared/json/json.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { backendOf } from '../../_support/build-app.ts';
import { memoryNotes } from '../../_support/memory-stores.ts';
import { says, ScriptedModel } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { storesIn } from '../approvals/approval-fixture.ts';
import { documentOf, gatewayOf, serverOf, sharedGateway } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';

const none = { type: 'object', properties: {} };
const question = { role: 'user', content: 'Go' };
const servers = [serverOf('s', documentOf({ act: none }))];
const withTools = sharedGateway({ servers, answers: { 'http://s.test/act': { ok: 1 } } });
const without = sharedGateway({});
afterAll(async () => {
  await withTools.close();
  await without.close();
});

/** What models want back: of the call, and of its message. */
const forms: Record<string, { call?: JsonObject; message?: JsonObject; steps: ScriptStep[] }> = {
  'a signature of Gemini': { call: { extra_content: { google: { thought_signature: 'c2ln' } } }, steps: [] },
  'reasoning of DeepSeek': {
    message: { reasoning_content: 'I have to act.' },
    steps: ['I have ', 'to act.'].map((text) => ({ type: 'reasoning', text, field: 'reasoning_content' })),
  },
  'details of OpenRouter': {
    message: { reasoning: 'Hm.', reasoning_details: [{ type: 'reasoning.encrypted', data: 'c2VjcmV0' }] },
    steps: [
      { type: 'reasoning', text: 'Hm.', field: 'reasoning' },
      { type: 'thought', fields: { reasoning_details: [{ type: 'reasoning.encrypted', data: 'c2VjcmV0' }] } },
    ],
  },
};

let count = 0;
const newId = (): string => `c${(count += 1)}`;

/** A turn with a call of the caller's function. */
function turnOf({ call, steps }: (typeof forms)[string], id = newId()): ScriptStep[] {
  const called: ToolCall = { id, name: 'mine', arguments: '{}', ...(call && { extra: call }) };
  return [...steps, { type: 'tool-call', call: called }, { type: 'finish', reason: 'tool_calls' }];
}

/** A client of one dialect. `back`: the conversation with what it keeps of an answer, and the result of its function. */
interface Client {
  path: string;
  first: JsonObject;
  back: (answer: JsonObject) => JsonObject;
}

const objects = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
const named = { type: 'function', function: { name: 'mine', parameters: none } };
const messageOf = (answer: JsonObject): JsonObject => objects(answer['choices'])[0]?.['message'] as JsonObject;
const resultOf = (id: unknown): JsonObject => ({ role: 'tool', tool_call_id: String(id), content: 'r' });
const chat = (back: (message: JsonObject) => JsonObject): Client => ({
  path: '/v1/chat/completions',
  first: { messages: [question], tools: [named] },
  back(answer) {
    const message = messageOf(answer);
    const [call] = objects(message['tool_calls']);
    return { messages: [question, back(message), resultOf(call?.['id'])], tools: [named] };
  },
});
const bareCalls = (message: JsonObject): JsonObject[] =>
  objects(message['tool_calls']).map(({ id, type, function: called }) => ({ id, type, function: called }));
const response = (fields: JsonObject, keeps: (item: JsonObject) => boolean): Client => {
  const common = { ...fields, tools: [{ type: 'function', name: 'mine', parameters: none }] };
  return {
    path: '/v1/responses',
    first: { ...common, input: [question] },
    back(answer) {
      const output = objects(answer['output']);
      const call = output.find(({ type }) => type === 'function_call');
      const result = { type: 'function_call_output', call_id: call?.['call_id'] ?? '', output: 'r' };
      return { ...common, input: [question, ...output.filter(keeps), result] };
    },
  };
};
const message = (fields: JsonObject, keeps: (block: JsonObject) => boolean): Client => {
  const common = { ...fields, max_tokens: 100, tools: [{ name: 'mine', input_schema: none }] };
  return {
    path: '/v1/messages',
    first: { ...common, messages: [question] },
    back(answer) {
      const content = objects(answer['content']);
      const call = content.find(({ type }) => type === 'tool_use');
      const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: call?.['id'] ?? '', content: 'r' }] };
      return { ...common, messages: [question, { role: 'assistant', content: content.filter(keeps) }, result] };
    },
  };
};

const everything = (): boolean => true;
const enabled = { thinking: { type: 'enabled', budget_tokens: 1_024 } };
const included = { include: ['reasoning.encrypted_content'] };
const clients: Record<string, Client> = {
  'chat completions': chat((answer) => answer),
  'chat completions without unknown fields': chat((answer) => ({ role: 'assistant', content: null, tool_calls: bareCalls(answer) })),
  'chat completions with a text of its own': chat((answer) => ({ role: 'assistant', content: 'Well.', tool_calls: bareCalls(answer) })),
  'responses with encrypted content': response(included, everything),
  responses: response({}, everything),
  'responses without reasoning': response({}, ({ type }) => type !== 'reasoning'),
  'messages with thinking': message(enabled, everything),
  messages: message({}, everything),
  ollama: {
    path: '/api/chat',
    first: { messages: [question], tools: [named] },
    back: (answer) => ({
      messages: [question, answer['message'] ?? {}, { role: 'tool', content: 'r', tool_name: 'mine' }],
      tools: [named],
    }),
  },
  'ollama with another beginning': {
    path: '/api/chat',
    first: { messages: [question], tools: [named] },
    back: (answer) => ({
      messages: [{ role: 'user', content: 'Shortened' }, answer['message'] ?? {}, { role: 'tool', content: 'r', tool_name: 'mine' }],
      tools: [named],
    }),
  },
};

async function post({ app }: Gateway, { path }: Client, body: JsonObject): Promise<string> {
  const headers = { host: '127.0.0.1:8080', 'x-api-key': 'any' };
  const answer = await app.server.inject({ method: 'POST', url: path, headers, payload: { model: 'model', ...body } });
  expect({ status: answer.statusCode, body: answer.body }).toMatchObject({ status: 200 });
  return answer.body;
}

/** The answer of a stream, as a client puts it together. */
function assembled(path: string, text: string): JsonObject {
  if (path === '/api/chat') {
    const lines = text
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { message: JsonObject }).message);
    return { message: Object.assign({}, ...lines, { content: '' }) as JsonObject };
  }
  const events = text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as JsonObject);
  if (path === '/v1/responses') return events.at(-1)?.['response'] as JsonObject;
  if (path === '/v1/messages') return { content: blocksIn(events) };
  const deltas = events.flatMap(({ choices }) => objects(choices)).map(({ delta }) => delta as JsonObject);
  const reasoning = deltas.map(({ reasoning_content: part }) => (typeof part === 'string' ? part : '')).join('');
  const whole = Object.assign({}, ...deltas) as JsonObject;
  return { choices: [{ message: { ...whole, content: null, ...(reasoning !== '' && { reasoning_content: reasoning }) } }] };
}

function blocksIn(events: readonly JsonObject[]): JsonObject[] {
  const blocks: JsonObject[] = [];
  for (const { type, content_block: block, delta } of events) {
    const at = blocks.at(-1);
    if (type === 'content_block_start') blocks.push({ ...(block as JsonObject) });
    else if (type === 'content_block_delta' && at !== undefined) {
      const { type: kind, ...piece } = delta as JsonObject;
      if (kind === 'thinking_delta') at['thinking'] = `${String(at['thinking'])}${String(piece['thinking'])}`;
      else if (kind === 'signature_delta') Object.assign(at, piece);
    }
  }
  return blocks;
}

const read = (client: Client, text: string, stream: boolean): JsonObject =>
  stream ? assembled(client.path, text) : (JSON.parse(text) as JsonObject);

/** The turn of the caller's function, as the model reads it in the next request. */
function turnIn(model: ScriptedModel): AssistantMessage {
  const turn = model.requests[1]?.messages.find((sent) => sent.role === 'assistant');
  return turn as AssistantMessage;
}

describe.each(Object.entries(clients))('a client of %s', (_client, client) => {
  describe.each([true, false])('streaming: %s', (stream) => {
    describe.each([
      ['with functions of the gateway', withTools],
      ['without', without],
    ] as const)('%s', (_beside, shared) => {
      it.each(Object.entries(forms))('gives back %s', async (_form, form) => {
        const gateway = await shared.with(turnOf(form), says('Done.'));
        const text = await post(gateway, client, { ...client.first, stream });
        await post(gateway, client, { ...client.back(read(client, text, stream)), stream });
        const { toolCalls, extra } = turnIn(gateway.model);
        expect([toolCalls[0]?.extra, extra ?? {}]).toEqual([form.call, { ...form.message }]);
      });
    });
  });
});

it.each(['chat completions without unknown fields', 'responses', 'messages', 'ollama'])(
  'a client of %s can continue after a restart',
  async (name) => {
    const folder = newFolder();
    const client = clients[name] as Client;
    const before = storesIn(folder);
    const first = await gatewayOf({ turns: [turnOf(forms['details of OpenRouter'] as never)], ...before });
    const answer = JSON.parse(await post(first, client, { ...client.first, stream: false })) as JsonObject;
    await first[Symbol.asyncDispose]();
    await before.close();
    const after = storesIn(folder);
    const second = await gatewayOf({ turns: [says('Done.')], ...after });
    await post(second, client, { ...client.back(answer), stream: false });
    expect(second.model.requests[0]?.messages[1]).toMatchObject({ extra: forms['details of OpenRouter']?.message });
    await second[Symbol.asyncDispose]();
    await after.close();
  },
);
const newFolder = temporaryFolders();

it.each(['responses with encrypted content', 'messages with thinking'])('a client of %s needs nothing that is stored', async (name) => {
  const client = clients[name] as Client;
  const continuation = memoryNotes();
  await using gateway = await gatewayOf({
    turns: [turnOf(forms['details of OpenRouter'] as never), says('Done.')],
    noteStores: { continuation },
  });
  const answer = JSON.parse(await post(gateway, client, { ...client.first, stream: false })) as JsonObject;
  expect(await continuation.isEmpty()).toBe(true);
  // Under an id that is not known.
  const back = JSON.stringify(client.back(answer)).replaceAll(/"c\d+"/g, '"other"');
  await post(gateway, client, { ...(JSON.parse(back) as JsonObject), stream: false });
  expect(turnIn(gateway.model).extra).toEqual(forms['details of OpenRouter']?.message);
});

it('stores nothing for turns with nothing to give back', async () => {
  const continuation = memoryNotes();
  const plain = turnOf({ steps: [{ type: 'text', text: 'Well.' }] });
  await using gateway = await gatewayOf({ turns: [plain], noteStores: { continuation } });
  await post(gateway, clients['chat completions'] as Client, { messages: [question], tools: [named] });
  expect(await continuation.isEmpty()).toBe(true);
});

const another = 'another';

it.each(Object.keys(clients))('a client of %s that changes the model gives it nothing of the one before', async (name) => {
  const client = clients[name] as Client;
  const form = { ...forms['details of OpenRouter'], call: forms['a signature of Gemini']?.call ?? {} } as (typeof forms)[string];
  const model = new ScriptedModel(turnOf(form), says('Done.'));
  await using gateway = await gatewayOf({ backends: [backendOf(model, ['model', another])] });
  const answer = JSON.parse(await post(gateway, client, { ...client.first, stream: false })) as JsonObject;
  await post(gateway, client, { ...client.back(answer), stream: false, model: another });
  const { toolCalls, extra = {} } = turnIn(model);
  expect(toolCalls[0]).not.toHaveProperty('extra');
  expect(Object.keys(extra).filter((field) => field.startsWith('reasoning'))).toEqual([]);
});

it('gives calls new ids if the backend restarts them, so that each turn gets back its own', async () => {
  const turn = (words: string): ScriptStep[] => turnOf({ steps: [{ type: 'reasoning', text: words, field: 'reasoning' }] }, 'call_0');
  await using gateway = await gatewayOf({ turns: [turn('One.'), turn('Two.'), says('Done.')] });
  const client = clients['chat completions without unknown fields'] as Client;
  const messages: JsonObject[] = [question];
  for (const expected of ['One.', 'Two.']) {
    const answer = JSON.parse(await post(gateway, client, { messages, tools: [named] })) as JsonObject;
    expect(messageOf(answer)['reasoning_content']).toBe(expected);
    messages.push(...(client.back(answer)['messages'] as JsonObject[]).slice(1));
  }
  await post(gateway, client, { messages, tools: [named] });
  const turns = gateway.model.requests[2]?.messages.filter(({ role }) => role === 'assistant');
  expect(turns?.map(({ extra }) => extra?.['reasoning'])).toEqual(['One.', 'Two.']);
});
