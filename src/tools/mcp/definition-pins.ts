import { createHash } from 'node:crypto';
import type { Tool as McpTool } from '@modelcontextprotocol/client';
import pLimit from 'p-limit';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { Registry, ToolServerRecord } from '../../core/registry.ts';
import { isJsonObject } from '../../shared/json.ts';

/** The parts of a definition that tell a model what a function is and does. */
const parts = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

/** Hashes of the parts that are there. */
export type DefinitionPrint = Partial<Record<(typeof parts)[number], string>>;

type Prints = ReadonlyMap<string, DefinitionPrint>;

/** By name, in what the definition differs from the pinned one. */
export type ChangedDefinitions = ReadonlyMap<string, string[]>;

/**
 * Remembers every function of a server as it was first seen, over restarts, because a server that was examined and found good may say something
 * else tomorrow. A server that moved to another address begins anew: an administrator has moved it.
 */
export interface DefinitionPins {
  /** Pins what is new and gives what has changed. */
  check(record: ToolServerRecord, prints: Prints): Promise<ChangedDefinitions>;
  /**
   * Pins changed definitions as they are now: `accepted` has the fingerprint of each that an administrator has seen.
   * @throws GatewayError `invalid_request` for a function that is not there, `conflict` when it has changed once more.
   */
  accept(record: ToolServerRecord, accepted: ReadonlyMap<string, string>, prints: Prints): Promise<void>;
}

export type FactStore = Pick<Registry, 'readFact' | 'writeFact'>;

export function createDefinitionPins({ readFact, writeFact }: FactStore): DefinitionPins {
  /** Two that read, change and write at once would lose a change. */
  const inTurn = pLimit(1);

  async function read(record: ToolServerRecord): Promise<Map<string, DefinitionPrint>> {
    const fact: unknown = JSON.parse((await readFact(factName(record))) ?? '{}');
    const { place, pins } = isJsonObject(fact) ? fact : {};
    return new Map(place === addressOf(record) && isJsonObject(pins) ? (Object.entries(pins) as [string, DefinitionPrint][]) : []);
  }

  const write = (record: ToolServerRecord, pins: Prints): Promise<void> =>
    writeFact(factName(record), JSON.stringify({ place: addressOf(record), pins: Object.fromEntries(pins) }));

  return {
    check: (record, prints) =>
      inTurn(async () => {
        const pins = await read(record);
        const added = [...prints].filter(([name]) => !pins.has(name));
        // What has gone stays remembered, or it could come back as something else.
        if (added.length > 0) await write(record, new Map([...pins, ...added].slice(-limits.mcpPins)));
        const changed = Array.from(prints, ([name, print]) => [name, changedParts(pins.get(name) ?? print, print)] as const);
        return new Map(changed.filter(([, changes]) => changes.length > 0));
      }),
    accept: (record, accepted, prints) =>
      inTurn(async () => {
        const pins = await read(record);
        for (const [name, fingerprint] of accepted) pins.set(name, requirePrint(record, prints, { name, fingerprint }));
        await write(record, pins);
      }),
  };
}

/** For a server that is only tried: nothing is remembered, and nothing counts as changed. */
export const noPins: DefinitionPins = { check: async () => new Map(), accept: async () => undefined };

/** What a definition is known by again, whatever the order of its keys. */
export function printOf(tool: McpTool): DefinitionPrint {
  return Object.fromEntries(parts.flatMap((part) => (tool[part] === undefined ? [] : [[part, digest(tool[part])]])));
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

function requirePrint(
  { id }: ToolServerRecord,
  prints: Prints,
  { name, fingerprint }: { name: string; fingerprint: string },
): DefinitionPrint {
  const print = prints.get(name);
  const shown = name.slice(0, 100);
  if (print === undefined)
    throw new GatewayError('invalid_request', `functions: the server "${id}" has no function "${shown}".`, { param: 'functions' });
  if (fingerprintOf(print) === fingerprint) return print;
  const message = `The definition of "${shown}" has changed once more. Read the report again, and accept the definition that it shows.`;
  throw new GatewayError('conflict', message);
}
