import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../core/limits.ts';
import { keyIdOf } from '../../core/people.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import { FairMap } from '../../shared/fair-map.ts';
import type { Opening } from '../servers/open-registered-server.ts';
import { failureMemoryMs } from '../servers/registered-servers.ts';
import type { McpSession } from './mcp-session.ts';

/** Sessions with registered servers, each opened with one person's own credential and used for that person's calls alone. */
export interface OwnSessions {
  /** `own`: the record with the person's key. With another key, or a changed record, it is another session. */
  sessionOf(own: ToolServerRecord, callerId: string): McpSession;
  /** Reads the tool list once, until the server says that it has changed. Never rejects. */
  list(own: ToolServerRecord, callerId: string): Promise<Opening>;
  /** Drops the person's session with a server; running calls finish first. */
  forget(callerId: string, serverId: string): void;
  /** Drops the sessions with all other servers. */
  keepOnly(serverIds: ReadonlySet<string>): void;
  close(): Promise<void>;
}

export interface OwnSessionsOptions {
  createSession: (own: ToolServerRecord, onListChanged: () => void) => McpSession;
  signal: AbortSignal;
  /** Milliseconds of a monotonic clock. */
  now: () => number;
}

interface OwnSession {
  own: ToolServerRecord;
  session: McpSession;
  usedAt: number;
  opening?: Promise<Opening> | undefined;
  failedAt?: number | undefined;
}

export function createOwnSessions({ createSession, signal, now }: OwnSessionsOptions): OwnSessions {
  const sessions = new FairMap<OwnSession>({ entries: limits.ownMcpSessions, characters: limits.ownMcpSessions });
  let sweeping: NodeJS.Timeout | undefined;

  function drop(key: string): void {
    const known = sessions.get(key);
    sessions.delete(key);
    known?.session.retire();
  }

  function closeIdle(): void {
    for (const [key, { usedAt }] of sessions) if (now() - usedAt >= limits.ownMcpSessionIdleMs) drop(key);
  }

  function entryFor(own: ToolServerRecord, callerId: string): OwnSession {
    const key = keyOf(callerId, own.id);
    const known = sessions.use(key);
    if (known !== undefined && isDeepStrictEqual(known.own, own)) {
      known.usedAt = now();
      return known;
    }
    known?.session.retire();
    const entry: OwnSession = {
      own,
      usedAt: now(),
      session: createSession(own, () => {
        entry.opening = undefined;
      }),
    };
    for (const { session } of sessions.set(key, { owner: keyIdOf(callerId), value: entry, characters: 1 })) session.retire();
    sweeping ??= setInterval(closeIdle, limits.ownMcpSessionIdleMs / 5).unref();
    return entry;
  }

  return {
    sessionOf: (own, callerId) => entryFor(own, callerId).session,
    list(own, callerId) {
      const entry = entryFor(own, callerId);
      if (entry.failedAt !== undefined && now() - entry.failedAt >= failureMemoryMs) entry.opening = undefined;
      entry.opening ??= entry.session.open({ signal, isChecked: false }).then((opening) => {
        entry.failedAt = opening.type === 'opened' ? undefined : now();
        return opening;
      });
      return entry.opening;
    },
    forget: (callerId, serverId) => drop(keyOf(callerId, serverId)),
    keepOnly(serverIds) {
      for (const [key, { own }] of sessions) if (!serverIds.has(own.id)) drop(key);
    },
    async close() {
      clearInterval(sweeping);
      const open = Array.from(sessions, ([, { session }]) => session);
      await Promise.all(open.map((session) => session.close()));
    },
  };
}

function keyOf(callerId: string, serverId: string): string {
  return JSON.stringify([callerId, serverId]);
}
