import { isDeepStrictEqual } from 'node:util';
import type { ToolServerRecord } from '../../../core/stores/registry.ts';
import { registeredPeer, type McpPeer } from '../mcp-peer.ts';
import type { McpSession } from './mcp-session.ts';

/** One session per registered server. */
interface RegisteredSessions {
  /** The session of this record; `create` makes it at the first call, and after the record has changed. */
  sessionOf(record: ToolServerRecord, create: (peer: McpPeer) => McpSession): McpSession;
  /** Undefined if there is none, or its record has changed since. */
  find: (record: ToolServerRecord) => McpSession | undefined;
  /** Closes the sessions of servers that are no longer registered and enabled with the same record; running calls finish first. */
  keepOnly(records: readonly ToolServerRecord[]): void;
  close(): Promise<void>;
}

export function createRegisteredSessions(): RegisteredSessions {
  const sessions = new Map<string, { record: ToolServerRecord; session: McpSession }>();

  function find(record: ToolServerRecord): McpSession | undefined {
    const known = sessions.get(record.id);
    return known !== undefined && isSame(known.record, record) ? known.session : undefined;
  }

  return {
    find,
    sessionOf(record, create) {
      const known = find(record);
      if (known !== undefined) return known;
      sessions.get(record.id)?.session.retire();
      const session = create(registeredPeer(record));
      sessions.set(record.id, { record, session });
      return session;
    },
    keepOnly(records) {
      for (const [id, { record: known, session }] of sessions) {
        if (records.some((record) => record.isEnabled && isSame(record, known))) continue;
        sessions.delete(id);
        session.retire();
      }
    },
    async close() {
      await Promise.all(Array.from(sessions.values(), ({ session }) => session.close()));
      sessions.clear();
    },
  };
}

/** A changed record counts as another server. */
function isSame(left: ToolServerRecord, right: ToolServerRecord): boolean {
  return left === right || isDeepStrictEqual(left, right);
}
