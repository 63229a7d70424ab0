import { createHash } from 'node:crypto';
import type { Tool as McpTool } from '@modelcontextprotocol/client';
import pLimit from 'p-limit';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { Registry, ToolServerRecord } from '../../core/registry.ts';
import { isJsonObject } from '../../shared/json.ts';

/** The parts of a definition that shape what a model believes the tool does. */
const parts = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

/** A hash of each part that is present. */
export type DefinitionHashes = Partial<Record<(typeof parts)[number], string>>;

type HashesByName = ReadonlyMap<string, DefinitionHashes>;

/** By tool name: the parts that differ from the pinned definition. */
export type ChangedDefinitions = ReadonlyMap<string, string[]>;

/**
 * Remembers, across restarts, every tool of a server as it was first seen: a server that passed a review may change what its tools claim to do later.
 * A server at another address is pinned afresh, because only an administrator can change the address.
 */
export interface DefinitionPins {
  /** Pins new definitions and returns those that have changed. */
  check(record: ToolServerRecord, hashes: HashesByName): Promise<ChangedDefinitions>;
  /**
   * Accepts changed definitions. `accepted`: by tool name, the fingerprint that the administrator has seen.
   * @throws GatewayError `invalid_request` for an unknown tool, `conflict` if its definition has changed again
   */
  accept(record: ToolServerRecord, accepted: ReadonlyMap<string, string>, hashes: HashesByName): Promise<void>;
}

export type FactStore = Pick<Registry, 'readFact' | 'writeFact'>;

export function createDefinitionPins({ readFact, writeFact }: FactStore): DefinitionPins {
  /** Serializes updates: concurrent read-modify-write cycles would lose changes. */
  const oneAtATime = pLimit(1);

  async function read(record: ToolServerRecord): Promise<Map<string, DefinitionHashes>> {
    const fact: unknown = JSON.parse((await readFact(factName(record))) ?? '{}');
    const { place, pins } = isJsonObject(fact) ? fact : {};
    return new Map(place === addressOf(record) && isJsonObject(pins) ? (Object.entries(pins) as [string, DefinitionHashes][]) : []);
  }

  const write = (record: ToolServerRecord, pins: HashesByName): Promise<void> =>
    writeFact(factName(record), JSON.stringify({ place: addressOf(record), pins: Object.fromEntries(pins) }));

  return {
    check: (record, hashes) =>
      oneAtATime(async () => {
        const pins = await read(record);
        const added = [...hashes].filter(([name]) => !pins.has(name));
        // Removed tools stay pinned, or they could come back with another definition.
        if (added.length > 0) await write(record, new Map([...pins, ...added].slice(-limits.mcpPins)));
        const changed = Array.from(hashes, ([name, definition]) => [name, changedParts(pins.get(name) ?? definition, definition)] as const);
        return new Map(changed.filter(([, changes]) => changes.length > 0));
      }),
    accept: (record, accepted, hashes) =>
      oneAtATime(async () => {
        const pins = await read(record);
        for (const [name, fingerprint] of accepted) pins.set(name, requireHashes(record, hashes, { name, fingerprint }));
        await write(record, pins);
      }),
  };
}

/** The hashes of a definition's parts, independent of the order of keys. */
export function hashesOf(tool: McpTool): DefinitionHashes {
  return Object.fromEntries(parts.flatMap((part) => (tool[part] === undefined ? [] : [[part, digest(tool[part])]])));
}

/** One short hash of the whole definition, which an administrator names to accept it. */
export function fingerprintOf(definition: DefinitionHashes): string {
  return digest(definition).slice(0, 16);
}

/** The names of the parts in which two definitions differ. */
export function changedParts(before: DefinitionHashes, now: DefinitionHashes): string[] {
  return parts.filter((part) => before[part] !== now[part]);
}

function digest(value: unknown): string {
  const inKeyOrder = (_key: string, child: unknown): unknown =>
    isJsonObject(child) ? Object.fromEntries(Object.entries(child).toSorted(([left], [right]) => (left < right ? -1 : 1))) : child;
  return createHash('sha256')
    .update(JSON.stringify(value, inKeyOrder) ?? '')
    .digest('hex')
    .slice(0, 32);
}

function factName({ id }: ToolServerRecord): string {
  return `mcp definitions of ${id}`;
}

function addressOf({ url, process }: ToolServerRecord): string {
  return process === undefined ? url : JSON.stringify([process.command, ...process.args]);
}

function requireHashes(
  { id }: ToolServerRecord,
  hashes: HashesByName,
  { name, fingerprint }: { name: string; fingerprint: string },
): DefinitionHashes {
  const definition = hashes.get(name);
  const shown = name.slice(0, 100);
  if (definition === undefined)
    throw new GatewayError('invalid_request', `functions: the server "${id}" has no function "${shown}".`, { param: 'functions' });
  if (fingerprintOf(definition) === fingerprint) return definition;
  const message = `The definition of "${shown}" has changed again. Read the report again, and accept the definition that it shows.`;
  throw new GatewayError('conflict', message);
}
