import type { ChatMessage } from '../chat/chat.ts';
import type { ReadRequestHeader } from '../chat/request-headers.ts';
import type { RunEvent } from '../chat/run-event.ts';
import type { TraceHeaders } from '../outbound.ts';
import type { ModelRequestLog } from '../models/model-request-log.ts';
import type { LoggedEvent, RunEnding } from './run-log.ts';

/** The trace of a run or call, for requests that are sent on its behalf. */
export interface TraceOfRun {
  /** `protocol`: of the request that the call sends, where it has a convention of its own. */
  headersOf(callId: string, protocol?: 'mcp'): TraceHeaders;
}

/** Traces one run. Called for each event, so it must be fast, and never throws. */
export interface RunTrace extends TraceOfRun {
  note(event: RunEvent): void;
  /** Wraps the log of model requests. */
  tracing(log: ModelRequestLog | undefined): ModelRequestLog;
  /** To be called once. */
  end(ending: RunEnding): void;
}

/** Traces one call outside of a run. */
export interface CallTrace extends TraceOfRun {
  /** To be called once. `code`: undefined for success. */
  end(code: string | undefined): void;
}

/** Traces one HTTP request. */
export interface RequestTrace {
  /** What its work is traced below. */
  readonly headers: TraceHeaders;
  /** The first call counts. `route`: the pattern, undefined for an unknown path. */
  end(answer: { route: string | undefined; status: number }): void;
}

export interface TracedRun {
  runId: string;
  chatId: string | undefined;
  /** As the request names it. */
  model: string;
  /** The conversation that it answers. */
  messages: readonly ChatMessage[];
  /** Where the trace of the request is. */
  readHeader: ReadRequestHeader | undefined;
  /** Events before the run was resumed; calls among them may still be open. */
  earlier: readonly LoggedEvent[] | undefined;
}

export interface TracedCall {
  callId: string;
  tool: string;
  server: string;
  readHeader: ReadRequestHeader | undefined;
}

/** Makes spans of what happens. */
export interface Tracing {
  beginRequest(request: { method: string; path: string; route: string | undefined; readHeader: ReadRequestHeader }): RequestTrace;
  beginRun(run: TracedRun): RunTrace;
  beginCall(call: TracedCall): CallTrace;
  /** Sends what is unsent, for a limited time. Never rejects. */
  close(): Promise<void>;
}
