import { afterAll, describe, expect, it } from 'vitest';
import type { ModelEvent } from '../../../src/core/chat/chat.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { jsonResponse } from '../../tools/scripted-send.ts';
import { documentOf, serverOf, sharedGateway, textOfMessage } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';

/** Clients send a turn with calls of the gateway and of their own back in other shapes. The model must read what the gateway has run, once. */
let orders = 0;
const shop = sharedGateway({
  environment: { STORE_CHATS: 'true' },
  servers: [serverOf('shop', documentOf({ order: { type: 'object', properties: {} } }))],
  answers: { 'http://shop.test/order': async () => jsonResponse({ order: `ORDERED ${++orders}` }) },
});
afterAll(() => shop.close());

/** What the model reads of an order. */
const orderedAs = (number: number): string => JSON.stringify({ order: `ORDERED ${number}` }, null, 2);

type Wanted = [name: string, args: JsonObject, id?: string];
let count = 0;
/** A turn of the model. Each call has an id that no other has. */
const turn = (...wanted: Wanted[]): ScriptStep[] => [
  ...wanted.map(([name, args, id = `id${++count}x`]): ModelEvent => ({
    type: 'tool-call',
    call: { id, name, arguments: JSON.stringify(args) },
  })),
  { type: 'finish', reason: 'tool_calls' },
];
const order: Wanted = ['order', {}];

const parameters = { type: 'object', properties: { a: { type: 'number' }, area: { type: 'string' }, on: { type: 'boolean' } } };
const names = ['one', 'two'];
const tools = names.map((name) => ({ type: 'function', function: { name, parameters } }));

interface Sent {
  id: string;
  name: string;
  args: JsonObject;
}

interface Client {
  path: string;
  /** The fields of a request besides its messages. */
  fields: JsonObject;
  /** The name of the field with the messages. */
  list: string;
  callsIn(body: JsonObject): Sent[];
}

const chat: Client = {
  path: '/v1/chat/completions',
  fields: { tools },
  list: 'messages',
  callsIn(body) {
    const [{ message }] = body['choices'] as [
      { message: { tool_calls?: { id: string; function: { name: string; arguments: string } }[] } },
    ];
    return (message.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({
      id,
      name,
      args: JSON.parse(args) as JsonObject,
    }));
  },
};
const ollama: Client = {
  path: '/api/chat',
  fields: { tools },
  list: 'messages',
  callsIn(body) {
    const { tool_calls: calls = [] } = body['message'] as {
      tool_calls?: { id: string; function: { name: string; arguments: JsonObject } }[];
    };
    return calls.map(({ id, function: { name, arguments: args } }) => ({ id, name, args }));
  },
};
const responses: Client = {
  path: '/v1/responses',
  fields: { tools: names.map((name) => ({ type: 'function', name, parameters })) },
  list: 'input',
  callsIn: (body) =>
    (body['output'] as JsonObject[])
      .filter(({ type }) => type === 'function_call')
      .map((item) => ({ id: String(item['call_id']), name: String(item['name']), args: {} })),
};
const messages: Client = {
  path: '/v1/messages',
  fields: { max_tokens: 100, tools: names.map((name) => ({ name, input_schema: parameters })) },
  list: 'messages',
  callsIn: (body) =>
    (body['content'] as JsonObject[])
      .filter(({ type }) => type === 'tool_use')
      .map((block) => ({ id: String(block['id']), name: String(block['name']), args: {} })),
};

async function post({ app }: Gateway, client: Client, sent: readonly unknown[], more: JsonObject = {}): Promise<JsonObject> {
  const payload = { model: 'model', stream: false, ...client.fields, [client.list]: sent, ...more };
  const answer = await app.server.inject({ method: 'POST', url: client.path, payload, headers: { host: '127.0.0.1:8080' } });
  expect({ status: answer.statusCode, body: answer.body }).toMatchObject({ status: 200 });
  return answer.json();
}

let questions = 0;
/** A question that no other test asks, because all of them have one gateway. */
const ask = (): JsonObject => ({ role: 'user', content: `Question ${++questions}?` });

interface Reshape {
  client?: Client;
  /** The turns of the model before the reshaped history. Default: one, with both functions of the client. */
  turns?: ScriptStep[][];
  /** The conversation before the first turn. */
  before?: (question: JsonObject) => JsonObject[];
  /** The first request is sent so often. */
  times?: number;
  /** The history as the client sends it, after its question. `calls`: those that it got, in the order of the turns. */
  back: (calls: Sent[], question: JsonObject) => unknown[];
  /** For a client that leaves out what came before, or has changed it. */
  begins?: (question: JsonObject) => JsonObject[];
  /** How often the gateway has ordered. Default: once. */
  ordered?: number;
}

const both = (): ScriptStep[] => turn(order, ['one', { a: 1, area: '' }], ['two', { a: 2 }]);
const call = ({ id, name, args }: Sent, more: JsonObject = {}): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify({ ...args, ...more }) },
});
const called = (calls: readonly JsonObject[], content: unknown = null): object => ({ role: 'assistant', content, tool_calls: calls });
const result = ({ id }: Sent, content = 'THEIRS'): object => ({ role: 'tool', tool_call_id: id, content });
/** In Ollama's dialect, without ids. */
const plain = ({ name, args }: Sent, changed: JsonObject = args): JsonObject => ({ function: { name, arguments: changed } });
const plainResult = { role: 'tool', content: 'THEIRS' };
const long = (text: string): string => text.padEnd(90, '0123456789');

/** Plays the turns, sends the history, and returns what the model reads of the gateway's orders then. */
async function play({ client = chat, turns = [both()], before, times = 1, back, begins, ordered = 1 }: Reshape): Promise<void> {
  orders = 0;
  const gateway = await shop.with(...Array.from({ length: times }, () => turns).flat(), says('Done.'));
  const question = ask();
  const start = before?.(question) ?? [question];
  const calls: Sent[] = [];
  for (let time = 0; time < times; time += 1) calls.push(...client.callsIn(await post(gateway, client, start)));
  await post(gateway, client, [...(begins?.(question) ?? start), ...back(calls, question)]);
  const read = gateway.model.requests.at(-1)?.messages ?? [];
  const seen = read.flatMap((message) => (message.role === 'tool' ? (/ORDERED \d+/u.exec(textOfMessage(message))?.[0] ?? []) : []));
  const wanted = Array.from({ length: ordered }, (_, index) => `ORDERED ${index + 1}`);
  expect(seen.toSorted()).toEqual(wanted);
  expect(gateway.sent).toHaveLength(ordered * times);
}

const at = (calls: readonly Sent[], index: number): Sent => calls[index] ?? { id: '', name: '', args: {} };

describe.each<[string, Record<string, Reshape>]>([
  [
    'chat completions',
    {
      'a message for each call, with the id in the arguments and without the text': {
        back: (calls) => calls.flatMap((each) => [called([call(each, { id: each.id })], []), result(each)]),
      },
      'results in another order': {
        back: (calls) => [called(calls.map((each) => call(each))), ...calls.toReversed().map((each) => result(each))],
      },
      'a message of the user before the results': {
        back: (calls) => [
          called(calls.map((each) => call(each))),
          { role: 'user', content: 'Hurry.' },
          ...calls.map((each) => result(each)),
        ],
      },
      'results as text of the user': {
        back: (calls) => [called(calls.map((each) => call(each))), { role: 'user', content: 'Results: THEIRS, THEIRS' }],
      },
      'results alone, without the message with the calls': { back: (calls) => calls.map((each) => result(each)) },
      'results behind the text of the turn alone': {
        back: (calls) => [{ role: 'assistant', content: 'I will.' }, ...calls.map((each) => result(each))],
      },
      'calls of another provider in the same message': {
        back: (calls) => {
          const other = { id: 'other', name: 'one', args: {} };
          return [called([call(other), ...calls.map((each) => call(each))]), result(other), ...calls.map((each) => result(each))];
        },
      },
      'the same turn twice': {
        back: (calls) => {
          const sent = [called(calls.map((each) => call(each))), ...calls.map((each) => result(each))];
          return [...sent, ...sent];
        },
      },
      'the gateway’s own call beside the others': {
        back: (calls) => [
          called([call({ id: 'own', name: 'order', args: {} }), ...calls.map((each) => call(each))]),
          result({ id: 'own', name: 'order', args: {} }, 'ordered'),
          ...calls.map((each) => result(each)),
        ],
      },
      'one of two calls left out': { back: (calls) => [called([call(at(calls, 1))]), result(at(calls, 1))] },
      'nothing before the turn': {
        begins: () => [],
        back: (calls) => [called(calls.map((each) => call(each))), ...calls.map((each) => result(each)), { role: 'user', content: 'So?' }],
      },
      'a round of the gateway before': {
        turns: [[...turn(order)], [...turn(['one', {}])]],
        back: (calls) => [called(calls.map((each) => call(each))), ...calls.map((each) => result(each))],
      },
      'ids cut to 40 characters': {
        turns: [turn(order, ['one', {}, long('first')], ['two', {}, long('second')])],
        back: (calls) => {
          const cut = calls.map((each) => ({ ...each, id: each.id.slice(0, 40) }));
          return [called(cut.map((each) => call(each))), ...cut.map((each) => result(each))];
        },
      },
      'ids without the characters that Anthropic refuses': {
        turns: [turn(order, ['one', {}, 'one|a:b/x1'], ['two', {}, 'two|a:b/x2'])],
        back: (calls) => {
          const tidy = calls.map((each) => ({ ...each, id: each.id.replaceAll(/[^\w-]/gu, '_') }));
          return tidy.flatMap((each) => [called([call(each)]), result(each)]);
        },
      },
    },
  ],
  [
    'Ollama',
    Object.fromEntries(
      Object.entries<Reshape>({
        'an id in the arguments': {
          back: (calls) => calls.flatMap((each) => [called([plain(each, { ...each.args, id: each.id })], ''), plainResult]),
        },
        'arguments without what is empty or false': {
          turns: [turn(order, ['one', { a: 0, area: '', on: false }])],
          back: (calls) => [called([plain(at(calls, 0), {})], ''), plainResult],
        },
        'arguments with JSON parsed': {
          turns: [turn(order, ['one', { area: '[1, 2]' }])],
          back: (calls) => [called([plain(at(calls, 0), { area: [1, 2] })], ''), plainResult],
        },
        'ids of its own and other arguments': {
          back: (calls) => [
            called(calls.map((each, index) => ({ id: `own-${index}`, ...plain(each, { x: 1 }) }))),
            ...calls.map((_, index) => ({ ...plainResult, tool_call_id: `own-${index}` })),
          ],
        },
        'nothing of the beginning': {
          before: (question) => [{ role: 'user', content: 'Hello.' }, { role: 'assistant', content: 'Hello!' }, question],
          begins: (question) => [question],
          back: (calls) => [called(calls.map((each) => plain(each))), plainResult, plainResult],
        },
        'an earlier answer that was edited': {
          before: (question) => [{ role: 'user', content: 'Hello.' }, { role: 'assistant', content: 'Hello!' }, question],
          begins: (question) => [{ role: 'user', content: 'Hello.' }, { role: 'assistant', content: '(removed)' }, question],
          back: (calls) => [called(calls.map((each) => plain(each))), plainResult, plainResult],
        },
        'two calls of one function with other arguments': {
          turns: [turn(order, ['one', { a: 1 }], ['one', { a: 2 }])],
          back: (calls) => [called(calls.map((each) => plain(each, { ...each.args, id: each.id }))), plainResult, plainResult],
        },
        'the first of two calls left out': { back: (calls) => [called([plain(at(calls, 1))]), plainResult] },
        'a round of the gateway before, and an id in the arguments': {
          turns: [turn(order), turn(['one', { a: 1 }])],
          back: (calls) => [called(calls.map((each) => plain(each, { ...each.args, id: each.id }))), plainResult],
        },
        'results alone, with their ids': { back: (calls) => calls.map((each) => ({ ...plainResult, tool_call_id: each.id })) },
      }).map(([name, reshape]) => [name, { client: ollama, ...reshape }]),
    ),
  ],
  [
    'Responses',
    Object.fromEntries(
      Object.entries<Reshape>({
        'items of calls alone, each before its output': {
          back: (calls) =>
            calls.flatMap(({ id, name }) => [
              { type: 'function_call', call_id: id, name, arguments: '{"id":"1"}' },
              { type: 'function_call_output', call_id: id, output: 'THEIRS' },
            ]),
        },
        'outputs alone': { back: (calls) => calls.map(({ id }) => ({ type: 'function_call_output', call_id: id, output: 'THEIRS' })) },
        'a message between the calls': {
          back: (calls) =>
            calls.flatMap(({ id, name }) => [
              { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Now.' }] },
              { type: 'function_call', call_id: id, name, arguments: '{}' },
              { type: 'function_call_output', call_id: id, output: 'THEIRS' },
            ]),
        },
      }).map(([name, reshape]) => [name, { client: responses, ...reshape }]),
    ),
  ],
  [
    'Messages',
    Object.fromEntries(
      Object.entries<Reshape>({
        'a message for each block': {
          back: (calls) =>
            calls.flatMap(({ id, name }) => [
              { role: 'assistant', content: [{ type: 'tool_use', id, name, input: {} }] },
              { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'THEIRS' }] },
            ]),
        },
        'a text before the results': {
          back: (calls) => [
            { role: 'assistant', content: calls.map(({ id, name }) => ({ type: 'tool_use', id, name, input: { x: 1 } })) },
            {
              role: 'user',
              content: [
                { type: 'text', text: 'Here they are.' },
                ...calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'THEIRS' })),
              ],
            },
          ],
        },
        'one of two blocks left out': {
          back: ([{ id, name } = at([], 0)]) => [
            { role: 'assistant', content: [{ type: 'tool_use', id, name, input: {} }] },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'THEIRS' }] },
          ],
        },
      }).map(([name, reshape]) => [name, { client: messages, ...reshape }]),
    ),
  ],
])('restores what the gateway has run in a turn of %s', (_dialect, shapes) => {
  it.each(Object.entries(shapes))('that comes back as %s', (_name, shape) => play(shape));
});

it('restores the turns of two answers that a client has merged into one message', async () => {
  orders = 0;
  const gateway = await shop.with(turn(order, ['one', {}]), turn(order, ['two', {}]), says('Done.'));
  const question = ask();
  const [first = at([], 0)] = chat.callsIn(await post(gateway, chat, [question]));
  const [second = at([], 0)] = chat.callsIn(await post(gateway, chat, [question, called([call(first)]), result(first)]));
  await post(gateway, chat, [question, called([call(first), call(second)]), result(first, 'FIRST'), result(second, 'SECOND')]);
  const read = gateway.model.requests.at(-1)?.messages.map((message) => textOfMessage(message)) ?? [];
  expect(read.slice(1)).toEqual(['', orderedAs(1), 'FIRST', '', orderedAs(2), 'SECOND']);
});

it('gives each fork of a conversation its own results, also without ids', async () => {
  orders = 0;
  const gateway = await shop.with(
    turn(order, ['one', { a: 1 }]),
    turn(order, ['one', { a: 2 }]),
    says('Done.'),
    says('Done.'),
    says('Done.'),
  );
  const question = ask();
  const forks: Sent[] = [];
  for (let fork = 0; fork < 2; fork += 1) forks.push(...ollama.callsIn(await post(gateway, ollama, [question])));
  for (const fork of forks) await post(gateway, ollama, [question, called([plain(fork)], ''), plainResult]);
  await post(gateway, ollama, [question, called([{ id: at(forks, 0).id, ...plain(at(forks, 0), {}) }], ''), plainResult]);
  const read = gateway.model.requests.slice(2).map((request) => textOfMessage(request.messages[2]));
  expect(read).toEqual([orderedAs(1), orderedAs(2), orderedAs(1)]);
});

it('gives parallel requests with the same turn the same results', async () => {
  orders = 0;
  const gateway = await shop.with(turn(order, ['one', {}]), says('Done.'), says('Done.'));
  const question = ask();
  const [first = at([], 0)] = chat.callsIn(await post(gateway, chat, [question]));
  const history = [question, called([call(first)]), result(first)];
  await Promise.all([post(gateway, chat, history), post(gateway, chat, history)]);
  const read = gateway.model.requests.slice(1).map((request) => textOfMessage(request.messages[2]));
  expect(read).toEqual([orderedAs(1), orderedAs(1)]);
  expect(gateway.sent).toHaveLength(1);
});

it('restores a turn once if a client sends both the id and the items of the previous response', async () => {
  orders = 0;
  const gateway = await shop.with(turn(order, ['one', {}]), says('Done.'));
  const question = ask();
  const first = await post(gateway, responses, [question]);
  const [{ id, name } = at([], 0)] = responses.callsIn(first);
  const items = [
    { type: 'function_call', call_id: id, name, arguments: '{}' },
    { type: 'function_call_output', call_id: id, output: 'THEIRS' },
  ];
  await post(gateway, responses, items, { previous_response_id: String(first['id']) });
  const read = gateway.model.requests.at(-1)?.messages.map((message) => textOfMessage(message)) ?? [];
  expect(read.filter((text) => text.includes('ORDERED'))).toEqual([orderedAs(1)]);
});

it('uses a turn as it is sent if its function has another name, or both its arguments and its conversation differ', async () => {
  orders = 0;
  const gateway = await shop.with(turn(order, ['one', { a: 1 }]), says('Done.'), turn(order, ['one', { a: 1 }]), says('Done.'));
  const question = ask();
  const [first = at([], 0)] = chat.callsIn(await post(gateway, chat, [question]));
  await post(gateway, chat, [question, called([call({ ...first, name: 'two' })]), result(first)]);
  const [second = at([], 0)] = ollama.callsIn(await post(gateway, ollama, [question]));
  await post(gateway, ollama, [{ role: 'user', content: 'Before.' }, question, called([plain(second, { a: 9 })], ''), plainResult]);
  const read = [1, 3].map((index) => gateway.model.requests[index]?.messages.map((message) => textOfMessage(message)).join(' '));
  expect(read.filter((text) => text?.includes('ORDERED') === true)).toEqual([]);
});
