import { expect, it } from 'vitest';
import type { ListedTool } from '../../../src/core/tools/tool.ts';
import { createListedTexts } from '../../../src/http/listed-texts.ts';
import { toMcpTool } from '../../../src/http/mcp/mcp-result.ts';
import { listPage } from '../../../src/http/mcp/mcp-tool-pages.ts';
import type { ToolPage } from '../../../src/http/mcp/mcp-tool-pages.ts';

const toolOf = (name: string, characters: number): ListedTool => ({
  id: `cloud/${name}`,
  name,
  description: 'Does it.',
  parameters: { type: 'object', properties: {}, description: 'x'.repeat(characters) },
  server: 'cloud',
  kind: 'openapi',
  hints: { isReadOnly: false, isIdempotent: false, gateways: [] },
});

const texts = createListedTexts(['tools'], (tool) => ({ tools: JSON.stringify(toMcpTool(tool, 'me')) }));
const namesOf = ({ tools }: ToolPage): string[] =>
  (JSON.parse(`[${Buffer.from(tools).toString()}]`) as { name: string }[]).map(({ name }) => name);

it('a list of usual functions is one page', async () => {
  const page = await listPage([toolOf('a', 10), toolOf('b', 10)], { cursor: undefined, texts });
  expect(namesOf(page)).toEqual(['a', 'b']);
  expect(page).not.toHaveProperty('nextCursor');
});

it('a list of large functions comes in pages, each of which names the function that the next one begins after', async () => {
  const listed = ['a', 'b', 'c', 'd', 'e'].map((name) => toolOf(name, 900_000));
  const first = await listPage(listed, { cursor: undefined, texts });
  expect([namesOf(first), first.nextCursor]).toEqual([['a', 'b'], 'b']);
  const second = await listPage(listed, { cursor: first.nextCursor, texts });
  expect([namesOf(second), second.nextCursor]).toEqual([['c', 'd'], 'd']);
  const third = await listPage(listed, { cursor: second.nextCursor, texts });
  expect([namesOf(third), third.nextCursor]).toEqual([['e'], undefined]);
});

it('a cursor that names no function is refused', async () => {
  await expect(listPage([toolOf('a', 10)], { cursor: 'z', texts })).rejects.toThrow(/names no function/);
});
