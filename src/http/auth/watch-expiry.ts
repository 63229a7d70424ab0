import type { KeyRecord } from '../../core/registry.ts';
import { isExpired } from '../../admin/stored-keys.ts';

/** A timer counts neither the time that the machine sleeps nor a clock that is set, and overflows after 24.8 days. */
const longestWaitMs = 60_000;

export interface ExpiryWatch {
  /** This key is in use, and ends then (milliseconds since 1970). */
  watch: (keyId: string, expiresAt: number) => void;
  close: () => void;
}

export interface ExpiryWatchOptions {
  now: () => number;
  /** As it is stored now; undefined: deleted. */
  findKey: (keyId: string) => Promise<KeyRecord | undefined>;
  onExpired: (keyId: string) => void;
}

/** Notices the moment at which a key that is in use ends. One timer for each such key; what it ends is the caller's business. */
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

  /** An administrator may have given the key more time. Where that cannot be read, what was known counts. */
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
