import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { documentOf, gatewayOf, serverOf } from '../gateway.ts';

const none = { type: 'object', properties: {} };
const clocks = serverOf('clock', documentOf({ get_time_in_city: none, get_date: none }));
const answers = { 'http://clock.test/get_time_in_city': { time: 'noon' }, 'http://clock.test/get_date': { date: 'today' } };
const own = { type: 'function', function: { name: 'open_page', description: 'Opens', parameters: none } };
const named = (name: string): JsonObject => ({ type: 'function', function: { name } });

const clockGateway = (turns: ScriptStep[][] = []) => gatewayOf({ turns, servers: [clocks], answers });

async function choose(body: JsonObject, turns: ScriptStep[][] = []) {
  await using gateway = await clockGateway(turns);
  return await chooseAt(gateway, body);
}

async function chooseAt(gateway: Awaited<ReturnType<typeof clockGateway>>, body: JsonObject) {
  const seen = await gateway.ask(body);
  const error =
    seen.status === 200 ? undefined : (JSON.parse(seen.raw) as { error: { message: string; param: string; code: string } }).error;
  return { ...seen, error, asked: gateway.model.requests };
}

describe('is refused before a model is asked:', () => {
  let gateway: Awaited<ReturnType<typeof clockGateway>>;
  beforeAll(async () => {
    gateway = await clockGateway();
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  it.each<[string, JsonObject, string[]]>([
    ['a function that nobody offers', { tool_choice: named('get_weather') }, ['"get_weather"', 'Offered: get_time_in_city, get_date.']],
    [
      'one that is neither ours nor the caller’s',
      { tool_choice: named('x'), tools: [own] },
      ['Offered: open_page, get_time_in_city, get_date.'],
    ],
    ['one that is not among the caller’s alone', { tool_choice: named('x'), tools: [own], tool_ids: [] }, ['Offered: open_page.']],
    ['required without any function', { tool_choice: 'required', tool_ids: [] }, ['this request has none', 'tool_ids']],
    ['any without any function', { tool_choice: 'any', tool_ids: [] }, ['this request has none']],
    ['a function without any function', { tool_choice: named('x'), tool_ids: [] }, ['this request has none']],
    ['a part of the name of a function that may write', { tool_choice: named('in_city') }, ['"in_city"', 'get_time_in_city']],
    ['a word that nobody knows', { tool_choice: 'maybe' }, ['"maybe" is not understood', '"required"']],
    ['a number', { tool_choice: 7 }, ['7 is not understood']],
    ['a form without a name', { tool_choice: { type: 'function' } }, ['is not understood']],
    ['a tool of a provider that was not sent', { tool_choice: { type: 'custom', custom: { name: 'x' } } }, ['is not understood']],
    [
      'allowed tools that nobody offers',
      { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named('x')] } } },
      ['"x"'],
    ],
    [
      'allowed tools without a mode',
      { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'x', tools: [named('get_date')] } } },
      ['mode'],
    ],
    [
      'no allowed tools',
      { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } } },
      ['a list of at most 128 tools'],
    ],
  ])('%s, with what is there', async (_name, body, words) => {
    const { status, error, asked } = await chooseAt(gateway, body);
    expect([status, error?.code, error?.param, asked.length]).toEqual([400, 'invalid_request', 'tool_choice', 0]);
    for (const word of words) expect(error?.message).toContain(word);
  });
});

it.each<[string, JsonObject | string, JsonObject | string]>([
  ['a name with other separators', named('getTime-in.city'), named('get_time_in_city')],
  ['a flat name, as in the Responses API', { type: 'function', name: 'get_date' }, named('get_date')],
  ['another API’s form', { type: 'tool', name: 'get_date' }, named('get_date')],
  ['another API’s word', 'any', 'required'],
  ['its object', { type: 'any' }, 'required'],
  ['a name of the caller’s', named('open_page'), named('open_page')],
])('%s is understood', async (_name, choice, asWritten) => {
  const name = typeof asWritten === 'string' ? 'get_date' : (asWritten['function'] as { name: string }).name;
  const { asked, finish } = await choose({ tool_choice: choice, tools: [own] }, [calls([name, {}]), says('Done.')]);
  expect(asked[0]?.toolChoice).toEqual(asWritten);
  expect(finish).toEqual([name === 'open_page' ? 'tool_calls' : 'stop']);
});

it.each(['native', 'default'])('allowed_tools narrows what is offered, of the gateway’s and the caller’s, in mode %s', async (mode) => {
  const allowed = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named('get_date'), named('open_page')] } };
  const body = {
    tool_choice: allowed,
    tools: [own, { ...own, function: { ...own.function, name: 'close_page' } }],
    params: { function_calling: mode },
  };
  const seen = await choose(body, [says('{"tool_calls": []}'), says('Hello.')]);
  expect(seen.eventsOf('run.start')).toMatchObject([{ functions: ['get_date'] }]);
  const shown = JSON.stringify(seen.asked[0]);
  expect(shown).toMatch(/get_date.*open_page/);
  expect(shown).not.toMatch(/get_time_in_city|close_page|allowed_tools/);
});

it('a provider’s own tool may be demanded beside the gateway’s functions', async () => {
  const custom = { type: 'custom', custom: { name: 'grammar' } };
  const { asked, status } = await choose({ tool_choice: custom, tools: [custom] }, [says('Hello.')]);
  expect([status, asked[0]?.toolChoice]).toEqual([200, custom]);
});

it('without tools the words that mean nothing are kept from a backend that refuses them', async () => {
  const { asked } = await choose({ tool_choice: 'auto', parallel_tool_calls: true, tool_ids: [] }, [says('Hello.')]);
  expect([asked[0]?.toolChoice, asked[0]?.parallelToolCalls]).toEqual([undefined, undefined]);
});

it('where one call at a time is asked for, a backend that makes two has the first run, and may make the other in its next turn', async () => {
  const both = calls(['get_date', {}], ['get_time_in_city', {}]);
  const seen = await choose({ parallel_tool_calls: false }, [both, calls(['get_time_in_city', {}]), says('Done.')]);
  expect(seen.eventsOf('tool.call').map(({ tool }) => tool)).toEqual(['get_date', 'get_time_in_city']);
  expect(seen.eventsOf('tool.result')[0]).toMatchObject({ error: { message: expect.stringContaining('one call at a time') as string } });
  expect(seen.asked[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
});

it('without the gateway’s functions, forms that only the backend knows reach it', async () => {
  const choice = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named('open_page')] } };
  const { asked } = await choose({ tool_choice: choice, tools: [own], tool_ids: [] }, [says('Hello.')]);
  expect(asked[0]?.toolChoice).toEqual(choice);
});
