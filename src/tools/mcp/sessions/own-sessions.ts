import { isDeepStrictEqual } from 'node:util';
import { isWithin, keyIdOf } from '../../../core/callers/people.ts';
import { FairMap } from '../../../shared/fairness/fair-map.ts';
import type { OwnToolServer, OwnUse } from '../../definitions/own-use.ts';
import { failureMemoryMs, type Opening } from '../../definitions/opened-server.ts';
import type { McpSession } from './mcp-session.ts';

/** Sessions with MCP servers that were opened with people's own credentials. Beyond it, the key with the most loses its least recently used one. */
export const ownMcpSessions = 500;
/** Such a session is closed when nobody has used it for this long: a pause in a conversation. */
export const ownMcpSessionIdleMs = 15 * 60 * 1000;

/** Sessions with registered servers, each opened with one person's own credential and used only for that person's calls. */
export interface OwnSessions {
  /** A changed record or another key makes another session, unless the key is a token of the same sign-in. */
  sessionOf(use: OwnUse): McpSession;
  /** Reads the tool list once, until the server says that it has changed. Never rejects. */
  list(use: OwnUse): Promise<Opening>;
  /** Drops the person's session with a server; running calls finish first. */
  forget(callerId: string, serverId: string): void;
  /** Drops all sessions of a key and its people, or of one of them. */
  forgetAllOf(ownerId: string): void;
  /** Drops the sessions with all other servers. */
  keepOnly(serverIds: ReadonlySet<string>): void;
  close(): Promise<void>;
}

interface OwnSessionsOptions {
  createSession: (use: OwnUse, onListChanged: () => void) => McpSession;
  signal: AbortSignal;
  /** Milliseconds of a monotonic clock. */
  now: () => number;
}

interface OwnSession {
  /** With the latest key of the sign-in. */
  use: OwnUse;
  session: McpSession;
  usedAt: number;
  opening?: Promise<Opening> | undefined;
  failedAt?: number | undefined;
}

export function createOwnSessions({ createSession, signal, now }: OwnSessionsOptions): OwnSessions {
  const sessions = new FairMap<OwnSession>({ entries: ownMcpSessions, characters: ownMcpSessions });
  let sweeping: NodeJS.Timeout | undefined;

  function drop(key: string): void {
    const known = sessions.get(key);
    sessions.delete(key);
    known?.session.retire();
  }

  function closeIdle(): void {
    for (const [key, { usedAt }] of sessions) if (now() - usedAt >= ownMcpSessionIdleMs) drop(key);
  }

  function sessionFor(given: OwnUse): OwnSession {
    const { callerId, own } = given;
    const key = keyOf(callerId, own.id);
    const known = sessions.use(key);
    if (known !== undefined && isSame(known.use.own, own)) {
      known.usedAt = now();
      if (known.use.own.key !== own.key) known.use.own = own;
      return known;
    }
    known?.session.retire();
    const use: OwnUse = { ...given };
    const entry: OwnSession = {
      use,
      usedAt: now(),
      session: createSession(use, () => {
        entry.opening = undefined;
      }),
    };
    for (const { session } of sessions.set(key, { owner: keyIdOf(callerId), value: entry, characters: 1 })) session.retire();
    sweeping ??= setInterval(closeIdle, ownMcpSessionIdleMs / 5).unref();
    return entry;
  }

  return {
    sessionOf: (use) => sessionFor(use).session,
    list(use) {
      const entry = sessionFor(use);
      if (entry.failedAt !== undefined && now() - entry.failedAt >= failureMemoryMs) entry.opening = undefined;
      entry.opening ??= entry.session.open({ signal, isChecked: false }).then((opening) => {
        entry.failedAt = opening.type === 'opened' ? undefined : now();
        return opening;
      });
      return entry.opening;
    },
    forget: (callerId, serverId) => drop(keyOf(callerId, serverId)),
    forgetAllOf(ownerId) {
      for (const [key, { use }] of Array.from(sessions)) if (isWithin(use.callerId, ownerId)) drop(key);
    },
    keepOnly(serverIds) {
      for (const [key, { use }] of sessions) if (!serverIds.has(use.own.id)) drop(key);
    },
    async close() {
      clearInterval(sweeping);
      const open = Array.from(sessions, ([, { session }]) => session);
      await Promise.all(open.map((session) => session.close()));
    },
  };
}

/** Tokens of one sign-in count as one key: the session continues with the new one. */
function isSame(left: OwnToolServer, right: OwnToolServer): boolean {
  const isOneSignIn = left.signInId !== undefined && left.signInId === right.signInId;
  return isDeepStrictEqual(left, isOneSignIn ? withKeyOf(right, left) : right);
}

function withKeyOf(record: OwnToolServer, { key }: OwnToolServer): OwnToolServer {
  return { ...record, ...(key !== undefined && { key }) };
}

function keyOf(callerId: string, serverId: string): string {
  return JSON.stringify([callerId, serverId]);
}
