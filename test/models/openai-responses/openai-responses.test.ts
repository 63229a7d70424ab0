import type { Response, ResponseOutputItem } from 'openai/resources/responses/responses';
import { afterEach, describe, expect, it } from 'vitest';
import type { ModelEvent } from '../../../src/core/chat/chat.ts';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import { createResponsesBackend } from '../../../src/models/openai-responses/openai-responses.ts';
import type { OpenAiConnection } from '../../../src/models/openai/openai-compatible.ts';
import { directSend } from '../../_support/direct-send.ts';
import { answerWith, askModel, fold } from '../../_support/model-answers.ts';
import {
  callItem,
  eventsOfResponse,
  messageItem,
  reasoningItem,
  responseOf,
  toPieces,
  type UnnumberedEvent,
} from '../../_support/responses-events.ts';
import { answerOf } from '../../_support/scripted-model.ts';
import { respond, startUpstream, stream } from '../../_support/upstream-server.ts';
import type { Script, UpstreamServer } from '../../_support/upstream-server.ts';

const open: UpstreamServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function upstream(script: Script): Promise<UpstreamServer> {
  const server = await startUpstream(script);
  open.push(server);
  return server;
}

function connect(server: { origin: string }, fields: Partial<OpenAiConnection> = {}): OpenAiConnection {
  return { baseUrl: `${server.origin}/v1`, key: 'sk-upstream-1', firstByteTimeoutMs: 2_000, idleTimeoutMs: 2_000, ...fields };
}

interface Outcome {
  events: ModelEvent[];
  error: unknown;
}

async function ask(connection: OpenAiConnection, request: Partial<ModelRequest> = {}, send = directSend): Promise<Outcome> {
  const said: ModelEvent[] = [];
  let count = 0;
  const backend = createResponsesBackend(connection, send, { makeId: () => `own_${(count += 1)}` });
  try {
    for await (const event of answerOf(backend, askModel(request))) said.push(event);
  } catch (error) {
    return { events: said, error };
  }
  return { events: said, error: undefined };
}

const nowhere = connect({ origin: 'http://127.0.0.1:1' });

/** The events of an answer that is streamed in these pieces. */
function read(pieces: readonly (string | Uint8Array)[]): Promise<Outcome> {
  return ask(nowhere, {}, answerWith(pieces.map((piece) => Buffer.from(piece))));
}

function readEvents(events: readonly object[]): Promise<Outcome> {
  return read(toPieces(events));
}

const usage = {
  prompt_tokens: 75,
  completion_tokens: 41,
  total_tokens: 116,
  prompt_tokens_details: { cached_tokens: 64, cache_write_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 20 },
};
const thinking = reasoningItem('1', 'Two calls.', 'Then add.');
const kept = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [
    { type: 'summary_text', text: 'Two calls.' },
    { type: 'summary_text', text: 'Then add.' },
  ],
  encrypted_content: 'gAAA1',
};
const time = callItem('a', 'get_time', '{"zone":"Europe/Zürich"}');
const weather = callItem('b', 'get_weather', '{"city":"Zürich 🌧"}');
const parallel: ResponseOutputItem[] = [thinking, messageItem('Let me look.', 'msg_1', { phase: 'commentary' }), time, weather];
const toolCalls = [
  { id: 'call_a', name: 'get_time', arguments: '{"zone":"Europe/Zürich"}' },
  { id: 'call_b', name: 'get_weather', arguments: '{"city":"Zürich 🌧"}' },
];
const parallelAnswer = { text: 'Let me look.', reasoning: 'Two calls.\n\nThen add.', calls: toolCalls, finish: ['tool_calls'], usage };
const serviceTier = { level: 'response', fields: { service_tier: 'default' } };

describe('a streamed response', () => {
  it('is passed on as it comes, with its reasoning, calls and usage at the end', async () => {
    const { events, error } = await readEvents(eventsOfResponse(parallel));
    expect(error).toBeUndefined();
    expect(fold(events)).toEqual({ ...parallelAnswer, extras: [serviceTier] });
    expect(events.findIndex(({ type }) => type === 'text')).toBeLessThan(events.findIndex(({ type }) => type === 'tool-call'));
    expect(events.slice(-6)).toEqual([
      { type: 'extra', ...serviceTier },
      {
        type: 'thought',
        fields: { reasoning_items: [kept, { type: 'message', phase: 'commentary' }, { type: 'function_call' }, { type: 'function_call' }] },
      },
      { type: 'tool-call', call: toolCalls[0] },
      { type: 'tool-call', call: toolCalls[1] },
      { type: 'usage', usage },
      { type: 'finish', reason: 'tool_calls' },
    ]);
  });

  it('keeps no reasoning of an answer without calls', async () => {
    const { events } = await readEvents(eventsOfResponse([thinking, messageItem('Seven.')]));
    expect(fold(events)).toMatchObject({ text: 'Seven.', finish: ['stop'] });
    expect(events.some(({ type }) => type === 'thought')).toBe(false);
  });

  it('separates messages by a blank line', async () => {
    const { events } = await readEvents(eventsOfResponse([messageItem('First.'), messageItem('Second.', 'msg_2')]));
    expect(fold(events).text).toBe('First.\n\nSecond.');
  });

  it('may say nothing at all', async () => {
    expect(await readEvents(eventsOfResponse([]))).toEqual({
      error: undefined,
      events: [
        { type: 'extra', ...serviceTier },
        { type: 'usage', usage },
        { type: 'finish', reason: 'stop' },
      ],
    });
  });

  it('says what the model refuses as a refusal', async () => {
    const refusal = messageItem('', 'msg_1', { content: [{ type: 'refusal', refusal: 'I cannot.' }] });
    const { events } = await readEvents(eventsOfResponse([refusal]));
    expect(
      fold(events)
        .extras.filter(({ level }) => level === 'delta')
        .map(({ fields }) => fields['refusal']),
    ).toEqual(['I c', 'ann', 'ot.']);
  });

  it('reads the plain reasoning of open models', async () => {
    const item: ResponseOutputItem = {
      ...thinking,
      summary: [],
      content: [{ type: 'reasoning_text', text: 'Hm, yes.' }],
      encrypted_content: null,
    };
    const place = { item_id: item.id, output_index: 0, content_index: 0 };
    const [created, , ...rest] = eventsOfResponse([item, time]);
    const deltas = ['Hm, ', 'yes.'].map((delta) => ({ type: 'response.reasoning_text.delta', ...place, delta }));
    const { events } = await readEvents([created ?? {}, rest[0] ?? {}, ...deltas, ...rest.slice(1)]);
    expect(fold(events).reasoning).toBe('Hm, yes.');
    expect(events.find(({ type }) => type === 'thought')).toEqual({
      type: 'thought',
      fields: {
        reasoning_items: [
          { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'Hm, yes.' }] },
          { type: 'function_call' },
        ],
      },
    });
  });

  it('keeps the calls of hosted tools among the reasoning, and the sources of what they found', async () => {
    const search: ResponseOutputItem = { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'x' } };
    const citation = { type: 'url_citation' as const, url: 'https://a.test', title: 'A', start_index: 0, end_index: 4 };
    const message = messageItem('So. ', 'msg_1', { content: [{ type: 'output_text', text: 'So. ', annotations: [citation] }] });
    const { events } = await readEvents(eventsOfResponse([thinking, search, message, time]));
    expect(events.find(({ type }) => type === 'thought')).toEqual({
      type: 'thought',
      fields: { reasoning_items: [kept, search, { type: 'message' }, { type: 'function_call' }] },
    });
    const { type, ...url_citation } = citation;
    expect(fold(events).extras).toContainEqual({ level: 'delta', fields: { annotations: [{ type, url_citation }] } });
  });

  it('passes the log probabilities of its tokens on', async () => {
    const logprobs = [{ token: 'Hi', logprob: -0.1, top_logprobs: [] }];
    const delta = { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'Hi', logprobs };
    const { events } = await readEvents([delta, ...eventsOfResponse([messageItem('Hi')]).slice(-1)]);
    expect(fold(events)).toMatchObject({
      text: 'Hi',
      extras: [{ level: 'choice', fields: { logprobs: { content: logprobs } } }, serviceTier],
    });
  });

  it('ends with its last event, also when the server goes on, and closes the connection soon', async () => {
    const server = await upstream(
      stream([...toPieces(eventsOfResponse([messageItem('Hello')])), 'data: {"type":"response.output_text.delta","delta":"more"}\n\n'], {
        end: 'stall',
      }),
    );
    expect(fold((await ask(connect(server))).events)).toMatchObject({ text: 'Hello', finish: ['stop'] });
    await server.requests[0]?.closed;
  });

  it.each([
    [{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }, 'length'],
    [{ status: 'incomplete', incomplete_details: { reason: 'content_filter' } }, 'content_filter'],
  ] satisfies [Partial<Response>, string][])('ends for the reason of %j', async (fields, reason) => {
    const { events, error } = await readEvents(eventsOfResponse([messageItem('Half an ans')], fields));
    expect(error).toBeUndefined();
    expect(fold(events)).toMatchObject({ text: 'Half an ans', finish: [reason], usage });
  });

  it('keeps the partial arguments of a call that the token limit cut', async () => {
    const cut = { ...callItem('a', 'get_time', '{"zo'), status: 'incomplete' as const };
    const fields: Partial<Response> = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } };
    expect(fold((await readEvents(eventsOfResponse([cut], fields))).events)).toMatchObject({
      calls: [{ id: 'call_a', name: 'get_time', arguments: '{"zo' }],
      finish: ['length'],
    });
  });

  it('keeps every digit of arguments', async () => {
    const args = '{"id":9007199254740993,"price":1.10}';
    expect(fold((await readEvents(eventsOfResponse([callItem('a', 'pay', args)]))).events).calls[0]?.arguments).toBe(args);
  });
});

describe('a stream that is not by the book', () => {
  const plain = eventsOfResponse(parallel);
  const unnamed = plain.map((event) => `data:${JSON.stringify(event)}\r\n\r\n`);
  const untyped = plain.map(({ type, ...event }) => `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`);
  const isOf = (name: string) => (event: { type: string }) => event.type.includes(name);

  it.each([
    [
      'unknown events and members',
      plain.flatMap((event) => [{ type: 'response.telepathy.delta', delta: 'x', output_index: 0 }, { ...event, more: null }, {}]),
    ],
    ['items that only come whole', plain.filter((event) => !/delta|added|_part|text\.done|arguments\.done/.test(event.type))],
    ['nothing but pieces', plain.filter((event) => !/output_item\.done|text\.done|arguments\.done/.test(event.type))],
    ['nothing but its end', plain.slice(-1)],
    ['nothing that says what begins', plain.filter((event) => !/added/.test(event.type))],
    ['every end twice', plain.flatMap((event) => (isOf('.done')(event) ? [event, event] : [event]))],
    ['ends before what they end', [...plain.filter(isOf('output_item.done')), ...plain.filter(isOf('arguments')), ...plain.slice(-1)]],
    [
      'arguments before the call begins',
      [...plain.filter(isOf('function_call_arguments')), ...plain.filter((event) => !isOf('function_call_arguments')(event))],
    ],
    [
      'items in another order',
      plain
        .slice(0, -1)
        .toSorted((one, other) => placeOf(other) - placeOf(one))
        .concat(plain.slice(-1)),
    ],
    ['an empty output at its end', plain.map(withoutOutput)],
    ['ids that change', plain.map((event, index) => changedId(event, `other_${index}`))],
    ['other ids at its end', plain.map(withOtherIdsAtEnd)],
    ['no positions', plain.map((event) => ({ ...event, output_index: undefined }))],
    ['no position but 0', plain.map((event) => ('output_index' in event ? { ...event, output_index: 0 } : event))],
    ['no names and no numbers', plain],
    ['no types but their names', plain],
    [
      'pieces that belong to nothing',
      plain.filter((event) => /delta|completed/.test(event.type)).map((event) => ({ ...event, item_id: undefined })),
    ],
    [
      'no position but 0, and an empty output at its end',
      plain.map((event) => withoutOutput('output_index' in event ? { ...event, output_index: 0 } : event)),
    ],
  ])('is read with %s', async (what, events) => {
    const pieces = { 'no names and no numbers': unnamed, 'no types but their names': untyped }[what] ?? toPieces(events);
    const { events: said, error } = await read(pieces);
    expect(error).toBeUndefined();
    expect(fold(said)).toEqual({ ...parallelAnswer, extras: [serviceTier] });
  });

  it('calls once what comes twice under one id', async () => {
    const { events } = await readEvents(eventsOfResponse([thinking, time, { ...time, id: 'fc_other' }]));
    expect(fold(events).calls).toEqual([toolCalls[0]]);
    expect(events.find(({ type }) => type === 'thought')).toMatchObject({ fields: { reasoning_items: [kept, { type: 'function_call' }] } });
  });

  it.each([
    [
      'in pieces of another item',
      [{ type: 'response.function_call_arguments.delta', output_index: 1, item_id: 'fc_x', delta: time.arguments }],
    ],
    [
      'at the end of another item',
      [{ type: 'response.function_call_arguments.done', output_index: 1, item_id: 'fc_x', arguments: time.arguments }],
    ],
    ['as an object', [{ type: 'response.function_call_arguments.delta', output_index: 0, delta: JSON.parse(time.arguments) as object }]],
    [
      'before an empty object',
      [
        { type: 'response.function_call_arguments.delta', output_index: 0, delta: time.arguments },
        { type: 'response.output_item.done', output_index: 0, item: { ...time, arguments: '{}' } },
      ],
    ],
  ])('gives the arguments of a call that come %s', async (_how, events) => {
    const begun = { type: 'response.output_item.added', output_index: 0, item: { ...time, arguments: '' } };
    const ended = { type: 'response.completed', response: { status: 'completed', output: [] } };
    expect(fold((await readEvents([begun, ...events, ended])).events).calls).toEqual([toolCalls[0]]);
  });

  it('makes equal calls as often as they come, and those that only come at its end', async () => {
    const events = eventsOfResponse([time, { ...time, id: 'fc_2', call_id: 'call_2' }, { ...time, id: 'fc_3', call_id: 'call_3' }]);
    const { events: said } = await readEvents(
      events.filter((event) => !('output_index' in event) || event.output_index < 2).map(withOtherIdsAtEnd),
    );
    expect(fold(said).calls.map(({ id }) => id)).toEqual(['call_a', 'call_2', 'other_call_3']);
  });

  it('gives calls without ids ids of their own', async () => {
    const nameless = { ...time, id: '', call_id: '' };
    const { events } = await readEvents(eventsOfResponse([nameless, { ...nameless, arguments: '{}' }]));
    expect(fold(events).calls.map(({ id, arguments: args }) => [id, args])).toEqual([
      ['own_1', time.arguments],
      ['own_2', '{}'],
    ]);
  });

  it('survives what does no harm', async () => {
    const harmless = ['data:\n\n', ': ping\n\n', 'data: 5\n\n', 'data: null\n\n', 'data: []\n\n', 'event: ping\ndata: {}\n\n'];
    const odd = [
      { type: 'response.output_item.added', output_index: 'x', item: null },
      { type: 'response.output_item.done', item: 7 },
      { type: 'response.output_text.delta', delta: null },
      { type: 'response.function_call_arguments.done' },
    ];
    const { events, error } = await read([...harmless, ...toPieces(odd), ...toPieces(eventsOfResponse([messageItem('Hi')]))]);
    expect(error).toBeUndefined();
    expect(fold(events)).toMatchObject({ text: 'Hi', calls: [], finish: ['stop'] });
  });

  it('may repeat a request of any size', async () => {
    const tools = Array.from({ length: 300 }, (_, index) => ({
      type: 'function' as const,
      name: `f${index}`,
      description: 'd'.repeat(8_000),
      strict: true,
      parameters: {
        type: 'object',
        properties: Object.fromEntries(Array.from({ length: 100 }, (_, key) => [`p${key}`, { type: 'string' }])),
      },
    }));
    const repeating = plain.map((event) => ('response' in event ? { ...event, response: { ...event.response, tools } } : event));
    const { events, error } = await readEvents(repeating);
    expect(error).toBeUndefined();
    expect(fold(events)).toMatchObject(parallelAnswer);
  });

  it('is refused if it is endless', async () => {
    const items = Array.from({ length: 2_000 }, (_, index) => ({
      type: 'response.output_item.added',
      output_index: index,
      item: messageItem('', `msg_${index}`),
    }));
    expect((await readEvents(items)).error).toMatchObject({ code: 'upstream_invalid_response' });
    const line = `data: {"type":"response.output_text.delta","output_index":0,"delta":"x","lists":[${'[],'.repeat(30_000)}[]]}\n\n`;
    expect((await read([line])).error).toMatchObject({ code: 'upstream_invalid_response' });
    expect((await read([`data: ${'x'.repeat(17 * 1024 * 1024)}`])).error).toMatchObject({ code: 'upstream_line_too_long' });
  });

  it('is refused if what is kept of its items is endless', async () => {
    const words = 'x'.repeat(300_000);
    const events = Array.from({ length: 80 }, (_, index) => ({
      type: 'response.output_item.done',
      output_index: index,
      item: { type: 'function_call', call_id: words, name: words, arguments: { words } },
    }));
    const { error } = await readEvents(events);
    expect(error).toMatchObject({ code: 'upstream_invalid_response', message: expect.stringContaining('64 MB') });
  }, 30_000);

  it('is refused if one item has endless parts', async () => {
    const parts = Array.from({ length: 1_100 }, (_, index) => ({
      type: 'response.output_text.delta',
      output_index: 0,
      content_index: index,
      delta: 'x',
    }));
    expect((await readEvents(parts)).error).toMatchObject({ code: 'upstream_invalid_response', message: expect.stringContaining('parts') });
  });

  // At each of the beginnings, a pattern that looks for an end would read the whole rest.
  it.each(["error parsing tool call: raw='", 'Failed to parse tool call: ', "Failed to parse tool call: error parsing tool call: raw='"])(
    'reports a call that was not readable in one pass: %s',
    async (words) => {
      const { error } = await readEvents([{ type: 'error', error: { message: words.repeat(40_000) } }]);
      expect(error).toMatchObject({ code: 'model_call_unreadable' });
    },
  );
});

function withoutOutput(event: object): object {
  return 'response' in event ? { ...event, response: { ...(event.response as object), output: [] } } : event;
}

function withOtherIdsAtEnd(event: UnnumberedEvent): UnnumberedEvent {
  if (event.type !== 'response.completed') return event;
  const output = event.response.output.map((item) => ({
    ...item,
    id: `other_${item.id}`,
    ...(item.type === 'function_call' && { call_id: `other_${item.call_id}` }),
  }));
  return { ...event, response: { ...event.response, output } };
}

function placeOf(event: object): number {
  return 'output_index' in event ? Number(event.output_index) : -1;
}

function changedId(event: object, id: string): object {
  const changed = { ...event, ...('item_id' in event && { item_id: id }) };
  return 'item' in changed ? { ...changed, item: { ...(changed.item as object), id } } : changed;
}

describe('a response that breaks off', () => {
  const last = { type: 'response.completed', response: { status: 'completed', output: [] } };
  const short = eventsOfResponse([reasoningItem('1', 'Hm 🤔'), { ...time, arguments: '{}' }]);
  const whole = Buffer.from(toPieces([...short.filter(({ type }) => /delta|item\.done/.test(type)), last]).join(''));
  const lastEvent = whole.indexOf('event: response.completed');

  it('is cut, and calls nothing, wherever it ends before its last event', async () => {
    for (let length = 0; length <= lastEvent + 80; length += 1) {
      const { events, error } = await read([whole.subarray(0, length)]);
      expect([length, (error as { code?: string } | undefined)?.code]).toEqual([length, 'upstream_incomplete']);
      expect(events.filter(({ type }) => type !== 'reasoning')).toEqual([]);
    }
  });

  it('is read alike at whatever byte it is divided', async () => {
    const expected = fold((await read([whole])).events);
    expect(expected).toMatchObject({ reasoning: 'Hm 🤔', calls: [{ id: 'call_a', arguments: '{}' }] });
    for (let length = 1; length < whole.length; length += 1)
      expect(fold((await read([whole.subarray(0, length), whole.subarray(length)])).events)).toEqual(expected);
    expect(fold((await read(Array.from(whole, (byte) => Uint8Array.of(byte)))).events)).toEqual(expected);
  });

  it.each([
    ['a reset', { end: 'reset' }, 'upstream_incomplete', 502],
    ['a body cut within a chunk', { end: 'finish' }, 'upstream_incomplete', 502],
    ['a proper end', {}, 'upstream_incomplete', 502],
    ['silence', { end: 'stall' }, 'upstream_timeout', 504],
  ] as const)('fails after what was said with %s, without a second try', async (_, options, code, status) => {
    const server = await upstream(stream(toPieces(eventsOfResponse([messageItem('Hello')])).slice(0, -1), options));
    const { events, error } = await ask(connect(server, { idleTimeoutMs: 1_000 }));
    expect(fold(events)).toMatchObject({ text: 'Hello', finish: [] });
    expect(error).toMatchObject({ code, status });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ['a [DONE] alone', ['data: [DONE]\n\n']],
    ['a response that was cancelled', toPieces([{ type: 'response.completed', response: { status: 'cancelled', output: [] } }])],
    ['a response that goes on in the background', toPieces([{ type: 'response.completed', response: { status: 'queued', output: [] } }])],
  ])('is cut with %s', async (_, end) => {
    const { events, error } = await read([...toPieces(eventsOfResponse([time])).slice(0, -1), ...end]);
    expect([events, error]).toEqual([[], expect.objectContaining({ code: 'upstream_incomplete' })]);
  });
});

describe('an error', () => {
  it.each([
    ['an event', { type: 'error', code: 'server_error', message: 'Oh no', param: null }, 'upstream_error', 502],
    [
      'an event with an object',
      { type: 'error', error: { type: 'invalid_request_error', code: 'x', message: 'No' } },
      'upstream_rejected',
      400,
    ],
    ['a rate limit', { type: 'error', code: 'rate_limit_exceeded', message: 'Slow' }, 'upstream_rate_limited', 429],
    ['a quota', { type: 'error', error: { code: 'insufficient_quota', message: 'Pay' } }, 'upstream_rate_limited', 429],
    ['an overload', { type: 'error', code: 'server_is_overloaded', message: 'Later' }, 'upstream_error', 503],
    [
      'a conversation that is too long',
      { type: 'error', code: 'context_length_exceeded', message: 'Long' },
      'context_length_exceeded',
      400,
    ],
    ['a failed response', failed({ code: 'server_error', message: 'Oh no' }), 'upstream_error', 502],
    ['a failed response without an error', failed(null), 'upstream_error', 502],
    ['a picture', failed({ code: 'invalid_image_format', message: 'Not a picture' }), 'upstream_rejected', 400],
    ['a policy', failed({ code: 'bio_policy', message: 'No' }), 'upstream_rejected', 400],
    ['an error without a type', { error: { code: 'rate_limit_exceeded', message: 'Slow' } }, 'upstream_rate_limited', 429],
  ])('is reported of %s, and nothing is called', async (_, event, code, status) => {
    const { events, error } = await readEvents([...eventsOfResponse([messageItem('Hi'), time]).slice(0, -1), event]);
    expect(fold(events)).toMatchObject({ text: 'Hi', calls: [], finish: [] });
    expect(error).toMatchObject({ code, status });
  });

  it('keeps its status, time and words before the answer', async () => {
    const server = await upstream(
      respond(429, { error: { message: 'slow', type: 'tokens', code: 'rate_limit_exceeded' } }, { 'retry-after': '7' }),
    );
    expect((await ask(connect(server))).error).toMatchObject({
      code: 'upstream_rate_limited',
      status: 429,
      retryAfter: '7',
      message: 'slow',
    });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    [400, { message: 'Your input exceeds the context window of this model.', code: 'context_length_exceeded' }, 'context_length_exceeded'],
    [400, { message: 'Invalid value', type: 'invalid_request_error', param: 'input[0]' }, 'upstream_rejected'],
    [401, { message: 'Incorrect key sk-upstream-1', code: 'invalid_api_key' }, 'upstream_auth_failed'],
    [500, { message: 'Oh no', type: 'server_error' }, 'upstream_error'],
  ])('of %d %j is %j', async (status, error, code) => {
    const server = await upstream(respond(status, { error }));
    const outcome = await ask(connect(server));
    expect(outcome.error).toMatchObject({ code });
    expect(String(outcome.error)).not.toContain('sk-upstream-1');
  });
});

function failed(error: object | null): object {
  return { type: 'response.failed', response: { status: 'failed', error, output: [] } };
}

it('remembers how long each of several messages is, so that each gets its reasoning back', async () => {
  const { events } = await readEvents(eventsOfResponse([thinking, messageItem('So.'), messageItem('On.', 'msg_2'), time]));
  expect(fold(events).text).toBe('So.\n\nOn.');
  const message = { type: 'message', characters: 3 };
  expect(events.find(({ type }) => type === 'thought')).toEqual({
    type: 'thought',
    fields: { reasoning_items: [kept, message, message, { type: 'function_call' }] },
  });
});

describe('one whole response', () => {
  it.each([false, true])('gives the events of a stream, which was asked for or not (%s)', async (isStream) => {
    const server = await upstream(respond(200, responseOf(parallel)));
    const { events, error } = await ask(connect(server), { stream: isStream });
    expect(error).toBeUndefined();
    expect(fold(events)).toEqual({ ...parallelAnswer, extras: [serviceTier] });
    expect(events.find(({ type }) => type === 'thought')).toMatchObject({ fields: { reasoning_items: [kept, {}, {}, {}] } });
  });

  it('may come as a stream', async () => {
    const server = await upstream(stream(toPieces(eventsOfResponse(parallel))));
    expect(fold((await ask(connect(server), { stream: false })).events)).toMatchObject(parallelAnswer);
  });

  it.each([
    ['a part of JSON', respond(200, '{"output":[', { 'content-type': 'application/json' }), 'upstream_invalid_response'],
    ['a chat completion', respond(200, { object: 'chat.completion', choices: [] }), 'upstream_invalid_response'],
    ['a list', respond(200, []), 'upstream_invalid_response'],
    ['HTML', respond(200, '<p>', { 'content-type': 'text/html' }), 'upstream_invalid_response'],
    ['a response in the background', respond(200, responseOf([], { status: 'queued' })), 'upstream_incomplete'],
    [
      'a failed response',
      respond(200, responseOf([], { status: 'failed', error: { code: 'server_error', message: 'Oh' } })),
      'upstream_error',
    ],
  ])('is refused when it is %s', async (_, script, code) => {
    const { events, error } = await ask(connect(await upstream(script)), { stream: false });
    expect([events, error]).toEqual([[], expect.objectContaining({ code })]);
  });
});
