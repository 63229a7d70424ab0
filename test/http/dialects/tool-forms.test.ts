import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { backendOf, testApp } from '../../_support/build-app.ts';
import { says, ScriptedModel } from '../../_support/scripted-model.ts';

const parameters = { type: 'object', properties: { city: { type: 'string' } } };
const about = { name: 'get_weather', description: 'The weather of a city' };
const forms: Record<string, JsonObject> = {
  'chat completions': { type: 'function', function: { ...about, parameters } },
  Responses: { type: 'function', ...about, parameters },
  'Responses, without its type': { ...about, parameters },
  Messages: { ...about, input_schema: parameters },
  'Messages, with its type': { type: 'custom', ...about, input_schema: parameters },
};
const messages = [{ role: 'user', content: 'Hi' }];
const nested = '{"type": "function", "function": {"name", "description", "parameters"}}';
const flat = '{"type": "function", "name", "description", "parameters"}';
const withSchema = '{"name", "description", "input_schema"}';

async function ask(path: string, body: JsonObject, tool: JsonObject | undefined): Promise<{ status: number; text: string }> {
  await using app = await testApp({}, { backends: [backendOf(new ScriptedModel(says('Hello.')))] });
  const payload = { model: 'model', ...body, tools: [tool] };
  const answer = await app.server.inject({ method: 'POST', url: path, headers: { host: '127.0.0.1:8080' }, payload });
  return { status: answer.statusCode, text: answer.body.replaceAll(String.raw`\"`, '"') };
}

it.each<[path: string, body: JsonObject, own: string, foreign: Record<string, string>, form: string]>([
  ['/v1/chat/completions', { messages }, 'chat completions', { Responses: 'function', Messages: 'function' }, nested],
  [
    '/v1/responses',
    { input: 'Hi' },
    'Responses',
    { 'chat completions': 'name', Messages: 'type', 'Messages, with its type': 'input_schema' },
    flat,
  ],
  [
    '/v1/messages',
    { messages, max_tokens: 9 },
    'Messages',
    { 'chat completions': 'type', Responses: 'type', 'Responses, without its type': 'input_schema' },
    withSchema,
  ],
  [
    '/api/chat',
    { messages, stream: false },
    'chat completions',
    { Responses: 'function', Messages: 'function', 'Messages, with its type': 'function' },
    nested,
  ],
])('%s shows the form of a function to clients that send it in the form of another', async (path, body, own, foreign, form) => {
  expect((await ask(path, body, forms[own])).status).toBe(200);
  for (const [name, field] of Object.entries(foreign)) {
    const { status, text } = await ask(path, body, forms[name]);
    expect([name, status, text]).toEqual([name, 400, expect.stringContaining(`tools.0.${field}: `)]);
    expect(text).toContain(`Send a function as ${form}`);
  }
});
