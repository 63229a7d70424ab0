import { describe, expect, it } from 'vitest';

import type { ChatMessage, ModelEvent } from '../../../src/core/chat/chat.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import type { ToolSpec } from '../../../src/core/tools/tool.ts';
import { createDemoBackend, demoModel } from '../../../src/models/demo/demo-model.ts';
import { answerOf } from '../../_support/scripted-model.ts';

/** The functions of the bundled time server, as a model is offered them. */
const timeSpecs = timeFunctions();
const now = () => Date.parse('2026-01-02T03:04:05.678Z');
let lastId = 0;
const demo = createDemoBackend({ now, newCallId: () => `call_${++lastId}` });

function timeFunctions(): ToolSpec[] {
  const zone = { type: 'string', description: 'IANA timezone name (e.g., UTC, America/New_York)' };
  const text = (description: string) => ({ type: 'string', description });
  const spec = (name: string, description: string, properties: JsonObject = {}, required: string[] = []): ToolSpec => ({
    name,
    description,
    parameters: { type: 'object', properties, required },
  });
  const moment = text('ISO 8601 formatted time string (e.g., 2024-01-01T12:00:00Z)');
  const zones = { from_tz: text('Original IANA time zone of input'), to_tz: text('Target IANA time zone to convert to') };
  const units = { type: 'string', enum: ['seconds', 'minutes', 'hours', 'days'], description: 'Unit for elapsed time' };
  return [
    spec('get_current_utc', 'Returns the current time in UTC in ISO format.'),
    spec('get_current_local', 'Returns the current time in local timezone in ISO format.'),
    spec('format_time', 'Return the current time formatted for a specific timezone and format.', {
      format: text('Python strftime format string'),
      timezone: zone,
    }),
    spec('convert_time', 'Convert a timestamp from one timezone to another.', { timestamp: moment, ...zones }, [
      'timestamp',
      'from_tz',
      'to_tz',
    ]),
    spec(
      'elapsed_time',
      'Calculate the difference between two timestamps in chosen units.',
      { start: text('Start timestamp in ISO 8601 format'), end: text('End timestamp in ISO 8601 format'), units },
      ['start', 'end'],
    ),
    spec(
      'parse_timestamp',
      'Parse human-friendly input timestamp and return standardized UTC ISO time.',
      { timestamp: text('Flexible input timestamp string'), timezone: text('Assumed timezone if none is specified in input') },
      ['timestamp'],
    ),
    spec('list_time_zones', 'Return a list of all valid IANA time zones.'),
  ];
}

interface Answer {
  text: string;
  calls: [name: string, args: unknown][];
  events: ModelEvent[];
}

async function ask(messages: string | ChatMessage[], change: Partial<ModelRequest> = {}): Promise<Answer> {
  const request: ModelRequest = {
    model: 'demo',
    messages: typeof messages === 'string' ? [{ role: 'user', content: messages }] : messages,
    tools: [],
    callerTools: [],
    toolChoice: undefined,
    parallelToolCalls: undefined,
    parameters: {},
    stream: true,
    signal: AbortSignal.timeout(10_000),
    ...change,
  };
  const events = await Array.fromAsync(answerOf(demo, request));
  return {
    events,
    text: events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join(''),
    calls: events.flatMap((event): [string, unknown][] =>
      event.type === 'tool-call' ? [[event.call.name, JSON.parse(event.call.arguments)]] : [],
    ),
  };
}

const at = (timezone: string): [string, unknown] => ['format_time', { timezone }];

describe('a question about time', () => {
  it.each<[string, [string, unknown][]]>([
    ['請告訴現在東京的時間', [at('Asia/Tokyo')]],
    ['请告诉我当前大阪的时间', [at('Asia/Tokyo')]],
    ['北京现在几点了？', [at('Asia/Shanghai')]],
    ['東京は今何時ですか', [at('Asia/Tokyo')]],
    ['What time is it in Osaka and in Berlin?', [at('Asia/Tokyo'), at('Europe/Berlin')]],
    ["what's the time in são paulo, Zürich and Ho Chi Minh City", [at('America/Sao_Paulo'), at('Europe/Zurich'), at('Asia/Ho_Chi_Minh')]],
    ['Current time in America/Argentina/Ushuaia please', [at('America/Argentina/Ushuaia')]],
    ['What time is it in Tokyo, Osaka and Kyoto?', [at('Asia/Tokyo')]],
    ['Time in New York, UTC and Seattle?', [at('America/New_York'), at('UTC'), at('America/Los_Angeles')]],
    ['What is the current UTC time?', [['get_current_utc', {}]]],
    ['請告訴我當前的時間', [['get_current_local', {}]]],
    ['what time is it?', [['get_current_local', {}]]],
    ['Tell me the current time in JSON', [['get_current_local', {}]]],
    [
      'Convert 2024-01-01T12:00:00 from UTC to Asia/Tokyo',
      [['convert_time', { timestamp: '2024-01-01T12:00:00', from_tz: 'UTC', to_tz: 'Asia/Tokyo' }]],
    ],
    [
      'Convert 12:00 to Tokyo from Berlin',
      [['convert_time', { timestamp: '2026-01-02T12:00:00', from_tz: 'Europe/Berlin', to_tz: 'Asia/Tokyo' }]],
    ],
    [
      'What is 3 pm Berlin time in San Francisco?',
      [['convert_time', { timestamp: '2026-01-02T15:00:00', from_tz: 'Europe/Berlin', to_tz: 'America/Los_Angeles' }]],
    ],
    [
      '2024-06-01 12:30 AM UTC in Mumbai time',
      [['convert_time', { timestamp: '2024-06-01T00:30:00Z', from_tz: 'UTC', to_tz: 'Asia/Kolkata' }]],
    ],
    ['How many hours between 2024-01-01 and 2024-01-05?', [['elapsed_time', { start: '2024-01-01', end: '2024-01-05', units: 'hours' }]]],
    ['How long since 2025-12-31T00:00:00Z?', [['elapsed_time', { start: '2025-12-31T00:00:00Z', end: '2026-01-02T03:04:05Z' }]]],
    ['How many days until 2026-12-24?', [['elapsed_time', { start: '2026-01-02T03:04:05Z', end: '2026-12-24', units: 'days' }]]],
    [
      'How many hours from yesterday at noon until now?',
      [['elapsed_time', { start: '2026-01-01T12:00:00', end: '2026-01-02T03:04:05Z', units: 'hours' }]],
    ],
    ['list all time zones', [['list_time_zones', {}]]],
    ['Parse "2024-06-01 12:00 PM" in New York', [['parse_timestamp', { timestamp: '2024-06-01T12:00:00', timezone: 'America/New_York' }]]],
    ['Parse next friday 3pm in New York', [['parse_timestamp', { timestamp: '2026-01-09T15:00:00', timezone: 'America/New_York' }]]],
    [
      'Tokyo time for 12:00 from Berlin',
      [['convert_time', { timestamp: '2026-01-02T12:00:00', from_tz: 'Europe/Berlin', to_tz: 'Asia/Tokyo' }]],
    ],
    ['please parse next friday', [['parse_timestamp', { timestamp: '2026-01-09' }]]],
  ])('%s', async (question, calls) => {
    expect((await ask(question, { tools: timeSpecs })).calls).toEqual(calls);
  });

  it.each([
    'Tell me about Berlin',
    'What time is it in Xyzzyville?',
    'What is the time complexity of quicksort?',
    'What time does the Easter reunion start?',
    'hello',
  ])('is not seen where there is none that the functions could answer: %s', async (question) => {
    const { calls, text } = await ask(question, { tools: timeSpecs });
    expect(calls).toEqual([]);
    expect(text).toMatch(/demo model.*not a language model.*get_current_utc.*connect a model/u);
  });

  it('of two sentences with values for different functions is answered by both', async () => {
    const parameters = { type: 'object', properties: { task: { type: 'string' } }, required: ['task'] };
    const addTask: ToolSpec = { name: 'add_task', description: 'Adds a task to the list', parameters };
    const tools = [...timeSpecs, addTask];
    const { calls } = await ask('What time is it in Berlin? Add the task "Call the hotel".', { tools });
    expect(calls.map(([, args]) => args)).toEqual([{ timezone: 'Europe/Berlin' }, { task: 'Call the hotel' }]);
    // Together they are one question, about two places.
    expect((await ask('I am in Berlin. What time is it in Oslo?', { tools })).calls).toHaveLength(2);
  });

  it('is answered by functions of other names and shapes', async () => {
    const properties = { tz: { type: ['string', 'null'] } };
    const clock: ToolSpec = {
      name: 'worldClock',
      description: 'The time somewhere',
      parameters: { type: 'object', properties, required: ['tz'] },
    };
    const swap = {
      name: 'tz_swap',
      description: 'Converts between time zones',
      parameters: {
        type: 'object',
        properties: { date: { type: 'string' }, sourceTimezone: { type: 'string' }, targetTimezone: { type: 'string' } },
      },
    };
    const watch: JsonObject = {
      type: 'function',
      function: { name: 'watch', description: 'Local time', parameters: { type: 'object', properties: { zone: { type: 'string' } } } },
    };
    expect((await ask('time in Tokyo?', { tools: [clock] })).calls).toEqual([['worldClock', { tz: 'Asia/Tokyo' }]]);
    expect((await ask('convert 15:00 Berlin to Tokyo', { tools: [clock, swap] })).calls).toEqual([
      ['tz_swap', { date: '2026-01-02T15:00:00', sourceTimezone: 'Europe/Berlin', targetTimezone: 'Asia/Tokyo' }],
    ]);
    expect((await ask('What time is it in Vienna?', { callerTools: [watch, { type: 'web_search' }] })).calls).toEqual([
      ['watch', { zone: 'Europe/Vienna' }],
    ]);
  });

  it('gives one call at a time where only one is allowed', async () => {
    const { calls } = await ask('Time in Osaka and Berlin?', { tools: timeSpecs, parallelToolCalls: false });
    expect(calls).toEqual([at('Asia/Tokyo')]);
  });
});

const otherSpecs: ToolSpec[] = [
  [
    'get_weather',
    'Get the current weather for a city',
    { city: { type: 'string' }, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } },
    ['city'],
  ],
  ['search_wiki', 'Search Wikipedia articles', { query: { type: 'string' } }, ['query']],
  ['addNumbers', 'Adds two numbers', { a: { type: 'number' }, b: { type: 'integer' } }, ['a', 'b']],
  [
    'send_email',
    'Send an e-mail',
    { to: { type: 'string', description: 'e-mail address' }, subject: { type: 'string' }, urgent: { type: 'boolean' } },
    ['to', 'subject'],
  ],
  ['average', 'Average of values', { values: { type: 'array', items: { type: 'number' } } }, ['values']],
].map(
  ([name, description, properties, required]) => ({ name, description, parameters: { type: 'object', properties, required } }) as ToolSpec,
);

describe('a question about something else', () => {
  it.each<[string, [string, unknown][]]>([
    ['What is the weather in Paris in celsius?', [['get_weather', { city: 'Paris', unit: 'celsius' }]]],
    ['weather in Lower Slaughter?', [['get_weather', { city: 'Lower Slaughter' }]]],
    ['Search wikipedia for quantum entanglement, please.', [['search_wiki', { query: 'quantum entanglement' }]]],
    ['Add 3.5 and -4', [['addNumbers', { a: 3.5, b: -4 }]]],
    ['Run addNumbers {"a": 5, "b": 7}', [['addNumbers', { a: 5, b: 7 }]]],
    [
      'Send an email to bob@example.org with the subject "Hi there", urgent',
      [['send_email', { to: 'bob@example.org', subject: 'Hi there', urgent: true }]],
    ],
    ['What is the average of 1, 2 and 6?', [['average', { values: [1, 2, 6] }]]],
    ['time in Oslo? Search nothing.', [at('Europe/Oslo')]],
    ['weather', []],
    ['Send an email', []],
    ['How are you?', []],
  ])('%s', async (question, calls) => {
    expect((await ask(question, { tools: [...otherSpecs, ...timeSpecs] })).calls).toEqual(calls);
  });

  it('is answered with a call whenever one is demanded', async () => {
    expect((await ask('hello', { tools: otherSpecs, toolChoice: 'required' })).calls).toHaveLength(1);
    const named = { type: 'function', function: { name: 'search_wiki' } };
    expect((await ask('Time in Oslo?', { tools: [...timeSpecs, ...otherSpecs], toolChoice: named })).calls).toEqual([
      ['search_wiki', { query: 'Time in Oslo' }],
    ]);
  });

  it('is answered without a call where none is allowed', async () => {
    const { calls, text } = await ask('Time in Oslo?', { tools: timeSpecs, toolChoice: 'none' });
    expect(calls).toEqual([]);
    expect(text).not.toContain('format_time');
  });
});

describe('a selection pass', () => {
  const prompt = (specs: unknown): string => `Available Tools: ${JSON.stringify(specs)}\n\nYour task is to choose [tools]`;
  const select = async (query: string, specs: unknown = timeSpecs) =>
    (
      await ask([
        { role: 'system', content: prompt(specs) },
        { role: 'user', content: query },
      ])
    ).text;

  it('is answered with the JSON object alone', async () => {
    const query = 'Query: History:\nUSER: """What time is it in Oslo?"""\nASSISTANT: """12"""\nQuery: 请告诉我当前大阪的时间';
    expect(JSON.parse(await select(query))).toEqual({ tool_calls: [{ name: 'format_time', parameters: { timezone: 'Asia/Tokyo' } }] });
    expect(JSON.parse(await select('Query: History:\nQuery: Time in Oslo and Rome?'))).toMatchObject({ tool_calls: [{}, {}] });
  });

  it('reads functions in either form, with brackets in their texts', async () => {
    const specs = timeSpecs.map(({ description, ...rest }) => ({
      type: 'function',
      function: { ...rest, description: `${description} ["]", '[\\\\` },
    }));
    expect(JSON.parse(await select('Query: History:\nQuery: Time in Oslo?', specs))).toMatchObject({
      tool_calls: [{ name: 'format_time' }],
    });
  });

  it.each([
    ['nothing fits', timeSpecs, 'tell me a joke'],
    ['nothing is offered', [], 'Time in Oslo?'],
    ['the offer cannot be read', '[{"name": "x"', 'Time in Oslo?'],
  ])('is empty where %s', async (_name, specs, query) => {
    const text = typeof specs === 'string' ? `Available Tools: ${specs}` : prompt(specs);
    const answer = await ask([
      { role: 'system', content: text },
      { role: 'user', content: `Query: History:\nQuery: ${query}` },
    ]);
    expect(answer.text).toBe('{"tool_calls":[]}');
  });
});

describe('results', () => {
  const call = (id: string, name: string, args: object) => ({ id, name, arguments: JSON.stringify(args) });
  const asked: ChatMessage[] = [
    { role: 'user', content: 'Time in Tokyo and Berlin?' },
    { role: 'assistant', content: null, toolCalls: [call('1', 'format_time', { timezone: 'Asia/Tokyo' }), call('2', 'slow', {})] },
  ];

  it('are quoted, one sentence each, errors as errors', async () => {
    const { text, calls } = await ask(
      [
        ...asked,
        { role: 'tool', toolCallId: '1', label: 'time/format_time', content: '{"formatted_time": "2026-01-01 12:00:00"}' },
        { role: 'tool', toolCallId: '2', content: `{"error":"Tool 'slow' timed out after 5s"}` },
      ],
      { tools: timeSpecs, toolChoice: 'required' },
    );
    expect(calls).toEqual([]);
    expect(text).toBe(
      "Demo model: time/format_time says formatted_time = 2026-01-01 12:00:00 (timezone Asia/Tokyo). slow failed: Tool 'slow' timed out after 5s.",
    );
  });

  it('are found behind the question, where the model knows no tool role', async () => {
    const folded =
      'Time in Tokyo?\n\nTool `time/format_time` Output: {\n  "formatted_time": "12:00"\n}\n\nTool `x` Output: {"error":{"code":"a","message":"No."}}';
    expect((await ask(folded, {})).text).toBe('Demo model: time/format_time says formatted_time = 12:00. x failed: No.');
  });

  it.each([
    ['plain text', 'It is\nnoon.', 'It is noon.'],
    ['a number', '7', '7.'],
    ['null', 'null', 'null.'],
    ['an empty object', '{}', 'nothing.'],
    ['a list', '["a","b","c","d","e","f"]', '6 entries: a, b, c, d, e, …'],
    ['a list in an object', '{"zones":["a"],"n":1}', 'zones = 1 entry: a, n = 1.'],
    ['something nested', '{"a":{"b":[1]}}', 'a = {"b":[1]}.'],
    ['no error', '{"error":null,"ok":true}', 'error = null, ok = true.'],
  ])('may be %s', async (_name, content, said) => {
    const { text } = await ask([
      { role: 'user', content: 'Go' },
      { role: 'tool', toolCallId: 'c', name: 'f', content },
    ]);
    expect(text).toBe(`Demo model: f says ${said}`);
  });

  it('of an earlier question are not quoted again', async () => {
    const answered: ChatMessage[] = [
      ...asked,
      { role: 'tool', toolCallId: '1', content: '1' },
      { role: 'assistant', content: 'Noon', toolCalls: [] },
    ];
    expect((await ask([...answered, { role: 'user', content: 'Time in Oslo?' }], { tools: timeSpecs })).calls).toEqual([at('Europe/Oslo')]);
  });

  it('are cut where they are long', async () => {
    const { text } = await ask([
      { role: 'user', content: 'Go' },
      { role: 'tool', toolCallId: 'c', name: 'f', content: 'x'.repeat(100_000) },
    ]);
    expect(text.length).toBeLessThan(400);
  });
});

describe('the demo model', () => {
  it('says what it is in the list and in its answer', async () => {
    expect(demoModel).toMatchObject({ id: 'demo', owner: 'demo', isLocal: true, capabilities: ['completion', 'tools'] });
    expect(demoModel.details).toMatchObject({ name: expect.stringContaining('not a language model') });
    expect((await ask('Hello')).text).toContain('not a language model');
  });

  it('streams word by word, counts, and finishes once, the same each time', async () => {
    const { events, text } = await ask('Hello');
    const words = events.filter((event) => event.type === 'text');
    expect(words).toHaveLength(text.split(' ').length);
    expect(events.slice(words.length)).toEqual([
      { type: 'usage', usage: { prompt_tokens: 1, completion_tokens: expect.any(Number), total_tokens: expect.any(Number) } },
      { type: 'finish', reason: 'stop' },
    ]);
    expect((await ask('Hello')).events).toEqual(events);
  });

  it('gives calls ids of their own, so that conversations cannot be taken for one another', async () => {
    const other = createDemoBackend();
    const request = { model: 'demo', messages: [{ role: 'user' as const, content: 'Time in Oslo?' }], tools: timeSpecs, callerTools: [] };
    const ids = new Set<string>();
    for (let round = 0; round < 2; round++) {
      const asked = {
        ...request,
        toolChoice: undefined,
        parallelToolCalls: undefined,
        parameters: {},
        stream: true,
        signal: AbortSignal.timeout(1_000),
      };
      for await (const event of answerOf(other, asked)) if (event.type === 'tool-call') ids.add(event.call.id);
    }
    expect(ids.size).toBe(2);
  });

  it.each([
    [
      'a title as JSON',
      '### Task:\nGenerate a title.\nJSON format: { "title": "your title" }\n<chat_history>\nUSER: What time is it in Osaka right now?\n',
      '{"title":"What time is it in Osaka"}',
    ],
    ['a title', 'Generate a short title for this chat', 'Demo chat'],
    ['tags', '### Task:\nGenerate tags.\nJSON format: { "tags": ["tag1"] }', '{"tags":["General"]}'],
    ['follow-up questions', '### Task:\nSuggest questions.\n{ "follow_ups": ["a"] }', '{"follow_ups":[]}'],
  ])('gives a frontend %s', async (_name, question, answer) => {
    expect((await ask(question)).text).toBe(answer);
  });

  it("throws the signal's reason, before and amid its answer", async () => {
    const leave = new AbortController();
    const words: string[] = [];
    const reading = (async () => {
      const messages = [{ role: 'user' as const, content: 'Hello' }];
      const request = {
        model: 'demo',
        messages,
        tools: [],
        callerTools: [],
        toolChoice: undefined,
        parallelToolCalls: undefined,
        parameters: {},
        stream: true,
      };
      for await (const event of answerOf(demo, { ...request, signal: leave.signal })) {
        if (event.type === 'text') words.push(event.text);
        if (words.length === 3) leave.abort(new Error('gone'));
      }
    })();
    await expect(reading).rejects.toThrow('gone');
    // No batch after the one that was under way.
    const { text } = await ask('Hello');
    expect(words.length).toBeLessThan(text.split(/\s+/u).length);
    await expect(ask('Hello', { signal: leave.signal })).rejects.toThrow('gone');
  });

  it('is not slowed down by hostile questions', async () => {
    const tools = Array.from({ length: 128 }, (_, index) => ({ ...otherSpecs[3], name: `send_email_${index}` }) as ToolSpec);
    const hostile = ['“', ' ', '@', 'A/B ', '12:30 ', '{', '2024-01-01 ', 'send '].map((piece) => `send email ${piece.repeat(20_000)} x`);
    // Work that grew with the square of the text would run into the time limit of the test.
    for (const question of hostile) expect(await ask(question, { tools })).toBeDefined();
  });
});
