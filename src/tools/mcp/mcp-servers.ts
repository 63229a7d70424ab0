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

/** The registered MCP servers and their connections. */
export interface McpServers {
  /** Connects where that is needed, asks for the tools, and stays connected. Never rejects. */
  open(record: ToolServerRecord, options: OpeningOptions): Promise<Opening>;
  /** The same for a connection that is only tried: it is closed again, and nothing is remembered. */
  verify(record: ToolServerRecord, options: OpeningOptions): Promise<Opening>;
  /**
   * Accepts changed definitions: by name, the fingerprint that the report shows.
   * @throws GatewayError `conflict`, `invalid_request`
   */
  accept(record: ToolServerRecord, functions: ReadonlyMap<string, string>): Promise<void>;
  /** Closes the connections of servers that are no longer registered and enabled as they were; what is under way there ends first. */
  keepOnly(records: readonly ToolServerRecord[]): void;
  close(): Promise<void>;
}

export interface McpServersOptions {
  send: SendOutbound;
  facts: FactStore;
  version: string;
  /** Absent where no gateway runs. */
  gatewayId?: string | undefined;
  /** A server says that its list has changed. */
  onListChanged: (record: ToolServerRecord) => void;
  /** The process of a server has ended by itself; the last lines of its stderr. */
  onProcessEnded: (record: ToolServerRecord, stderr: string[]) => void;
  /** A server sends more notifications than are read. */
  onNotificationsDropped?: (record: ToolServerRecord) => void;
  /** Tests put scripted peers here. */
  createTransports?: CreateTransports;
}

export function createMcpServers(options: McpServersOptions): McpServers {
  const { facts, gatewayId, onListChanged, onProcessEnded, onNotificationsDropped } = options;
  const send = gatewayId === undefined ? options.send : refuseItself(options.send, gatewayId);
  const sessions = new Map<string, McpSession>();
  const pins = createDefinitionPins(facts);
  let isClosed = false;

  /** Loaded with the first server: the protocol's packages take a fifth of the start and 30 MB, and most gateways have none. */
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
        // Nobody hears of a server that is only tried.
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
      const prints = sessions.get(record.id)?.prints();
      if (prints === undefined || prints.size === 0)
        throw new GatewayError(
          'conflict',
          `The server "${record.id}" is not connected. POST /api/tool-servers/${record.id}/refresh shows its functions.`,
        );
      await pins.accept(record, functions, prints);
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

/** A record that was changed is another server. */
function isSame(left: ToolServerRecord, right: ToolServerRecord): boolean {
  return left === right || isDeepStrictEqual(left, right);
}
