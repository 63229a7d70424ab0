import { expect, it, onTestFinished } from 'vitest';
import { backendOf } from '../../_support/build-app.ts';
import { calls, ScriptedModel, says, type ScriptStep } from '../../_support/scripted-model.ts';
import { answerOf, documentOf, gatewayOf, serverOf } from '../gateway.ts';

const tier = (value: string): ScriptStep => ({ type: 'extra', level: 'response', fields: { service_tier: value, provider: 'p' } });

it("streams a field of the backend's response again only when a later round changes it", async () => {
  const model = new ScriptedModel(
    [tier('flex'), ...calls(['now', {}])],
    [tier('flex'), ...calls(['now', { again: true }])],
    [tier('default'), ...says('noon')],
  );
  const servers = [serverOf('clock', documentOf({ now: { type: 'object', properties: { again: { type: 'boolean' } } } }))];
  const answers = { 'http://clock.test/now': answerOf('"noon"') };
  const gateway = await gatewayOf({ backends: [backendOf(model, ['m'])], servers, answers });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const { raw, text } = await gateway.ask({ model: 'm', tool_ids: ['server:clock'] });
  expect(text).toBe('noon');
  expect(raw.match(/"service_tier":"\w+"/g)).toEqual(['"service_tier":"flex"', '"service_tier":"default"']);
  expect(raw.match(/"provider":"p"/g)).toHaveLength(1);
});
