import type { Audit } from '../core/audit.ts';
import { auditDays, type AuditedAct, type AuditStore } from '../core/stores/audit-store.ts';

interface AuditLogOptions {
  store: AuditStore;
  /** Milliseconds since 1970. */
  now: () => number;
  logger: { info(fields: object, message: string): void; error(fields: object, message: string): void };
}

const dayMs = 24 * 60 * 60_000;
/** Of one key with its people, so that nobody can push out what others did. */
const entriesOfKey = 20_000;
/** How often old entries are deleted. */
const pruneMs = 60 * 60_000;

/** A line in the log and a row in the store for each act. The line is there even if the store cannot be written. */
export class AuditLog implements Audit {
  readonly #options: AuditLogOptions;
  #prunedAt = -Infinity;

  constructor(options: AuditLogOptions) {
    this.#options = options;
  }

  async record(act: AuditedAct): Promise<void> {
    const { store, now, logger } = this.#options;
    const { action, callerId: by, subject, ownerId: owner, detail } = act;
    logger.info({ action, by, subject, owner, detail }, 'audit');
    try {
      await store.add({ ...act, time: now() });
      await this.prune();
    } catch (error) {
      logger.error(
        { err: error, action },
        'the audit log cannot be stored at the moment; this line and the one before it are its only record',
      );
    }
  }

  /** Deletes what is too old, at most once an hour. */
  async prune(): Promise<void> {
    const { store, now } = this.#options;
    const time = now();
    if (time - this.#prunedAt < pruneMs) return;
    this.#prunedAt = time;
    await store.prune({ time: time - auditDays * dayMs, maxOfKey: entriesOfKey });
  }
}
