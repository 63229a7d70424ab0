import { isDeepStrictEqual } from 'node:util';
import { GatewayError } from '../../core/errors.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { RunContext } from '../../core/runs/run.ts';
import { isRejected } from '../definitions/opened-server.ts';
import type { Opening, OpeningAttempt } from '../definitions/opened-server.ts';
import { withOwnCredential } from '../credentials/own-credential-tool.ts';
import { asksForCredential, listsToPeopleAlone } from '../credentials/own-credentials.ts';
import type { OwnRecord, OwnToolServer } from '../credentials/own-credentials.ts';
import type { Refusal } from '../credentials/refresh-tokens.ts';
import { withRenewedToken } from '../credentials/renewed-token.ts';
import { configValue, whyWithheld } from '../definitions/server-rules.ts';
import type { McpFunction } from './convert-tools.ts';
import type { CreateTransports } from './transports/create-transports.ts';
import { createDefinitionPins } from './pins/definition-pins.ts';
import type { ChangedDefinitions } from './pins/definition-pins.ts';
import type { FactStore } from './pins/definition-texts.ts';
import { ownPeer, registeredPeer } from './mcp-peer.ts';
import type { McpPeer } from './mcp-peer.ts';
import type { createMcpSession, McpSession, McpSessionOptions } from './sessions/mcp-session.ts';
import { createOwnSessions } from './sessions/own-sessions.ts';
import type { OwnSessions } from './sessions/own-sessions.ts';
import { createRunSessions, openInTime } from './sessions/run-sessions.ts';

/** Keeps one session per registered MCP server, and one per run for each that a request supplies. */
export interface McpServers {
  /** Connects if needed, requests the tool list, and stays connected. Never rejects. */
  open(record: ToolServerRecord, options: OpeningAttempt): Promise<Opening>;
  /** The session of a server that was opened; undefined if its record has changed since, or it is no longer registered. */
  find(record: ToolServerRecord): McpSession | undefined;
  /**
   * The tools that a server lists for one person; `own`: its record with that person's key. The session is opened with that key and nobody else's. Never
   * rejects.
   */
  openOwn(own: OwnToolServer, callerId: string): Promise<Opening>;
  /** That session, for other requests of this person. */
  ownSession(own: OwnToolServer, callerId: string): Promise<McpSession>;
  /** Drops the session of a person whose credential was deleted or replaced. */
  forgetOwn(callerId: string, serverId: string): void;
  /** Drops all own sessions of a key and its people, or of one of them. */
  forgetAllOf: (ownerId: string) => void;
  /** Like `open`, but closes the connection again and remembers nothing. */
  verify(record: ToolServerRecord, options: OpeningAttempt): Promise<Opening>;
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
  /** Absent if no gateway is running, as in `doctor`. */
  gatewayId?: string | undefined;
  /** A server reported that its tool list has changed. */
  onListChanged: (record: ToolServerRecord) => void;
  /** A server's process exited unexpectedly; gets the last lines of its stderr. */
  onProcessEnded: (record: ToolServerRecord, stderr: string[]) => void;
  /** A server exceeds the rate limit for notifications. */
  onNotificationsDropped?: (record: ToolServerRecord) => void;
  /** Absent where functions are listed and never called, as in `doctor`. */
  ownRecord?: OwnRecord | undefined;
  /** Milliseconds of a monotonic clock. */
  now: () => number;
  /** Replaced by scripted peers in tests. */
  createTransports?: CreateTransports;
}

interface RegisteredSession {
  record: ToolServerRecord;
  session: McpSession;
}

export function createMcpServers(options: McpServersOptions): McpServers {
  const { facts, onListChanged, onProcessEnded, onNotificationsDropped, now, ownRecord = () => Promise.resolve(undefined) } = options;
  const sessions = new Map<string, RegisteredSession>();
  const sessionsOfRuns = createRunSessions();
  const pins = createDefinitionPins(facts);
  const closing = new AbortController();
  let isClosed = false;
  let own: OwnSessions | undefined;

  const silent = { onListChanged: () => undefined, onProcessEnded: () => undefined, onNotificationsDropped: () => undefined };
  const unchanged = async (): Promise<ChangedDefinitions> => new Map();

  /** Imports the session module lazily: the SDK takes a fifth of the startup time and 30 MB, and most gateways have no MCP server. */
  async function withSession(open: (createSession: typeof createMcpSession) => Promise<Opening>): Promise<Opening> {
    const { createMcpSession } = await import('./sessions/mcp-session.ts');
    return isClosed ? { type: 'unreachable', reason: 'The gateway is shutting down.', cause: 'failed' } : open(createMcpSession);
  }

  /** Calls use the session of the person who asks, whichever session has listed the tools. */
  function toOwnTool(record: ToolServerRecord): NonNullable<McpSessionOptions['toTool']> {
    return (tool, over) =>
      withOwnCredential(tool, record, {
        ownRecord,
        toolFor: async (ofCaller, { id }) => over((await ownSessions()).sessionOf(ofCaller, id)),
      });
  }

  async function ownSessions(): Promise<OwnSessions> {
    const { createMcpSession } = await import('./sessions/mcp-session.ts');
    closing.signal.throwIfAborted();
    own ??= createOwnSessions({
      signal: closing.signal,
      now,
      createSession(use, onOwnListChanged) {
        const { key: _key, signInId, ...record } = use.own;
        async function renewFor(refusal: Refusal): Promise<string | undefined> {
          const renewed = await ownRecord(record, { id: use.callerId }, refusal);
          if (renewed !== undefined) use.own = renewed;
          return renewed?.key;
        }
        return createMcpSession(
          ownPeer(() => use.own),
          {
            ...options,
            ...silent,
            ...(signInId !== undefined && { send: withRenewedToken(options.send, renewFor) }),
            onListChanged: onOwnListChanged,
            checkDefinitions: unchanged,
            whyWithheld: (fn) => whyNotOffered(fn, record),
            toTool: toOwnTool(record),
          },
        );
      },
    });
    return own;
  }

  return {
    open: (record, opening) =>
      withSession(async (createSession) => {
        const known = sessions.get(record.id);
        if (known !== undefined && isSame(known.record, record)) return orForPeople(record, await known.session.open(opening));
        known?.session.retire();
        const session = createSession(registeredPeer(record), {
          ...options,
          checkDefinitions: (listed) => pins.check(record, listed),
          whyWithheld: (fn) => whyNotOffered(fn, record),
          onListChanged: () => onListChanged(record),
          onProcessEnded: (stderr) => onProcessEnded(record, stderr),
          onNotificationsDropped: () => onNotificationsDropped?.(record),
          ...(asksForCredential(record) && { toTool: toOwnTool(record) }),
        });
        sessions.set(record.id, { record, session });
        return orForPeople(record, await session.open(opening));
      }),
    openOwn: (ofCaller, callerId) => withSession(async () => (await ownSessions()).list(ofCaller, callerId)),
    ownSession: async (ofCaller, callerId) => (await ownSessions()).sessionOf(ofCaller, callerId),
    forgetOwn: (callerId, serverId) => own?.forget(callerId, serverId),
    forgetAllOf: (ownerId) => own?.forgetAllOf(ownerId),
    find(record) {
      const known = sessions.get(record.id);
      return known !== undefined && isSame(known.record, record) ? known.session : undefined;
    },
    verify: (record, opening) =>
      withSession(async (createSession) => {
        const whyWithheld = (fn: McpFunction): string | undefined => whyNotOffered(fn, record);
        const session = createSession(registeredPeer(record), { ...options, ...silent, checkDefinitions: unchanged, whyWithheld });
        try {
          return orForPeople(record, await session.open(opening));
        } finally {
          await session.close();
        }
      }),
    openForRun: (peer, run) =>
      sessionsOfRuns.open(peer.id, run, (keep) =>
        withSession(async (createSession) => {
          const session = createSession(peer, { ...options, ...silent, checkDefinitions: unchanged, whyWithheld: () => undefined });
          keep(session);
          return openInTime(session, run.signal);
        }),
      ),
    async accept(record, functions) {
      const listed = sessions.get(record.id)?.session.definitions();
      if (listed === undefined || listed.size === 0)
        throw new GatewayError(
          'conflict',
          `The server "${record.id}" is not connected. Connect to it with POST /api/tool-servers/${record.id}/refresh, and accept the definitions that it reports.`,
        );
      await pins.accept(record, functions, listed);
    },
    keepOnly(records) {
      for (const [id, { record: known, session }] of sessions) {
        if (records.some((record) => record.isEnabled && isSame(record, known))) continue;
        sessions.delete(id);
        session.retire();
      }
      own?.keepOnly(new Set(records.flatMap(({ id, isEnabled }) => (isEnabled ? [id] : []))));
    },
    async close() {
      isClosed = true;
      closing.abort(new Error('The gateway is shutting down.'));
      await Promise.all([sessionsOfRuns.close(), own?.close(), ...Array.from(sessions.values(), ({ session }) => session.close())]);
      sessions.clear();
    },
  };
}

/** A server that refuses whoever has no credential, where each person has their own, is there for those who have given theirs. */
function orForPeople(record: ToolServerRecord, opening: Opening): Opening {
  const isForPeople = asksForCredential(record) && isRejected(opening);
  return isForPeople ? { type: 'unsupported', reason: listsToPeopleAlone(record), needsCredential: true } : opening;
}

/** A changed record counts as another server. */
function isSame(left: ToolServerRecord, right: ToolServerRecord): boolean {
  return left === right || isDeepStrictEqual(left, right);
}

/** `readOnlyHint` is the server's own claim; an administrator who sets `read_only` has to trust the server. */
function whyNotOffered({ operation, tool }: McpFunction, record: ToolServerRecord): string | undefined {
  const isReadOnly = tool.annotations?.readOnlyHint === true;
  if (configValue(record, 'read_only') === true && !isReadOnly)
    return 'read_only allows only tools that the server marks as read-only, and this one is not';
  return whyWithheld(isReadOnly ? { ...operation, method: 'GET' } : operation, record);
}
