import type { JsonObject } from '../../shared/json/json.ts';
import type { ToolInvocation, ToolOutcome } from './tool.ts';

/** The request a browser sends for a call, without credentials. */
export interface PreparedRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  /** Text, sent as UTF-8, unless `bodyEncoding` says that it is bytes in base64. */
  body?: string;
  bodyEncoding?: 'base64';
}

/** A call for the user's browser. `name` and `params` are those that the frontend expects. */
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
 * or `tool_timeout` at the invocation's limit. Only the session that the call was sent to may answer, and only runs of its owner may use it.
 */
export type CallBrowser = (call: BrowserCall, invocation: ToolInvocation) => Promise<ToolOutcome>;
