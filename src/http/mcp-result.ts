import type { CallToolResult, ContentBlock, Tool as McpTool } from '@modelcontextprotocol/server';
import { isJsonObject } from '../core/json.ts';
import type { ListedTool, ToolFile, ToolOutcome } from '../core/tool.ts';

/** A function as MCP clients list it. */
export function toMcpTool({ name, description, parameters }: ListedTool): McpTool {
  // The schema of a function has an object at its root (`ToolSpec`).
  return { name, description, inputSchema: { ...parameters, type: 'object' } };
}

/** A failing call is a result that says so, for the client's model to read (specification, server/tools, error handling). */
export function toMcpResult(outcome: ToolOutcome): CallToolResult {
  if (outcome.type === 'error') return { isError: true, content: [{ type: 'text', text: `${outcome.code}: ${outcome.message}` }] };
  const { value, files = [] } = outcome;
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return { content: [{ type: 'text', text }, ...files.map(toBlock)], ...(isJsonObject(value) && { structuredContent: value }) };
}

function toBlock({ type, url, name = 'file' }: ToolFile): ContentBlock {
  const data = url.slice(url.indexOf(',') + 1);
  if (type.startsWith('image/')) return { type: 'image', data, mimeType: type };
  if (type.startsWith('audio/')) return { type: 'audio', data, mimeType: type };
  return { type: 'resource', resource: { uri: `file:///${encodeURIComponent(name)}`, mimeType: type, blob: data } };
}
