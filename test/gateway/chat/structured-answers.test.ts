import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { says, type ScriptStep } from '../../_support/scripted-model.ts';
import { servedClients } from '../../http/dialects/parity/clients.ts';
import type { Answer, DialectClient } from '../../http/dialects/parity/chat.ts';
import { documentOf, gatewayOf, selects, serverOf } from '../gateway.ts';

const schema: JsonObject = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
const servers = [serverOf('tools', documentOf({ look: { type: 'object', properties: { q: { type: 'string' } } } }))];
const answers = { 'http://tools.test/look': { found: 'Turin' } };
const json = '{"city":"Turin"}';
const speaksAndCalls = (words: string, ...names: string[]): ScriptStep[] => [
  { type: 'text', text: words },
  ...names.map((name, index): ScriptStep => ({ type: 'tool-call', call: { id: `call_${index}`, name, arguments: '{"q":"x"}' } })),
  { type: 'finish', reason: 'tool_calls' },
];

interface Asked {
  stream?: boolean;
  mode?: string;
  functions?: { name: string; description: string; parameters: JsonObject }[];
  demands?: boolean;
}

async function ask(
  client: DialectClient,
  turns: ScriptStep[][],
  { stream = false, mode, functions, demands = true }: Asked = {},
): Promise<Omit<Answer, 'status'> & { history: string }> {
  await using gateway = await gatewayOf({ turns, servers, answers });
  const fields = mode === undefined ? {} : { params: { function_calling: mode } };
  const chat = { turns: [{ role: 'user' as const, text: 'Where?' }], fields, ...(demands && { schema }), ...(functions && { functions }) };
  const { body } = await gateway.app.server.inject({
    method: 'POST',
    url: client.path,
    headers: { host: '127.0.0.1:8080' },
    payload: client.write(chat, stream),
  });
  const read = stream ? client.readStream(body) : client.read(JSON.parse(body) as JsonObject);
  return { ...read, history: JSON.stringify(gateway.model.requests.at(-1)?.messages) };
}

describe.each(servedClients.map((client) => [client.name, client] as const))('a demanded format in %s', (_, client) => {
  it('leaves out what the model says before its calls', async () => {
    const turns = [speaksAndCalls('Let me look. ', 'look'), speaksAndCalls('And again. ', 'look'), says(json)];
    const { text, history } = await ask(client, turns);
    expect(text).toBe(json);
    // The model reads its own words.
    expect(history).toContain('Let me look. ');
    const both = [speaksAndCalls('{"city":"?"}', 'look'), says(json)];
    expect((await ask(client, both)).text).toBe(json);
  });

  it('leaves text before calls out of a stream, and starts it when the JSON arrives', async () => {
    const turns = [speaksAndCalls('Let me look. ', 'look'), says(json)];
    expect((await ask(client, turns, { stream: true })).text).toBe(json);
  });

  it('does not change an answer that is not JSON', async () => {
    for (const stream of [false, true]) {
      const turns = [speaksAndCalls('Let me look. ', 'look'), says('I do not know.')];
      expect((await ask(client, turns, { stream })).text).toBe('I do not know.');
    }
  });

  it('is the JSON in the other modes', async () => {
    const selected = [selects(['look', { q: 'x' }]), says(json)];
    expect((await ask(client, selected, { mode: 'default' })).text).toBe(json);
    const steps = [
      says('Thought: I look.\nAction: look\nAction Input: {"q":"x"}'),
      says('Thought: I know.\nFinal Answer: Turin'),
      says(json),
    ];
    expect((await ask(client, steps, { mode: 'react' })).text).toBe(json);
  });

  it('leaves out text beside calls of the caller’s functions', async () => {
    const functions = [{ name: 'mine', description: 'Mine', parameters: { type: 'object', properties: {} } }];
    const { text, calls } = await ask(client, [speaksAndCalls('Let me ask you. ', 'mine')], { functions });
    expect(text).toBe('');
    expect(calls.map(({ name }) => name)).toEqual(['mine']);
  });

  it('changes nothing if no format is demanded', async () => {
    const turns = (): ScriptStep[][] => [speaksAndCalls('Let me look. ', 'look'), says('Turin.')];
    for (const stream of [false, true])
      expect((await ask(client, turns(), { stream, demands: false })).text).toMatch(/^Let me look\.\s+Turin\.$/);
  });
});
