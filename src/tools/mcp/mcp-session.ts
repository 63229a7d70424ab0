import type { Tool as McpTool } from '@modelcontextprotocol/client';
import type { ToolServerRecord } from '../../core/registry.ts';
import type { DefinitionPins, HeldDefinitions } from './definition-pins.ts';
import { changedParts, printOf } from './fingerprint.ts';
import type { DefinitionPrint } from './fingerprint.ts';
import type { McpConnection, McpListing } from './mcp-connection.ts';

/** A registered server as long as its record stays as it is: its connection, and what it said last. */
export interface McpSession {
  readonly record: ToolServerRecord;
  readonly connection: McpConnection;
  /** Asks for the list, and for what of it is held. */
  read(signal: AbortSignal): Promise<{ listing: McpListing; held: HeldDefinitions; prints: ReadonlyMap<string, DefinitionPrint> }>;
  /** Whether a definition that was offered is still the server's own; asks for the list first where it may be another one. */
  standingOf(definition: McpTool, signal: AbortSignal): Promise<'same' | 'changed'>;
  /** Of the list that was read last. */
  prints(): ReadonlyMap<string, DefinitionPrint>;
}

export function createMcpSession(record: ToolServerRecord, connection: McpConnection, pins: DefinitionPins): McpSession {
  let prints: ReadonlyMap<string, DefinitionPrint> = new Map();

  async function read(signal: AbortSignal): Promise<{ listing: McpListing; held: HeldDefinitions; prints: typeof prints }> {
    const listing = await connection.list(signal);
    prints = new Map(listing.tools.map((tool) => [tool.name, printOf(tool)]));
    return { listing, held: await pins.check(record, prints), prints };
  }

  return {
    record,
    connection,
    read,
    async standingOf(definition, signal) {
      if (connection.isListStale()) await read(signal);
      const now = prints.get(definition.name);
      return now === undefined || changedParts(printOf(definition), now).length === 0 ? 'same' : 'changed';
    },
    prints: () => prints,
  };
}
