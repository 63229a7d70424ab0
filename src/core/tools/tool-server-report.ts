import type { JsonObject } from '../../shared/json/json.ts';
import type { ToolServerRecord } from '../stores/registry.ts';

/** Describes how a tool server's document or tool list was converted, for administrators. */
export interface ToolServerReport {
  ok: boolean;
  /** What failed, with the cure; absent when `ok`. */
  error?: string;
  /**
   * `refused`: it shows its functions to nobody without a credential, or does not take this one. `own`: it shows them to people who have given their own. Absent:
   * neither, as far as is known.
   */
  credential?: 'refused' | 'own';
  /** When a server that failed is tried again, in milliseconds from now; absent if it is not. */
  nextTryMs?: number;
  /** The document's `info`. */
  info?: JsonObject;
  /** The document's version of OpenAPI or Swagger, e.g. `3.1.0`. */
  version?: string;
  /** Where the document was found, if that is not the address that the connection states. */
  documentUrl?: string;
  /** `tokens`: estimated size of the whole function. `parameters` is built whenever it is read: a large document has megabytes of them. */
  functions: { name: string; operation: string; description: string; parameters: JsonObject; tokens: number }[];
  renamed: { from: string; to: string; reason: string }[];
  omitted: { operation: string; reason: string }[];
  /** Functions that are not offered because their definition has changed since it was pinned; absent if there are none. */
  held?: HeldReport[];
  warnings: string[];
  /** The last lines of its process's stderr, without credentials and control characters; absent if there are none. */
  stderr?: string[];
  /** Tokens of all functions together. */
  tokens: number;
}

type HeldReport = {
  name: string;
  operation: string;
  changed: string[];
  fingerprint: string;
  /** As a model would read them. */
  description: string;
  parameters: JsonObject;
  /** The parts that count of the server's own definition, as it is now, and as it was pinned; that is null if only its hashes are known. */
  definition: JsonObject;
  pinned: JsonObject | null;
};

/** Inspects tool servers for administrators. */
export interface ToolServerInspector {
  /** Connects, converts and reports without storing anything. Never throws for an unreachable server: the report says so. */
  verify(record: ToolServerRecord, signal: AbortSignal): Promise<ToolServerReport>;
  /** Reloads a registered server for future chats; keeps the old functions if the new document is broken. */
  refresh(record: ToolServerRecord, signal: AbortSignal): Promise<ToolServerReport>;
  /** The report on what is loaded, without a request to the server. */
  reportOf(record: ToolServerRecord): ToolServerReport | undefined;
  /**
   * Accepts changed definitions. Maps the server's name of each function to the fingerprint in the report.
   * @throws GatewayError `conflict` when one has changed once more, `invalid_request` for a function that is not there
   */
  accept(record: ToolServerRecord, functions: ReadonlyMap<string, string>, signal: AbortSignal): Promise<ToolServerReport>;
}
