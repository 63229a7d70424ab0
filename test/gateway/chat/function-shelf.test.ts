import { expect, it } from 'vitest';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { documentOf, gatewayOf, serverOf } from '../gateway.ts';
import { offeredFunctions } from '../../../src/tools/catalog/named-functions.ts';

const zone = { type: 'object', properties: { zone: { type: 'string' } }, required: ['zone'] };
const filler = Array.from({ length: offeredFunctions }, (_, index) => [`album_${index}_rename`, zone]);
/** Too many to be offered at once; nothing in the question speaks of lamps. */
const many = serverOf('home', documentOf({ ...Object.fromEntries(filler), lamp: zone, dim_lamp_slowly: zone }));

async function run(...turns: ScriptStep[][]) {
  await using gateway = await gatewayOf({ turns, servers: [many], answers: { 'http://home.test/lamp': { lit: true } } });
  const seen = await gateway.ask({ messages: [{ role: 'user', content: 'Rename the album.' }] });
  return { seen, sent: gateway.sent.map(({ url }) => url), asked: gateway.model.requests };
}

it('a function that is held back runs when it is called by its exact name, and is on offer from then on', async () => {
  const { seen, sent, asked } = await run(calls(['lamp', { zone: 'a' }]), says('It is lit.'));
  expect(asked[0]?.tools.map((spec) => spec.name)).not.toContain('lamp');
  expect(sent).toEqual(['http://home.test/lamp']);
  expect(seen.eventsOf('config.update')).toMatchObject([{ added: ['lamp'] }]);
  expect(asked[1]?.tools.map((spec) => spec.name)).toContain('lamp');
  expect(seen.sources).toMatchObject([{ source: { name: 'TOOL:home/lamp' } }]);
});

it('its arguments are checked like any other’s', async () => {
  const { seen, sent } = await run(calls(['lamp', {}]), says('Sorry.'));
  expect(sent).toEqual([]);
  expect(seen.eventsOf('tool.result')).toMatchObject([{ tool: 'lamp', error: { code: 'args_invalid' } }]);
});

it('a name that is not there is answered with the function that finds others', async () => {
  const { seen, sent } = await run(calls(['heater', {}]), says('Sorry.'));
  expect(sent).toEqual([]);
  expect(seen.eventsOf('tool.result')[0]).toMatchObject({
    error: { code: 'tool_not_found', message: expect.stringContaining("Others are found by 'find_tools'.") as string },
  });
});
