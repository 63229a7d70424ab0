import { expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { ModelBackend } from '../../../src/core/models/model.ts';
import type { ToolSpec } from '../../../src/core/tools/tool.ts';
import { adaptBackend } from '../../../src/models/adapt-backend.ts';
import { specInProfile } from '../../../src/models/schema-profiles/to-profile.ts';
import { askModel } from '../../_support/model-answers.ts';
import { answerOf, generatedBy } from '../../_support/scripted-model.ts';

const parameters: JsonObject = {
  type: 'object',
  properties: { a: { type: 'string' }, b: { type: 'integer', default: 3 } },
  required: ['a'],
};
const spec = (strict?: boolean): ToolSpec => ({
  name: 'f',
  description: 'f',
  parameters: structuredClone(parameters),
  ...(strict !== undefined && { strict }),
});

it.each([
  ['plain', undefined, undefined],
  ['plain', true, true],
  ['plain', false, undefined],
  ['openai', undefined, true],
  ['openai', true, true],
  ['openai', false, undefined],
  ['ollama', true, undefined],
  ['gemini', true, undefined],
] as const)('for a %s backend, a function that wishes for strict: %s is sent with strict: %s [S2-9]', (profile, wish, sent) => {
  const { strict, parameters: schema } = specInProfile(spec(wish), profile);
  expect(strict).toBe(sent);
  expect(schema['additionalProperties'] === false).toBe(sent === true);
});

it('a backend that refuses the strict form gets the plain one [S2-9]', async () => {
  const sent: ToolSpec[][] = [];
  const backend: ModelBackend = generatedBy(async function* ({ tools }) {
    sent.push([...tools]);
    if (tools.some(({ strict }) => strict === true))
      throw new GatewayError('upstream_rejected', 'tools[0].function: unknown field "strict"');
    yield { type: 'finish', reason: 'stop' };
  });
  const request = askModel({ tools: [spec(true)] });
  const events = await Array.fromAsync(answerOf(adaptBackend(backend, { profile: 'plain' }), request));
  expect(sent.map(([tool]) => tool)).toEqual([expect.objectContaining({ strict: true }), { name: 'f', description: 'f', parameters }]);
  expect(events).toContainEqual(expect.objectContaining({ type: 'run-event' }));
});
