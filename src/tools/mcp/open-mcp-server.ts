import type { JsonObject } from '../../shared/json.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import type { OpenedServer } from '../servers/open-registered-server.ts';
import { configValue, whyWithheld } from '../servers/server-rules.ts';
import type { Operation } from '../openapi/operation.ts';
import type { ConvertedTools, McpFunction } from './convert-tools.ts';
import type { HeldDefinitions } from './definition-pins.ts';
import { fingerprintOf } from './fingerprint.ts';
import type { DefinitionPrint } from './fingerprint.ts';
import type { McpSession } from './mcp-session.ts';
import { createMcpTool } from './mcp-tool.ts';

export interface ReadTools {
  converted: ConvertedTools;
  held: HeldDefinitions;
  prints: ReadonlyMap<string, DefinitionPrint>;
}

export interface McpFacts {
  about: { info: JsonObject | undefined; version: string | undefined };
  isChecked: boolean;
}

/** What a connected server offers, in the words of every registered server. */
export function toOpenedServer(session: McpSession, { converted, held, prints }: ReadTools, { about, isChecked }: McpFacts): OpenedServer {
  const { record } = session;
  const byOperation = new Map(converted.functions.map((fn) => [fn.operation, fn]));
  const judged = converted.functions.map((fn) => ({ fn, reason: whyNotOffered(fn, record), changed: held.get(fn.tool.name) }));
  const heldFunctions = judged.filter(({ reason, changed }) => reason === undefined && changed !== undefined);
  return {
    functions: judged.flatMap(({ fn, reason, changed }) => (reason === undefined && changed === undefined ? [fn.operation] : [])),
    withheld: judged.flatMap(({ fn, reason }) => (reason === undefined ? [] : [{ operation: operationName(fn.operation), reason }])),
    held: heldFunctions.map(({ fn, changed = [] }) => ({
      operation: fn.operation,
      changed,
      fingerprint: fingerprintOf(prints.get(fn.tool.name) ?? {}),
    })),
    conversion: converted.conversion,
    about: { ...about, remarks: [] },
    loaded: undefined,
    stderr: () => session.connection.errorLines(),
    isChecked,
    createTool: (operation, offeredName) => createMcpTool({ record, session, fn: requireFunction(byOperation, operation), offeredName }),
  };
}

/** Whether a function only reads is the server's own word, for which the administrator who wants it has to trust the server. */
function whyNotOffered({ operation, tool }: McpFunction, record: ToolServerRecord): string | undefined {
  if (configValue(record, 'read_only') === true && tool.annotations?.readOnlyHint !== true)
    return 'read_only lets through what the server calls read-only, and this is not';
  return whyWithheld(tool.annotations?.readOnlyHint === true ? { ...operation, method: 'GET' } : operation, record);
}

function requireFunction(functions: ReadonlyMap<Operation, McpFunction>, operation: Operation): McpFunction {
  const found = functions.get(operation);
  if (found === undefined) throw new Error(`${operation.path} is of another list`);
  return found;
}

function operationName({ method, path }: Operation): string {
  return `${method} ${path}`;
}
