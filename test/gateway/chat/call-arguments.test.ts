import { expect, it, onTestFinished } from 'vitest';
import { limits } from '../../../src/core/limits.ts';
import { backendOf, testApp } from '../../_support/build-app.ts';
import { says, ScriptedModel } from '../../_support/scripted-model.ts';

/** Arguments with so many values, the object itself among them. */
const argumentsOf = (values: number): string => JSON.stringify({ list: Array.from({ length: values - 2 }, () => 1) });

const bodies: Readonly<Record<string, (args: readonly string[]) => object>> = {
  '/v1/chat/completions': (args) => ({
    messages: args.flatMap((text, index) => [
      { role: 'assistant', content: null, tool_calls: [{ id: `c${index}`, type: 'function', function: { name: 'f', arguments: text } }] },
      { role: 'tool', tool_call_id: `c${index}`, content: 'Done.' },
    ]),
  }),
  '/v1/responses': (args) => ({
    input: args.flatMap((text, index) => [
      { type: 'function_call', call_id: `c${index}`, name: 'f', arguments: text },
      { type: 'function_call_output', call_id: `c${index}`, output: 'Done.' },
    ]),
  }),
};

it.each(Object.keys(bodies))('arguments of calls in a request to %s may have as many values together as a body', async (url) => {
  const model = new ScriptedModel(says('Hello.'));
  const app = await testApp({}, { backends: [backendOf(model, ['m'])] });
  onTestFinished(() => app.close());
  const post = async (...args: string[]): Promise<number> => {
    const payload = { model: 'm', tool_ids: [], ...bodies[url]?.(args) };
    return (await app.server.inject({ method: 'POST', url, headers: { host: '127.0.0.1' }, payload })).statusCode;
  };
  const half = argumentsOf(limits.bodyValues / 2);
  expect(await post(half, half)).toBe(200);
  const before = model.requests.length;
  expect(await post(half, argumentsOf(limits.bodyValues / 2 + 1))).toBe(413);
  expect(await post(argumentsOf(1_000_000))).toBe(413);
  expect(model.requests).toHaveLength(before);
});
