import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { toolServerRecord } from '../../storage/registry-contract.ts';
import { documentWith } from '../../tools/scripted-send.ts';
import { answerOf, documentOf, gatewayOf, serverOf } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';

const servers = ['time', 'maps'].map((id) => toolServerRecord({ id, url: `http://${id}.test` }));
const answers = {
  'http://time.test/openapi.json': documentWith('now'),
  'http://maps.test/openapi.json': documentWith('route'),
};

async function gatewayWith(presets: JsonObject[], turns: ScriptStep[][], registered = servers): Promise<Gateway> {
  const gateway = await gatewayOf({ turns, servers: registered, answers: { ...answers, 'http://counter.test/count': answerOf('1') } });
  for (const payload of presets) {
    const created = await gateway.app.server.inject({ method: 'POST', url: '/api/presets', headers: { host: '127.0.0.1' }, payload });
    expect(created).toMatchObject({ statusCode: 201 });
  }
  return gateway;
}

const namesOf = (gateway: Gateway, request: number): string[] => gateway.model.requests[request]?.tools.map(({ name }) => name) ?? [];
const usage = (tokens: number): ScriptStep => ({
  type: 'usage',
  usage: { prompt_tokens: tokens, completion_tokens: tokens, total_tokens: 2 * tokens },
});

describe('a preset', () => {
  it('is a model with a role, tools, parameters and limits of its own, which a request may replace [S1-5]', async () => {
    const preset = {
      id: 'clerk',
      base_model: 'model',
      system: 'You work for {{FIRM}}.',
      tools: ['server:time'],
      params: { temperature: 0.2, top_p: 0.5 },
      max_tool_rounds: 1,
    };
    await using gateway = await gatewayWith([preset], [calls(['now', {}]), says('noon')]);
    const seen = await gateway.ask({ model: 'clerk', variables: { FIRM: 'Ada & Co' }, temperature: 0.9 });
    expect(seen.text).toBe('noon');
    const [first] = gateway.model.requests;
    expect(first?.model).toBe('model');
    expect(first?.messages[0]).toEqual({ role: 'system', content: 'You work for Ada & Co.' });
    expect(first?.parameters).toMatchObject({ temperature: 0.9, top_p: 0.5 });
    expect(namesOf(gateway, 0)).toEqual(['now']);
    expect(seen.eventsOf('run.start')).toMatchObject([{ model: 'clerk' }]);
    expect(seen.eventsOf('limit.reached')).toMatchObject([{ limit: 'tool_rounds', value: 1 }]);
  });

  it('may set the rounds that are ten otherwise, and the request has the last word [S1-5]', async () => {
    const rounds = (count: number): ScriptStep[][] => [
      ...Array.from({ length: count }, (_, round) => calls(['count', { round }])),
      says('enough'),
    ];
    const body = { type: 'object', properties: { round: { type: 'integer' } } };
    const counting = [serverOf('counter', documentOf({ count: body }))];
    const presets = [{ id: 'brief', base_model: 'model', max_tool_rounds: 2 }];
    await using gateway = await gatewayWith(presets, [...rounds(10), ...rounds(2), ...rounds(3)], counting);
    const limitOf = async (asked: JsonObject): Promise<unknown> => (await gateway.ask(asked)).eventsOf('limit.reached');
    expect(await limitOf({})).toMatchObject([{ limit: 'tool_rounds', value: 10 }]);
    expect(await limitOf({ model: 'brief' })).toMatchObject([{ limit: 'tool_rounds', value: 2 }]);
    expect(await limitOf({ model: 'brief', params: { max_tool_rounds: 3 } })).toMatchObject([{ limit: 'tool_rounds', value: 3 }]);
  });

  it('decides the mode where the request does not [S4-15]', async () => {
    const preset = { id: 'old', base_model: 'model', function_calling: 'default' };
    await using gateway = await gatewayWith([preset], [says('{"tool_calls":[]}'), says('hello'), says('native')]);
    expect((await gateway.ask({ model: 'old' })).eventsOf('run.start')).toMatchObject([{ mode: 'default' }]);
    expect((await gateway.ask({ model: 'old', params: { function_calling: 'native' } })).eventsOf('run.start')).toMatchObject([
      { mode: 'native' },
    ]);
  });

  it('stands in the model list with what its model can do, and one with no tools keeps hidden tasks free of them', async () => {
    await using gateway = await gatewayWith([{ id: 'titles', name: 'Titles', base_model: 'model', tools: [] }], [says('A title')]);
    const { data } = (await gateway.get('/v1/models')).json<{ data: JsonObject[] }>();
    expect(data).toMatchObject([{ id: 'titles', name: 'Titles', owned_by: 'toolwharf', preset: { base_model: 'model' } }, { id: 'model' }]);
    await gateway.ask({ model: 'titles' });
    expect(namesOf(gateway, 0)).toEqual([]);
  });

  it('may stand on another preset; a circle is refused with its path', async () => {
    const base = { id: 'base', base_model: 'model', system: 'Below.', params: { seed: 1 } };
    const top = { id: 'top', base_model: 'base', system: 'Above.' };
    const circle = [
      { id: 'a', base_model: 'b' },
      { id: 'b', base_model: 'a' },
    ];
    await using gateway = await gatewayWith([base, top, ...circle], [says('hello')]);
    await gateway.ask({ model: 'top' });
    expect(gateway.model.requests[0]?.messages[0]?.content).toBe('Below.\n\nAbove.');
    expect(gateway.model.requests[0]?.parameters).toMatchObject({ seed: 1 });
    expect(await gateway.ask({ model: 'a' })).toMatchObject({ status: 400, raw: expect.stringContaining('circle: a -> b -> a. Change') });
  });
});

describe('a preset as a tool', () => {
  const helper = { id: 'map-expert', description: 'Knows every road.', base_model: 'model', tools: ['server:maps'] };
  const chief = { id: 'chief', base_model: 'model', tools: ['preset:map-expert'] };

  it('has the single parameter request, its answer is the result, and its tokens are counted [S0-25, S2-15, S2-16]', async () => {
    const turns = [
      [usage(1), ...calls(['map-expert', { request: 'The way to Rome?' }])],
      [usage(10), ...calls(['route', {}])],
      [usage(100), ...says('South.')],
      [usage(1_000), ...says('Go south.')],
    ];
    await using gateway = await gatewayWith([helper, chief], turns);
    const seen = await gateway.ask({ model: 'chief', stream_options: { include_usage: true, include_events: true } });
    expect(seen.text).toBe('Go south.');
    expect(gateway.model.requests[0]?.tools).toMatchObject([
      {
        name: 'map-expert',
        description: 'Knows every road.',
        parameters: { required: ['request'], properties: { request: { type: 'string' } } },
      },
    ]);
    expect(gateway.model.requests[1]?.messages).toEqual([{ role: 'user', content: 'The way to Rome?' }]);
    expect(namesOf(gateway, 1)).toEqual(['route']);
    expect(gateway.model.requests[3]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'South.' });
    expect(seen.usage).toMatchObject({ prompt_tokens: 1_111 });
    expect(seen.sources).toMatchObject([{ source: { name: 'TOOL:preset/map-expert' } }]);
  });

  it('has the words with which its model declines as the result', async () => {
    const refusal: ScriptStep = { type: 'extra', level: 'delta', fields: { refusal: 'I will not.' } };
    const turns = [calls(['map-expert', { request: 'x' }]), [refusal, { type: 'finish', reason: 'stop' } as const], says('It will not.')];
    await using gateway = await gatewayWith([helper, chief], turns);
    await gateway.ask({ model: 'chief' });
    expect(gateway.model.requests[2]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'I will not.' });
  });

  it('can be asked for by a request, and an unknown one is refused with the known ones', async () => {
    await using gateway = await gatewayWith([helper], [says('hello')]);
    await gateway.ask({ tool_ids: ['preset:map-expert', 'server:time'] });
    expect(namesOf(gateway, 0)).toEqual(['map-expert', 'now']);
    expect(await gateway.ask({ tool_ids: ['preset:nobody'] })).toMatchObject({
      status: 400,
      raw: expect.stringContaining('preset:map-expert'),
    });
  });

  it('that asks itself again is told so, and the outer one answers', async () => {
    const mirror = { id: 'mirror', base_model: 'model', tools: ['preset:mirror'] };
    await using gateway = await gatewayWith([mirror], [calls(['mirror', { request: 'again' }]), says('Alone then.')]);
    const seen = await gateway.ask({ model: 'mirror' });
    expect(seen.text).toBe('Alone then.');
    expect(seen.eventsOf('tool.result')).toMatchObject([
      { error: { code: 'tool_error', message: expect.stringContaining('mirror -> mirror') } },
    ]);
  });

  it('whose model fails costs its own call only', async () => {
    await using gateway = await gatewayWith(
      [{ ...helper, base_model: 'gone' }, chief],
      [calls(['map-expert', { request: 'x' }]), says('I do not know.')],
    );
    const seen = await gateway.ask({ model: 'chief' });
    expect(seen.text).toBe('I do not know.');
    expect(seen.eventsOf('tool.result')).toMatchObject([{ error: { code: 'tool_error', message: expect.stringContaining('gone') } }]);
  });
});

describe('a hand-over', () => {
  const agents = [
    { id: 'front', base_model: 'model', system: 'You are the desk.', tools: [], sub_agents: ['billing', 'repair', 'nobody'] },
    { id: 'billing', description: 'Money.', base_model: 'model', system: 'You are billing.', tools: ['server:time'] },
    { id: 'repair', base_model: 'model', tools: [] },
  ];

  it('is offered without being listed, allows exactly the sub-agents, and the conversation goes on under the other preset [S0-12, S2-15, S3-15]', async () => {
    await using gateway = await gatewayWith(agents, [calls(['transfer_to_agent', { agent: 'billing' }]), says('Your bill is paid.')]);
    const seen = await gateway.ask({ model: 'front' });
    expect(seen.text).toBe('Your bill is paid.');
    expect(gateway.model.requests[0]?.tools).toMatchObject([
      { name: 'transfer_to_agent', parameters: { properties: { agent: { enum: ['billing', 'repair'] } } } },
    ]);
    const after = gateway.model.requests[1]?.messages ?? [];
    expect(after.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
    expect(after[0]?.content).toBe('You are billing.');
    expect(namesOf(gateway, 1)).toEqual(['now']);
    expect(seen.eventsOf('run.start')).toHaveLength(1);
    expect(seen.eventsOf('config.update')).toMatchObject([
      { model: 'billing', functions: ['now'], added: ['now'], removed: ['transfer_to_agent'] },
    ]);
    expect(seen.eventsOf('run.end')).toHaveLength(1);
    expect(seen.sources).toEqual([]);
  });

  it('gives the other preset the whole conversation and not only its end [S2-15]', async () => {
    await using gateway = await gatewayWith(agents, [calls(['transfer_to_agent', { agent: 'billing' }]), says('It is paid.')]);
    const messages = [
      { role: 'user', content: 'My number is 7.' },
      { role: 'assistant', content: 'Noted.' },
      { role: 'user', content: 'Is my bill paid?' },
    ];
    await gateway.ask({ model: 'front', messages });
    const told = gateway.model.requests[1]?.messages ?? [];
    expect(told.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user', 'assistant', 'tool']);
    expect(told.slice(1, 4)).toMatchObject(messages);
  });

  it('to a preset whose functions are chosen by a prompt lets it choose', async () => {
    const clerk = { id: 'clerk', base_model: 'model', tools: ['server:time'], function_calling: 'default' };
    const front = { id: 'front', base_model: 'model', tools: [], sub_agents: ['clerk'] };
    const selection = says('{"tool_calls": [{"name": "now", "parameters": {}}]}');
    await using gateway = await gatewayWith(
      [clerk, front],
      [calls(['transfer_to_agent', { agent: 'clerk' }]), selection, says('It is noon.')],
    );
    const seen = await gateway.ask({ model: 'front' });
    expect(seen.eventsOf('tool.result').map(({ tool }) => tool)).toEqual(['transfer_to_agent', 'now']);
    expect(seen.text).toBe('It is noon.');
  });

  it('back and forth without an answer ends with words', async () => {
    const pair = [
      { id: 'ping', base_model: 'model', tools: [], sub_agents: ['pong'] },
      { id: 'pong', base_model: 'model', tools: [], sub_agents: ['ping'] },
    ];
    const turns = Array.from({ length: 20 }, (_, index) => calls(['transfer_to_agent', { agent: index % 2 === 0 ? 'pong' : 'ping' }]));
    await using gateway = await gatewayWith(pair, turns);
    const seen = await gateway.ask({ model: 'ping' });
    expect(seen.text).toContain('handed over 8 times');
    expect(seen.eventsOf('limit.reached')).toMatchObject([{ limit: 'handoffs' }]);
    expect(seen.finish).toEqual(['stop']);
  });
});
