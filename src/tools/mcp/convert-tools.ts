import type { Tool as McpTool } from '@modelcontextprotocol/client';
import { isDeeperThan, isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import { readChain, whyLooped } from '../../core/tools/gateway-chain.ts';
import { limits } from '../../core/limits.ts';
import { uniqueNames } from '../definitions/name-functions.ts';
import type { Conversion, Operation } from '../definitions/operation.ts';
import type { MalformedTool } from './incoming-messages.ts';
import { isForAppsOnly } from './passed-meta.ts';

/** Takes the place of the HTTP method in operations and reports; the tool's name is used as the path. */
const method = 'tools/call';

/** A tool of an MCP server as a function. */
export interface McpFunction {
  operation: Operation;
  tool: McpTool;
}

interface ConvertedTools {
  functions: McpFunction[];
  conversion: Conversion;
}

/**
 * Converts a server's tool list to functions. A tool that cannot be offered is omitted with the reason, and affects no other. `malformed`: entries
 * that are not valid tools. `gatewayId`: this gateway's own id, so that it does not offer its own functions again. `schemasBytes`: of all schemas.
 */
export function convertTools(
  listed: readonly McpTool[],
  { malformed, gatewayId, schemasBytes }: { malformed: readonly MalformedTool[]; gatewayId: string; schemasBytes: number },
): ConvertedTools {
  const seen = new Set<string>();
  const omitted: Conversion['omitted'] = malformed.map(({ name, reason }) => ({ operation: operationOf(name), reason }));
  const usable: McpTool[] = [];
  let bytesLeft = schemasBytes;
  for (const tool of listed) {
    const size = JSON.stringify(tool.inputSchema).length;
    const outgrown = size > bytesLeft ? `the schemas of a server may have ${schemasBytes} bytes together` : undefined;
    const reason = whyLooped(readChain(tool._meta) ?? [], gatewayId) ?? whyOmitted(tool, seen, usable.length) ?? outgrown;
    seen.add(tool.name);
    if (reason === undefined) {
      usable.push(tool);
      bytesLeft -= size;
    } else omitted.push({ operation: operationOf(tool.name), reason });
  }
  const named = uniqueNames(
    usable.map((tool) => ({ wanted: tool.name, key: tool.name, entry: tool })),
    new Set(),
  );
  const functions = named.map(({ name, entry }) => ({ operation: toOperation(entry, name), tool: entry }));
  const renamed = named.flatMap((entry) => entry.renamed ?? []);
  return {
    functions,
    conversion: {
      operations: functions.map(({ operation }) => operation),
      renamed,
      omitted: omitted.slice(0, limits.mcpTools),
      warnings: [],
    },
  };
}

function operationOf(name: string): string {
  return `${method} ${name.slice(0, 200)}`;
}

function whyOmitted(tool: McpTool, seen: ReadonlySet<string>, count: number): string | undefined {
  if (count >= limits.mcpTools) return `a server may have ${limits.mcpTools} functions`;
  if (seen.has(tool.name)) return 'the server lists this name twice';
  if (tool.name === '' || tool.name.length > limits.mcpNameCharacters) return `a name has 1 to ${limits.mcpNameCharacters} characters`;
  return isDeeperThan(tool.inputSchema, limits.jsonDepth) ? `its schema is nested more than ${limits.jsonDepth} levels deep` : undefined;
}

function toOperation(tool: McpTool, name: string): Operation {
  const description = (tool.description ?? tool.title ?? tool.annotations?.title ?? '').trim();
  return {
    operationId: tool.name,
    method,
    path: tool.name,
    spec: {
      name,
      description: truncateText(description, limits.mcpDescriptionCharacters),
      parameters: toParameters(tool.inputSchema as JsonObject),
    },
    bindings: [],
    body: undefined,
    ...(isForAppsOnly(tool._meta) && { isForApps: true }),
  };
}

/** The form that every provider accepts: an object with properties, and no `$schema`. */
function toParameters(schema: JsonObject): JsonObject {
  const { $schema: _dialect, properties, ...rest } = schema;
  return { ...rest, type: 'object', properties: isJsonObject(properties) ? properties : {} };
}

export function truncateText(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters - 1).toWellFormed()}…`;
}
