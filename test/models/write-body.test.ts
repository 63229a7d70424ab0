import { expect, it } from 'vitest';
import type { ToolSpec } from '../../src/core/tool.ts';
import { toOllamaTools } from '../../src/models/ollama/ollama-messages.ts';
import { toChatBody } from '../../src/models/openai/openai-messages.ts';
import { toFunctionEntry, writeBody } from '../../src/models/write-body.ts';
import type { JsonObject } from '../../src/shared/json.ts';
import { askModel } from '../_support/model-answers.ts';

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
  for (const body of [toChatBody(request, true), toChatBody(request, false), toChatBody(request, true)])
    expect(writeBody(body)).toBe(JSON.stringify(body));
  const forOllama = { model: 'm', stream: true, tools: toOllamaTools(request) as unknown as JsonObject[] };
  expect(writeBody(forOllama)).toBe(JSON.stringify(forOllama));
});

it('writes a body that has only tools, one with none, and one whose tools are no list', () => {
  expect(writeBody({ tools: [hosted, 'x', null] })).toBe(JSON.stringify({ tools: [hosted, 'x', null] }));
  expect(writeBody({ tools: [], model: 'm' })).toBe('{"tools":[],"model":"m"}');
  expect(writeBody({ tools: 'none', model: 'm' })).toBe('{"tools":"none","model":"m"}');
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
    expect(writeBody({ tools: [toFunctionEntry(other)] })).toBe(JSON.stringify({ tools: [{ type: 'function', function: other }] }));
  }
});
