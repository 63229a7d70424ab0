import type { ToolServerRecord } from '../core/registry.ts';
import type { RegisteredServers } from './registered-servers.ts';

/** How often it is looked whether a server is due; also the first pause after a failure. */
export const firstRetryMs = 10_000;
/** A server that is down for a day must not fill its network and the log of its proxy. */
export const longestRetryMs = 5 * 60_000;

/** The pause after so many failures in a row: doubled each time. */
export function retryDelayMs(failures: number): number {
  return Math.min(firstRetryMs * 2 ** Math.max(0, failures - 1), longestRetryMs);
}

export interface ServerReviverOptions {
  servers: Pick<RegisteredServers, 'open' | 'stateOf' | 'failuresOf'>;
  /** Every registered server. */
  listRecords: () => Promise<readonly ToolServerRecord[]>;
  /** The clock of `servers`. */
  now: () => number;
  signal: AbortSignal;
}

/** Opens servers that were never opened, and failed ones after their pause, so that a chat finds them there. @throws nothing */
export function createServerReviver({ servers, listRecords, now, signal }: ServerReviverOptions): {
  reviveDue(): Promise<void>;
  start(): void;
  close(): void;
} {
  let timer: NodeJS.Timeout | undefined;

  function isDue(record: ToolServerRecord): boolean {
    if (!record.isEnabled) return false;
    const state = servers.stateOf(record);
    if (state === undefined) return true;
    const failures = servers.failuresOf(record);
    return state.type === 'unreachable' && failures !== undefined && now() - failures.endedAt >= retryDelayMs(failures.count);
  }

  async function reviveDue(): Promise<void> {
    try {
      const due = (await listRecords()).filter(isDue);
      await Promise.all(due.map((record) => servers.open(record, signal)));
    } catch {
      // The store cannot be read, or the gateway is closing: the next round tries again, if there is one.
    }
  }

  return {
    reviveDue,
    start() {
      timer ??= setInterval(() => void reviveDue(), firstRetryMs).unref();
    },
    close: () => clearInterval(timer),
  };
}
