import { afterEach, describe, expect, it } from 'vitest';
import type { ModelEvent } from '../../../src/core/chat/chat.ts';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import { createAnthropicBackend, type AnthropicConnection } from '../../../src/models/anthropic/anthropic.ts';
import { directSend } from '../../_support/direct-send.ts';
import { answerWith, askModel, cutAt, fold, readRecording } from '../../_support/model-answers.ts';
import { answerOf } from '../../_support/scripted-model.ts';
import { head, respond, startUpstream, stream, type Script, type UpstreamServer } from '../../_support/upstream-server.ts';

const open: UpstreamServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function upstream(script: Script): Promise<UpstreamServer> {
  const server = await startUpstream(script);
  open.push(server);
  return server;
}

function connect(server: { origin: string }, fields: Partial<AnthropicConnection> = {}): AnthropicConnection {
  return { baseUrl: `${server.origin}/v1`, key: 'sk-ant-1', firstByteTimeoutMs: 2_000, idleTimeoutMs: 2_000, ...fields };
}

interface Outcome {
  events: ModelEvent[];
  error: unknown;
}

/** What was said before the end or the error. */
async function ask(connection: AnthropicConnection, request: Partial<ModelRequest> = {}): Promise<Outcome> {
  const said: ModelEvent[] = [];
  const backend = createAnthropicBackend(connection, directSend, { makeId: () => 'own_1' });
  try {
    for await (const event of answerOf(backend, askModel(request))) said.push(event);
  } catch (error) {
    return { events: said, error };
  }
  return { events: said, error: undefined };
}

/** Events as Anthropic writes them, with their names. */
function frames(...events: { type: string; [field: string]: unknown }[]): string[] {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

const start = {
  type: 'message_start',
  message: { id: 'msg_1', role: 'assistant', content: [], usage: { input_tokens: 10, output_tokens: 1 } },
};
const stopped = (reason: string | null, more: object = {}): { type: string }[] => [
  { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null, ...more }, usage: { output_tokens: 4 } } as { type: string },
  { type: 'message_stop' },
];
const text = (words: string, index = 0): { type: string }[] => [
  { type: 'content_block_start', index, content_block: { type: 'text', text: '' } } as { type: string },
  { type: 'content_block_delta', index, delta: { type: 'text_delta', text: words } } as { type: string },
  { type: 'content_block_stop', index } as { type: string },
];
const hello = frames(start, ...text('Hello'), ...stopped('end_turn'));

describe('the request', () => {
  it('goes to /messages with the key and the version of the API, and is streamed for every caller', async () => {
    const server = await upstream(stream(hello));
    const connection = connect(server, {
      baseUrl: `${server.origin}/anthropic/v1/`,
      headers: { 'Anthropic-Beta': 'files-api-2025-04-14' },
    });
    expect(fold((await ask(connection, { model: 'claude', stream: false })).events).text).toBe('Hello');
    const [request] = server.requests;
    expect(request).toMatchObject({ method: 'POST', url: '/anthropic/v1/messages' });
    expect(request?.headers).toMatchObject({
      'x-api-key': 'sk-ant-1',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'files-api-2025-04-14',
    });
    expect(request?.headers['authorization']).toBeUndefined();
    expect(request?.json()).toEqual({
      model: 'claude',
      max_tokens: 8_192,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      stream: true,
    });
  });

  it('sends no key where there is none, and lets configured headers replace its own', async () => {
    const server = await upstream(stream(hello));
    await ask(connect(server, { key: undefined, headers: { authorization: 'Bearer token', 'Anthropic-Version': '2026-10-21' } }));
    expect(server.requests[0]?.headers).toMatchObject({ authorization: 'Bearer token', 'anthropic-version': '2026-10-21' });
    expect(server.requests[0]?.headers['x-api-key']).toBeUndefined();
  });

  it('writes the arguments of earlier calls with all their digits', async () => {
    const server = await upstream(stream(hello));
    const call = { id: 'toolu_1', name: 'order', arguments: '{"id":12345678901234567890,"price":3.10}' };
    const messages: ModelRequest['messages'] = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: null, toolCalls: [call] },
      { role: 'tool', toolCallId: 'toolu_1', content: 'done' },
      // A long body is written in pieces.
      { role: 'user', content: 'x'.repeat(600_000) },
    ];
    await ask(connect(server), { messages });
    expect(server.requests[0]?.body).toContain('"input":{"id":12345678901234567890,');
  });

  it('offers functions under names that the API takes, and gives their calls under their own', async () => {
    const call = { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't', name: 'files_read', input: {} } };
    const server = await upstream(stream(frames(start, call, ...stopped('tool_use'))));
    const callerTools = [{ type: 'function', function: { name: 'files.read', parameters: { type: 'object' } } }];
    const toolChoice = { type: 'function', function: { name: 'files.read' } };
    const messages: ModelRequest['messages'] = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: null, toolCalls: [{ id: 'a', name: 'files.read', arguments: '{}' }] },
      { role: 'tool', toolCallId: 'a', content: 'x' },
    ];
    const { events } = await ask(connect(server), { callerTools, toolChoice, messages });
    expect(fold(events).calls).toEqual([{ id: 't', name: 'files.read', arguments: '{}' }]);
    expect(server.requests[0]?.json()).toMatchObject({
      tools: [{ name: 'files_read' }],
      tool_choice: { type: 'tool', name: 'files_read' },
      messages: [{}, { content: [{ name: 'files_read' }] }, {}],
    });
  });

  it('is refused for a bare prompt', async () => {
    const { error } = await ask(connect({ origin: 'http://127.0.0.1:9' }), { completion: {} });
    expect(error).toMatchObject({ code: 'invalid_request', param: 'model' });
  });
});

describe('a streamed answer', () => {
  it.each([1, 7, 64, 1_000_000])('is the same in pieces of %i bytes', async (size) => {
    const bytes = readRecording('anthropic-thinking-tools');
    const cuts = Array.from({ length: Math.floor(bytes.byteLength / size) }, (_, index) => (index + 1) * size);
    const server = await upstream(stream(cutAt(bytes, cuts).filter((piece) => piece.byteLength > 0)));
    const { events, error } = await ask(connect(server));
    expect(error).toBeUndefined();
    expect(fold(events)).toEqual({
      text: 'Let me look.',
      reasoning: 'Two questions, two calls. 🧭',
      calls: [
        { id: 'toolu_01T1x1fJ34qAmk2tNTrN7Up6', name: 'get_time', arguments: '{"zone": "Europe/Zurich"}' },
        { id: 'toolu_01A09q90qw90lq917835lq9', name: 'get_weather', arguments: '{"city": "Zürich"}' },
      ],
      finish: ['tool_calls'],
      usage: {
        prompt_tokens: 3_544,
        completion_tokens: 89,
        total_tokens: 3_633,
        prompt_tokens_details: { cached_tokens: 2_048, cache_creation_tokens: 1_024 },
        completion_tokens_details: { reasoning_tokens: 21 },
      },
      extras: [],
    });
  });

  it('gives the thinking with its signatures before the calls, exactly as it came', async () => {
    const server = await upstream(stream([readRecording('anthropic-thinking-tools')]));
    const { events } = await ask(connect(server));
    const [thought, ...after] = events.slice(events.findIndex(({ type }) => type === 'thought'));
    expect(thought).toEqual({
      type: 'thought',
      fields: {
        thinking_blocks: [
          {
            type: 'thinking',
            thinking: 'Two questions, two calls. 🧭',
            signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds==',
          },
          { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIwxtE3rAFBa8cr3qpP' },
        ],
      },
    });
    expect(after.map(({ type }) => type)).toEqual(['tool-call', 'tool-call', 'usage', 'finish']);
  });

  it('gives thinking whose text is hidden, because its signature has to come back', async () => {
    const call = { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 't', name: 'f', input: {} } };
    const hidden = [
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig' } },
    ];
    const server = await upstream(stream(frames(start, ...hidden, call, ...stopped('tool_use'))));
    const { events } = await ask(connect(server));
    expect(events[0]).toEqual({ type: 'thought', fields: { thinking_blocks: [{ type: 'thinking', thinking: '', signature: 'sig' }] } });
  });

  it.each(['finish', 'reset'] as const)(
    'that ends with %s at any byte before its end is incomplete, and no call in it runs',
    async (end) => {
      const bytes = readRecording('anthropic-thinking-tools');
      // The last two bytes are the line breaks after the data of `message_stop`.
      const lengths = [...Array.from({ length: 40 }, (_, index) => bytes.byteLength - 3 - index), 1, 100, 500, 1_000, 1_500, 2_000];
      const server = await upstream((_, count) => stream([bytes.subarray(0, lengths[count])], { end }));
      for (const _ of lengths) {
        const { events, error } = await ask(connect(server));
        expect(error).toMatchObject({ code: 'upstream_incomplete' });
        expect(events.filter(({ type }) => type === 'tool-call' || type === 'thought' || type === 'finish')).toEqual([]);
      }
    },
  );

  it('is the same wherever it is cut in two, and incomplete wherever it ends early', async () => {
    const bytes = readRecording('anthropic-text');
    const connection = connect({ origin: 'http://backend.test' });
    const whole = { text: 'It is 14:05 in Zürich 🕑.', finish: ['stop'], usage: { prompt_tokens: 25, completion_tokens: 15 } };
    for (let cut = 1; cut < bytes.byteLength; cut += 1) {
      const inTwo = createAnthropicBackend(connection, answerWith(cutAt(bytes, [cut])));
      expect(fold(await Array.fromAsync(answerOf(inTwo, askModel())))).toMatchObject(whole);
      // Its data ends two line breaks before.
      if (cut >= bytes.byteLength - 2) continue;
      const early = createAnthropicBackend(connection, answerWith([bytes.subarray(0, cut)]));
      await expect(Array.fromAsync(answerOf(early, askModel()))).rejects.toMatchObject({ code: 'upstream_incomplete' });
    }
  });

  it('is complete without the blank line after its last event', async () => {
    const bytes = readRecording('anthropic-text');
    const server = await upstream(stream([bytes.subarray(0, -2)]));
    expect(fold((await ask(connect(server))).events)).toMatchObject({ text: 'It is 14:05 in Zürich 🕑.', finish: ['stop'] });
  });

  it('may have interleaved blocks, and blocks, deltas and events of other types', async () => {
    const begin = (index: number, block: object): { type: string } =>
      ({ type: 'content_block_start', index, content_block: block }) as { type: string };
    const grow = (index: number, delta: object): { type: string } => ({ type: 'content_block_delta', index, delta }) as { type: string };
    const json = (index: number, part: string): { type: string } => grow(index, { type: 'input_json_delta', partial_json: part });
    const server = await upstream(
      stream(
        frames(
          start,
          begin(0, { type: 'tool_use', id: 'a', name: 'one', input: {} }),
          begin(1, { type: 'tool_use', id: 'b', name: 'two', input: {} }),
          json(1, '{"y"'),
          json(0, '{"x":'),
          { type: 'content_block_rewind' },
          begin(2, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
          json(2, '{"query":"x"}'),
          begin(3, { type: 'web_search_tool_result', tool_use_id: 's', content: [] }),
          json(0, '1}'),
          json(1, ':2}'),
          begin(4, { type: 'text', text: 'So ' }),
          grow(4, { type: 'citations_delta', citation: { type: 'char_location' } }),
          grow(4, { type: 'text_delta', text: 'be it.' }),
          grow(4, { type: 'hologram_delta', text: 'no' }),
          ...stopped('tool_use'),
        ),
      ),
    );
    expect(fold((await ask(connect(server))).events)).toMatchObject({
      text: 'So be it.',
      calls: [
        { id: 'a', name: 'one', arguments: '{"x":1}' },
        { id: 'b', name: 'two', arguments: '{"y":2}' },
      ],
    });
  });

  it('has a gap between texts with something else in between, and none between texts in a row', async () => {
    const search = {
      type: 'content_block_start',
      index: 1,
      content_block: { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
    };
    const server = await upstream(
      stream(frames(start, ...text('Searching.'), search, ...text('Found', 2), ...text(' it.', 3), ...stopped('end_turn'))),
    );
    expect(fold((await ask(connect(server))).events).text).toBe('Searching.\n\nFound it.');
  });

  it('ends at a line that is too long, or has too many values', async () => {
    const long = `data: {"type":"ping","x":"${'x'.repeat(1024 * 1024)}"}\n\n`;
    const wide = `data: {"type":"ping","x":[${'0,'.repeat(40_000)}0]}\n\n`;
    const server = await upstream((_, count) => stream([count === 0 ? long : wide]));
    expect((await ask(connect(server))).error).toMatchObject({ code: 'upstream_line_too_long' });
    expect((await ask(connect(server))).error).toMatchObject({ code: 'upstream_invalid_response' });
  });

  it.each([
    ['blocks', { type: 'x' }, 1_100],
    ['64 MB', { type: 'tool_use', id: 'a', name: 'f', input: { text: 'x'.repeat(900_000) } }, 80],
  ])(
    'ends at endless blocks: more than so many %s',
    async (words, block, count) => {
      const frame = Buffer.from(frames({ type: 'content_block_start', index: 0, content_block: block }).join(''));
      const send = answerWith(Array.from({ length: count }, () => frame));
      const answered = answerOf(createAnthropicBackend(connect({ origin: 'http://127.0.0.1:1' }), send), askModel());
      await expect(Array.fromAsync(answered)).rejects.toMatchObject({
        code: 'upstream_invalid_response',
        message: expect.stringContaining(words),
      });
    },
    30_000,
  );

  it('reads nothing of its end and usage but what is known, so that each event costs the same', async () => {
    const unknown = (from: number): object => Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`k${from * 60 + index}`, 1]));
    const growing = Array.from({ length: 2_000 }, (_, index) => ({ type: 'message_delta', delta: unknown(index), usage: unknown(index) }));
    const server = await upstream(stream(frames(start, ...text('Hello'), ...growing, ...stopped('end_turn'))));
    expect(fold((await ask(connect(server))).events)).toMatchObject({ text: 'Hello', finish: ['stop'] });
  });

  const begun = (index: number, id = 't'): { type: string } =>
    ({ type: 'content_block_start', index, content_block: { type: 'tool_use', id, name: 'clear', input: {} } }) as { type: string };
  const piece = (index: unknown, delta: object): { type: string } => ({ type: 'content_block_delta', index, delta }) as { type: string };
  const input = { type: 'input_json_delta', partial_json: '{"before":"2020"}' };
  const end = { type: 'content_block_stop', index: 1 } as { type: string };

  it.each([
    ['under another index', [begun(1), piece(2, input), end]],
    ['under the index of a text', [...text('I clear', 0), begun(1), piece(0, input), end]],
    ['without an index', [begun(1), piece(undefined, input), end]],
    ['behind the end of its block', [begun(1), end, piece(1, input)]],
    ['as an object', [begun(1), piece(1, { type: 'input_json_delta', partial_json: { before: '2020' } }), end]],
  ])('gives the input of a call that comes %s', async (_how, events) => {
    const server = await upstream(stream(frames(start, ...events, ...stopped('tool_use'))));
    expect(fold((await ask(connect(server))).events).calls).toEqual([{ id: 't', name: 'clear', arguments: '{"before":"2020"}' }]);
  });

  it.each([
    ['of a form that is not known', [begun(1), piece(1, { partial_json: '{"before":"2020"}' })], ['unreadable']],
    ['that may be of either of two calls', [begun(1), begun(2, 'u'), piece(3, input)], ['unreadable', 'unreadable']],
  ])('makes no call without its input where there is one %s', async (_how, events, written) => {
    const server = await upstream(stream(frames(start, ...events, ...stopped('tool_use'))));
    expect(fold((await ask(connect(server))).events).calls.map((call) => call.arguments)).toEqual(written);
  });

  it('has calls without input or id, and a call that was cut off by the limit', async () => {
    const call = (id: unknown, index: number): { type: string } =>
      ({ type: 'content_block_start', index, content_block: { type: 'tool_use', id, name: 'f', input: {} } }) as { type: string };
    const cut = { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"a":"b' } };
    const server = await upstream(stream(frames(start, call('t', 0), call(undefined, 1), cut, ...stopped('max_tokens'))));
    expect(fold((await ask(connect(server))).events)).toMatchObject({
      calls: [
        { id: 't', arguments: '{}' },
        { id: 'own_1', arguments: '{"a":"b' },
      ],
      finish: ['length'],
    });
  });

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['refusal', 'content_filter'],
    ['pause_turn', 'stop'],
    [null, 'stop'],
  ])('that stops with %s finishes with %s', async (reason, expected) => {
    const server = await upstream(stream(frames(start, ...text('Hi'), ...stopped(reason))));
    expect(fold((await ask(connect(server))).events)).toMatchObject({ text: 'Hi', finish: [expected] });
  });

  it('says at which sequence it stopped, why it was refused, and that a turn was paused', async () => {
    const endings = [
      stopped('stop_sequence', { stop_sequence: 'END' }),
      stopped('refusal', { stop_details: { type: 'refusal', category: 'cyber', explanation: 'Not that.' } }),
      stopped('pause_turn'),
    ];
    const server = await upstream((_, count) => stream(frames(start, ...(endings[count] ?? []))));
    const said = [await ask(connect(server)), await ask(connect(server)), await ask(connect(server))].map(({ events }) => events[0]);
    expect(said).toMatchObject([
      { type: 'extra', level: 'choice', fields: { stop_reason: 'END' } },
      { type: 'extra', level: 'delta', fields: { refusal: 'Not that.' } },
      { type: 'run-event', event: { type: 'warning', data: { code: 'turn_paused' } } },
    ]);
  });

  it('ends with the error that is reported in it, after what was said before', async () => {
    const fault = (type: string, message: string): { type: string } => ({ type: 'error', error: { type, message } }) as { type: string };
    const faults = [
      fault('overloaded_error', 'Overloaded'),
      fault('api_error', 'Internal server error'),
      fault('rate_limit_error', 'Slow down'),
    ];
    const server = await upstream((_, count) => stream(frames(start, ...text('Hel'), ...faults.slice(count, count + 1), ...text('lo'))));
    for (const expected of [
      { code: 'upstream_error', status: 529, message: 'Overloaded' },
      { code: 'upstream_error', message: 'Internal server error' },
      { code: 'upstream_rate_limited', status: 429 },
    ]) {
      const { events, error } = await ask(connect(server));
      expect(fold(events).text).toBe('Hel');
      expect(error).toMatchObject(expected);
    }
  });

  it.each([
    ['malformed JSON', 'event: ping\ndata: {"type":\n\n'],
    ['without a message', 'event: message_stop\ndata: {"type":"message_stop"}\n\n'],
    ['not an answer', 'data: 5\n\n'],
  ])('is invalid with %s', async (words, body) => {
    const server = await upstream(stream([body]));
    expect((await ask(connect(server))).error).toMatchObject({
      code: 'upstream_invalid_response',
      message: expect.stringContaining(words),
    });
  });
});

describe('an answer in one piece', () => {
  const whole = {
    id: 'msg_2',
    type: 'message',
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
      { type: 'text', text: 'Here.' },
      { type: 'tool_use', id: 'toolu_9', name: 'f', input: { a: 1 } },
    ],
    stop_reason: 'tool_use',
    usage: { input_tokens: 3, output_tokens: 5 },
  };

  it('is read from a server that does not stream, with the digits of its numbers', async () => {
    const body = JSON.stringify(whole).replace('{"a":1}', '{"a":12345678901234567890}');
    const server = await upstream(respond(200, body, { 'content-type': 'application/json' }));
    const { events } = await ask(connect(server), { stream: false });
    expect(fold(events)).toMatchObject({
      text: 'Here.',
      reasoning: 'Hm.',
      calls: [{ id: 'toolu_9', name: 'f', arguments: '{"a":12345678901234567890}' }],
      finish: ['tool_calls'],
      usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 },
    });
    expect(events).toContainEqual({ type: 'thought', fields: { thinking_blocks: [whole.content[0]] } });
  });

  it('is an error where it reports one, or has no message', async () => {
    const bodies = [{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, { ok: true }];
    const server = await upstream((_, count) => respond(200, bodies[count]));
    expect((await ask(connect(server))).error).toMatchObject({ code: 'upstream_error', status: 529 });
    expect((await ask(connect(server))).error).toMatchObject({ code: 'upstream_invalid_response' });
  });
});

describe('a refusal', () => {
  const refuse = (status: number, type: string, message: string, headers: Record<string, string> = {}): Script =>
    respond(status, { type: 'error', error: { type, message }, request_id: 'req_1' }, headers);

  it.each([
    [
      400,
      'invalid_request_error',
      'max_tokens: Field required',
      { code: 'upstream_rejected', status: 400, message: 'max_tokens: Field required' },
    ],
    [400, 'invalid_request_error', 'prompt is too long: 208310 tokens > 200000 maximum', { code: 'context_length_exceeded' }],
    [
      400,
      'invalid_request_error',
      'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again',
      { code: 'context_length_exceeded' },
    ],
    [401, 'authentication_error', 'invalid x-api-key', { code: 'upstream_auth_failed', status: 502 }],
    [403, 'permission_error', 'Not for this key', { code: 'upstream_auth_failed', status: 502 }],
    [404, 'not_found_error', 'model: claude-9', { code: 'model_not_found', status: 404 }],
    [413, 'request_too_large', 'Request exceeds the maximum size', { code: 'upstream_rejected', status: 413 }],
    [500, 'api_error', 'Internal server error', { code: 'upstream_error', status: 500 }],
    [529, 'overloaded_error', 'Overloaded', { code: 'upstream_error', status: 529 }],
  ])('with status %i (%s) says "%s"', async (status, type, message, expected) => {
    const server = await upstream(refuse(status, type, message));
    expect((await ask(connect(server))).error).toMatchObject(expected);
  });

  it('of too many requests says when to try again', async () => {
    const server = await upstream(refuse(429, 'rate_limit_error', 'This request would exceed your limit', { 'retry-after': '17' }));
    expect((await ask(connect(server))).error).toMatchObject({ code: 'upstream_rate_limited', status: 429, retryAfter: '17' });
  });

  it('does not repeat the key', async () => {
    const server = await upstream(refuse(400, 'invalid_request_error', 'bad key sk-ant-1 here'));
    expect(String((await ask(connect(server))).error)).not.toContain('sk-ant-1');
  });
});

it('stops the model when the caller leaves', async () => {
  const server = await upstream(stream(frames(start, ...text('Hello')), { end: 'stall' }));
  const leaving = new AbortController();
  const answer = answerOf(createAnthropicBackend(connect(server), directSend), askModel({ signal: leaving.signal }));
  expect((await answer.next()).value).toEqual({ type: 'text', text: 'Hello' });
  leaving.abort(new Error('gone'));
  await expect(answer.next()).rejects.toThrow('gone');
  await (
    await server.request(0)
  ).closed;
});

it('ends an answer that stalls', async () => {
  const server = await upstream([head(200, { 'content-type': 'text/event-stream' }), ...hello.slice(0, 2), { act: 'stall' }]);
  expect((await ask(connect(server, { idleTimeoutMs: 100 }))).error).toMatchObject({ code: 'upstream_timeout' });
});
