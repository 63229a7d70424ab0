import { isDeepStrictEqual } from 'node:util';
import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import type { Opening, OpeningOptions } from '../servers/open-registered-server.ts';
import { convertTools } from './convert-tools.ts';
import type { ConvertedTools } from './convert-tools.ts';
import { createWays as createUsualWays } from './create-transports.ts';
import type { CreateWays } from './create-transports.ts';
import { createDefinitionPins, noPins } from './definition-pins.ts';
import type { FactStore } from './definition-pins.ts';
import { explainMcpFailure } from './explain-mcp-failure.ts';
import { maskOfEverythingSent } from '../servers/credentials-of.ts';
import { redactSecrets } from './redact-secrets.ts';
import { createMcpConnection } from './mcp-connection.ts';
import { createMcpSession } from './mcp-session.ts';
import type { McpSession } from './mcp-session.ts';
import { toOpenedServer } from './open-mcp-server.ts';
import { refuseItself } from './refuse-itself.ts';

/** The registered MCP servers and their connections. */
export interface McpServers {
  /** Connects where that is needed, asks for the tools, and stays connected. Never rejects. */
  open(record: ToolServerRecord, options: OpeningOptions): Promise<Opening>;
  /** The same for a connection that is only tried: it is closed again, and nothing is remembered. */
  verify(record: ToolServerRecord, options: OpeningOptions): Promise<Opening>;
  /**
   * Agrees to changed definitions: by name, the fingerprint that the report shows.
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
  /** Told when a server says that its list has changed. */
  onListChanged: (record: ToolServerRecord) => void;
  /** Told when the process of a server has ended by itself, with the last lines of its stderr. */
  onProcessEnded: (record: ToolServerRecord, stderr: string[]) => void;
  /** Told when a server sends more notifications than are read. */
  onNotificationsDropped?: (record: ToolServerRecord) => void;
  /** Tests put scripted peers here. */
  createWays?: CreateWays;
}

/** Of stderr; the reason stands in one line of the log. */
const linesInReason = 5;

export function createMcpServers(options: McpServersOptions): McpServers {
  const { facts, version, gatewayId, onListChanged, onProcessEnded, onNotificationsDropped, createWays = createUsualWays } = options;
  const send = gatewayId === undefined ? options.send : refuseItself(options.send, gatewayId);
  const sessions = new Map<string, McpSession>();
  const pins = createDefinitionPins(facts);

  /** A server that is only tried is not registered: of that nobody is told. */
  function createSession(record: ToolServerRecord, isRegistered: boolean): McpSession {
    const connection = createMcpConnection(record, {
      send,
      createWays,
      version,
      onListChanged: () => isRegistered && onListChanged(record),
      onProcessEnded: () => isRegistered && onProcessEnded(record, connection.errorLines()),
      onNotificationsDropped: () => isRegistered && onNotificationsDropped?.(record),
    });
    return createMcpSession(record, connection, isRegistered ? pins : noPins);
  }

  /** A record that was changed is another server. */
  function sessionOf(record: ToolServerRecord): McpSession {
    const known = sessions.get(record.id);
    if (known !== undefined && isSame(known.record, record)) return known;
    known?.connection.retire();
    const session = createSession(record, true);
    sessions.set(record.id, session);
    return session;
  }

  return {
    open: (record, asked) => openSession(sessionOf(record), asked, gatewayId),
    async verify(record, asked) {
      const session = createSession(record, false);
      try {
        return await openSession(session, asked, gatewayId);
      } finally {
        await session.connection.close();
      }
    },
    async accept(record, functions) {
      const session = sessions.get(record.id);
      if (session === undefined || session.prints().size === 0)
        throw new GatewayError(
          'conflict',
          `The server "${record.id}" is not connected. POST /api/tool-servers/${record.id}/refresh shows its functions.`,
        );
      await pins.accept(record, functions, session.prints());
    },
    keepOnly(records) {
      for (const [id, { record, connection }] of sessions) {
        const kept = records.find((entry) => entry.id === id && entry.isEnabled);
        if (kept !== undefined && isSame(kept, record)) continue;
        sessions.delete(id);
        connection.retire();
      }
    },
    async close() {
      const open = [...sessions.values()];
      sessions.clear();
      await Promise.all(open.map(({ connection }) => connection.close()));
    },
  };
}

function isSame(left: ToolServerRecord, right: ToolServerRecord): boolean {
  return left === right || isDeepStrictEqual(left, right);
}

async function openSession(session: McpSession, { signal, isChecked }: OpeningOptions, gatewayId = ''): Promise<Opening> {
  try {
    const { listing, held, prints } = await session.read(signal);
    const converted = withoutSecrets(convertTools(listing.tools, listing.malformed, gatewayId), session.record);
    return {
      type: 'opened',
      server: toOpenedServer(session, { converted, held, prints }, { about: aboutOf(listing, session.record), isChecked }),
    };
  } catch (error) {
    const reason = redactSecrets(explainMcpFailure(error).message, session.record).replace(/\.$/, '');
    // The next attempt begins with a new connection, whatever state this one is in.
    await session.connection.drop();
    const stderr = session.connection.errorLines().slice(-linesInReason);
    const said = stderr.length === 0 ? '' : `. On stderr it wrote: ${stderr.join(' | ')}`;
    return { type: 'unreachable', reason: `The MCP server does not answer as one: ${reason}${said}` };
  }
}

/** What a model reads of a function, without what the server was sent; names stay, because calls need them. */
function withoutSecrets({ functions, conversion }: ConvertedTools, record: ToolServerRecord): ConvertedTools {
  const mask = maskOfEverythingSent(record);
  const masked = functions.map(({ operation, tool }) => {
    const { description, parameters } = operation.spec;
    return { tool, operation: { ...operation, spec: { ...operation.spec, ...mask.value({ description, parameters }) } } };
  });
  return { functions: masked, conversion: { ...conversion, operations: masked.map(({ operation }) => operation) } };
}

function aboutOf(
  { info: given, protocolVersion }: { info: JsonObject | undefined; protocolVersion: string | undefined },
  record: ToolServerRecord,
): {
  info: JsonObject | undefined;
  version: string | undefined;
} {
  const info = given && maskOfEverythingSent(record).value(given);
  return { info: info && { ...info, title: info['title'] ?? info['name'] }, version: protocolVersion && `MCP ${protocolVersion}` };
}
