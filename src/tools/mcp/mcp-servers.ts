import { isDeepStrictEqual } from 'node:util';
import { GatewayError } from '../../core/errors.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import type { Opening, OpeningOptions } from '../servers/open-registered-server.ts';
import type { CreateTransports } from './create-transports.ts';
import { createDefinitionPins, noPins } from './definition-pins.ts';
import type { FactStore } from './definition-pins.ts';
import type { McpSession } from './mcp-session.ts';
import { refuseItself } from './outbound-fetch.ts';

/** Keeps one session per registered MCP server. */
export interface McpServers {
  /** Connects if needed, requests the tool list, and stays connected. Never rejects. */
  open(record: ToolServerRecord, options: OpeningOptions): Promise<Opening>;
  /** Like `open`, but closes the connection again and remembers nothing. */
  verify(record: ToolServerRecord, options: OpeningOptions): Promise<Opening>;
  /**
   * Accepts changed definitions. `functions`: by name, the fingerprint that the report shows.
   * @throws GatewayError `conflict`, `invalid_request`
   */
  accept(record: ToolServerRecord, functions: ReadonlyMap<string, string>): Promise<void>;
  /** Closes the connections of servers that are no longer registered and enabled with the same record; running calls finish first. */
  keepOnly(records: readonly ToolServerRecord[]): void;
  close(): Promise<void>;
}

export interface McpServersOptions {
  send: SendOutbound;
  facts: FactStore;
  version: string;
  /** Absent if no gateway is running, as in `doctor`. */
  gatewayId?: string | undefined;
  /** A server reported that its tool list has changed. */
  onListChanged: (record: ToolServerRecord) => void;
  /** A server's process exited unexpectedly; gets the last lines of its stderr. */
  onProcessEnded: (record: ToolServerRecord, stderr: string[]) => void;
  /** A server exceeds the rate limit for notifications. */
  onNotificationsDropped?: (record: ToolServerRecord) => void;
  /** Replaced by scripted peers in tests. */
  createTransports?: CreateTransports;
}

export function createMcpServers(options: McpServersOptions): McpServers {
  const { facts, gatewayId, onListChanged, onProcessEnded, onNotificationsDropped } = options;
  const send = gatewayId === undefined ? options.send : refuseItself(options.send, gatewayId);
  const sessions = new Map<string, McpSession>();
  const pins = createDefinitionPins(facts);
  let isClosed = false;

  /** Imports the session module lazily: the SDK takes a fifth of the startup time and 30 MB, and most gateways have no MCP server. */
  async function withSession(
    record: ToolServerRecord,
    open: (createSession: (isRegistered: boolean) => McpSession) => Promise<Opening>,
  ): Promise<Opening> {
    const { createMcpSession } = await import('./mcp-session.ts');
    const createSession = (isRegistered: boolean): McpSession =>
      createMcpSession(record, {
        ...options,
        send,
        pins: isRegistered ? pins : noPins,
        // Events of a server that is only verified are not reported.
        onListChanged: () => isRegistered && onListChanged(record),
        onProcessEnded: (stderr) => isRegistered && onProcessEnded(record, stderr),
        onNotificationsDropped: () => isRegistered && onNotificationsDropped?.(record),
      });
    return isClosed ? { type: 'unreachable', reason: 'The gateway is shutting down.' } : open(createSession);
  }

  return {
    open: (record, opening) =>
      withSession(record, (createSession) => {
        const known = sessions.get(record.id);
        if (known !== undefined && isSame(known.record, record)) return known.open(opening);
        known?.retire();
        const session = createSession(true);
        sessions.set(record.id, session);
        return session.open(opening);
      }),
    verify: (record, opening) =>
      withSession(record, async (createSession) => {
        const session = createSession(false);
        try {
          return await session.open(opening);
        } finally {
          await session.close();
        }
      }),
    async accept(record, functions) {
      const hashes = sessions.get(record.id)?.hashes();
      if (hashes === undefined || hashes.size === 0)
        throw new GatewayError(
          'conflict',
          `The server "${record.id}" is not connected. Connect to it with POST /api/tool-servers/${record.id}/refresh, and accept the definitions that it reports.`,
        );
      await pins.accept(record, functions, hashes);
    },
    keepOnly(records) {
      for (const [id, session] of sessions) {
        if (records.some((record) => record.isEnabled && isSame(record, session.record))) continue;
        sessions.delete(id);
        session.retire();
      }
    },
    async close() {
      isClosed = true;
      await Promise.all(Array.from(sessions.values(), (session) => session.close()));
      sessions.clear();
    },
  };
}

/** A changed record counts as another server. */
function isSame(left: ToolServerRecord, right: ToolServerRecord): boolean {
  return left === right || isDeepStrictEqual(left, right);
}
