import type { ServerToConnect } from '../user-input/connect.ts';
import type { InnerSuspension, ResumedInner } from '../runs/suspended-run.ts';
import type { Caller } from '../callers/caller.ts';
import type { ChatRequest, McpToolList, Usage } from '../chat/chat.ts';
import type { JsonObject, JsonValue } from '../../shared/json/json.ts';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';
import type { PresetRecord } from '../stores/preset.ts';
import type { ResultStore } from '../stores/result-store.ts';
import type { RunContext } from '../runs/run.ts';
import type { RunEvent } from '../chat/run-event.ts';

/** A function as a model sees it. `parameters` is a JSON Schema whose root is an object. */
export interface ToolSpec {
  /** `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`, unique over everything offered. */
  name: string;
  description: string;
  parameters: JsonObject;
  /**
   * Whether the backend shall enforce the schema (OpenAI's structured outputs). A function definition can only request it with `true`; the adapter of
   * the backend decides.
   */
  strict?: boolean;
}

/** Why a call has no result, for the model and for readers of the run. */
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
  | 'credential_required'
  | 'approval_required'
  | 'approval_rejected'
  | 'approval_expired'
  | 'duplicate_call_blocked'
  | 'output_truncated'
  | 'egress_denied'
  | 'mcp_unavailable'
  | 'definition_changed';

/**
 * What is known about a call without an answer. `not_started`: it did not reach the server, browser or function. `cancelled`: it was ended
 * and changed nothing. `outcome_unknown`: it may have taken effect. Absent: the tool answered, if only with an error.
 */
export type CallState = 'not_started' | 'cancelled' | 'outcome_unknown';

/**
 * What follows a result instead of the model's next turn: no reply, if no other call of the round needs one; the end of the
 * run; or another preset's turn.
 */
export type FollowUp = { type: 'no-reply' } | { type: 'stop' } | { type: 'handoff'; preset: string };

/**
 * A file that a tool returned, for clients that can show it. `url` is a `data:` URI, `type` its media type, `uri` the location that its server states.
 * `mention`: the text in its place in a textual `value`. `annotations`: those of its MCP server.
 */
export type ToolFile = {
  type: string;
  url: string;
  sizeBytes: number;
  name?: string;
  uri?: string;
  mention?: string;
  annotations?: JsonObject;
};

/**
 * A part of a textual `value` that its server marked as a document, for protocols that have such a mark. It counts only while `value` contains its
 * whole text, because hooks may change the value.
 */
export type ToolDocument = { uri: string; type?: string; text: string; annotations?: JsonObject; meta?: JsonObject };

/**
 * Lines of a textual `value` that their MCP server gave in another form, which MCP clients get: `block` is a link, or a text with annotations. It counts
 * only while `value` contains these lines.
 */
export type ToolPassage = { text: string; block: JsonObject };

/** What follows the text in a `value` (`withStructure`). `isDeclared`: its function has a schema for it, which clients have been given. */
export type StructuredResult = { value: JsonValue; isDeclared: boolean };

/**
 * How a call ended. A failed tool is a value, never an exception of the run. The model reads `note` after the value, clients do not see it: where the
 * new resource is, how to get the next page. Binary files are in `files`, and `value` mentions them. `structured` is for
 * protocols that have a place for it beside the text. `isMisfit`: it does not match its function's `outputSchema`, as the note says. `meta` is for MCP
 * clients and the interfaces that they show (MCP Apps). `offers` names deferred functions that may be called from the model's next turn on. With `renewsOffer` the run is offered its tools again, because others are there now. `usage` is what models behind the tool used.
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
      passages?: ToolPassage[];
      structured?: StructuredResult;
      isMisfit?: true;
      meta?: JsonObject;
      offers?: string[];
      renewsOffer?: true;
      usage?: Usage;
    }
  /**
   * `connect`: once the person has connected to this server, the call can run; until then nothing of it was done. `isRefused`: the API found fault with the
   * request itself, so that repeating it is of no use.
   */
  | {
      type: 'error';
      code: ToolErrorCode;
      message: string;
      detail?: JsonValue;
      state?: CallState;
      usage?: Usage;
      connect?: ServerToConnect;
      isRefused?: true;
    };

/** Thrown by a tool; its message is for the model. Messages of other exceptions are masked. */
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
  /** Aborted when the client disconnects, when this call is cancelled, and by the time limits; not during a critical section. */
  signal: AbortSignal;
  /** Time limit without progress; the total limit of a call applies as well. Presets have neither. */
  timeoutMs: number;
  /** For tools that can fetch more than they return; absent if no model can read on. */
  results?: ResultStore;
  /** The state with which the call was suspended (`waitFor`), and the decisions since. */
  resumed?: ResumedInner;
  /** Absent where no run can be continued after a restart. */
  task?: CallTask;
}

/** For a call that its server works on as a task, which outlives the gateway. */
export interface CallTask {
  /** What an earlier process has stored: the task is followed, and nothing is called. */
  readonly stored?: JsonObject;
  /**
   * To be called when the call has become a task, with what is needed to follow it. Whether the run is stored with it: then the task must not be cancelled
   * when the gateway shuts down.
   */
  begin(task: JsonObject): Promise<boolean>;
}

/** Runs a preset as a tool: it sees only `args.request`. */
export type RunSubAgent = (preset: PresetRecord, invocation: ToolInvocation, context?: ToolContext) => Promise<ToolOutcome>;

/** `level`: one of MCP's. `logger`: the part of the server that says it. */
export interface LogOrigin {
  level: string;
  logger?: string;
}

/** What a running call can do besides returning a result. Without effect once the call has settled. */
export interface ToolContext {
  /** Shows what is being done; the idle time begins anew. Resolves when it was delivered to the reader of the run. `log`: it is a log message. */
  status(text: string, log?: LogOrigin): Promise<void>;
  /** The same with an amount, and the total if it is known. */
  progress(done: number, total?: number): Promise<void>;
  /** Restarts the idle timeout without an event: the call is still making progress outside of this process. */
  keepAlive(): void;
  /**
   * Streams text to the user, as part of the answer; resolves when it is delivered. Where there is no textual answer (a single function is invoked,
   * the caller demands an output format), it is shown as a status.
   */
  say(text: string): Promise<void>;
  /** Emits an event of the run; resolves when it is delivered. */
  emit(event: RunEvent): Promise<void>;
  /**
   * Runs work that must not be interrupted: a cancellation, a disconnected client and the limit without progress take effect after it; the total limit
   * does not wait. Rejects with the signal's reason if the call has ended already.
   */
  critical<Value>(work: () => Promise<Value> | Value): Promise<Value>;
  /**
   * Asks the user for input in the browser; time limits are paused meanwhile. Undefined if the user declines.
   * The value is validated against `schema` (JSON Schema).
   * @throws ToolError `client_unavailable` without a session, `client_disconnected` when it disconnects; the signal's reason.
   */
  ask(title: string, question?: { message?: string; schema?: JsonObject }): Promise<JsonValue | undefined>;
  /**
   * Asks the user to open a link; returns whether they agree. Only clients that show who asks and the whole address are asked (MCP, URL mode).
   * @throws as `ask`
   */
  askToOpen(url: string, message: string): Promise<boolean>;
  /** Asks the user to confirm; anything but a clear yes is a no. */
  confirm(title: string, message?: string): Promise<boolean>;
  /** Ends the run after this round, without another turn of the model. */
  stop(): void;
  /** Entries of `tool_ids` for what is on offer in the run; empty outside of a chat. */
  toolIds(): string[];
  /**
   * Offers exactly these registered tools from the next round on, and in later requests of the chat; undefined: what the preset or the request says. It
   * holds if the call succeeds. @throws ToolError for an entry that is unknown or not allowed, and outside of a chat
   */
  updateTools(toolIds: readonly string[] | undefined): Promise<void>;
  /** The same with a text in place of the preset's system prompt. @throws ToolError above `limits.presetSystemCharacters`, and outside of a chat */
  updateInstructions(instructions: string | undefined): Promise<void>;
  /**
   * Suspends the call until calls within it are decided, or can be run. It must then return the error `approval_required` or `credential_required`,
   * which a model reads if its run cannot wait.
   */
  waitFor(inner: InnerSuspension): void;
}

/** How a tool's MCP server presents it to clients, beyond what models read. The fields are those of MCP's `Tool`. */
export interface ToolPresentation {
  title?: string;
  /** `$schema` of its input, which says how the keywords of the schema are to be read. */
  dialect?: string;
  annotations?: { title?: string; destructiveHint?: boolean; openWorldHint?: boolean };
  /** Further facts, such as the interface that shows its results (MCP Apps). */
  _meta?: JsonObject;
}

/** Arguments that are required because of other arguments. */
export interface MissingArguments {
  names: readonly string[];
  given: readonly string[];
}

/** One function on offer, wherever it runs. The loop cannot tell an OpenAPI server from a browser. */
export interface Tool {
  readonly spec: ToolSpec;
  /** The function as its server describes it, where `spec` is cut: arguments are checked against these parameters. Absent: `spec` is whole. */
  readonly whole?: ToolSpec;
  /** The name under which its results are cited: `<server>/<function>`, or `<function>` for a server of `tool_servers`. */
  readonly label: string;
  /** For events: the id of a registered server; of one that the request supplied its URL, or the label of an MCP server. */
  readonly server: string;
  readonly kind: 'openapi' | 'browser' | 'function' | 'mcp' | 'preset';
  /** Its server came with the request; absent: it is registered, or the gateway's own. */
  readonly isFromRequest?: true;
  /** The request of a call, as `POST http://host/path`; undefined if it is unknown or not an HTTP request. */
  readonly endpoint?: string;
  /** The request of a call with these arguments, as `POST http://host/path/5?dry=true`, without credentials; undefined if it cannot be built. */
  readonly addressOf?: (args: JsonObject) => string | undefined;
  /** Further names by which an approval rule may refer to it: its name before a name clash, the one in the document, its entries of `tool_ids`. */
  readonly otherNames?: readonly string[];
  /** The tool's time limit; undefined: the request's, else the preset's, else the default. */
  readonly timeoutMs?: number;
  /** Whether a timeout is an error for the model (default) or ends the run. */
  readonly timeoutBehavior?: 'result' | 'abort';
  /** What an exception becomes: an error for the model (default), the end of the run, or the text that this function returns. */
  readonly onError?: 'result' | 'abort' | ((error: unknown, invocation: ToolInvocation, context: ToolContext) => string | Promise<string>);
  /** Never runs concurrently with another call of its round, whatever its other properties. */
  readonly isSequential?: boolean;
  /** Changes nothing (a GET): it runs concurrently with others of its kind, may be retried, and a cancelled call has no effect. */
  readonly isReadOnly?: boolean;
  /** No argument can be sent, even if its schema, which declares none, does not forbid further ones. */
  readonly takesNothing?: boolean;
  /** What these arguments lack although the schema does not require it: members of a body of which others are given. */
  readonly missingFrom?: (args: JsonObject) => MissingArguments;
  /** The order of its calls does not matter: it runs concurrently although it may change something. */
  readonly isParallel?: boolean;
  /** Identical calls in one run are intended: the limit of identical calls does not apply. */
  readonly mayRepeat?: boolean;
  /** Calling it twice has the effect of once (a PUT): it may be retried although the first call may have taken effect. */
  readonly isIdempotent?: boolean;
  /** How long an identical call of the same caller gets the cached result; undefined: never. */
  readonly cacheTtlMs?: number;
  /** Whether a human has to approve a call: every call, or depending on the arguments. If the predicate throws, the call does not run. */
  readonly needsApproval?: boolean | ((args: JsonObject, run: RunContext) => boolean | Promise<boolean>);
  /** Only the interface of an app calls it, through its client: no model is offered it. */
  readonly isForApps?: true;
  /**
   * Internal to the loop, without effects outside of its run: a rule that requires approval of all calls does not apply to it, and where only one
   * selection or one call is made, another one may follow.
   */
  readonly isHelper?: true;
  /** Only for a call that was made when it was on offer, in a run that was suspended since. */
  readonly isFormer?: true;
  /** Once it was called, the files of the request are not added to the model's context. */
  readonly consumesFiles?: boolean;
  /** Overrides `limits.toolResultBytes`. */
  readonly maxResultBytes?: number;
  /** A JSON Schema of its results, where one is known; results that were truncated, or hold files, may have another form. */
  readonly outputSchema?: JsonObject;
  /** For MCP clients of the gateway. */
  readonly presentation?: ToolPresentation;
  /** Ids of the other gateways that it comes through, nearest first. */
  readonly gateways?: readonly string[];
  /** Why a call could not run now, whatever its arguments. Asked before a human is asked to approve it; absent: nothing is in the way. */
  whyNotReady?(run: RunContext): Promise<Extract<ToolOutcome, { type: 'error' }> | undefined>;
  /** Rejects with a `ToolError` for the model, the signal's reason, or another error, whose message is masked. */
  run(invocation: ToolInvocation, context?: ToolContext): Promise<ToolOutcome>;
}

/** What the arguments of a call are checked against, whatever part of it a model was offered. */
export function wholeParameters({ spec, whole = spec }: Pick<Tool, 'spec' | 'whole'>): JsonObject {
  return whole.parameters;
}

/** The tools of one request, fixed for its run. */
export interface ToolOffer {
  /** By offered name, in the order in which they are offered. */
  tools: ReadonlyMap<string, Tool>;
  /** For the caller: a server that could not be reached, a function that was renamed. */
  warnings: readonly { code: string; message: string }[];
  /** Of the MCP servers of the request, where it wants them (`listsMcpTools`). */
  lists?: McpToolList[];
  /** Present if not all functions are offered: a tool that finds the deferred ones. */
  finder?: { tool: Tool; deferred: ReadonlyMap<string, Tool> };
  /** Present if functions are cut, offered or deferred ones: a tool that describes any part of a function. Offered beside a function that is cut. */
  describer?: Tool;
}

export interface ListedTool {
  /** `<server id>/<function>`. */
  id: string;
  name: string;
  description: string;
  parameters: JsonObject;
  /** As `Tool.outputSchema`. */
  output?: JsonObject;
  /** As `Tool.presentation`. */
  presentation?: ToolPresentation;
  server: string;
  kind: Tool['kind'];
  /** As `Tool.isForApps`. */
  isForApps?: true;
  /** For MCP annotations. */
  hints: { isReadOnly: boolean; isIdempotent: boolean; gateways: readonly string[] };
  /** The tool itself, where it is a helper that no entry of `tool_ids` names. */
  helper?: Tool;
}

/** Who is offered the tools. A `client` calls them without a model, and may also call tools for apps only. Default: a model. */
export type OfferedTo = 'model' | 'client';

export interface ToolFinder {
  /** @throws GatewayError `unknown_tool_id`, `document_required`, `invalid_request`. A known server that is unreachable becomes a warning. */
  offerFor(request: ChatRequest, run: RunContext, to?: OfferedTo): MaybePromise<ToolOffer>;
  /** Every registered function that this caller may use. The same list and the same objects, as long as nothing of it has changed. */
  list(caller: Caller, signal: AbortSignal): Promise<readonly ListedTool[]>;
}
