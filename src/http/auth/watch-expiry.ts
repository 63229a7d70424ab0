import type { KeyRecord } from '../../core/stores/registry.ts';
import { isExpired } from '../../admin/stored-keys.ts';

/** Timers ignore suspend and clock changes, and overflow after 24.8 days, so a long wait is split into short ones. */
const longestWaitMs = 60_000;

interface ExpiryWatch {
  /** Calls `onExpired` for this key at `expiresAt` (milliseconds since 1970). */
  watch: (keyId: string, expiresAt: number) => void;
  close: () => void;
}

interface ExpiryWatchOptions {
  now: () => number;
  /** The stored record; undefined once the key is deleted. */
  findKey: (keyId: string) => Promise<KeyRecord | undefined>;
  onExpired: (keyId: string) => void;
}

/** Reports when a key that is in use expires. One timer for each such key. */
export function createExpiryWatch({ now, findKey, onExpired }: ExpiryWatchOptions): ExpiryWatch {
  const waiting = new Map<string, { expiresAt: number; timer: NodeJS.Timeout }>();

  function watch(keyId: string, expiresAt: number): void {
    const before = waiting.get(keyId);
    if (before?.expiresAt === expiresAt) return;
    clearTimeout(before?.timer);
    arm(keyId, expiresAt);
  }

  function arm(keyId: string, expiresAt: number): void {
    const timer = setTimeout(() => check(keyId, expiresAt), Math.min(Math.max(expiresAt - now(), 1), longestWaitMs));
    timer.unref();
    waiting.set(keyId, { expiresAt, timer });
  }

  function check(keyId: string, expiresAt: number): void {
    if (now() < expiresAt) return arm(keyId, expiresAt);
    waiting.delete(keyId);
    void end(keyId);
  }

  /** An administrator may have extended the key meanwhile. If the record cannot be read, the known expiry applies. */
  async function end(keyId: string): Promise<void> {
    const record = await findKey(keyId).catch(() => undefined);
    if (record === undefined || isExpired(record, now())) onExpired(keyId);
    else if (record.expiresAt !== undefined) watch(keyId, record.expiresAt);
  }

  return {
    watch,
    close() {
      for (const { timer } of waiting.values()) clearTimeout(timer);
      waiting.clear();
    },
  };
}
