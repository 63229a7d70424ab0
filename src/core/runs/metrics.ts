import type { Caller } from '../callers/caller.ts';
import type { Usage } from '../chat/chat.ts';

/** The tokens that models used. */
export interface SpentTokens {
  /** As their backends count; undefined if none did. */
  usage: Usage | undefined;
  /** For answers whose backends reported no usage. */
  estimated: { prompt: number; completion: number } | undefined;
  /** Those of models that answered in place of the one that was named; they are not among the others. */
  fallbacks?: readonly FallbackTokens[];
}

interface FallbackTokens extends Pick<SpentTokens, 'usage' | 'estimated'> {
  /** Its public id. */
  model: string;
  requests: number;
}

/** A run that has ended, or its part up to a suspension. */
export interface EndedRun extends SpentTokens {
  caller: Caller;
  /** Whether it continues a run that was suspended. */
  isResumed: boolean;
  /** As the request names it. */
  model: string;
  outcome: 'completed' | 'waiting' | 'failed' | 'cancelled';
  /** The error code of a run that failed or was cancelled. */
  code: string | undefined;
  durationMs: number;
  /** Undefined if the model said nothing. */
  firstTokenMs: number | undefined;
  /** Requests to models, those of selections included. */
  modelRequests: number;
  /** Selections that could be read only after repair. */
  repairedSelections: number;
  /** Executed by the gateway or the browser. */
  toolCalls: number;
}

/** A tool call that has ended. */
export interface EndedCall {
  caller: Caller;
  /** As in events: an id, or the URL of a server that a request supplied. Undefined for a call of a function that was not on offer. */
  server: string | undefined;
  /** As offered. */
  tool: string;
  /** Undefined for success. */
  code: string | undefined;
  durationMs: number;
}

/** The tokens of models behind a tool that was called outside of a run. */
export interface ToolUse extends SpentTokens {
  caller: Caller;
  /** The preset that was called. */
  model: string;
}

/** A request that went to the backend of its model without a run. */
export interface PassedUse {
  caller: Caller;
  /** As the request names it. */
  model: string;
  /** That the model has read; 0 if its backend does not say. */
  tokens: number;
  hasFailed: boolean;
}

/** Counts what happens, for `GET /metrics`. Called in the middle of other work: cheap, and never throws. */
export interface Metrics {
  countRun(run: EndedRun): void;
  countCall(call: EndedCall): void;
  countToolUse(use: ToolUse): void;
  /** `route` is the pattern (`/api/runs/:id`), undefined for an unknown path. */
  countRequest(request: { method: string; route: string | undefined; status: number }): void;
}
