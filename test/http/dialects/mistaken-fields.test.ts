import { expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { backendOf, testApp } from '../../_support/build-app.ts';
import { ScriptedModel } from '../../_support/scripted-model.ts';

const headers = { host: '127.0.0.1:8080' };
const question = { model: 'model', messages: [{ role: 'user', content: 'Hi' }] };
const bodies: Record<string, JsonObject> = {
  '/v1/chat/completions': question,
  '/v1/responses': { model: 'model', input: 'Hi' },
  '/v1/messages': { ...question, max_tokens: 10 },
  '/api/chat': question,
};

async function refusalOf(url: string, body: JsonObject): Promise<{ status: number; message: string }> {
  const app = await testApp({}, { backends: [backendOf(new ScriptedModel())] });
  onTestFinished(() => app.close());
  const answer = await app.server.inject({ method: 'POST', url, headers, payload: body });
  const { error } = answer.json<{ error: string | { message: string } }>();
  return { status: answer.statusCode, message: typeof error === 'string' ? error : error.message };
}

it.each(Object.keys(bodies))('%s refuses a mode at the top level with the place where it belongs', async (url) => {
  const { status, message } = await refusalOf(url, { ...bodies[url], function_calling: 'default' });
  expect(status).toBe(400);
  expect(message).toBe('function_calling: belongs into params. Send "params": {"function_calling": …}.');
});

it.each([
  [{ funtion_calling: 'default' }, 'funtion_calling: is not a field. Did you mean params.function_calling?'],
  [{ functionCalling: 'default' }, 'functionCalling: is not a field. Did you mean params.function_calling?'],
  [{ params: { function_caling: 'x' } }, 'params.function_caling: is not a field. Did you mean params.function_calling?'],
  [{ max_tool_round: 2 }, 'max_tool_round: is not a field. Did you mean params.max_tool_rounds?'],
  [{ tool_id: ['server:time'] }, 'tool_id: is not a field. Did you mean tool_ids?'],
  [{ tool_server: [] }, 'tool_server: is not a field. Did you mean tool_servers?'],
  [{ tool_servers: ['https://tools.test'] }, 'tool_servers.0: must be an object such as {"url": "https://tools.example"}'],
  [{ tool_servers: { url: 'https://tools.test' } }, 'tool_servers: must be a list of objects such as {"url": "https://tools.example"}'],
  [{ temperature: 'hot' }, 'temperature: must be a number'],
  [{ params: { temperature: '' } }, 'params.temperature: must be a number'],
])('refuses %j with the right form', async (fields, message) => {
  expect(await refusalOf('/v1/chat/completions', { ...question, ...fields })).toEqual({ status: 400, message });
});

it('tells the fields of two APIs apart', async () => {
  expect((await refusalOf('/v1/responses', question)).message).toMatch(
    /^input: is missing.*"messages" is for POST \/v1\/chat\/completions/,
  );
  expect((await refusalOf('/v1/chat/completions', { model: 'model', input: 'Hi' })).message).toMatch(
    /^messages: is missing.*"input" is for POST \/v1\/responses/,
  );
});
