import { limits } from '../../core/limits.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import type { Opening } from './open-registered-server.ts';
import type { RegisteredServers } from './registered-servers.ts';

/** How often the gateway looks for servers that are due; also the first pause after a failure. */
export const firstRetryMs = 10_000;
/** A server that is down for a day must not fill its network and the log of its proxy. */
export const longestRetryMs = 5 * 60_000;

/** The pause after so many failures in a row: doubled each time. */
export function retryDelayMs(failures: number): number {
  return Math.min(firstRetryMs * 2 ** Math.max(0, failures - 1), longestRetryMs);
}

/**
 * What happened to a server. `slow`: it is still being opened; `joined`: then it was. `renamed`: the id that was wanted is its `wantedId`. `held`: the functions that
 * wait for an administrator to accept their changed definition. `process_ended`: by itself; the next call starts it anew. `notifications_dropped`: it
 * sends more of them than are read.
 */
export type ServerNews =
  | { type: 'broken'; reason: string }
  | { type: 'slow' }
  | { type: 'joined' }
  | { type: 'mended' }
  | { type: 'renamed' }
  | { type: 'held'; functions: string[] }
  | { type: 'process_ended'; stderr: string[] }
  | { type: 'notifications_dropped' };

/** What was reported of a server last. */
interface Reported {
  record: ToolServerRecord;
  state: 'usable' | 'slow' | 'broken';
  held: string;
}

export interface ServerReconnectorOptions {
  servers: Pick<RegisteredServers, 'open' | 'renew' | 'stateOf' | 'isSlow' | 'failuresOf' | 'loadedAt'>;
  /** Every registered server. */
  listRecords: () => Promise<readonly ToolServerRecord[]>;
  /** The clock of `servers`. */
  now: () => number;
  signal: AbortSignal;
  /** Called once for each change. */
  onNews?: (record: ToolServerRecord, news: ServerNews) => void;
}

/**
 * Opens servers that were never opened, and failed ones after their pause, so that a chat finds them there; asks for the documents of opened ones
 * now and then, because an application that was updated has other functions. @throws nothing
 */
export function createServerReconnector({ servers, listRecords, now, signal, onNews = () => undefined }: ServerReconnectorOptions): {
  reconnectDue(): Promise<void>;
  start(): void;
  close(): void;
} {
  let timer: NodeJS.Timeout | undefined;
  /** By id. */
  const reported = new Map<string, Reported>();

  function isDue(record: ToolServerRecord): boolean {
    if (!record.isEnabled) return false;
    const state = servers.stateOf(record);
    if (state === undefined) return true;
    const failures = servers.failuresOf(record);
    if (failures !== undefined) return state.type !== 'unsupported' && now() - failures.endedAt >= retryDelayMs(failures.count);
    return state.type === 'opened' && now() - (servers.loadedAt(record) ?? 0) >= limits.documentRefreshMs;
  }

  function reportChanges(record: ToolServerRecord): void {
    const opening = servers.stateOf(record);
    if (!record.isEnabled || (opening === undefined && !servers.isSlow(record))) return;
    const before = reported.get(record.id);
    const known = before?.record === record ? before : undefined;
    const reason = opening && whyUseless(opening);
    const state = opening === undefined ? 'slow' : reason === undefined ? 'usable' : 'broken';
    const functions = opening?.type === 'opened' ? (opening.server.held ?? []).map(({ operation }) => operation.path) : [];
    const held = JSON.stringify(functions);
    reported.set(record.id, { record, state, held });
    if (known === undefined && record.wantedId !== undefined) onNews(record, { type: 'renamed' });
    if (state === 'slow' && known?.state !== 'slow') onNews(record, { type: 'slow' });
    if (reason !== undefined && known?.state !== 'broken') onNews(record, { type: 'broken', reason });
    if (state === 'usable' && known?.state === 'slow') onNews(record, { type: 'joined' });
    if (state === 'usable' && known?.state === 'broken') onNews(record, { type: 'mended' });
    if (functions.length > 0 && held !== known?.held) onNews(record, { type: 'held', functions });
  }

  async function reconnectDue(): Promise<void> {
    try {
      const records = await listRecords();
      const due = records.filter(isDue);
      // What is open stays in use while it is loaded anew.
      await Promise.all(due.map((record) => (servers.stateOf(record)?.type === 'opened' ? servers.renew : servers.open)(record, signal)));
      const ids = new Set(records.map(({ id }) => id));
      for (const id of reported.keys()) if (!ids.has(id)) reported.delete(id);
      for (const record of records) reportChanges(record);
    } catch {
      // The store cannot be read, or the gateway is closing: the next round tries again, if there is one.
    }
  }

  return {
    reconnectDue,
    start() {
      timer ??= setInterval(() => void reconnectDue(), firstRetryMs).unref();
    },
    close: () => clearInterval(timer),
  };
}

/** Undefined when it offers something. */
function whyUseless(state: Opening): string | undefined {
  if (state.type !== 'opened') return state.reason;
  return state.server.functions.length === 0 ? 'it gives no function; the report of the server says why' : undefined;
}
