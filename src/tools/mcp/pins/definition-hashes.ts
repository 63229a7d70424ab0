import { createHash } from 'node:crypto';
import type { Tool as McpTool } from '@modelcontextprotocol/client';
import { isJsonObject } from '../../../shared/json/json.ts';
import { ExactNumber } from '../../../shared/json/exact-number.ts';

/** The parts of a definition that shape what a model believes the tool does. */
export const definitionParts = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

/** A hash of each part that is present. */
export type DefinitionHashes = Partial<Record<(typeof definitionParts)[number], string>>;

/** A tool as a server lists it now. */
export interface ListedDefinition {
  hashes: DefinitionHashes;
  tool: McpTool;
}

/** The hashes of a definition's parts, independent of the order of keys. */
export function hashesOf(tool: McpTool): DefinitionHashes {
  return Object.fromEntries(definitionParts.flatMap((part) => (tool[part] === undefined ? [] : [[part, digest(tool[part])]])));
}

/** One short hash of the whole definition, which an administrator names to accept it. */
export function fingerprintOf(definition: DefinitionHashes): string {
  return digest(definition).slice(0, 16);
}

/** One hash of everything that clients get of a server's tools. */
export function fingerprintOfOffer(tools: readonly { name: string; hashes: DefinitionHashes | undefined; meta: unknown }[]): string {
  return digest(tools.map(({ name, hashes, meta }) => [name, hashes, meta]));
}

/** With the nearest JavaScript numbers, as in the hashes that are stored. */
function inKeyOrder(value: unknown): unknown {
  if (value instanceof ExactNumber) return Number(value);
  if (Array.isArray(value)) return value.map(inKeyOrder);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, child]) => [key, inKeyOrder(child)]));
}

/** The names of the parts in which two definitions differ. */
export function changedParts(before: DefinitionHashes, now: DefinitionHashes): string[] {
  return definitionParts.filter((part) => before[part] !== now[part]);
}

function digest(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(inKeyOrder(value)) ?? '')
    .digest('hex')
    .slice(0, 32);
}
