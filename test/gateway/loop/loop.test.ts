import { describe, expect, it } from 'vitest';
import { answerChat } from '../../../src/chat/loop/answer-chat.ts';
import { pullFrom } from '../../_support/emit-and-pull.ts';
import { memoryContinuations } from '../../_support/continuations.ts';
import { memorySeals } from '../../_support/memory-stores.ts';
import { memoryTranscripts } from '../../_support/transcripts.ts';
import { timeoutMessage } from '../../../src/chat/tool-calls/execute-tool-call.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { ChatEvent } from '../../../src/core/chat/chat.ts';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import { calls, finderOf, says, ScriptedModel } from '../../_support/scripted-model.ts';
import { chatRequest, offering, runContext, toolNamed } from '../../_support/tools.ts';
import { documentWith, jsonResponse, neverAnswers } from '../../tools/scripted-send.ts';
import { answerOf, documentOf, gatewayOf, serverOf, textOfMessage } from '../gateway.ts';
import { waitFor } from '../../_support/wait-for.ts';

const clocks = serverOf('time', documentWith('now', 'later'));
const clockAnswers = { 'http://time.test/now': { time: '12:00' }, 'http://time.test/later': { time: '13:00' } };
const resultsOf = (request: ModelRequest | undefined) => (request?.messages ?? []).filter((message) => message.role === 'tool');

describe('a run', () => {
  it('asks with the functions, hands the results back, and asks again until an answer holds no call [S0-1, S1-2]', async () => {
    const turns = [calls(['now', {}]), calls(['later', {}]), says('Done.')];
    await using gateway = await gatewayOf({ turns, servers: [clocks], answers: clockAnswers });
    const seen = await gateway.ask();
    const { requests } = gateway.model;
    expect(requests.map((request) => request.tools.map((spec) => spec.name))).toEqual([
      ['now', 'later'],
      ['now', 'later'],
      ['now', 'later'],
    ]);
    expect(resultsOf(requests[0])).toEqual([]);
    expect(resultsOf(requests[1])).toMatchObject([{ name: 'now', content: '{\n  "time": "12:00"\n}' }]);
    expect(resultsOf(requests[2])).toMatchObject([{ name: 'now' }, { name: 'later', content: '{\n  "time": "13:00"\n}' }]);
    expect(seen.text).toBe('Done.');
    expect(seen.finish).toEqual(['stop']);
  });

  it('goes on after a call whatever reason the backend gives, and ends without one [S0-4]', async () => {
    const turns = [
      calls(['now', {}]).map((step) => ('type' in step && step.type === 'finish' ? { ...step, reason: 'stop' as const } : step)),
      [
        { type: 'text' as const, text: 'Noon.' },
        { type: 'finish' as const, reason: 'tool_calls' as const },
      ],
    ];
    await using gateway = await gatewayOf({ turns, servers: [clocks], answers: clockAnswers });
    const seen = await gateway.ask();
    expect(gateway.sent.map((request) => request.url)).toEqual(['http://time.test/now']);
    expect(gateway.model.requests).toHaveLength(2);
    expect([seen.text, seen.finish]).toEqual(['Noon.', ['stop']]);
  });

  it.each([
    ['nothing is said', {}, {}, 10],
    ['the setting says', { CHAT_RESPONSE_MAX_TOOL_CALL_ITERATIONS: '3' }, {}, 3],
    ['the request says', { CHAT_RESPONSE_MAX_TOOL_CALL_ITERATIONS: '3' }, { params: { max_tool_rounds: 4 } }, 4],
  ])('has the rounds of calls that %s', async (_who, environment, body, rounds) => {
    const turns = [...Array.from({ length: rounds }, (_, n) => calls(['add', { n }])), says('Enough.')];
    const servers = [serverOf('sum', documentOf({ add: { type: 'object', properties: { n: { type: 'integer' } } } }))];
    await using gateway = await gatewayOf({ turns, servers, answers: { 'http://sum.test/add': { sum: 1 } }, environment });
    const seen = await gateway.ask(body);
    expect(gateway.sent).toHaveLength(rounds);
    expect(seen.text).toBe('Enough.');
    expect(seen.eventsOf('limit.reached')).toEqual([{ limit: 'tool_rounds', value: rounds }]);
  });

  it('chooses tools in the way that params.function_calling names [S4-2, S4-15]', async () => {
    const servers = [clocks];
    await using native = await gatewayOf({ turns: [says('Noon.')], servers });
    expect((await native.ask({ params: { function_calling: 'native' } })).eventsOf('run.start')).toMatchObject([{ mode: 'native' }]);
    expect(native.model.requests.map((request) => request.tools.length)).toEqual([2]);
    await using byPrompt = await gatewayOf({ turns: [says('{"tool_calls": []}'), says('Noon.')], servers });
    const seen = await byPrompt.ask({ params: { function_calling: 'default' } });
    expect(seen.eventsOf('run.start')).toMatchObject([{ mode: 'default' }]);
    expect(byPrompt.model.requests.map((request) => request.tools.length)).toEqual([0, 0]);
    expect(seen.eventsOf('selection')).toHaveLength(1);
    await using single = await gatewayOf({ turns: [calls(['now', {}], ['later', {}]), says('Noon.')], servers, answers: clockAnswers });
    await single.ask({ params: { function_calling: 'simple' } });
    expect(single.sent.map((request) => request.url)).toEqual(['http://time.test/now']);
    await using unknown = await gatewayOf({ servers });
    expect((await unknown.ask({ params: { function_calling: 'magic' } })).status).toBe(400);
  });

  it('starts nothing for background_tasks, and offers no function to a hidden task [S4-44]', async () => {
    await using gateway = await gatewayOf({ turns: [says('Noon.'), says('A title')], servers: [clocks] });
    await gateway.ask({ background_tasks: { title_generation: true, tags_generation: true, follow_up_generation: true } });
    expect(gateway.model.requests).toHaveLength(1);
    const own = { url: 'http://own.test', openapi: documentWith('mine') };
    const seen = await gateway.ask({ metadata: { task: 'title_generation' }, tool_ids: ['server:time'], tool_servers: [own] });
    expect(seen.text).toBe('A title');
    expect(gateway.model.requests[1]?.tools).toEqual([]);
    expect(gateway.model.requests).toHaveLength(2);
  });
});

describe('a call', () => {
  const parameters = {
    type: 'object',
    properties: {
      count: { type: 'integer' },
      isLong: { type: 'boolean' },
      options: { type: 'object', properties: { deep: { type: 'number' } } },
      tags: { type: 'array', items: { type: 'string' } },
    },
  };

  it('has arguments of a near type made to fit the schema before its function runs [S0-7]', async () => {
    const written = { count: '5', isLong: 'true', options: '{"deep": "1.5"}', tags: '["a", "b"]' };
    const servers = [serverOf('time', documentOf({ make: parameters }))];
    const answers = { 'http://time.test/make': { ok: true } };
    for (const mode of ['native', 'default']) {
      const first = mode === 'native' ? calls(['make', written]) : says(JSON.stringify({ name: 'make', parameters: written }));
      await using gateway = await gatewayOf({ turns: [first, says('Done.')], servers, answers });
      await gateway.ask({ params: { function_calling: mode } });
      expect(JSON.parse(String(gateway.sent[0]?.body))).toEqual({ count: 5, isLong: true, options: { deep: 1.5 }, tags: ['a', 'b'] });
    }
  });

  it('is checked against the very schema that the model reads [S2-1]', async () => {
    const schema = {
      type: 'object',
      properties: { unit: { type: 'string', enum: ['s', 'h'] }, count: { type: 'integer', minimum: 1, maximum: 9 } },
      required: ['unit'],
    };
    const servers = [serverOf('time', documentOf({ wait: schema }))];
    const wrong: [string, JsonObject][] = [
      ['wait', { unit: 'days' }],
      ['wait', { unit: 's', count: 0 }],
      ['wait', { unit: 's', count: 10 }],
      ['wait', { count: 5 }],
    ];
    const turns = [calls(...wrong, ['wait', { unit: 'h', count: 9 }]), says('Done.')];
    await using gateway = await gatewayOf({ turns, servers, answers: { 'http://time.test/wait': { ok: true } } });
    await gateway.ask();
    expect(gateway.model.requests[0]?.tools[0]?.parameters).toEqual(schema);
    const read = resultsOf(gateway.model.requests[1]).map(textOfMessage);
    expect(read.slice(0, 4)).toEqual([
      expect.stringContaining('unit: must be one of'),
      expect.stringContaining('count: must be >= 1'),
      expect.stringContaining('count: must be <= 9'),
      expect.stringContaining('unit: is required'),
    ]);
    expect(gateway.sent.map((request) => request.body)).toEqual(['{"unit":"h","count":9}']);
    await using byPrompt = await gatewayOf({ turns: [says('{"tool_calls": []}'), says('Done.')], servers });
    await byPrompt.ask({ params: { function_calling: 'default' } });
    expect(byPrompt.model.requests[0]?.messages[0]?.content).toContain(`"parameters":${JSON.stringify(schema)}`);
  });

  it('with arguments that are no JSON or break the schema does not run, and the model reads why [S1-11, S2-6]', async () => {
    const turns = [calls(['make', '{"count": '], ['make', { count: 'five' }]), says('Done.')];
    await using gateway = await gatewayOf({ turns, servers: [serverOf('time', documentOf({ make: parameters }))] });
    const seen = await gateway.ask();
    expect(gateway.sent).toEqual([]);
    expect(seen.eventsOf('tool.result').map((data) => data['error'])).toMatchObject([{ code: 'args_not_json' }, { code: 'args_invalid' }]);
    expect(resultsOf(gateway.model.requests[1]).map((message) => message.content)).toEqual([
      expect.stringMatching(/^\{"error":".*not a JSON object/),
      expect.stringMatching(/^\{"error":".*count: must be integer/),
    ]);
  });

  it('has an empty text for no arguments [S1-11]', async () => {
    const turns = [calls(['now', ''], ['later', '{ }']), says('Done.')];
    await using gateway = await gatewayOf({ turns, servers: [clocks], answers: clockAnswers });
    const seen = await gateway.ask();
    expect(seen.eventsOf('tool.call').map((data) => data['args'])).toEqual([{}, {}]);
    expect(gateway.sent.map((request) => request.url)).toEqual(['http://time.test/now', 'http://time.test/later']);
  });

  it('carries no argument that its function does not know, and is not sent without a required one [S4-32]', async () => {
    const { count, isLong } = parameters.properties;
    const servers = [serverOf('shop', documentOf({ make: { ...parameters, properties: { count, isLong }, required: ['count'] } })), clocks];
    const written: [string, JsonObject][] = [
      ['now', { invented: 'x', constructor: 1 }],
      ['make', { count: 1, isLong: true, invented: 'x' }],
      ['make', { isLong: true }],
      ['make', { count: 2, invented: 'x' }],
    ];
    const list = JSON.stringify({ tool_calls: written.map(([name, args]) => ({ name, parameters: args })) });
    for (const mode of ['native', 'default']) {
      const turns = mode === 'native' ? [calls(...written), says('Done.')] : [says(list), says('None.'), says('Done.')];
      await using gateway = await gatewayOf({ turns, servers, answers: { 'http://shop.test/make': { ok: true }, ...clockAnswers } });
      const seen = await gateway.ask({ params: { function_calling: mode } });
      expect(seen.eventsOf('tool.call').map((data) => data['args'])).toEqual(
        written.slice(0, mode === 'native' ? 4 : 2).map(([, args]) => args),
      );
      expect(gateway.sent.map(({ url, body }) => [url, body])).toEqual([
        ['http://time.test/now', undefined],
        ['http://shop.test/make', '{"count":1,"isLong":true}'],
      ]);
      const read = JSON.stringify(gateway.model.requests.at(-1)?.messages);
      for (const words of [
        'Ignored because unknown: invented, constructor. Known: city.',
        'count: is required',
        'invented: is not an argument',
      ])
        expect(read).toContain(words);
    }
  });

  it('finds only what was offered in this run, not whatever is registered [S0-15]', async () => {
    const servers = [clocks, serverOf('maps', documentWith('route'))];
    const turns = [calls(['route', {}]), says('Done.')];
    await using gateway = await gatewayOf({ turns, servers, answers: { 'http://maps.test/route': { km: 1 } } });
    const seen = await gateway.ask({ tool_ids: ['server:time'] });
    expect(gateway.sent).toEqual([]);
    expect(seen.eventsOf('tool.result')).toMatchObject([{ tool: 'route', error: { code: 'tool_not_found' } }]);
    expect(resultsOf(gateway.model.requests[1])[0]?.content).toContain("There is no function 'route'. Available: now, later.");
  });

  it('that a model repeats over and over is answered with an explanation, and the answer comes before the rounds run out [S1-26]', async () => {
    const turns = [...Array.from({ length: 5 }, () => calls(['now', {}])), says('Noon.')];
    await using gateway = await gatewayOf({ turns, servers: [clocks], answers: clockAnswers });
    const seen = await gateway.ask();
    expect(gateway.sent).toHaveLength(2);
    expect(seen.eventsOf('tool.result').map((data) => (data['error'] as JsonObject | undefined)?.['code'])).toEqual([
      undefined,
      undefined,
      'duplicate_call_blocked',
      'duplicate_call_blocked',
      'duplicate_call_blocked',
    ]);
    expect(resultsOf(gateway.model.requests[3])[2]?.content).toContain('exactly these arguments');
    expect(seen.text).toBe('Noon.');
  });

  it('that is refused shows as well, with the arguments that it was refused for [S0-27]', async () => {
    const servers = [serverOf('time', documentOf({ make: parameters }))];
    const turns = [calls(['make', { count: 'many' }], ['unmake', {}], ['make', 'no JSON']), says('Done.')];
    await using gateway = await gatewayOf({ turns, servers });
    const seen = await gateway.ask();
    expect(seen.eventsOf('tool.call')).toMatchObject([
      { tool: 'make', args: { count: 'many' } },
      { tool: 'unmake', args: {} },
      { tool: 'make', args: 'no JSON' },
    ]);
    expect(seen.eventsOf('tool.result').map(({ error }) => (error as { code: string }).code)).toEqual([
      'args_invalid',
      'tool_not_found',
      'args_not_json',
    ]);
    expect(gateway.sent.filter(({ method }) => method === 'POST')).toEqual([]);
  });

  it('shows with its arguments before it runs, and with its response and duration after it [S0-27]', async () => {
    let time = 1_000;
    const log: unknown[] = [];
    const tool = toolNamed('wait', ({ args }) => {
      log.push(['runs', args]);
      time += 40;
      return { type: 'result', value: { done: true } };
    });
    const model = new ScriptedModel(calls(['wait', {}]), says('Done.'));
    const settings = { taskModel: undefined, taskModelExternal: undefined, selectionTemplate: '', contextTemplate: '' };
    const services = {
      models: finderOf({ model }),
      tools: offering(tool),
      continuations: memoryContinuations({ now: () => time }),
      thoughtSeals: memorySeals(),
      transcripts: memoryTranscripts(),
      settings: { ...settings, functionCalling: 'native', maxToolRounds: 10, toolTimeoutMs: 1_000 },
      newCallId: () => 'call',
      now: () => time,
    };
    for await (const event of pullFrom<ChatEvent, unknown>((emit) => answerChat(chatRequest(), { run: runContext(), services }, emit))) {
      if (event.type === 'run-event' && event.event.type.startsWith('tool.')) log.push([event.event.type, event.event.data]);
    }
    const id = expect.any(String);
    expect(log).toEqual([
      ['tool.call', { id, tool: 'wait', args: {}, server: 'server' }],
      ['runs', {}],
      ['tool.result', { id, tool: 'wait', response: { done: true }, duration_ms: 40 }],
    ]);
  });
});

describe('a failing call', () => {
  it('neither stops nor delays its siblings, and the results stand in the order of the calls [S0-13]', async () => {
    const gate = Promise.withResolvers<void>();
    const answers = {
      'http://time.test/broken': async () => {
        await gate.promise;
        return jsonResponse({ detail: 'out of order' }, 500);
      },
      'http://time.test/now': { time: '12:00' },
      'http://time.test/later': { time: '13:00' },
    };
    const servers = [serverOf('time', documentWith('broken', 'now', 'later'))];
    const turns = [calls(['broken', {}], ['now', {}], ['later', {}]), says('Done.')];
    await using gateway = await gatewayOf({ turns, servers, answers });
    const asked = gateway.ask();
    await waitFor(() => expect(gateway.sent).toHaveLength(3));
    gate.resolve();
    const seen = await asked;
    expect(seen.text).toBe('Done.');
    expect(resultsOf(gateway.model.requests[1]).map((message) => [message.name, message.content])).toEqual([
      ['broken', '{"error":"HTTP 500 Internal Server Error: out of order"}'],
      ['now', '{\n  "time": "12:00"\n}'],
      ['later', '{\n  "time": "13:00"\n}'],
    ]);
  });

  it('does not fail the request: the model reads the error as its result and answers [S1-21]', async () => {
    const answers = {
      'http://time.test/now': answerOf('{"detail":"out of order"}', { status: 503 }),
      'http://time.test/later': new Error('x'),
    };
    const turns = [calls(['now', {}], ['later', {}]), says('I could not find out.')];
    await using gateway = await gatewayOf({ turns, servers: [clocks], answers });
    const seen = await gateway.ask();
    expect([seen.status, seen.text, seen.finish]).toEqual([200, 'I could not find out.', ['stop']]);
    expect(resultsOf(gateway.model.requests[1]).map((message) => message.content)).toEqual([
      expect.stringMatching(/^\{"error":"HTTP 503 .*out of order"\}$/),
      expect.stringMatching(/^\{"error":"/),
    ]);
    expect(seen.sources).toEqual([]);
  });

  it('over its time limit is a result in the agreed words, and the run goes on [S0-22]', async () => {
    const answers = { 'http://time.test/now': neverAnswers };
    const turns = [calls(['now', {}]), says('I do not know.')];
    await using gateway = await gatewayOf({ turns, servers: [clocks], answers, environment: { TOOL_TIMEOUT_MS: '50' } });
    const seen = await gateway.ask();
    expect(resultsOf(gateway.model.requests[1])[0]?.content).toBe(`{"error":"Tool 'now' timed out after 0.05s"}`);
    expect(seen.eventsOf('tool.result')).toMatchObject([{ error: { code: 'tool_timeout' } }]);
    expect(seen.text).toBe('I do not know.');
    expect([timeoutMessage('slow_tool', 5_000), timeoutMessage('slow_tool', 1_500)]).toEqual([
      "Tool 'slow_tool' timed out after 5s",
      "Tool 'slow_tool' timed out after 1.5s",
    ]);
  });

  it('over the total limit of a call ends it, however patient the other limits are', async () => {
    const answers = { 'http://time.test/now': neverAnswers };
    const environment = { TOOL_TIMEOUT_MS: '60000', TOOL_TOTAL_TIMEOUT_MS: '50' };
    await using gateway = await gatewayOf({ turns: [calls(['now', {}]), says('I do not know.')], servers: [clocks], answers, environment });
    const seen = await gateway.ask();
    expect(resultsOf(gateway.model.requests[1])[0]?.content).toBe(`{"error":"Tool 'now' timed out after 0.05s"}`);
    expect(seen.text).toBe('I do not know.');
  });
});

describe('a result', () => {
  async function resultOf(body: string, type?: string) {
    const answers = { 'http://time.test/now': answerOf(body, type === undefined ? {} : { type }) };
    await using gateway = await gatewayOf({ turns: [calls(['now', {}]), says('Done.')], servers: [clocks], answers });
    const seen = await gateway.ask();
    return [resultsOf(gateway.model.requests[1])[0]?.content, (seen.sources[0]?.['document'] as string[] | undefined)?.[0]];
  }
  const both = (text: string) => [text, text];

  it('that is text reaches the model unchanged, without quotes around it [S3-4]', async () => {
    expect(await resultOf('Noon "sharp".\n  Twelve.', 'text/plain')).toEqual(both('Noon "sharp".\n  Twelve.'));
    expect(await resultOf('"Noon \\"sharp\\"."')).toEqual(both('Noon "sharp".'));
  });

  it('that is no object reaches the model as it is, and is not wrapped into one [S0-17]', async () => {
    expect(await resultOf('[1,"b"]')).toEqual(both('[\n  1,\n  "b"\n]'));
    expect(await resultOf('42.5')).toEqual(both('42.5'));
    expect(await resultOf('noon', 'text/plain')).toEqual(both('noon'));
  });

  it('that is an object or list is JSON with two spaces; numbers, booleans and null are handed over too [S4-35]', async () => {
    expect(await resultOf('{"a":{"b":[1]}}')).toEqual(both('{\n  "a": {\n    "b": [\n      1\n    ]\n  }\n}'));
    expect(await resultOf('[{"a":1}]')).toEqual(both('[\n  {\n    "a": 1\n  }\n]'));
    expect(await resultOf('0')).toEqual(both('0'));
    expect(await resultOf('false')).toEqual(both('false'));
    expect(await resultOf('null')).toEqual(both('null'));
  });
});
