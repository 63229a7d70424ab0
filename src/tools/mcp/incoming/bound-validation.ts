import { specTypeSchemas, type JSONRPCMessage } from '@modelcontextprotocol/client';
import { limits } from '../../../core/limits.ts';
import { hasMoreEntriesThan, isJsonObject } from '../../../shared/json/json.ts';
import { findMisfit } from './find-misfit.ts';

/**
 * Values of what an MCP server asks, and of one tool, resource, prompt or part of a result apart from its schemas: a form with two hundred fields. The
 * SDK describes a fault of each, which takes 10 ms for so many.
 */
export const mcpFormalValues = 1_000;

/** Fields that may hold anything, so that no schema of the SDK looks into them. */
const freeFields: ReadonlySet<string> = new Set(['_meta', 'inputSchema', 'outputSchema']);

/** Lists of a result whose entries are all valid or the result is not, with the schemas one of which an entry has to fit. */
const parts = {
  content: [specTypeSchemas.ContentBlock],
  contents: [specTypeSchemas.TextResourceContents, specTypeSchemas.BlobResourceContents],
  messages: [specTypeSchemas.PromptMessage],
};

/**
 * Leaves out what would take the SDK long to refuse: its schemas describe each of the thousands of faults that a message of a few megabytes can have.
 * What is passed on instead is refused for its first fault.
 */
export function boundValidation(message: JSONRPCMessage): JSONRPCMessage {
  if ('method' in message) {
    const isHeavy = 'id' in message && hasMoreEntriesThan(message.params, mcpFormalValues);
    return isHeavy ? { ...message, params: {} } : message;
  }
  if (!('result' in message)) return message;
  const result: Record<string, unknown> = message.result;
  const bounded = { ...result };
  for (const [key, schemas] of Object.entries(parts)) {
    const entries = result[key];
    if (Array.isArray(entries)) bounded[key] = upToMisfit(entries, schemas);
  }
  if (hasMoreEntriesThan(result['inputRequests'], mcpFormalValues)) bounded['inputRequests'] = { all: 'too many values' };
  return { ...message, result: bounded };
}

/** Whether an entry of a list has more values than any has, apart from its schemas. */
export function hasManyFormalValues(entry: unknown): boolean {
  return hasMoreEntriesThan(withoutFreeFields(entry), mcpFormalValues);
}

/** As many as are read of a result, and one more to tell that there are more; the last one is malformed if any is. */
function upToMisfit(entries: readonly unknown[], schemas: (typeof parts)[keyof typeof parts]): unknown[] {
  const bounded: unknown[] = [];
  for (const entry of entries.slice(0, limits.mcpContentBlocks + 1)) {
    if (hasManyFormalValues(entry)) return [...bounded, 'too many values'];
    bounded.push(entry);
    if (schemas.every((schema) => findMisfit(schema, entry) !== undefined)) break;
  }
  return bounded;
}

function withoutFreeFields(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  const fields = Object.entries(value).flatMap(([key, child]) => (freeFields.has(key) ? [] : [[key, withoutFreeFields(child)]]));
  return Object.fromEntries(fields);
}
