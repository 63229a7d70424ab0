import type { Caller } from './caller.ts';
import type { ChatRequest } from './chat.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { ToolServerRecord } from './registry.ts';
import type { RunContext } from './run.ts';

/** A function as a model sees it. `parameters` is a JSON Schema whose root is an object. */
export interface ToolSpec {
  /** `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`, unique over everything offered. */
  name: string;
  description: string;
  parameters: JsonObject;
}

/** Codes that tell a model, and whoever reads the run, why a call gave no result. */
export type ToolErrorCode =
  | 'tool_not_found'
  | 'tool_disabled'
  | 'args_not_json'
  | 'args_invalid'
  | 'args_truncated'
  | 'args_too_large'
  | 'tool_timeout'
  | 'tool_error'
  | 'tool_internal_error'
  | 'tool_cancelled'
  | 'outcome_unknown'
  | 'client_unavailable'
  | 'client_disconnected'
  | 'approval_required'
  | 'approval_rejected'
  | 'approval_expired'
  | 'duplicate_call_blocked'
  | 'output_truncated'
  | 'egress_denied'
  | 'mcp_unavailable'
  | 'definition_changed';

/** How a call ended. Always a value: a failing tool is never an exception of the run. */
export type ToolOutcome =
  | { type: 'result'; value: JsonValue; isTruncated?: boolean }
  | { type: 'error'; code: ToolErrorCode; message: string; detail?: JsonValue };

export interface ToolInvocation {
  callId: string;
  /** Parsed, coerced and valid against the tool's schema. */
  args: JsonObject;
  run: RunContext;
  /** Aborted by the caller's leave and by the time limit. */
  signal: AbortSignal;
  timeoutMs: number;
}

/** One function on offer, wherever it runs. The loop cannot tell an OpenAPI server from a browser. */
export interface Tool {
  readonly spec: ToolSpec;
  /** The name under which its results are cited: `<server id>/<function>`, or `<function>` for a request-supplied server. */
  readonly label: string;
  /** Registered server's id or the request-supplied server's URL, for events. */
  readonly server: string;
  readonly kind: 'openapi' | 'browser' | 'function' | 'mcp' | 'preset';
  /** The tool's own time limit; undefined: the request's, else the default. */
  readonly timeoutMs?: number;
  /** Overrides the cap on what a result may hand to the model. */
  readonly maxResultBytes?: number;
  /** Resolves with an outcome; rejects only with the signal's reason. */
  run(invocation: ToolInvocation): Promise<ToolOutcome>;
}

/** The tools of one request, fixed for its run. */
export interface ToolOffer {
  /** By offered name, in the order in which they are offered. */
  tools: Map<string, Tool>;
  /** What the caller should know: a server that could not be reached, a function that was renamed. */
  warnings: { code: string; message: string }[];
}

/** What became of a tool server's document, for people. */
export interface ServerReport {
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
  warnings: string[];
  /** Of all functions together. */
  tokens: number;
}

/** Looks at tool servers on behalf of administrators. */
export interface ToolServerInspector {
  /** Connects, converts and reports without keeping anything. Never throws for a server that is down: the report says so. */
  verify(record: ToolServerRecord, signal: AbortSignal): Promise<ServerReport>;
  /** Loads a registered server anew, for the chats that follow; keeps the old functions when the new document is broken. */
  refresh(record: ToolServerRecord, signal: AbortSignal): Promise<ServerReport>;
  /** The state of what is loaded, without a request to anybody. */
  reportOf(record: ToolServerRecord): ServerReport | undefined;
}

export interface ListedTool {
  /** `<server id>/<function>`. */
  id: string;
  name: string;
  description: string;
  parameters: JsonObject;
  server: string;
  kind: Tool['kind'];
}

export interface ToolFinder {
  /** @throws GatewayError `unknown_tool_id`, `document_required`, `invalid_request`. A known server that is unreachable becomes a warning. */
  offerFor(request: ChatRequest, run: RunContext): Promise<ToolOffer>;
  /** Every registered function that this caller may use. */
  list(caller: Caller, signal: AbortSignal): Promise<ListedTool[]>;
}

/** The request a browser sends for a call, without credentials. */
export interface PreparedRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string;
}

/** A call for the user's browser. `name` and `params` are the frontend's own words. */
export interface BrowserCall {
  callId: string;
  name: string;
  offeredName: string;
  params: JsonObject;
  server: { url: string; info?: JsonObject };
  request?: PreparedRequest;
}

/**
 * Runs a call in the browser behind `run.sessionId`. Settles once: with the session's answer, `client_unavailable`, `client_disconnected`,
 * or `tool_timeout` at the invocation's limit. Only the session that was asked may answer, and only its owner's runs may ask it.
 */
export type CallBrowser = (call: BrowserCall, invocation: ToolInvocation) => Promise<ToolOutcome>;
