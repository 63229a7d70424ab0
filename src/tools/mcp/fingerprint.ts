import { createHash } from 'node:crypto';
import type { Tool as McpTool } from '@modelcontextprotocol/client';

/** The parts of a definition that tell a model what a function is and does. */
const parts = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

/** Hashes of the parts that are there. */
export type DefinitionPrint = Partial<Record<(typeof parts)[number], string>>;

/** What a definition is known by again, whatever the order of its keys. */
export function printOf(tool: McpTool): DefinitionPrint {
  const entries = parts.flatMap((part) => (tool[part] === undefined ? [] : [[part, digest(tool[part])]]));
  return Object.fromEntries(entries) as DefinitionPrint;
}

/** The whole print in one word, for an administrator to name. */
export function fingerprintOf(print: DefinitionPrint): string {
  return digest(print).slice(0, 16);
}

/** Names of the parts in which two definitions differ. */
export function changedParts(before: DefinitionPrint, now: DefinitionPrint): string[] {
  return parts.filter((part) => before[part] !== now[part]);
}

function digest(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(value, (_key, child: unknown) => inKeyOrder(child)) ?? '')
    .digest('hex')
    .slice(0, 32);
}

function inKeyOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1)));
}
