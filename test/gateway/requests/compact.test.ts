import { afterEach, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { documentOf, gatewayOf, serverOf, textOfMessage } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';

const shop = [serverOf('shop', documentOf({ price: { type: 'object', properties: {} } }))];
const keys = { TOOLWHARF_ADMIN_KEY: 'secret-key-of-this-test' };
const admin = 'Bearer secret-key-of-this-test';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function begin(...turns: ScriptStep[][]): Promise<{
  gateway: Gateway;
  post: (path: string, payload: JsonObject, authorization?: string) => Promise<{ status: number; body: JsonObject }>;
}> {
  const gateway = await gatewayOf({ turns, servers: shop, environment: keys });
  closers.push(() => gateway[Symbol.asyncDispose]());
  return {
    gateway,
    async post(url, payload, authorization = admin) {
      const answer = await gateway.app.server.inject({ method: 'POST', url, payload, headers: { authorization } });
      return { status: answer.statusCode, body: answer.json<JsonObject>() };
    },
  };
}

const conversation = [
  { role: 'developer', content: 'Be brief.' },
  { role: 'user', content: 'We launch on Tuesday.' },
  { role: 'assistant', content: 'Noted.' },
];

it('replaces a conversation by a summary that the model reads later, and runs no tool', async () => {
  const { gateway, post } = await begin(says('The launch is on Tuesday.'), says('On Tuesday.'));
  const { status, body } = await post('/v1/responses/compact', { model: 'model', input: conversation });
  expect([status, body['object']]).toEqual([200, 'response.compaction']);
  const output = body['output'] as JsonObject[];
  expect(output).toMatchObject([
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
    { type: 'compaction', id: expect.any(String), encrypted_content: expect.stringMatching(/^(?!.*Tuesday)/) },
  ]);
  expect(gateway.model.requests[0]?.tools).toEqual([]);
  const next = await post('/v1/responses', { model: 'model', input: [...output, { role: 'user', content: 'When?' }] });
  expect(next.body['warnings']).toBeUndefined();
  const read = gateway.model.requests[1]?.messages.map(textOfMessage) ?? [];
  expect(read).toEqual(['Be brief.', expect.stringContaining('The launch is on Tuesday.'), 'When?']);
});

it('leaves out the summary of another caller, or of another server, with a warning', async () => {
  const { gateway, post } = await begin(says('The launch is on Tuesday.'), says('No idea.'));
  const { body } = await post('/v1/responses/compact', { model: 'model', input: conversation });
  const { body: bob } = await post('/api/keys', { name: 'bob', role: 'user' });
  const foreign = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAAB' };
  const input = [...(body['output'] as JsonObject[]), foreign, { role: 'user', content: 'When?' }];
  const answer = await post('/v1/responses', { model: 'model', input }, `Bearer ${String(bob['key'])}`);
  expect(answer.body['warnings']).toMatchObject([{ code: 'part_left_out', message: expect.stringContaining('"compaction"') }]);
  expect(gateway.model.requests[1]?.messages.map(textOfMessage)).toEqual(['Be brief.', 'When?']);
});

it.each<[string, JsonObject, string]>([
  ['no model', { input: 'Hello' }, 'model'],
  ['no input', { model: 'model' }, 'input'],
  ['an earlier response that is no id', { model: 'model', input: 'Hello', previous_response_id: {} }, 'previous_response_id'],
])('refuses a request with %s', async (_, payload, param) => {
  const { post } = await begin();
  expect(await post('/v1/responses/compact', payload)).toMatchObject({ status: 400, body: { error: { param } } });
});

it('shortens nothing when the model calls a tool instead', async () => {
  const { gateway, post } = await begin(calls(['price', {}]), says(''));
  expect((await post('/v1/responses/compact', { model: 'model', input: conversation })).status).toBeGreaterThanOrEqual(400);
  expect(gateway.sent).toEqual([]);
});
