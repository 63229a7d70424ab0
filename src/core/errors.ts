import type { JsonObject } from '../shared/json/json.ts';

/** The `type` of an OpenAI error body. */
type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'rate_limit_error'
  | 'server_error';

/**
 * Every error that a client may see: its stable code, the HTTP status before the first byte, and OpenAI's type.
 * A code is never reused for another meaning.
 */
const errorTable = {
  invalid_request: { status: 400, type: 'invalid_request_error' },
  unknown_mode: { status: 400, type: 'invalid_request_error' },
  unknown_tool_id: { status: 400, type: 'invalid_request_error' },
  document_required: { status: 400, type: 'invalid_request_error' },
  /** The key speaks for several people, and the request names none of them. */
  user_required: { status: 400, type: 'invalid_request_error' },
  /** `previous_response_id` of the Responses API names no stored response of this caller. */
  previous_response_not_found: { status: 400, type: 'invalid_request_error' },
  invalid_api_key: { status: 401, type: 'authentication_error' },
  /** The token that names the person behind a key is forged, expired or incomplete. */
  invalid_user_token: { status: 401, type: 'authentication_error' },
  forbidden: { status: 403, type: 'permission_error' },
  egress_denied: { status: 403, type: 'permission_error' },
  /** The approval token was altered, or belongs to another call, other arguments or another suspension. */
  invalid_approval_token: { status: 403, type: 'permission_error' },
  approval_expired: { status: 410, type: 'invalid_request_error' },
  model_not_found: { status: 404, type: 'not_found_error' },
  not_found: { status: 404, type: 'not_found_error' },
  /** The id is taken, or the change is not possible in the current state. */
  conflict: { status: 409, type: 'invalid_request_error' },
  /** The tool server asks each person for a credential of their own, and the caller has given none. */
  credential_required: { status: 409, type: 'invalid_request_error' },
  /** The entry comes from the environment or the configuration file, and can only be changed there. */
  read_only: { status: 409, type: 'invalid_request_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  request_timeout: { status: 408, type: 'invalid_request_error' },
  payload_too_large: { status: 413, type: 'invalid_request_error' },
  headers_too_large: { status: 431, type: 'invalid_request_error' },
  unsupported_media_type: { status: 415, type: 'invalid_request_error' },
  /** A limit of the caller's key or socket is exceeded. */
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  upstream_rate_limited: { status: 429, type: 'rate_limit_error' },
  /** The backend refused the request (4xx); its status and message are passed on. */
  upstream_rejected: { status: 400, type: 'invalid_request_error' },
  /** The conversation is too long for the model, says the backend. Agents know this code of OpenAI's, and shorten the conversation. */
  context_length_exceeded: { status: 400, type: 'invalid_request_error' },
  /** The backend reports that the model or server has no native tool calls; mode `auto` falls back to `default`. */
  tools_unsupported: { status: 400, type: 'invalid_request_error' },
  upstream_unreachable: { status: 502, type: 'server_error' },
  upstream_auth_failed: { status: 502, type: 'server_error' },
  upstream_invalid_response: { status: 502, type: 'server_error' },
  upstream_line_too_long: { status: 502, type: 'server_error' },
  /** The stream ended with neither a finish reason nor `[DONE]`. */
  upstream_incomplete: { status: 502, type: 'server_error' },
  /** The backend could not read a call that its own model wrote, also when it was asked again. */
  model_call_unreadable: { status: 502, type: 'server_error' },
  upstream_error: { status: 502, type: 'server_error' },
  upstream_timeout: { status: 504, type: 'server_error' },
  /** A function of this gateway failed or took too long, and its definition says that this ends the run. */
  tool_failed: { status: 502, type: 'server_error' },
  /** A hook refused it; the message is the hook's. */
  refused_by_hook: { status: 403, type: 'permission_error' },
  /** A hook failed or took too long, and its policy says that this ends the run. */
  hook_failed: { status: 502, type: 'server_error' },
  run_cancelled: { status: 409, type: 'invalid_request_error' },
  /** The database cannot be read or written at the moment. */
  storage_unavailable: { status: 503, type: 'server_error' },
  /** The keys that sign the tokens of people cannot be fetched. */
  identity_unavailable: { status: 503, type: 'server_error' },
  server_shutting_down: { status: 503, type: 'server_error' },
  overloaded: { status: 503, type: 'server_error' },
  internal_error: { status: 500, type: 'server_error' },
} as const satisfies Record<string, { status: number; type: ErrorType }>;

export type ErrorCode = keyof typeof errorTable;

interface GatewayErrorDetails {
  /** The request field at fault, as a path such as `messages.0.role`. */
  param?: string;
  /** Overrides the table's status, for an upstream status that is passed on. */
  status?: number;
  /** The status with which the backend answered, whether it is passed on or not. */
  upstreamStatus?: number;
  /** Seconds or HTTP date, copied to `Retry-After`. */
  retryAfter?: string;
  /** The backend whose words the message is, unchanged. */
  saidBy?: string;
  /** What the run did before the error, as further fields of the body beside `error`. */
  progress?: JsonObject;
  cause?: unknown;
}

/** An error whose message may reach a client: it names the problem and the cure, and contains no secret. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly upstreamStatus: number | undefined;
  readonly type: ErrorType;
  readonly param: string | null;
  readonly retryAfter: string | undefined;
  readonly saidBy: string | undefined;
  readonly progress: JsonObject | undefined;

  constructor(code: ErrorCode, message: string, details: GatewayErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'GatewayError';
    this.code = code;
    this.status = details.status ?? errorTable[code].status;
    this.upstreamStatus = details.upstreamStatus;
    this.type = errorTable[code].type;
    this.param = details.param ?? null;
    this.retryAfter = details.retryAfter;
    this.saidBy = details.saidBy;
    this.progress = details.progress;
  }
}

/** The most characters of what a model wrote that an error repeats. */
const shownWritten = 1_000;

/** `model_call_unreadable`. The request was not at fault, so it may be repeated as it is. */
export class UnreadableCallError extends GatewayError {
  /** What the model wrote, as far as the backend has repeated it. */
  readonly written: string | undefined;

  /** `said`: how the backend reported it, without secrets. */
  constructor(backendName: string, { said, written }: { said: string; written?: string | undefined }) {
    const repeats = written === undefined || said.includes(written);
    const shown = repeats ? '' : ` The model wrote: ${written.slice(0, shownWritten)}`;
    const message = `The model backend "${backendName}" could not read a call that its model wrote (${said}). Try again, or use another model.${shown}`;
    super('model_call_unreadable', message);
    this.written = written;
  }
}

/** `invalid_request` for one field; the message begins with its path. `problem`: what is wrong with it, and the cure. */
export function invalidField(param: string, problem: string): GatewayError {
  return new GatewayError('invalid_request', `${param}: ${problem}`, { param });
}

/** `not_found` for an id that was sent. `list`: the route that lists those there are. */
export function unknownId(kind: string, id: string, list: string): GatewayError {
  return new GatewayError('not_found', `There is no ${kind} "${shownId(id)}". ${list} lists those there are.`);
}

const longestShownId = 100;

/** An id that was sent, as messages show it: it may have any length. */
export function shownId(id: string): string {
  return id.slice(0, longestShownId);
}

/** Why an outgoing request failed. Callers turn it into an upstream error or a tool error. */
/** `no_files`: this process may open no further file, and so no connection. */
export type OutboundFailure = 'denied' | 'unreachable' | 'no_files' | 'timeout' | 'cut' | 'redirected' | 'invalid_request';

export class OutboundError extends Error {
  readonly failure: OutboundFailure;

  constructor(failure: OutboundFailure, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'OutboundError';
    this.failure = failure;
  }
}
