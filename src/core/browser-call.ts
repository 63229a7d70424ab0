import type { JsonObject } from './json.ts';
import type { RunContext } from './run.ts';
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

/** A question for the user, without its id. Fields as in the frames `confirmation` and `input`. */
export interface BrowserQuestion {
  type: 'confirmation' | 'input';
  data: JsonObject;
}

/** `answered`: the data of the frame that came. `unavailable`: there is no such session of this caller. */
export type BrowserReply = { type: 'answered'; data: JsonObject } | { type: 'unavailable' | 'disconnected' | 'expired' };

/**
 * Asks the user behind `run.sessionId`. Settles once. Only the session that was asked may answer, and only its owner's runs may ask it.
 * Rejects with the signal's reason.
 */
export type AskBrowser = (
  question: BrowserQuestion,
  asker: { run: RunContext; signal: AbortSignal; timeoutMs: number },
) => Promise<BrowserReply>;
