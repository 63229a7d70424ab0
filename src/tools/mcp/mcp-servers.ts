import { GatewayError } from '../../core/errors.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { OfferChange } from '../../core/tools/offer-changes.ts';
import { asksForCredential, listsToPeopleAlone } from '../credentials/own-credentials.ts';
import { withRenewedToken, withReportedKey } from '../credentials/renewed-token.ts';
import { isRejected, type Opening, type OpeningAttempt } from '../definitions/opened-server.ts';
import type { OwnUse, Refusal } from '../definitions/own-use.ts';
import { configValue, whyWithheld } from '../definitions/server-rules.ts';
import type { McpFunction } from './convert-tools.ts';
import { ownPeer, registeredPeer, type McpPeer } from './mcp-peer.ts';
import { createDefinitionPins, type ChangedDefinitions } from './pins/definition-pins.ts';
import type { FactStore } from './pins/definition-texts.ts';
import type { createMcpSession, McpSession, McpSessionOptions } from './sessions/mcp-session.ts';
import { createOwnSessions, type OwnSessions } from './sessions/own-sessions.ts';
import { createRegisteredSessions } from './sessions/registered-sessions.ts';
import { createRunSessions, openInTime } from './sessions/run-sessions.ts';
import type { CreateTransports } from './transports/create-transports.ts';

/** Sessions with MCP servers: one per registered server, one per run for each that a request supplies, and people's own. */
export interface McpServers {
  /** Connects if needed, requests the tool list, and stays connected. Never rejects. */
  open: (record: ToolServerRecord, attempt: OpeningAttempt) => Promise<Opening>;
  /** The session of a server that was opened; undefined if its record has changed since, or it is no longer registered. */
  find(record: ToolServerRecord): McpSession | undefined;
  /** The tools that a server lists for one person. The session is opened with that person's key and nobody else's. Never rejects. */
  openOwn(use: OwnUse): Promise<Opening>;
  /** That session, for other requests of this person. */
  ownSession(use: OwnUse): Promise<McpSession>;
  /** Drops the session of a person whose credential was deleted or replaced. */
  forgetOwn: (callerId: string, serverId: string) => void;
  /** Drops all own sessions of a key and its people, or of one of them. */
  forgetAllOf(ownerId: string): void;
  /** Like `open`, but closes the connection again and remembers nothing. */
  verify(record: ToolServerRecord, attempt: OpeningAttempt): Promise<Opening>;
  /** Connects unless this run has, and stays connected until it has ended. Never rejects. */
  openForRun(peer: McpPeer, run: RunContext): Promise<Opening>;
  /**
   * Accepts changed definitions. `functions`: by name, the fingerprint that the report shows.
   * @throws GatewayError `conflict`, `invalid_request`
   */
  accept(record: ToolServerRecord, functions: ReadonlyMap<string, string>): Promise<void>;
  /** Closes the connections of servers that are no longer registered and enabled with the same record; running calls finish first. */
  keepOnly(records: readonly ToolServerRecord[]): void;
  close(): Promise<void>;
}

interface McpServersOptions {
  send: SendOutbound;
  facts: FactStore;
  version: string;
  /** Where the processes of servers run, by their ids, each in a folder of its own. Absent: in the folder of the gateway. */
  processFolder?: ((id: string) => string) | undefined;
  /** Absent if no gateway is running, as in `doctor`. */
  gatewayId?: string | undefined;
  /** A server's process exited unexpectedly; gets the last lines of its stderr. */
  onProcessEnded?: (record: ToolServerRecord, stderr: string[]) => void;
  /** A server exceeds the rate limit for notifications. */
  onNotificationsDropped?: (record: ToolServerRecord) => void;
  /** Lists of people's own sessions, and resources and prompts of every server. */
  onOfferChanged?: ((change: OfferChange) => void) | undefined;
  /** Milliseconds of a monotonic clock. */
  now: () => number;
  /** Replaced by scripted peers in tests. */
  createTransports?: CreateTransports | undefined;
}

type CreateSession = typeof createMcpSession;

const ignore = (): void => undefined;

export function createMcpServers(options: McpServersOptions): McpServers {
  const registered = createRegisteredSessions();
  const ofRuns = createRunSessions();
  const pins = createDefinitionPins(options.facts);
  const closing = new AbortController();
  let own: OwnSessions | undefined;

  /** Imports the session module lazily: the SDK takes a fifth of the startup time and 30 MB, and most gateways have no MCP server. */
  async function withSession(open: (createSession: CreateSession) => Promise<Opening>): Promise<Opening> {
    const { createMcpSession } = await import('./sessions/mcp-session.ts');
    if (closing.signal.aborted) return { type: 'unreachable', reason: 'The gateway is shutting down.', cause: 'failed' };
    return open(createMcpSession);
  }

  async function ownSessions(): Promise<OwnSessions> {
    const { createMcpSession } = await import('./sessions/mcp-session.ts');
    closing.signal.throwIfAborted();
    own ??= createOwnSessions({
      signal: closing.signal,
      now: options.now,
      createSession: (use, onListChanged) =>
        createMcpSession(
          ownPeer(() => use.own),
          ownOptions(use, onListChanged),
        ),
    });
    return own;
  }
  const ownSession = async (use: OwnUse): Promise<McpSession> => (await ownSessions()).sessionOf(use);

  function sessionOptions(rest: Partial<McpSessionOptions> = {}): McpSessionOptions {
    const { send, version, gatewayId, createTransports, processFolder } = options;
    return {
      send,
      version,
      gatewayId,
      processFolder,
      ...(createTransports && { createTransports }),
      onListChanged: ignore,
      onContentsChanged: ignore,
      onProcessEnded: ignore,
      onNotificationsDropped: ignore,
      checkDefinitions: async (): Promise<ChangedDefinitions> => new Map(),
      whyWithheld: () => undefined,
      ownSessionOf: ownSession,
      ...rest,
    };
  }

  function ownOptions(use: OwnUse, onListChanged: () => void): McpSessionOptions {
    const record = use.own;
    async function renewKey(refusal: Refusal): Promise<string | undefined> {
      const renewed = await use.renew(refusal);
      if (renewed !== undefined) use.own = renewed;
      return renewed?.key;
    }
    const isSignedIn = record.signInId !== undefined;
    const reportKey = (): Promise<unknown> => use.renew({ key: use.own.key ?? '' });
    return sessionOptions({
      onListChanged(gateways) {
        onListChanged();
        options.onOfferChanged?.({ lists: ['tools'], ownerId: use.callerId, gateways });
      },
      onContentsChanged: (change) => options.onOfferChanged?.({ ...change, ownerId: use.callerId }),
      whyWithheld: (fn) => whyNotOffered(fn, record),
      send: isSignedIn ? withRenewedToken(options.send, renewKey) : withReportedKey(options.send, reportKey),
    });
  }

  return {
    open: (record, attempt) =>
      withSession(async (createSession) => {
        const create = (peer: McpPeer): McpSession =>
          createSession(
            peer,
            sessionOptions({
              checkDefinitions: (listed) => pins.check(record, listed),
              whyWithheld: (fn) => whyNotOffered(fn, record),
              onListChanged: attempt.onListChanged ?? ignore,
              onContentsChanged: (change) => options.onOfferChanged?.(change),
              onProcessEnded: (stderr) => options.onProcessEnded?.(record, stderr),
              onNotificationsDropped: () => options.onNotificationsDropped?.(record),
            }),
          );
        return orForPeople(record, await registered.sessionOf(record, create).open(attempt));
      }),
    find: registered.find,
    openOwn: (use) => withSession(async () => (await ownSessions()).list(use)),
    ownSession,
    forgetOwn: (callerId, serverId) => own?.forget(callerId, serverId),
    forgetAllOf: (ownerId) => own?.forgetAllOf(ownerId),
    verify: (record, attempt) =>
      withSession(async (createSession) => {
        const session = createSession(registeredPeer(record), sessionOptions({ whyWithheld: (fn) => whyNotOffered(fn, record) }));
        try {
          return orForPeople(record, await session.open(attempt));
        } finally {
          await session.close();
        }
      }),
    openForRun: (peer, run) =>
      ofRuns.open(peer.id, run, (keep) =>
        withSession(async (createSession) => {
          const session = createSession(peer, sessionOptions());
          keep(session);
          return openInTime(session, run.signal);
        }),
      ),
    async accept(record, functions) {
      const listed = registered.find(record)?.definitions();
      if (listed === undefined || listed.size === 0) throw notConnected(record);
      await pins.accept(record, functions, listed);
    },
    keepOnly(records) {
      registered.keepOnly(records);
      own?.keepOnly(new Set(records.flatMap(({ id, isEnabled }) => (isEnabled ? [id] : []))));
    },
    async close() {
      closing.abort(new Error('The gateway is shutting down.'));
      await Promise.all([ofRuns.close(), own?.close(), registered.close()]);
    },
  };
}

function notConnected({ id }: ToolServerRecord): GatewayError {
  return new GatewayError(
    'conflict',
    `The server "${id}" is not connected. Connect to it with POST /api/tool-servers/${id}/refresh, and accept the definitions that it reports.`,
  );
}

/** A server that rejects callers without a credential, where each person has their own, is usable for people who have given theirs. */
function orForPeople(record: ToolServerRecord, opening: Opening): Opening {
  const isForPeople = asksForCredential(record) && isRejected(opening);
  return isForPeople ? { type: 'unsupported', reason: listsToPeopleAlone(record), needsCredential: true } : opening;
}

/** `readOnlyHint` is the server's own claim; an administrator who sets `read_only` has to trust the server. */
function whyNotOffered({ operation, tool }: McpFunction, record: ToolServerRecord): string | undefined {
  const isReadOnly = tool.annotations?.readOnlyHint === true;
  if (configValue(record, 'read_only') === true && !isReadOnly)
    return 'read_only allows only tools that the server marks as read-only, and this one is not';
  return whyWithheld(isReadOnly ? { ...operation, method: 'GET' } : operation, record);
}
