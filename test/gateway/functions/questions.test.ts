import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { adaptBackend } from '../../../src/models/adapt-backend.ts';
import { backendOf } from '../../_support/build-app.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { documentWith, jsonResponse } from '../../tools/scripted-send.ts';
import { functionGateway } from './function-gateway.ts';
import { documentOf, gatewayOf, selects, serverOf } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';
import { selectedAtOnce } from '../../../src/chat/modes/prompt/select-calls.ts';
import { loggedFunctionNames } from '../../../src/chat/turns/report-model-requests.ts';

interface LoggedEvent {
  type: string;
  time: string;
  data: JsonObject;
}

interface LoggedRun {
  id: string;
  status: string;
  events: LoggedEvent[];
}

async function lastRun(gateway: Gateway): Promise<LoggedRun> {
  const { data } = (await gateway.get('/api/runs?limit=1')).json<{ data: { id: string }[] }>();
  return (await gateway.get(`/api/runs/${data[0]?.id ?? ''}`)).json<LoggedRun>();
}

/** The run as a story: a line an event, with what tells it apart. */
const storyOf = ({ events }: LoggedRun): string[] => events.map(({ type, data }) => [type, ...wordsOf(type, data)].join(' '));

function wordsOf(type: string, data: JsonObject): unknown[] {
  const { question, purpose, round, max_rounds: most, reason, finish_reason: finish, calls: count, error } = data;
  if (type === 'model.request') {
    return [
      question,
      purpose,
      ...(round === undefined ? [] : [`${Number(round)}/${Number(most)}`]),
      ...(reason === undefined ? [] : [reason]),
    ];
  }
  if (type === 'model.response') return [question, codeIn(error) ?? `${String(finish)} ${Number(count)}`];
  if (type === 'selection') return [`found ${String(data['found'])}`];
  return [codeIn(error) ?? data['tool'] ?? data['code'] ?? data['limit'] ?? data['status'] ?? data['mode']];
}

const codeIn = (error: unknown): string | undefined => (error as { code: string } | undefined)?.code;
const dataOf = ({ events }: LoggedRun, type: string): JsonObject[] => events.filter((event) => event.type === type).map(({ data }) => data);

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const clock = serverOf('clock', documentOf({ now: city, later: { type: 'object', properties: {} } }));
const answers = { 'http://clock.test/now': async () => jsonResponse({ time: '12:00' }) };
const usage: ScriptStep = { type: 'usage', usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7, details: { cached: 1 } } };
const inOsaka = { city: 'Osaka' };

describe('the log of a run has every question and its answer', () => {
  it('in a plain chat [S1-24]', async () => {
    await using gateway = await gatewayOf({ turns: [[{ type: 'reasoning', text: 'Hm.' }, usage, ...says('SECRET WORDS')]], servers: [] });
    await gateway.ask({ messages: [{ role: 'user', content: [{ type: 'text', text: 'PRIVATE' }] }] });
    const run = await lastRun(gateway);
    expect(storyOf(run)).toEqual(['run.start none', 'model.request 1 answer', 'model.response 1 stop 0', 'run.end completed']);
    expect(dataOf(run, 'model.request')).toEqual([
      { question: 1, purpose: 'answer', mode: 'none', model: 'model', messages: 1, characters: 7, functions: 0 },
    ]);
    expect(dataOf(run, 'model.response')).toEqual([
      {
        question: 1,
        finish_reason: 'stop',
        calls: 0,
        characters: 12,
        reasoning_characters: 3,
        usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
        duration_ms: expect.any(Number),
        first_token_ms: expect.any(Number),
      },
    ]);
    expect(JSON.stringify(run)).not.toMatch(/PRIVATE|SECRET|Hm\./);
  });

  it('over the rounds of the native loop, with the names on offer where they are new [S1-24]', async () => {
    const turns = [[usage, ...calls(['now', inOsaka], ['now', { city: 'Kyoto' }])], calls(['later', {}]), says('Noon.')];
    await using gateway = await gatewayOf({ turns, servers: [clock], answers });
    await gateway.ask({ tool_choice: 'auto' });
    const run = await lastRun(gateway);
    expect(storyOf(run)).toEqual([
      'run.start native',
      'model.request 1 round 1/10',
      'model.response 1 tool_calls 2',
      'tool.call now',
      'tool.call now',
      'tool.result now',
      'tool.result now',
      'model.request 2 round 2/10',
      'model.response 2 tool_calls 1',
      'tool.call later',
      'tool.result tool_error',
      'model.request 3 round 3/10',
      'model.response 3 stop 0',
      'run.end completed',
    ]);
    const [first, second] = dataOf(run, 'model.request');
    expect(first).toMatchObject({ mode: 'native', messages: 1, functions: 2, names: ['now', 'later'], tool_choice: 'auto' });
    expect(second).toMatchObject({ messages: 4, functions: 2 });
    expect(second).not.toHaveProperty('names');
    const times = run.events.map(({ time }) => time);
    expect(times).toEqual(times.toSorted((left, right) => left.localeCompare(right)));
  });

  it('of the selection in `default`, of its repair, and of the answer [S1-24]', async () => {
    const turns = [selects(['now', {}]), selects(['now', inOsaka]), says('Noon.')];
    await using gateway = await gatewayOf({ turns, servers: [clock], answers });
    await gateway.ask({ params: { function_calling: 'default' } });
    const run = await lastRun(gateway);
    expect(storyOf(run)).toEqual([
      'run.start default',
      'model.request 1 selection',
      'model.response 1 stop 0',
      'model.request 2 selection_repair',
      'model.response 2 stop 0',
      'selection found now',
      'tool.call now',
      'tool.result now',
      'model.request 3 answer',
      'model.response 3 stop 0',
      'run.end completed',
    ]);
    expect(dataOf(run, 'model.request')).toMatchObject([
      { mode: 'default', functions: 2, names: ['now', 'later'], structured: true },
      { mode: 'default', functions: 1, names: ['now'], structured: true },
      { mode: 'default', functions: 0 },
    ]);
  });

  it('that a backend puts once more because the model only thought, or because its server refused the form', async () => {
    const thought: ScriptStep[] = [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'finish', reason: 'stop' },
    ];
    const refusal = new GatewayError('upstream_rejected', 'chat_template_kwargs is not supported.');
    const model = new ScriptedModel(thought, [refusal], selects(['now', inOsaka]), says('Noon.'));
    const backends = [backendOf(adaptBackend(model, { profile: 'plain' }))];
    await using gateway = await gatewayOf({ servers: [clock], answers, backends });
    await gateway.ask({ params: { function_calling: 'default' } });
    const run = await lastRun(gateway);
    expect(storyOf(run).slice(0, 9)).toEqual([
      'run.start default',
      'model.request 1 selection',
      'model.response 1 null 0',
      'model.request 2 selection no_words',
      'warning form_relaxed',
      'model.response 2 upstream_rejected',
      'model.request 3 selection form_refused',
      'model.response 3 stop 0',
      'selection found now',
    ]);
    expect(dataOf(run, 'selection')).toMatchObject([{ asked: { questions: 3 } }]);
  });

  it('of a selection in two steps, asked of the task model', async () => {
    const names = Array.from({ length: selectedAtOnce + 1 }, (_, index) => `tool_${index}`);
    const bodies = Object.fromEntries(names.map((name) => [name, city]));
    const small = new ScriptedModel(selects(['tool_7', {}]), selects(['tool_7', inOsaka]));
    const large = new ScriptedModel(says('Done.'));
    const backends = [backendOf(large), { ...backendOf(small, ['small']), name: 'other' }];
    const environment = { TASK_MODEL_EXTERNAL: 'small' };
    await using gateway = await gatewayOf({ servers: [serverOf('box', documentOf(bodies))], backends, environment });
    await gateway.ask({ params: { function_calling: 'default' }, tool_choice: 'required' });
    const run = await lastRun(gateway);
    expect(dataOf(run, 'model.request')).toMatchObject([
      { purpose: 'selection_names', model: 'small', functions: names.length, tool_choice: 'required' },
      { purpose: 'selection', model: 'small', functions: 1, names: ['tool_7'] },
      { purpose: 'answer', model: 'model', functions: 0 },
    ]);
  });

  it('of the steps of `react`, and of a stop that the backend refuses [S1-24]', async () => {
    const refusal = new GatewayError('upstream_rejected', "Unsupported parameter: 'stop'.", { param: 'stop' });
    const step = says(`Thought: I look.\nAction: now\nAction Input: ${JSON.stringify(inOsaka)}`);
    await using gateway = await gatewayOf({ turns: [[refusal], step, says('Final Answer: Noon.')], servers: [clock], answers });
    await gateway.ask({ params: { function_calling: 'react' } });
    const run = await lastRun(gateway);
    expect(storyOf(run)).toEqual([
      'run.start react',
      'model.request 1 round 1/10',
      'model.response 1 upstream_rejected',
      'model.request 2 round 1/10 stop_refused',
      'model.response 2 stop 0',
      'tool.call now',
      'tool.result now',
      'model.request 3 round 2/10',
      'model.response 3 stop 0',
      'run.end completed',
    ]);
    expect(dataOf(run, 'model.request')[0]).toMatchObject({ mode: 'react', functions: 2, names: ['now', 'later'] });
  });

  it('of a step in `react` that nobody reads to its end', async () => {
    const step: ScriptStep = { type: 'text', text: 'Thought: I look.\nAction: now\nAction Input: {"city":"Osaka"}\n' };
    const invention: ScriptStep[] = Array.from({ length: 100 }, () => ({ type: 'text', text: 'Observation: made up\n' }));
    const rambling = [step, ...invention, ...says('Noon.')];
    await using gateway = await gatewayOf({ turns: [rambling, says('Final Answer: Noon.')], servers: [clock], answers });
    await gateway.ask({ params: { function_calling: 'react' } });
    expect(dataOf(await lastRun(gateway), 'model.response')).toMatchObject([
      { stopped: true, finish_reason: null },
      { finish_reason: 'stop' },
    ]);
  });

  it('of an answer in `react` whose form the request demands: it is asked for apart', async () => {
    const body = { params: { function_calling: 'react' }, response_format: { type: 'json_object' } };
    await using gateway = await gatewayOf({ turns: [says('Final Answer: noon'), says('{}')], servers: [clock], answers });
    await gateway.ask(body);
    const asked = dataOf(await lastRun(gateway), 'model.request');
    expect(asked.map(({ purpose, reason, functions }) => [purpose, reason, functions])).toEqual([
      ['round', undefined, 2],
      ['answer', 'form_demanded', 0],
    ]);
  });

  it('of the last round, without functions, and again with them for a backend that misses them [S1-24]', async () => {
    const refusal = new GatewayError('upstream_rejected', 'The history has calls, but there are no tools.');
    const turns = [calls(['now', inOsaka]), [refusal], says('Enough.')];
    const backends = [backendOf(adaptBackend(new ScriptedModel(...turns), { profile: 'plain' }))];
    await using gateway = await gatewayOf({ servers: [clock], answers, backends });
    await gateway.ask({ params: { max_tool_rounds: 1 } });
    const run = await lastRun(gateway);
    expect(storyOf(run)).toEqual([
      'run.start native',
      'model.request 1 round 1/1',
      'model.response 1 tool_calls 1',
      'tool.call now',
      'tool.result now',
      'limit.reached tool_rounds',
      'model.request 2 last_answer',
      'model.response 2 upstream_rejected',
      'model.request 3 last_answer functions_missed',
      'warning functions_missed',
      'model.response 3 stop 0',
      'run.end completed',
    ]);
    expect(dataOf(run, 'model.request').map(({ functions, tool_choice: choice }) => [functions, choice])).toEqual([
      [2, undefined],
      [0, undefined],
      [2, 'none'],
    ]);
  });

  it('of the native one that the backend refuses, and of the selection instead [S1-24]', async () => {
    const refusal = new GatewayError('tools_unsupported', 'model does not support tools');
    await using gateway = await gatewayOf({ turns: [[refusal], selects(), says('No clock.')], servers: [clock], answers });
    await gateway.ask();
    const run = await lastRun(gateway);
    expect(storyOf(run)).toEqual([
      'run.start native',
      'model.request 1 round 1/10',
      'model.response 1 tools_unsupported',
      'warning tools_unsupported',
      'model.request 2 selection',
      'model.response 2 stop 0',
      'selection found ',
      'model.request 3 answer',
      'model.response 3 stop 0',
      'run.end completed',
    ]);
    expect(dataOf(run, 'model.request').map(({ mode }) => mode)).toEqual(['native', 'default', 'default']);
  });

  it('of functions that the backend refuses behind their results', async () => {
    const refusal = new GatewayError('tools_unsupported', 'model does not support tools');
    await using gateway = await gatewayOf({ turns: [calls(['now', inOsaka]), [refusal], says('Noon.')], servers: [clock], answers });
    await gateway.ask();
    expect(storyOf(await lastRun(gateway)).slice(5)).toEqual([
      'model.request 2 round 2/10',
      'model.response 2 tools_unsupported',
      'warning tools_unsupported',
      'model.request 3 answer functions_refused',
      'model.response 3 stop 0',
      'run.end completed',
    ]);
  });

  it('of a demand that the model does not obey, in other words', async () => {
    await using gateway = await gatewayOf({ turns: [says('No.'), calls(['now', inOsaka]), says('Noon.')], servers: [clock], answers });
    await gateway.ask({ tool_choice: { type: 'function', function: { name: 'now' } } });
    const run = await lastRun(gateway);
    expect(storyOf(run).filter((line) => line.startsWith('model.request'))).toEqual([
      'model.request 1 round 1/10',
      'model.request 2 round 1/10 no_call_made',
      'model.request 3 round 2/10',
    ]);
    expect(dataOf(run, 'model.request').map(({ tool_choice: choice }) => choice)).toEqual(['now', 'now', undefined]);
  });

  it('that fails amid its answer, with functions and without, in the words that the client gets [S1-24]', async () => {
    for (const [servers, purpose] of [
      [[], 'answer'],
      [[clock], 'round 1/10'],
    ] as const) {
      const turns: ScriptStep[][] = [[{ type: 'text', text: 'He' }, new GatewayError('upstream_incomplete', 'The answer was cut off.')]];
      await using gateway = await gatewayOf({ turns, servers: [...servers] });
      await gateway.ask();
      const run = await lastRun(gateway);
      expect(storyOf(run).slice(1)).toEqual([
        `model.request 1 ${purpose}`,
        'model.response 1 upstream_incomplete',
        'run.end upstream_incomplete',
      ]);
      const response = { characters: 2, finish_reason: null, error: { message: 'The answer was cut off.' } };
      expect(dataOf(run, 'model.response')).toMatchObject([response]);
    }
  });

  it.each([[[]], [[clock]]])('and nothing of a defect of the gateway', async (servers) => {
    await using gateway = await gatewayOf({ turns: [[new Error('CANARY of a defect')]], servers });
    await gateway.ask();
    const run = await lastRun(gateway);
    expect(dataOf(run, 'model.response')).toMatchObject([{ error: { code: 'internal_error' } }]);
    expect(JSON.stringify(run)).not.toContain('CANARY');
  });

  it.each([[[]], [[clock]]])('whose answer nobody waits for any more', async (servers) => {
    const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
    const model = new ScriptedModel([new Promise(() => undefined)]);
    const backend = backendOf({
      answer(request, emit) {
        isAsked();
        return model.answer(request, emit);
      },
    });
    await using gateway = await gatewayOf({ backends: [backend], servers });
    const pending = gateway.ask();
    await asked;
    const { data } = (await gateway.get('/api/runs')).json<{ data: { id: string }[] }>();
    const id = data[0]?.id ?? '';
    // While it goes on, the log has the question already.
    expect(storyOf((await gateway.get(`/api/runs/${id}`)).json<LoggedRun>()).at(-1)).toMatch(/^model\.request 1/);
    const headers = { host: '127.0.0.1:8080' };
    await gateway.app.server.inject({ method: 'POST', url: `/api/runs/${id}/cancel`, headers });
    await pending;
    expect(storyOf(await lastRun(gateway)).slice(-2)).toEqual(['model.response 1 run_cancelled', 'run.end run_cancelled']);
  });

  it('also of a preset that is asked as a tool, under its name', async () => {
    const turns = [calls(['scribe', { request: 'Write.' }]), says('Written.'), says('Done.')];
    await using gateway = await gatewayOf({ turns, servers: [] });
    const payload = { id: 'scribe', base_model: 'model', tools: [], description: 'Writes' };
    await gateway.app.server.inject({ method: 'POST', url: '/api/presets', headers: { host: '127.0.0.1:8080' }, payload });
    await gateway.ask({ tool_ids: ['preset:scribe'] });
    const run = await lastRun(gateway);
    const [call] = dataOf(run, 'tool.call');
    expect(dataOf(run, 'model.request').map(({ within }) => within)).toEqual([undefined, call?.['id'], undefined]);
    expect(dataOf(run, 'model.request').map(({ question, preset, mode }) => [question, preset, mode])).toEqual([
      [1, undefined, 'native'],
      [2, 'scribe', 'none'],
      [3, undefined, 'native'],
    ]);
    expect(dataOf(run, 'model.response').map(({ question, characters }) => [question, characters])).toEqual([
      [1, 0],
      [2, 8],
      [3, 5],
    ]);
  });

  it('that is asked indeed: not the one that a hook has answered', async () => {
    const hook = `export function beforeModel() { return { role: 'assistant', content: 'From the hook.' }; }`;
    await using gateway = await functionGateway({ 'hook.js': hook }, { hooks: ['hook.js'] });
    expect((await gateway.ask()).text).toBe('From the hook.');
    expect(storyOf(await lastRun(gateway))).toEqual(['run.start none', 'run.end completed']);
  });
});

describe('questions', () => {
  it('are recorded without a change: a task model that is the chat model is run as it is', async () => {
    const environment = { TASK_MODEL_EXTERNAL: 'model' };
    await using gateway = await gatewayOf({ turns: [selects(), says('Hi.')], servers: [clock], environment });
    await gateway.ask({ params: { function_calling: 'default' }, temperature: 0.3 });
    expect(gateway.model.requests.map(({ parameters }) => parameters['temperature'])).toEqual([0.3, 0.3]);
  });

  it('do not appear in streams', async () => {
    await using gateway = await gatewayOf({ turns: [calls(['now', inOsaka]), says('Noon.')], servers: [clock], answers });
    const seen = await gateway.ask();
    expect(seen.eventsOf('tool.call')).toHaveLength(1);
    expect(seen.raw).not.toContain('model.request');
  });

  it('are told in the log of the gateway at level debug, with their round', async () => {
    await using gateway = await gatewayOf({ turns: [calls(['now', inOsaka]), says('Noon.')], servers: [clock], answers });
    await gateway.ask();
    const { id } = await lastRun(gateway);
    const lines = gateway.app.logLines.map(
      (line) => JSON.parse(line) as { level: string; msg: string; run_id?: string; data?: JsonObject },
    );
    const told = lines.filter(({ msg }) => msg.startsWith('model.'));
    expect(told.map(({ level, run_id: run, msg, data }) => [level, run, msg, data?.['round']])).toEqual([
      ['debug', id, 'model.request', 1],
      ['debug', id, 'model.response', undefined],
      ['debug', id, 'model.request', 2],
      ['debug', id, 'model.response', undefined],
    ]);
  });

  it('name at most some of their functions', async () => {
    const names = Array.from({ length: loggedFunctionNames + 8 }, (_, index) => `tool_${index}`);
    await using gateway = await gatewayOf({ turns: [says('Hi.')], servers: [serverOf('box', documentWith(...names))] });
    await gateway.ask();
    const [asked] = dataOf(await lastRun(gateway), 'model.request');
    expect(asked).toMatchObject({ functions: names.length });
    expect(asked?.['names']).toHaveLength(loggedFunctionNames);
  });
});
