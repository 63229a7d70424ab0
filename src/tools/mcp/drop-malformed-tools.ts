import { isSpecType, specTypeSchemas } from '@modelcontextprotocol/client';
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonValue } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';

/** A tool of a list that is no tool by the protocol. */
export interface MalformedTool {
  name: string;
  reason: string;
}

/** Takes malformed tools out of what a server lists: the SDK refuses a whole list for the sake of one. */
export interface MalformedToolFilter {
  /** Every message that comes in. `isLegacy`: of the first era, whose output schemas are objects. */
  sift(message: JSONRPCMessage, isLegacy: boolean): JSONRPCMessage;
  /** Gathers what is taken out from now on, until `end`. */
  gather(): { found: readonly MalformedTool[]; end(): void };
}

export function createMalformedToolFilter(): MalformedToolFilter {
  const gathering = new Set<MalformedTool[]>();

  function note(tool: MalformedTool): void {
    for (const found of gathering) if (found.length < limits.mcpTools) found.push(tool);
  }

  return {
    sift(message, isLegacy) {
      if (gathering.size === 0 || !('result' in message)) return message;
      const { tools } = message.result as { tools?: unknown };
      if (!Array.isArray(tools)) return message;
      const kept = (tools as JsonValue[]).flatMap((tool, index) => {
        const problem = problemOf(tool);
        if (problem === undefined) return [isLegacy ? withoutOddOutput(tool) : tool];
        note({ name: nameOf(tool) ?? `number ${index + 1}`, reason: `its definition is not valid: ${problem}` });
        return [];
      });
      return { ...message, result: { ...message.result, tools: kept } };
    },
    gather() {
      const found: MalformedTool[] = [];
      gathering.add(found);
      return { found, end: () => void gathering.delete(found) };
    },
  };
}

function problemOf(tool: JsonValue): string | undefined {
  if (isSpecType.Tool(tool)) return undefined;
  const checked = specTypeSchemas.Tool['~standard'].validate(tool);
  if (checked instanceof Promise || checked.issues === undefined) return 'it is no tool';
  const [issue] = checked.issues;
  const path = (issue?.path ?? []).map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
  return `${path === '' ? '' : `${path}: `}${issue?.message ?? 'it is no tool'}`.slice(0, 300);
}

/** It only serves to check results, and is no reason to do without the tool. */
function withoutOddOutput(tool: JsonValue): JsonValue {
  if (!isJsonObject(tool)) return tool;
  const { outputSchema, ...rest } = tool;
  return outputSchema === undefined || isSpecType.Tool({ name: 'output', inputSchema: outputSchema }) ? tool : rest;
}

function nameOf(tool: JsonValue): string | undefined {
  const name = isJsonObject(tool) ? ownValue(tool, 'name') : undefined;
  return typeof name === 'string' ? name : undefined;
}
