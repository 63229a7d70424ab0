import { specTypeSchemas } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/core/limits.ts';
import { boundValidation } from '../../../../src/tools/mcp/incoming/bound-validation.ts';
import { callTool, mcpTools, requireTool } from '../mcp-fixture.ts';
import { scriptedPeer, textResult, toolOf } from '../scripted-peer.ts';

const text = { type: 'text', text: 'fine' };
const many = <Value>(value: Value): Value[] => Array.from({ length: 20_000 }, () => value);
const contents = { uri: 'file:///a', text: 'a' };
const says = { role: 'user', content: text };

function boundResult(result: Record<string, unknown>): Record<string, unknown> {
  const bounded = boundValidation({ jsonrpc: '2.0', id: 1, result });
  return 'result' in bounded ? bounded.result : {};
}

describe('a result of an MCP server', () => {
  it.each([
    ['content', [text, 1, ...many(1)], 2],
    ['content', [text, text, ...many({ type: 'text', text: 1 })], 3],
    ['contents', [contents, ...many({ uri: 1 })], 2],
    ['messages', [says, says, ...many({ role: 'nobody', content: {} })], 3],
  ])('with malformed %s is passed on up to the first of them, so that it is refused for that one only', (key, entries, kept) => {
    expect(boundResult({ [key]: entries, other: 1 })).toEqual({ [key]: entries.slice(0, kept), other: 1 });
  });

  it.each([
    ['annotations', { ...text, annotations: { audience: many('x') } }],
    ['icons', { type: 'resource_link', uri: 'file:///a', name: 'a', icons: many(1) }],
  ])('whose content has thousands of %s is refused without them', (_name, entry) => {
    const { content } = boundResult({ content: [entry] });
    expect(JSON.stringify(content).length).toBeLessThan(100);
    expect(specTypeSchemas.CallToolResult['~standard'].validate({ content })).toHaveProperty('issues');
  });

  it('of any size passes as it is where its values may be anything', () => {
    const large = { structuredContent: { list: many(1) }, content: [{ ...text, _meta: { list: many(1) } }] };
    expect(boundResult(large)).toEqual(large);
  });

  it('keeps one part more than are read, which tells that there are more', () => {
    expect(boundResult({ content: many(text) })['content']).toHaveLength(limits.mcpContentBlocks + 1);
  });

  it('that asks for thousands of values asks for nothing', () => {
    const asked = { method: 'elicitation/create', params: { message: 'x', requestedSchema: { type: 'object', properties: many({}) } } };
    const { inputRequests } = boundResult({ resultType: 'input_required', inputRequests: { asked } });
    expect(JSON.stringify(inputRequests).length).toBeLessThan(100);
  });
});

it('a question with thousands of fields is refused, and nobody is asked', async () => {
  const properties = Object.fromEntries(many(0).map((_, index) => [`field ${index}`, { type: 'string' as const }]));
  const peer = scriptedPeer([toolOf('ask')], async (_name, _args, { mcpReq }) => {
    const asked = mcpReq.elicitInput({ message: 'All of it?', requestedSchema: { type: 'object', properties } });
    return textResult(
      await asked.then(
        ({ action }) => action,
        ({ code }: { code: number }) => String(code),
      ),
    );
  });
  const asked: unknown[] = [];
  const context = { ask: async (...words: unknown[]) => (asked.push(words), {}) };
  const tool = await requireTool(mcpTools({ transports: peer.transports }), 'ask');
  expect(await callTool(tool, { run: { sessionId: 'session-1' }, context })).toMatchObject({ value: '-32602' });
  expect(asked).toEqual([]);
});
