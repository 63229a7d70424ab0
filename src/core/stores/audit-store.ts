import type { JsonObject } from '../../shared/json/json.ts';

/** How long entries are kept. */
export const auditDays = 90;

/** What is recorded. A name has the kind of thing before the dot. */
export const auditActions = [
  'key.create',
  'key.change',
  'key.delete',
  'person.delete',
  'tool_server.create',
  'tool_server.change',
  'tool_server.replace',
  'tool_server.delete',
  'definition.accept',
  'backend.create',
  'backend.change',
  'backend.delete',
  'preset.create',
  'preset.change',
  'preset.delete',
  'credential.connect',
  'credential.forget',
  'call.approve',
  'call.reject',
] as const;
export type AuditAction = (typeof auditActions)[number];

/** A change or decision that somebody made. It has names and ids, never a secret, nor the value of a setting or argument. */
export interface AuditedAct {
  /** The id of the caller. */
  callerId: string;
  action: AuditAction;
  /** The id of what was changed, or the name of the function that was decided on. Undefined for all of a kind. */
  subject?: string | undefined;
  /** The id of the caller whose thing it is, if that is somebody else. */
  ownerId?: string | undefined;
  detail?: JsonObject | undefined;
}

export interface AuditEntry extends AuditedAct {
  /** Ascending. */
  id: number;
  /** Milliseconds since 1970. */
  time: number;
}

export interface AuditQuery {
  /** Milliseconds since 1970, both included. */
  from: number;
  to: number;
  /** The id of a caller, or of the key of several people. */
  callerId?: string | undefined;
  /** An action, or the kind before the dot. */
  action?: string | undefined;
  limit: number;
  /** Only entries before this one. */
  before?: number | undefined;
}

/**
 * Stores who changed and decided what.
 * @throws GatewayError `storage_unavailable`
 */
export interface AuditStore {
  /** Resolves when it is durable. */
  add(entry: Omit<AuditEntry, 'id'>): Promise<void>;
  /** Newest first. */
  list(query: AuditQuery): Promise<AuditEntry[]>;
  /** Deletes entries before `time`, and the oldest of each key beyond `maxOfKey`. */
  prune(bounds: { time: number; maxOfKey: number }): Promise<void>;
  /**
   * For a person, and for all people of a key: what they did stays recorded as an act of their key, because an administrator could otherwise hide what
   * was done; who they were is deleted.
   */
  deleteAllOf(ownerId: string): Promise<void>;
}
