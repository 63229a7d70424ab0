import type { JsonObject } from '../shared/json.ts';
import type { ToolServerRecord } from './registry.ts';

/** What became of a tool server's document, for people. */
export interface ToolServerReport {
  ok: boolean;
  /** Why it is not; absent when `ok`. Names the cure. */
  error?: string;
  /** The document's `info`. */
  info?: JsonObject;
  /** The document's version of OpenAPI or Swagger, e.g. `3.1.0`. */
  version?: string;
  /** `tokens`: estimated size of the function as a model reads it. */
  functions: { name: string; operation: string; description: string; parameters: JsonObject; tokens: number }[];
  renamed: { from: string; to: string; reason: string }[];
  omitted: { operation: string; reason: string }[];
  /** Functions that are held, because their definition is not the one that was first seen, as they are now; absent where there are none. */
  held?: { name: string; operation: string; changed: string[]; fingerprint: string; description: string; parameters: JsonObject }[];
  warnings: string[];
  /** The last lines that its process has written to stderr, without credentials and control characters; absent where there are none. */
  stderr?: string[];
  /** Of all functions together. */
  tokens: number;
}

/** Looks at tool servers on behalf of administrators. */
export interface ToolServerInspector {
  /** Connects, converts and reports without keeping anything. Never throws for a server that is down: the report says so. */
  verify(record: ToolServerRecord, signal: AbortSignal): Promise<ToolServerReport>;
  /** Loads a registered server anew, for the chats that follow; keeps the old functions when the new document is broken. */
  refresh(record: ToolServerRecord, signal: AbortSignal): Promise<ToolServerReport>;
  /** The state of what is loaded, without a request to anybody. */
  reportOf(record: ToolServerRecord): ToolServerReport | undefined;
  /**
   * Agrees to changed definitions: by the function's name at the server, the fingerprint that the report shows.
   * @throws GatewayError `conflict` when one has changed once more, `invalid_request` for a function that is not there
   */
  accept(record: ToolServerRecord, functions: ReadonlyMap<string, string>, signal: AbortSignal): Promise<ToolServerReport>;
}
