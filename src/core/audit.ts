import type { AuditedAct } from './stores/audit-store.ts';

/** Records who changed and decided what. */
export interface Audit {
  /** Resolves when it is recorded as far as that is possible. Never rejects: what is recorded has been done. */
  record(act: AuditedAct): Promise<void>;
}
