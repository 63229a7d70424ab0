import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { listen, testApp } from '../../_support/build-app.ts';
import { ollamaEnd, ollamaLine, startOllamaServer } from '../../_support/ollama-server.ts';
import { chunk, events, head, respond, startUpstream, stream } from '../../_support/upstream-server.ts';
import type { ScriptStep, UpstreamServer } from '../../_support/upstream-server.ts';
import { toolServerRecord } from '../../storage/registry-contract.ts';
import { documentOf, question, readSeen } from '../gateway.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const models = respond(200, { object: 'list', data: [{ id: 'org/model', object: 'model' }] });
const zone = { type: 'object', properties: { zone: { type: 'string' } }, required: ['zone'] };

async function serverThat(answer: ScriptStep[] | ((body: JsonObject, count: number) => ScriptStep[])): Promise<UpstreamServer> {
  let asked = 0;
  const server = await startUpstream((request) => {
    if (request.method === 'GET') return models;
    return typeof answer === 'function' ? answer(request.json() as JsonObject, asked++) : answer;
  });
  closers.push(() => server.close());
  return server;
}

/** The questions to a backend or the calls of a tool server, as bodies. */
const bodiesOf = (server: UpstreamServer) =>
  server.requests.filter(({ method }) => method === 'POST').map((request) => request.json() as JsonObject);
const listIn = (object: JsonObject | undefined, key: string) => (object?.[key] ?? []) as JsonObject[];

interface Wire {
  url: string;
  ask(body?: object): Promise<ReturnType<typeof readSeen>>;
  post(body: object): Promise<Response>;
}

/** The gateway on a real port, before a backend that speaks the OpenAI API and with one registered tool server, `now(zone)`. */
async function wireTo(backend: UpstreamServer, tools: UpstreamServer, environment: NodeJS.ProcessEnv = {}): Promise<Wire> {
  const lab = {
    kind: 'openai',
    url: `${backend.origin}/v1`,
    urls: [`${backend.origin}/v1`],
    origin: 'file',
    prefix: 'lab',
    name: 'lab',
    headers: {},
    maxContext: 1,
    isExplicit: true,
  } as const;
  const backends = environment['OLLAMA_BASE_URLS'] === undefined ? { config: { backends: [lab] } } : {};
  const registry = memoryRegistry([toolServerRecord({ url: tools.origin, spec: documentOf({ now: zone, later: zone }) })]);
  const app = await testApp(environment, { registry, ...backends });
  closers.push(() => app.close());
  const url = await listen(app);
  const post = (body: object) =>
    fetch(`${url}/api/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'lab/org/model', messages: [{ role: 'user', content: question }], stream: true, ...body }),
    });
  return { url, post, ask: async (body = {}) => readSeen(await (await post(body)).text()) };
}

const delta = (fields: JsonObject, finish: string | null = null, more: JsonObject = {}) => ({
  choices: [{ index: 0, delta: fields, finish_reason: finish, ...more }],
});
const wireCall = (index: number, name: string, args: string) => ({
  index,
  id: `c${index}`,
  type: 'function',
  function: { name, arguments: args },
});
const callsOf = (...wanted: [name: string, args: string][]) =>
  stream(
    events(delta({ tool_calls: wanted.map(([name, args], index) => wireCall(index, name, args)) }), delta({}, 'tool_calls'), '[DONE]'),
  );
const saysNoon = stream(events(delta({ content: 'Noon.' }), delta({}, 'stop'), '[DONE]'));
const tells = (time: string) => respond(200, { time });

describe('a question to a backend', () => {
  it('holds the functions in its own field, in the form that backends know, and no prompt [S1-1, S1-15]', async () => {
    const backend = await serverThat(saysNoon);
    const wire = await wireTo(backend, await serverThat(tells('12:00')));
    await wire.ask({ params: { function_calling: 'native' } });
    const [body] = bodiesOf(backend);
    expect(body?.['tools']).toEqual([
      { type: 'function', function: { name: 'now', description: 'Does now', parameters: zone } },
      { type: 'function', function: { name: 'later', description: 'Does later', parameters: zone } },
    ]);
    expect(body?.['messages']).toEqual([{ role: 'user', content: question }]);
    expect(body, 'the choice is the model’s').not.toHaveProperty('tool_choice');
  });

  it('holds the model’s own name, the messages, stream, functions and parameters, and nothing else [S1-8]', async () => {
    const backend = await serverThat(saysNoon);
    const wire = await wireTo(backend, await serverThat(tells('12:00')));
    await wire.ask({
      temperature: 0.5,
      future_parameter: { deep: true },
      params: { top_k: 3, function_calling: 'native', max_tool_rounds: 2, tool_timeout_ms: 100 },
      tool_ids: ['server:time/now'],
      stream_options: { include_events: true },
      chat_id: 'c',
      id: 'm',
      variables: { '{{USER_NAME}}': 'Ada' },
      background: false,
    });
    expect(bodiesOf(backend)).toEqual([
      {
        model: 'org/model',
        messages: [{ role: 'user', content: question }],
        stream: true,
        stream_options: { include_usage: true },
        tools: [{ type: 'function', function: { name: 'now', description: 'Does now', parameters: zone } }],
        temperature: 0.5,
        future_parameter: { deep: true },
        top_k: 3,
      },
    ]);
  });

  it('holds nothing of what Open WebUI sends along with its chat [S4-3]', async () => {
    const recording = new URL('../../_recordings/open-webui-chat-request.json', import.meta.url);
    const sent = JSON.parse(readFileSync(recording, 'utf8')) as JsonObject;
    expect(Object.keys(sent)).toEqual(expect.arrayContaining(['tool_servers', 'features', 'variables', 'model_item', 'background_tasks']));
    const backend = await serverThat(saysNoon);
    const wire = await wireTo(backend, await serverThat(tells('12:00')));
    const seen = await wire.ask({ ...sent, model: 'lab/org/model', tool_ids: [], params: { function_calling: 'native' } });
    expect(seen.text).toBe('Noon.');
    const [body] = bodiesOf(backend);
    expect(Object.keys(body ?? {}).toSorted()).toEqual(['messages', 'model', 'stream', 'stream_options', 'tools']);
    expect(body?.['messages']).toEqual(sent['messages']);
    expect(listIn(body, 'tools').map((tool) => (tool['function'] as JsonObject)['name'])).toContain('format_current_time_format_time_post');
  });

  it('goes to the backend that lists the model, whatever a model_item says [S4-14]', async () => {
    const [backend, other] = [await serverThat(saysNoon), await serverThat(saysNoon)];
    const wire = await wireTo(backend, await serverThat(tells('12:00')));
    const item = { id: 'org/other', owned_by: 'openai', direct: true, url: other.origin, urlIdx: 1, openai: { id: 'org/other' } };
    expect((await wire.ask({ model_item: item })).text).toBe('Noon.');
    expect(bodiesOf(backend)).toMatchObject([{ model: 'org/model' }]);
    const response = await wire.post({ model: 'org/other', model_item: { ...item, id: 'lab/org/model' } });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: 'model_not_found' } });
    expect(other.requests).toEqual([]);
  });
});

describe('the history that a backend gets', () => {
  const turns = [
    callsOf(['now', '{"zone":"UTC"}'], ['now', '{"zone": '], ['nothing_like_it', '{}'], ['later', ' { "zone" : "CET" } ']),
    saysNoon,
  ];

  async function historyAfter(): Promise<JsonObject[]> {
    const backend = await serverThat((_body, count) => turns[count] ?? []);
    const wire = await wireTo(backend, await serverThat(tells('12:00')));
    expect((await wire.ask()).text).toBe('Noon.');
    return listIn(bodiesOf(backend)[1], 'messages');
  }

  it('has after an assistant message with calls one tool message for each of them [S1-4]', async () => {
    const [user, assistant, ...results] = await historyAfter();
    expect([user?.['role'], assistant?.['role']]).toEqual(['user', 'assistant']);
    const ids = listIn(assistant, 'tool_calls').map((call) => call['id']);
    expect(new Set(ids).size).toBe(4);
    expect(results.map((message) => [message['role'], message['tool_call_id']])).toEqual(ids.map((id) => ['tool', id]));
  });

  it('has content: null beside calls without a text [S1-13]', async () => {
    const [, assistant] = await historyAfter();
    expect(assistant).toHaveProperty('content', null);
  });

  it('has each result under the id of its call and the name of its function [S0-16, S1-12]', async () => {
    const [, , ...results] = await historyAfter();
    expect(results[0]).toEqual({ role: 'tool', tool_call_id: 'c0', name: 'now', content: '{\n  "time": "12:00"\n}' });
    expect(results[3]).toEqual({ role: 'tool', tool_call_id: 'c3', name: 'later', content: '{\n  "time": "12:00"\n}' });
    expect(results[1]).toMatchObject({ tool_call_id: 'c1', name: 'now', content: expect.stringContaining('not a JSON object') });
  });

  it('has arguments as one JSON text, and an empty object for those that could not be parsed [S1-14]', async () => {
    const [, assistant] = await historyAfter();
    const texts = listIn(assistant, 'tool_calls').map((call) => (call['function'] as JsonObject)['arguments']);
    expect(texts).toEqual(['{"zone":"UTC"}', '{}', '{}', '{"zone":"CET"}']);
  });

  it('is written in Ollama’s words for an Ollama [S0-16]', async () => {
    const ollama = await startOllamaServer([{ name: 'llama3.2:latest', capabilities: ['completion', 'tools'] }]);
    closers.push(() => ollama.close());
    ollama.answers.push(
      [ollamaLine({ tool_calls: [{ function: { name: 'now', arguments: { zone: 'UTC' } } }] }), ollamaEnd()],
      [ollamaLine({ content: 'Noon.' }), ollamaEnd()],
    );
    const tools = await serverThat(tells('12:00'));
    const wire = await wireTo(tools, tools, { OLLAMA_BASE_URLS: ollama.url });
    expect((await wire.ask({ model: 'llama3.2' })).text).toBe('Noon.');
    const id = expect.any(String);
    const [, assistant, result] = listIn(ollama.chats()[1] as JsonObject, 'messages');
    expect(assistant).toEqual({
      role: 'assistant',
      content: '',
      tool_calls: [{ id, function: { name: 'now', arguments: { zone: 'UTC' } } }],
    });
    expect(result).toEqual({ role: 'tool', content: '{\n  "time": "12:00"\n}', tool_name: 'now', tool_call_id: id });
    expect(result?.['tool_call_id']).toBe(listIn(assistant, 'tool_calls')[0]?.['id']);
  });
});

describe('an answer', () => {
  /** Reads a streamed answer up to the first chunk that holds a text. */
  async function readUntil(reader: ReadableStreamDefaultReader<string>, wanted: string): Promise<string> {
    let read = '';
    while (!read.includes(wanted)) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`The stream ended before "${wanted}": ${read}`);
      read += value;
    }
    return read;
  }

  async function readerOf(response: Response): Promise<ReadableStreamDefaultReader<string>> {
    if (response.body === null) throw new Error('There is no body.');
    return response.body.pipeThrough(new TextDecoderStream()).getReader();
  }

  const open = head(200, { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked' });
  const pieces = (...payloads: unknown[]): ScriptStep[] => events(...payloads).map((text) => chunk(text));
  const end = '0\r\n\r\n';

  it('is streamed as it arrives, text apart from reasoning, and results of tools show while the run goes on [S1-3]', async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const until = (index: number): ScriptStep => ({ until: gates[index]?.promise ?? Promise.reject(new Error('no gate')) });
    const asksForTime = pieces(delta({ tool_calls: [wireCall(0, 'now', '{"zone":"UTC"}')] }), delta({}, 'tool_calls'), '[DONE]');
    const words = [...pieces(delta({ reasoning_content: 'Hm.' })), until(0), ...pieces(delta({ content: 'Let me see.' })), until(1)];
    const first = [open, ...words, ...asksForTime, end];
    const second = [open, ...pieces(delta({ content: 'It' })), until(2), ...pieces(delta({ content: ' is noon.' }, 'stop'), '[DONE]'), end];
    const backend = await serverThat((_body, count) => (count === 0 ? first : second));
    const wire = await wireTo(backend, await serverThat(tells('12:00')));
    const reader = await readerOf(await wire.post({ stream_options: { include_events: true } }));
    let raw = await readUntil(reader, 'Hm.');
    gates[0]?.resolve();
    raw += await readUntil(reader, 'Let me see.');
    gates[1]?.resolve();
    raw += await readUntil(reader, 'tool.result');
    gates[2]?.resolve();
    raw += await readUntil(reader, '[DONE]');
    const seen = readSeen(raw);
    expect([seen.reasoning, seen.text]).toEqual(['Hm.', 'Let me see.\n\nIt is noon.']);
    expect(seen.eventsOf('tool.result')).toMatchObject([{ response: { time: '12:00' } }]);
  });

  it('with a call in fragments has its text passed on at once, and the call counts when it is whole [S1-9]', async () => {
    const gate = Promise.withResolvers<void>();
    const opened = { index: 0, id: 'c0', type: 'function', function: { name: 'now', arguments: '{"zo' } };
    const rest = (text: string) => delta({ tool_calls: [{ index: 0, function: { arguments: text } }] });
    const begins = pieces(delta({ tool_calls: [opened] }), delta({ content: 'Wait.' }), rest('ne":'));
    const goesOn = pieces(rest('"UT'), rest('C"}'), delta({}, 'tool_calls'), '[DONE]');
    const first = [open, ...begins, { until: gate.promise }, ...goesOn, end];
    const backend = await serverThat((_body, count) => (count === 0 ? first : saysNoon));
    const tools = await serverThat(tells('12:00'));
    const wire = await wireTo(backend, tools);
    const reader = await readerOf(await wire.post({}));
    await readUntil(reader, 'Wait.');
    expect(tools.requests).toEqual([]);
    gate.resolve();
    await readUntil(reader, '[DONE]');
    expect(bodiesOf(tools)).toEqual([{ zone: 'UTC' }]);
  });

  it('has a place for everything in it: text, reasoning, calls, usage, end, and unknown fields where they stood [S2-19]', async () => {
    const wire = { type: 'function', function: { name: 'yours', parameters: { type: 'object', properties: {} } } };
    const logprobs = { content: [{ token: 'Noon' }] };
    const backend = await serverThat(
      stream(
        events(
          { ...delta({ role: 'assistant', reasoning_content: 'Hm.' }), system_fingerprint: 'fp' },
          delta({ content: 'Noon.' }, null, { logprobs }),
          delta({ annotations: [{ type: 'url' }] }),
          delta({ tool_calls: [wireCall(0, 'yours', '{"a":1}')] }, 'tool_calls'),
          { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, prompt_tokens_details: { cached_tokens: 1 } } },
          '[DONE]',
        ),
      ),
    );
    const gateway = await wireTo(backend, await serverThat(tells('12:00')));
    const body = { tools: [wire], stream_options: { include_usage: true } };
    const seen = await gateway.ask(body);
    expect(seen).toMatchObject({ text: 'Noon.', reasoning: 'Hm.', finish: ['tool_calls'] });
    expect(seen.calls).toMatchObject([{ id: 'c0', function: { name: 'yours', arguments: '{"a":1}' } }]);
    expect(seen.usage).toMatchObject({ total_tokens: 5, prompt_tokens_details: { cached_tokens: 1 } });
    expect(seen.raw).toContain(`"logprobs":${JSON.stringify(logprobs)}`);
    expect(seen.raw).toContain('"delta":{"annotations":[{"type":"url"}]}');
    expect(seen.raw).toContain('"system_fingerprint":"fp"');
    // The backend counts its ids anew: the second call of that id gets one of its own.
    const whole = (await (await gateway.post({ ...body, stream: false })).json()) as JsonObject;
    expect(whole).toMatchObject({
      system_fingerprint: 'fp',
      choices: [
        {
          message: {
            content: 'Noon.',
            reasoning_content: 'Hm.',
            annotations: [{ type: 'url' }],
            tool_calls: [{ id: expect.any(String), function: { name: 'yours', arguments: '{"a":1}' } }],
          },
          logprobs,
          finish_reason: 'tool_calls',
        },
      ],
      usage: { total_tokens: 5, prompt_tokens_details: { cached_tokens: 1 } },
    });
  });
});

it('a tool that a provider executes itself is forwarded as it came, and a call to it is never run [S2-18]', async () => {
  const hosted = { type: 'web_search', web_search: { max_results: 3 } };
  const backend = await serverThat((_body, count) => (count === 0 ? callsOf(['web_search', '{"zone":"UTC"}']) : saysNoon));
  const tools = await serverThat(tells('12:00'));
  const wire = await wireTo(backend, tools);
  const seen = await wire.ask({ tools: [hosted], stream_options: { include_events: true } });
  expect(listIn(bodiesOf(backend)[0], 'tools').at(-1)).toEqual(hosted);
  expect(tools.requests).toEqual([]);
  expect(seen.eventsOf('tool.result')).toMatchObject([{ error: { code: 'tool_not_found' } }]);
});
