import type { SendOutbound } from '../../core/outbound.ts';
import type { OfferChange } from '../../core/tools/offer-changes.ts';
import { explainMcpFailure } from './explain-mcp-failure.ts';
import type { McpPeer } from './mcp-peer.ts';
import { createOpenConnection, type McpListing, type OpenConnection } from './open-connection.ts';
import { createTransports as createUsualTransports, type CreateTransports } from './transports/create-transports.ts';

/**
 * The way to one server, shared by all its calls: of all callers if it is registered, of one run if a request supplied it. It has one connection for new
 * requests at a time, and others only until what runs on them has ended.
 */
export interface McpConnection {
  /** The connection for the next request. */
  current(): OpenConnection;
  /**
   * Requests the tool list, over a new connection if the server does not know the session any more. A list that fails closes nothing while calls are
   * running. @throws what the SDK throws, and SessionLost
   */
  list(signal: AbortSignal): Promise<McpListing>;
  /** Whether the last list may be outdated: the server reported a change, or its process was restarted. */
  isListStale(): boolean;
  /** Has the next request open a new connection, if `failed` is the current one. Calls that run on `failed` end first. */
  replace(failed: OpenConnection): void;
  /** The last lines of its process's stderr, with credentials redacted; empty without a process. */
  errorLines(): string[];
  /** Closes the connection once nothing is running. */
  retire(): void;
  /** Tells the server that its session is over, then closes. Never rejects. */
  end(): Promise<void>;
  /** Never rejects. */
  close(): Promise<void>;
}

export interface McpConnectionOptions {
  send: SendOutbound;
  createTransports?: CreateTransports;
  version: string;
  /** Where the process of a server runs, by its id. */
  processFolder?: ((id: string) => string) | undefined;
  gatewayId?: string | undefined;
  /** The server reported that its tool list has changed. `gateways`: those that told it. */
  onListChanged: (gateways: readonly string[]) => void;
  /** The server reported that it has other resources or prompts. */
  onContentsChanged: (change: OfferChange) => void;
  /** The server's process exited unexpectedly; gets the last lines of its stderr. */
  onProcessEnded: (stderr: string[]) => void;
  /** The server exceeds the rate limit for notifications. */
  onNotificationsDropped: () => void;
}

export function createMcpConnection(peer: McpPeer, options: McpConnectionOptions): McpConnection {
  const { createTransports = createUsualTransports } = options;
  const open = new Set<OpenConnection>();
  let current: OpenConnection | undefined;
  let latest: OpenConnection | undefined;
  let firstTransport = 0;
  let isStale = false;
  let state: 'in use' | 'retiring' | 'closed' = 'in use';

  function create(): OpenConnection {
    const created = createOpenConnection(peer, {
      ...options,
      createTransports,
      firstTransport,
      mayStay: () => state === 'in use',
      onOpened: (transport) => (firstTransport = transport),
      onEnded({ isProcess }) {
        open.delete(created);
        if (current !== created) return;
        current = undefined;
        isStale = true;
        if (isProcess) options.onProcessEnded(created.errorLines());
      },
      onListChanged(gateways) {
        isStale = true;
        options.onListChanged(gateways);
      },
    });
    open.add(created);
    return created;
  }

  function useCurrent(): OpenConnection {
    if (current !== undefined) return current;
    current = create();
    latest = current;
    if (state === 'closed') void current.close();
    return current;
  }

  function replace(failed: OpenConnection): void {
    if (current !== failed) return;
    current = undefined;
    isStale = true;
    failed.retire();
  }

  async function listOver(used: OpenConnection, signal: AbortSignal): Promise<McpListing> {
    const wasStale = isStale;
    isStale = false;
    try {
      return await used.list(signal);
    } catch (error) {
      isStale ||= wasStale;
      throw error;
    }
  }

  return {
    current: useCurrent,
    async list(signal) {
      const used = useCurrent();
      const isOld = used.isOpen();
      try {
        return await listOver(used, signal);
      } catch (error) {
        const { kind, isSessionLost } = explainMcpFailure(error);
        const isLost = isOld && (isSessionLost === true || kind === 'never-sent' || kind === 'maybe-sent');
        if (isLost || !used.isBusy()) replace(used);
        if (!isLost || signal.aborted) throw error;
        return await listOver(useCurrent(), signal);
      }
    },
    isListStale: () => isStale,
    replace,
    errorLines: () => latest?.errorLines() ?? [],
    retire() {
      state = 'retiring';
      for (const connection of open) connection.retire();
    },
    async end() {
      state = 'closed';
      await Promise.all(Array.from(open, (connection) => connection.end()));
    },
    async close() {
      state = 'closed';
      await Promise.all(Array.from(open, (connection) => connection.close()));
    },
  };
}
