import { expect, it } from 'vitest';
import type { Preset } from '../../src/console/api/api-types.ts';
import { toDraft, toFields } from '../../src/console/pages/presets/preset-draft.ts';

const nothing = {
  name: null,
  description: null,
  system: null,
  tools: null,
  sub_agents: [],
  params: {},
  function_calling: null,
  max_tool_rounds: null,
  tool_timeout_ms: null,
  needs_approval: null,
};

it.each<[what: string, fields: Partial<Preset>]>([
  ['with nothing set', {}],
  ['without tools', { tools: [], needs_approval: false }],
  [
    'with everything set',
    {
      name: 'Clerk',
      description: 'Files things',
      system: 'You are a clerk.',
      tools: ['server:time', 'function:roll'],
      sub_agents: ['other'],
      params: { temperature: 0.2, stop: ['x'] },
      function_calling: 'react',
      max_tool_rounds: 3,
      tool_timeout_ms: 1_500,
      needs_approval: ['send_mail', 'pay'],
    },
  ],
  ['that asks for every call', { needs_approval: true }],
])('a form that nothing was changed in asks for the preset as it is: %s', (_what, fields) => {
  const set = { ...nothing, base_model: 'demo', ...fields };
  expect(toFields(toDraft({ id: 'clerk', object: 'preset', ...set }))).toEqual(set);
});

it.each(['[]', '7', '{"temperature": }', 'null'])('parameters have to be an object: %s', (params) => {
  expect(() => toFields({ ...toDraft({}), params })).toThrow('a JSON object');
});
