import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';
import type { Opening } from '../definitions/opened-server.ts';
import type { RegisteredServers } from './registered-servers.ts';

/** How often an opened server's document is checked for changes. Most servers answer with a 304, which costs nothing. */
export const documentRefreshMs = 10 * 60 * 1000;

/** How often the gateway checks for servers that are due; also the first delay after a failure. */
export const firstRetryMs = 10_000;
/** Caps the delay. Long enough that a server which is down for a day does not flood its network and its proxy's log. */
export const maxRetryMs = 5 * 60_000;

/** The delay after this many failures in a row; it doubles each time. */
export function retryDelayMs(failures: number): number {
  return Math.min(firstRetryMs * 2 ** Math.max(0, failures - 1), maxRetryMs);
}

/**
 * What happened to a server. `slow`: it is still being opened; `opened`: a slow one has been opened. `recovered`: a broken one is usable again.
 * `renamed`: its id is not the requested one (`wantedId`). `functions_held`: those that an administrator has to accept because their definition has
 * changed. `process_ended`: unexpectedly; the next call restarts it. `notifications_dropped`: it exceeds the rate limit.
 */
export type ServerNews =
  | { type: 'broken'; reason: string }
  | { type: 'slow' }
  | { type: 'opened' }
  | { type: 'recovered' }
  | { type: 'renamed' }
  | { type: 'functions_held'; functions: string[] }
  | { type: 'process_ended'; stderr: string[] }
  | { type: 'notifications_dropped' };

/** The last reported state of a server. */
interface Reported {
  record: ToolServerRecord;
  state: 'usable' | 'slow' | 'broken';
  held: string;
}

interface ServerReconnectorOptions {
  servers: Pick<RegisteredServers, 'open' | 'renew' | 'stateOf' | 'suspectsAmong' | 'isSlow' | 'failuresOf' | 'loadedAt'>;
  /** Every registered server. */
  listRecords: () => MaybePromise<readonly ToolServerRecord[]>;
  /** The clock of `servers`. */
  now: () => number;
  /** Called once per change. */
  onNews?: ((record: ToolServerRecord, news: ServerNews) => void) | undefined;
}

/**
 * Opens servers that were never opened, and failed ones after their delay, so that chats find them ready. Also checks the documents of opened servers
 * regularly, because an updated application has other functions. @throws nothing
 */
export function createServerReconnector({ servers, listRecords, now, onNews = () => undefined }: ServerReconnectorOptions): {
  reconnectDue(): Promise<void>;
  /** Opens what is due now, and then regularly. */
  start: () => void;
  close(): void;
} {
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  /** By id. */
  const reported = new Map<string, Reported>();

  function isDue(record: ToolServerRecord): boolean {
    if (!record.isEnabled) return false;
    const state = servers.stateOf(record);
    if (state === undefined) return true;
    const failures = servers.failuresOf(record);
    if (failures !== undefined) return state.type !== 'unsupported' && now() - failures.endedAt >= retryDelayMs(failures.count);
    return state.type === 'opened' && now() - (servers.loadedAt(record) ?? 0) >= documentRefreshMs;
  }

  function reportChanges(record: ToolServerRecord): void {
    const opening = servers.stateOf(record);
    if (!record.isEnabled || (opening === undefined && !servers.isSlow(record))) return;
    const before = reported.get(record.id);
    const known = before?.record === record ? before : undefined;
    const reason = opening && whyUnusable(opening);
    const state = opening === undefined ? 'slow' : reason === undefined ? 'usable' : 'broken';
    const functions = opening?.type === 'opened' ? (opening.server.held ?? []).map(({ operation }) => operation.path) : [];
    const held = JSON.stringify(functions);
    reported.set(record.id, { record, state, held });
    if (known === undefined && record.wantedId !== undefined) onNews(record, { type: 'renamed' });
    if (state === 'slow' && known?.state !== 'slow') onNews(record, { type: 'slow' });
    if (reason !== undefined && known?.state !== 'broken') onNews(record, { type: 'broken', reason });
    if (state === 'usable' && known?.state === 'slow') onNews(record, { type: 'opened' });
    if (state === 'usable' && known?.state === 'broken') onNews(record, { type: 'recovered' });
    if (functions.length > 0 && held !== known?.held) onNews(record, { type: 'functions_held', functions });
  }

  async function reconnectDue(): Promise<void> {
    try {
      const records = await listRecords();
      const due = records.filter(isDue);
      const suspects = await servers.suspectsAmong(due);
      // An opened server stays in use while it is reloaded.
      const openDue = async (record: ToolServerRecord): Promise<unknown> =>
        (servers.stateOf(record)?.type === 'opened' ? servers.renew : servers.open)(record, closing.signal);
      await Promise.all(due.filter((record) => !suspects.has(record)).map(openDue));
      await Promise.all(Array.from(suspects, openDue));
      const ids = new Set(records.map(({ id }) => id));
      for (const id of reported.keys()) if (!ids.has(id)) reported.delete(id);
      for (const record of records) reportChanges(record);
    } catch {
      // The store cannot be read, or the gateway is shutting down: retry in the next round, if there is one.
    }
  }

  return {
    reconnectDue,
    start() {
      void reconnectDue();
      timer ??= setInterval(() => void reconnectDue(), firstRetryMs).unref();
    },
    close() {
      clearInterval(timer);
      closing.abort(new Error('The gateway is shutting down.'));
    },
  };
}

/** Why a server is of no use; undefined if it offers functions. */
function whyUnusable(state: Opening): string | undefined {
  // People who have connected to it get its functions.
  if (state.type === 'unsupported' && state.needsCredential === true) return undefined;
  if (state.type !== 'opened') return state.reason;
  return state.server.functions.length === 0 ? 'it has no usable functions; see the report of the server' : undefined;
}
