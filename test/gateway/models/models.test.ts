import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { backendOf } from '../../_support/build-app.ts';
import { says, ScriptedModel } from '../../_support/scripted-model.ts';
import { documentWith } from '../../tools/scripted-send.ts';
import { gatewayOf, serverOf } from '../gateway.ts';

const clocks = serverOf('time', documentWith('now'));
const nothing = says('{"tool_calls": []}');

it('the model list shows what a model can do as far as it is known, and auto chooses the mode by it [S1-27]', async () => {
  const model = new ScriptedModel(says('Noon.'), nothing, says('Noon.'), says('Noon.'));
  const able = backendOf(model, ['able'], { capabilities: ['completion', 'tools'] });
  const unable = { ...backendOf(model, ['unable'], { capabilities: ['completion'] }), name: 'unable' };
  const silent = { ...backendOf(model, ['silent']), name: 'silent' };
  await using gateway = await gatewayOf({ servers: [clocks], backends: [able, unable, silent] });
  const { data } = (await gateway.get('/v1/models')).json<{ data: JsonObject[] }>();
  expect(data.map((entry) => [entry['id'], entry['capabilities']])).toEqual([
    ['able', ['completion', 'tools']],
    ['unable', ['completion']],
    ['silent', undefined],
  ]);
  const modes: unknown[] = [];
  for (const id of ['able', 'unable', 'silent']) modes.push((await gateway.ask({ model: id })).eventsOf('run.start')[0]?.['mode']);
  expect(modes).toEqual(['native', 'default', 'native']);
  expect(model.requests.map((request) => [request.model, request.tools.length])).toEqual([
    ['able', 1],
    ['unable', 0],
    ['unable', 0],
    ['silent', 1],
  ]);
});

it.each([
  ['the request', { FUNCTION_CALLING: 'native' }, { params: { function_calling: 'default' } }, 'default'],
  ['the setting', { FUNCTION_CALLING: 'default' }, {}, 'default'],
  ['auto', {}, {}, 'native'],
])('the mode is decided by %s', async (_who, environment, body, mode) => {
  await using gateway = await gatewayOf({ turns: [nothing, says('Noon.')], servers: [clocks], environment });
  expect((await gateway.ask(body)).eventsOf('run.start')).toMatchObject([{ mode }]);
});

it('finds a backend that has come back after the clock was set back', async () => {
  const clock = { time: Date.parse('2030-05-01T10:00:00Z'), elapsed: 0 };
  const backend = backendOf(new ScriptedModel(says('Noon.')));
  let isDown = true;
  const list: typeof backend.list = (signal) => (isDown ? Promise.reject(new Error('down')) : backend.list(signal));
  await using gateway = await gatewayOf({ backends: [{ ...backend, list }], now: () => clock.time, elapsed: () => clock.elapsed });
  expect((await gateway.ask()).status).toBe(404);
  isDown = false;
  clock.time -= 24 * 60 * 60 * 1_000;
  clock.elapsed += 60_000;
  expect(await gateway.ask()).toMatchObject({ status: 200, text: 'Noon.' });
});
