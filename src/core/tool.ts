import type { InnerWait, ResumedInner } from './suspended-run.ts';
import type { Caller } from './caller.ts';
import type { ChatRequest, Usage } from './chat.ts';
import type { JsonObject, JsonValue } from '../shared/json.ts';
import type { PresetRecord } from './preset.ts';
import type { ResultStore } from './result-store.ts';
import type { RunContext } from './run.ts';
import type { RunEvent } from './run-event.ts';

/** A function as a model sees it. `parameters` is a JSON Schema whose root is an object. */
export interface ToolSpec {
  /** `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`, unique over everything offered. */
  name: string;
  description: string;
  parameters: JsonObject;
  /**
   * The backend is to enforce the schema (OpenAI's structured outputs). Of a function it is a wish: true where the backend is not known either,
   * false never. The backend's own adapter decides, and nothing else sets it.
   */
  strict?: boolean;
}

/** Codes that say why a call gave no result, to the model and to the reader of the run. */
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

/**
 * What is known of a call that came to no answer. `not_started`: nothing of it reached the server, browser or function. `cancelled`: it was ended
 * and changed nothing. `outcome_unknown`: it may have taken effect. Absent: the tool itself has answered, if only with an error.
 */
export type CallState = 'not_started' | 'cancelled' | 'outcome_unknown';

/**
 * What comes after a result in place of the model's next turn: nothing, where no other call of the round waits for a reply; the end of the
 * run; or another preset's turn.
 */
export type FollowUp = { type: 'no-reply' } | { type: 'stop' } | { type: 'handoff'; preset: string };

/**
 * A file among what a tool returned, for clients that can show it. `url` is a `data:` URI; `type` its media type; `uri` its address at the server.
 * `mention`: the text that `value` has instead of it.
 */
export type ToolFile = { type: string; url: string; sizeBytes: number; name?: string; uri?: string; mention?: string };

/**
 * A part of a `value` that is text, and a document by the word of the server, for protocols that can say so too. It counts only where `value` still holds
 * its whole text.
 */
export type ToolDocument = { uri: string; type?: string; text: string };

/**
 * How a call ended. Always a value: a failing tool is never an exception of the run. `note` is what the model reads after the value and a client
 * does not: where the new thing is, how to get the next page. A file that is no text stands in `files`, and `value` says so in words. `offers`
 * names deferred functions that may be called from the model's next turn on. `usage` is what models behind the tool have spent.
 */
export type ToolOutcome =
  | {
      type: 'result';
      value: JsonValue;
      isTruncated?: boolean;
      followUp?: FollowUp;
      note?: string;
      files?: ToolFile[];
      documents?: ToolDocument[];
      offers?: string[];
      usage?: Usage;
    }
  | { type: 'error'; code: ToolErrorCode; message: string; detail?: JsonValue; state?: CallState; usage?: Usage };

/** Thrown by a tool: its message is meant for the model. What any other exception says is masked. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  readonly code: 'tool_error' | 'client_unavailable' | 'client_disconnected';

  constructor(message: string, { code = 'tool_error', ...options }: ErrorOptions & { code?: ToolError['code'] } = {}) {
    super(message, options);
    this.code = code;
  }
}

export interface ToolInvocation {
  callId: string;
  /** Parsed, coerced and valid against the tool's schema. */
  args: JsonObject;
  run: RunContext;
  /** Aborted by the caller's leave, by a cancellation of this call and by the time limits; not while a critical section is under way. */
  signal: AbortSignal;
  /** Without a sign of progress; there is also a total limit. */
  timeoutMs: number;
  /** For results of which a tool can fetch more than it returns; absent where no model reads on. */
  results?: ResultStore;
  /** What the call was suspended with (`waitFor`), and what was decided since. */
  resumed?: ResumedInner;
}

/** Asks a preset as a tool: `args.request` is all it sees. */
export type AskPreset = (preset: PresetRecord, invocation: ToolInvocation, context?: ToolContext) => Promise<ToolOutcome>;

/** What a running call may do beside giving a result. Nothing has an effect once it has settled. */
export interface ToolContext {
  /** Shows what is being done; the idle time begins anew. Resolves when it was delivered to the reader of the run. */
  status(text: string): Promise<void>;
  /** The same for an amount; `total` where it is known. */
  progress(done: number, total?: number): Promise<void>;
  /** Emits an event of the run; resolves when it was delivered. */
  emit(event: RunEvent): Promise<void>;
  /** A human is asked: until what this gives is called, no time limit of the call runs. */
  pause(): () => void;
  /**
   * Work that must not be interrupted: a cancellation, the caller's leave and the idle limit wait until it is done; the total limit does not.
   * Rejects with the signal's reason when the call was ended before.
   */
  critical<Value>(work: () => Promise<Value> | Value): Promise<Value>;
  /**
   * Asks the user for something in the browser; the idle time does not run meanwhile. Undefined when the user gives nothing.
   * `schema` (JSON Schema) says what form the value has; what comes is checked against it.
   * @throws ToolError `client_unavailable` without a session, `client_disconnected` when it goes, the signal's reason.
   */
  ask(title: string, question?: { message?: string; schema?: JsonObject }): Promise<JsonValue | undefined>;
  /** The same for a yes or no; whatever is no clear yes is a no. */
  confirm(title: string, message?: string): Promise<boolean>;
  /** The run ends after this round, without another turn of the model. */
  stop(): void;
  /** The call waits for decisions on calls within it, if it then returns an error `approval_required`, which is for a model whose run cannot wait. */
  waitFor(inner: InnerWait): void;
}

/** One function on offer, wherever it runs. The loop cannot tell an OpenAPI server from a browser. */
export interface Tool {
  readonly spec: ToolSpec;
  /** The name under which its results are cited: `<server id>/<function>`, or `<function>` for a request-supplied server. */
  readonly label: string;
  /** Registered server's id or the request-supplied server's URL, for events. */
  readonly server: string;
  readonly kind: 'openapi' | 'browser' | 'function' | 'mcp' | 'preset';
  /** What a call requests, as `POST http://host/path`; undefined where that is not known, or where it is no request. */
  readonly endpoint?: string;
  /** Further names by which a rule may mean it: the one before a clash renamed it, the document's, its entries of `tool_ids`. */
  readonly otherNames?: readonly string[];
  /** Undefined: the request's, else the preset's, else the default. */
  readonly timeoutMs?: number;
  /** Whether a time limit that was passed is an error for the model (default) or ends the run. */
  readonly timeoutBehavior?: 'result' | 'abort';
  /** What an exception becomes: an error for the model (default), the end of the run, or the text that this function makes of it. */
  readonly onError?: 'result' | 'abort' | ((error: unknown) => string | Promise<string>);
  /** Never runs beside another call of its round, whatever else is said of it. */
  readonly isSequential?: boolean;
  /** Changes nothing (a GET): it runs beside others of its kind, may be tried again, and a cancelled call has had no effect. */
  readonly isReadOnly?: boolean;
  /** The order of its calls does not matter: it runs beside others although it may change something. */
  readonly isParallel?: boolean;
  /** Equal calls of one run are all meant: `limits.identicalCalls` does not hold for it. */
  readonly mayRepeat?: boolean;
  /** Twice is the same as once (a PUT): it may be tried again although the first call may have taken effect. */
  readonly isIdempotent?: boolean;
  /** For so long an equal call of the same caller gets the same result without being executed; undefined: never. */
  readonly cacheTtlMs?: number;
  /** Whether a human has to approve a call before it runs: each, or those whose arguments say so. A predicate that throws keeps the call from running. */
  readonly needsApproval?: boolean | ((args: JsonObject) => boolean | Promise<boolean>);
  /** Serves the loop alone and reaches nothing outside of its run: a demand for approval of all calls does not mean it. */
  readonly isHelper?: true;
  /** Once it was called, the files of the request are no context of the model any more. */
  readonly consumesFiles?: boolean;
  /** Overrides the cap on what a result may hand to the model. */
  readonly maxResultBytes?: number;
  /** Ids of the other gateways that it comes through, the nearest first. */
  readonly gateways?: readonly string[];
  /** Resolves with an outcome. A rejection is a `ToolError` for the model, the signal's reason, or a fault that is masked. */
  run(invocation: ToolInvocation, context?: ToolContext): Promise<ToolOutcome>;
}

/** The tools of one request, fixed for its run. */
export interface ToolOffer {
  /** By offered name, in the order in which they are offered. */
  tools: Map<string, Tool>;
  /** What the caller should know: a server that could not be reached, a function that was renamed. */
  warnings: { code: string; message: string }[];
  /** Where not all are offered: a tool that finds the deferred ones, by offered name. Of use only to a model that is requested again after a call. */
  finder?: { tool: Tool; deferred: ReadonlyMap<string, Tool> };
}

export interface ListedTool {
  /** `<server id>/<function>`. */
  id: string;
  name: string;
  description: string;
  parameters: JsonObject;
  server: string;
  kind: Tool['kind'];
  /** For protocols that pass them on. */
  hints: { isReadOnly: boolean; isIdempotent: boolean; gateways: readonly string[] };
}

export interface ToolFinder {
  /** @throws GatewayError `unknown_tool_id`, `document_required`, `invalid_request`. A known server that is unreachable becomes a warning. */
  offerFor(request: ChatRequest, run: RunContext): Promise<ToolOffer>;
  /** Every registered function that this caller may use. */
  list(caller: Caller, signal: AbortSignal): Promise<ListedTool[]>;
}
