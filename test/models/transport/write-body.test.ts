import { expect, it } from 'vitest';
import type { ToolSpec } from '../../../src/core/tools/tool.ts';
import { toOllamaTools } from '../../../src/models/ollama/ollama-messages.ts';
import { toChatBody } from '../../../src/models/openai/openai-messages.ts';
import { toFunctionEntry, writeBody } from '../../../src/models/transport/write-body.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { askModel } from '../../_support/model-answers.ts';
import { countTurns } from '../../_support/count-turns.ts';

const parameters = { type: 'object', properties: { zone: { type: 'string', description: 'Such as "Europe/Berlin" – or \u2028 nothing' } } };
const spec: ToolSpec = { name: 'get_time', description: 'The time,\nanywhere', parameters };
const hosted = { type: 'web_search', web_search: {} };

it.each([
  ['without functions', {}],
  ['with its own functions', { tools: [spec, { ...spec, name: 'other', parameters: { type: 'object' } }] }],
  ["with the caller's own entries", { callerTools: [hosted] }],
  ['with both and a choice', { tools: [spec], callerTools: [hosted], toolChoice: 'auto', parallelToolCalls: false }],
])('writes the body %s as JSON.stringify does, each time', (_, options) => {
  const request = askModel(options);
  for (const body of [toChatBody(request), toChatBody({ ...request, asksForUsage: false }), toChatBody(request)])
    expect(String(writeBody(body))).toBe(JSON.stringify(body));
  const forOllama = { model: 'm', stream: true, tools: toOllamaTools(request) as unknown as JsonObject[] };
  expect(String(writeBody(forOllama))).toBe(JSON.stringify(forOllama));
});

it('writes a body that has only tools, one with none, and one whose tools are no list', () => {
  expect(String(writeBody({ tools: [hosted, 'x', null] }))).toBe(JSON.stringify({ tools: [hosted, 'x', null] }));
  expect(writeBody({ tools: [], model: 'm' })).toBe('{"tools":[],"model":"m"}');
  expect(writeBody({ tools: 'none', model: 'm' })).toBe('{"tools":"none","model":"m"}');
});

it('writes a long body over several turns as JSON.stringify does', async () => {
  // Pairs of surrogates at every place where a text may be cut, escapes, and a lone half.
  const messages = [
    ...Array.from({ length: 4 }, (_, shift) => ({ role: 'user', content: `${'x'.repeat(shift)}${'\u{1f600}"\n'.repeat(200_000)}\ud800` })),
    { role: 'user', content: [{ type: 'text', text: 'y'.repeat(600_000), other: undefined }, {}, [], null, 1.5] },
  ];
  const body = {
    model: 'm',
    none: undefined,
    messages,
    lists: Array.from({ length: 30_000 }, () => [1, { a: true }]),
    tools: [toFunctionEntry(spec)],
  };
  const turns = countTurns();
  const written = await writeBody(body);
  expect(Buffer.from(written).toString()).toBe(JSON.stringify(body));
  expect(turns()).toBeGreaterThan(2);
});

it('gives the same entry for the same function, and another where name, description or strictness differ', () => {
  const entry = toFunctionEntry(spec);
  expect(toFunctionEntry({ ...spec })).toBe(entry);
  for (const other of [
    { ...spec, name: 'a' },
    { ...spec, description: 'b' },
    { ...spec, strict: true },
  ]) {
    expect(toFunctionEntry(other)).toEqual({ type: 'function', function: other });
    expect(String(writeBody({ tools: [toFunctionEntry(other)] }))).toBe(JSON.stringify({ tools: [{ type: 'function', function: other }] }));
  }
});
