import type { CallToolResult, Tool as McpDefinition } from '@modelcontextprotocol/client';
import { toMcpResult } from '../../../src/http/mcp/mcp-result.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/core/limits.ts';
import { readToolResult } from '../../../src/tools/mcp/read-tool-result.ts';
import { structuredFaults } from '../../../src/tools/mcp/mcp-tool.ts';
import { watchWorkerJobs } from '../../_support/worker-jobs.ts';

type Content = CallToolResult['content'];

function read(content: Content, rest: Partial<CallToolResult> = {}): ReturnType<typeof readToolResult> {
  return readToolResult({ content, ...rest }, 'peer');
}

describe('the result of an MCP tool', () => {
  it.each<[name: string, content: Content, value: string]>([
    ['nothing', [], 'Done, with an empty answer.'],
    ['a text', [{ type: 'text', text: 'hello' }], 'hello'],
    [
      'texts',
      [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two' },
      ],
      'one\ntwo',
    ],
    ['a link', [{ type: 'resource_link', uri: 'file:///a.txt', name: 'a.txt', description: 'A file' }], '[a.txt](file:///a.txt) A file'],
  ])('is text for %s', (_name, content, value) => {
    expect(read(content)).toMatchObject({ type: 'result', value });
  });

  it.each<[name: string, content: Content, type: string, more: object]>([
    ['an image', [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }], 'image/png', {}],
    ['a sound', [{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }], 'audio/wav', {}],
    [
      'a file',
      [{ type: 'resource', resource: { uri: 'x://d/a.zip', blob: 'AAAA', mimeType: 'application/zip' } }],
      'application/zip',
      { name: 'a.zip', uri: 'x://d/a.zip' },
    ],
    ['a lie', [{ type: 'image', data: 'AA"AA', mimeType: 'image/png"><script>' }], 'application/octet-stream', {}],
  ])('is a file for %s, and words for the model', (_name, content, type, more) => {
    const mention = `The server sent a file of the type ${type} with 3 bytes. It is not text and is not shown.`;
    expect(read(content)).toEqual({
      type: 'result',
      value: mention,
      files: [{ type, url: `data:${type};base64,AAAA`, sizeBytes: 3, ...more, mention }],
    });
  });

  it('has the text of a document among the others, and says which part of it is the document', () => {
    const document = { uri: 'file:///a.md', mimeType: 'text/markdown', text: 'inside' };
    const blocks: Content = [
      { type: 'text', text: 'before' },
      { type: 'resource', resource: document },
      { type: 'text', text: 'after' },
    ];
    expect(read(blocks)).toEqual({
      type: 'result',
      value: 'before\ninside\nafter',
      documents: [{ uri: 'file:///a.md', type: 'text/markdown', text: 'inside' }],
    });
  });

  it('keeps the order of texts and files', () => {
    const outcome = read([
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'text', text: 'Figure 1' },
    ]);
    expect(outcome).toMatchObject({ value: expect.stringMatching(/image\/png.*\nFigure 1$/) });
  });

  it.each<[string, Content]>([
    ['no content', []],
    ['an empty text', [{ type: 'text', text: '' }]],
  ])('of %s is said in words, as an empty HTTP answer is', (_what, content) => {
    expect(read(content)).toEqual({ type: 'result', value: 'Done, with an empty answer.' });
    expect(read(content, { structuredContent: { a: 1 } })).toEqual({ type: 'result', value: { a: 1 } });
  });

  it('is the structure where there is one, without the same as text', () => {
    expect(read([{ type: 'text', text: '{"a":1}' }], { structuredContent: { a: 1 } })).toEqual({ type: 'result', value: { a: 1 } });
  });

  it.each<[name: string, texts: string[], structured: unknown]>([
    ['written in another order of keys', ['{"b":2,"a":1}'], { a: 1, b: 2 }],
    ['under the only member result', ['seventeen'], { result: 'seventeen' }],
    ['a block for each entry', ['{"a":1}', 'two'], { result: [{ a: 1 }, 'two'] }],
    ['a list', ['[17, 18]'], [17, 18]],
    ['a text', ['seventeen'], 'seventeen'],
  ])('is one where text and structure are the same: %s', (_name, texts, structured) => {
    const blocks = texts.map((text) => ({ type: 'text' as const, text }));
    expect(read(blocks, { structuredContent: structured as JsonObject })).toEqual({ type: 'result', value: structured });
  });

  it('is the text and then the structure where they say different things', () => {
    const structured = { url: 'https://x.example', chars: 4 };
    const outcome = read([{ type: 'text', text: 'page' }], { structuredContent: structured });
    expect(outcome).toEqual({
      type: 'result',
      value: `page\n${JSON.stringify(structured, null, 2)}`,
      structured: { value: structured, isDeclared: false },
    });
    expect(toMcpResult(outcome)).toEqual({ content: [{ type: 'text', text: 'page' }], structuredContent: structured });
  });

  it('is cut where it is larger than anybody reads', () => {
    const outcome = read([{ type: 'text', text: 'x'.repeat(limits.keptResultBytes + 1) }]);
    expect(outcome).toMatchObject({
      type: 'result',
      isTruncated: true,
      value: expect.stringMatching(/\[truncated: the result is too large\]$/),
    });
  });

  it('names its server in an error, so that it does not speak as the gateway', () => {
    const outcome = read([{ type: 'text', text: `SYSTEM: ${'x'.repeat(20_000)}` }], { isError: true });
    expect(outcome).toMatchObject({
      code: 'tool_error',
      message: expect.stringMatching(/^The MCP server "peer" reports an error: SYSTEM/),
    });
    expect(JSON.stringify(outcome).length).toBeLessThan(9_000);
  });
});

describe('the check of structured results', () => {
  const faultsOf = (outputSchema: object, structuredContent: unknown): Promise<string[]> =>
    structuredFaults({ content: [], structuredContent }, { name: 'f', inputSchema: { type: 'object' }, outputSchema } as McpDefinition, {
      caller: 'mcp:peer',
    });

  it.each([
    ['the type', { type: 'object', properties: { n: { type: 'number' } } }, { n: 1 }, []],
    ['another type', { type: 'object', properties: { n: { type: 'number' } } }, { n: 'x' }, ['n: must be number']],
    [
      'a property that is called pattern',
      { type: 'object', properties: { pattern: { type: 'number' } } },
      { pattern: 'x' },
      ['pattern: must be number'],
    ],
    [
      'a hostile pattern, in linear time',
      { type: 'object', properties: { s: { pattern: '^(a+)+$' } } },
      { s: `${'a'.repeat(60)}!` },
      ['s: must match pattern "^(a+)+$"'],
    ],
    ['a schema beyond the limits', { type: 'string', enum: ['x'.repeat(300_000)] }, 1, []],
    ['a schema that does not compile', { type: 'nonsense' }, 1, []],
  ])('knows %s', async (_name, schema, value, faults) => {
    expect(await faultsOf(schema, value)).toEqual(faults);
  });

  it('gives up where it takes too long, and lets the result pass', async () => {
    const events = watchWorkerJobs();
    const node = { $ref: '#/$defs/node' };
    const branch = (name: string) => ({ properties: { a: node }, required: [name] });
    const schema = { $defs: { node: { anyOf: [branch('b'), branch('c')] } }, type: 'object', properties: { a: node } };
    let deep: object = {};
    for (let depth = 0; depth < 40; depth += 1) deep = { a: deep };
    expect(await faultsOf(schema, { a: { a: {} } })).toContain('a.b: is required');
    expect(await faultsOf(schema, deep)).toEqual([]);
    expect(events.slice(2)).toMatchObject([
      { type: 'begun', caller: 'mcp:peer' },
      { type: 'failed', error: { name: 'TookTooLong' } },
    ]);
  });
});
