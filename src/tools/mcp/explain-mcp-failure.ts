import {
  InsufficientScopeError,
  ProtocolError,
  ResourceNotFoundError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from '@modelcontextprotocol/client';
import { scopesIn } from '../definitions/scopes.ts';
import { OutboundError } from '../../core/errors.ts';
import { describeSchemaIssue, type SchemaIssue } from '../../shared/describe-schema-issue.ts';
import { unmadeConnections } from '../outgoing/unmade-connections.ts';
import { withoutExcerpt } from '../../shared/json/without-excerpt.ts';

/**
 * What is known of a request that failed. `never-sent`: it was not executed. `maybe-sent`: it may have taken effect. `answered`: the server returned
 * an error. `invalid`: it executed the request, and its result is none of MCP. `refused`: the HTTP status is an error that a retry would not change. `denied`: the address is not allowed. `timeout`: the outcome is
 * unknown.
 */
export interface McpFailure {
  kind: 'never-sent' | 'maybe-sent' | 'answered' | 'invalid' | 'refused' | 'denied' | 'timeout';
  message: string;
  /** The HTTP status of its answer, where that was the failure. */
  status?: number;
  /** The token of the request lacks these scopes, as far as the server names them. */
  wantedScopes?: readonly string[];
  /** The server at this address does not speak MCP. */
  isOther?: true;
  /** The server does not know the session of the connection any more, so it has not executed the request. A new connection may help. */
  isSessionLost?: true;
  /** The server has no resource of the URI that was asked for. */
  isUnknownResource?: true;
}

/** Error codes of a connection or pipe over which nothing was delivered. */
const undelivered: ReadonlySet<string> = new Set([...unmadeConnections, 'EPIPE', 'ENOENT', 'EACCES']);
/** Statuses with which web servers reject a POST to an unknown path. */
const otherStatuses: ReadonlySet<number> = new Set([400, 404, 405, 406, 410, 415, 422, 501]);
/** How many nested causes are examined. */
const maxCauses = 8;
const maxShownCharacters = 500;
/** Of the protocol versions before 2026. */
const unknownResourceCode = -32_002;

/** The response stream ended without the answer, or was ended. */
export class AnswerCutOff extends Error {
  override readonly name = 'AnswerCutOff';

  constructor(message = 'The server closed the connection before it answered.') {
    super(message);
  }
}

/** The server is starting or overloaded, and has said when to come again: it has not begun with the request (RFC 9110, section 15.6.4). */
export class ServerUnavailable extends Error {
  override readonly name = 'ServerUnavailable';
  readonly status = 503;

  /** `retryAfterMs`: as the server says; 0 if that cannot be read. */
  constructor(retryAfterMs: number) {
    const when = retryAfterMs > 0 ? `, and asks to be tried again in ${Math.ceil(retryAfterMs / 1_000)} s` : '';
    super(`it answered with the HTTP status 503${when}`);
  }
}

/** A server has refused a request because it does not know the session. The cause says how. */
export class SessionLost extends Error {
  override readonly name = 'SessionLost';

  constructor(cause: unknown) {
    super('', { cause });
  }
}

/** HTTP statuses by which servers refuse a session: 404 by the protocol, the others by habit. */
const lostSessionStatuses: ReadonlySet<number> = new Set([401, 404, 410]);
/** JSON-RPC codes by which servers refuse a session: that of the SDK, and that of its neighbour. */
const lostSessionCodes: ReadonlySet<number> = new Set([-32_001, -32_002]);
/** Codes of requests that a server did not begin with. Its tools use them too, so the words have to be about the protocol. */
const refusedRequestCodes: ReadonlySet<number> = new Set([-32_000, -32_600, -32_602]);
const initializationWords = /\b(?:not|before)\b.{0,20}initiali[sz]|uninitiali[sz]ed/i;
const lostSessionWords =
  /\b(?:unknown|invalid|expired|missing|stale|no)\b.{0,30}\bsession|\bsession\b.{0,60}\b(?:not|no longer|unknown|invalid|expired|missing|terminated|closed|lost|gone|doesn't)\b/i;

/** Whether a server says that it does not know the session that a request came with. */
export function isSessionLost(error: unknown): boolean {
  const chain = causesOf(error);
  const http = chain.find((entry) => entry instanceof SdkHttpError);
  if (http !== undefined) return lostSessionStatuses.has(http.status) || meansLostSession(textOf(http.data));
  const protocol = chain.find((entry) => entry instanceof ProtocolError);
  if (protocol === undefined) return false;
  if (lostSessionCodes.has(protocol.code)) return meansLostSession(protocol.message);
  return refusedRequestCodes.has(protocol.code) && initializationWords.test(protocol.message);
}

function meansLostSession(text: string): boolean {
  const shown = text.slice(0, maxShownCharacters);
  return lostSessionWords.test(shown) || initializationWords.test(shown);
}

function textOf(data: unknown): string {
  const { text } = (data ?? {}) as { text?: unknown };
  return typeof text === 'string' ? text : '';
}

export function explainMcpFailure(error: unknown): McpFailure {
  const chain = causesOf(error);
  const failure = explainChain(error, chain);
  if (!chain.some((entry) => entry instanceof SessionLost)) return failure;
  return { ...failure, ...(failure.kind === 'answered' && { kind: 'never-sent' }), isSessionLost: true };
}

function explainChain(error: unknown, chain: readonly (Error & { code?: unknown })[]): McpFailure {
  const outbound = chain.find((entry) => entry instanceof OutboundError);
  if (outbound?.failure === 'denied') return { kind: 'denied', message: outbound.message };
  if (outbound?.failure === 'redirected' || outbound?.failure === 'invalid_request') return { kind: 'refused', message: outbound.message };
  const message = outbound?.message ?? withoutExcerpt(chain.map((entry) => entry.message).find((text) => text !== '') ?? String(error));
  const unstarted = chain.map(describeUnstarted).find((text) => text !== undefined);
  if (unstarted !== undefined) return { kind: 'never-sent', message: unstarted };
  if (chain.some(({ code }) => typeof code === 'string' && undelivered.has(code))) return { kind: 'never-sent', message };
  if (outbound !== undefined) return { kind: outbound.failure === 'timeout' ? 'timeout' : 'maybe-sent', message };
  const unavailable = chain.find((entry) => entry instanceof ServerUnavailable);
  if (unavailable !== undefined) return { kind: 'never-sent', message, status: unavailable.status };
  const insufficient = chain.find((entry): entry is InsufficientScopeError => entry instanceof InsufficientScopeError);
  if (insufficient !== undefined) return explainScopes(insufficient.requiredScope);
  const http = chain.find((entry) => entry instanceof SdkHttpError);
  if (http !== undefined)
    return {
      kind: kindOfStatus(http.status),
      message: `it answered with the HTTP status ${http.status}`,
      status: http.status,
      ...(otherStatuses.has(http.status) && { isOther: true }),
    };
  const protocol = chain.find((entry) => entry instanceof ProtocolError);
  if (protocol !== undefined)
    return {
      kind: 'answered',
      message: `${protocol.message} (code ${protocol.code})`,
      ...((protocol instanceof ResourceNotFoundError || protocol.code === unknownResourceCode) && { isUnknownResource: true }),
    };
  const other = describeOther(chain);
  if (other !== undefined) return { kind: 'never-sent', message: `it answered ${other}`, isOther: true };
  const sdk = chain.find((entry) => entry instanceof SdkError);
  if (sdk?.code === SdkErrorCode.RequestTimeout) return { kind: 'timeout', message: describeTimeout(sdk.data) };
  if (sdk?.code === SdkErrorCode.InvalidResult) return { kind: 'invalid', message: describeInvalidResult(message) };
  return { kind: kindOfSdkError(sdk?.code), message };
}

/** Why the process of a server could not be started; undefined for other errors. What follows the program may hold secrets, so it is not repeated. */
function describeUnstarted(error: Error & { code?: unknown; syscall?: unknown; path?: unknown }): string | undefined {
  const { code, syscall, path } = error;
  if (typeof syscall !== 'string' || !syscall.startsWith('spawn') || typeof path !== 'string') return undefined;
  const [program = '', ...rest] = path.trim().split(/\s+/);
  if (code === 'ENOENT' && rest.length > 0)
    return `there is no program of the name that "command" has. It names the program only: set command: ${program}, and put the rest into args, one entry for each word`;
  if (code === 'ENOENT')
    return `the program "${path}" was not found. Install it where the gateway runs, or set "command" to its full path, and check that the folder "cwd" exists`;
  if (code === 'EACCES') return `the program "${path}" may not be run by the gateway's user. Make it executable`;
  return undefined;
}

/** 403 `insufficient_scope`: nothing was executed. */
function explainScopes(demanded = ''): McpFailure {
  const wantedScopes = scopesIn(demanded.split(' '));
  const which = wantedScopes.length === 0 ? '' : ` (${wantedScopes.join(' ')})`;
  return { kind: 'refused', message: `the token lacks scopes that it demands${which}`, status: 403, wantedScopes };
}

/** The message of the SDK ends in all that zod found, as JSON of up to many kilobytes. The first of it is enough. */
function describeInvalidResult(message: string): string {
  const [, text = ''] = /^Invalid result for [^:]*: (.*)$/s.exec(message) ?? [];
  const [issue] = issuesIn(text);
  return issue === undefined ? text.slice(0, maxShownCharacters) : `${issue.path.join('.')} ${describeSchemaIssue(issue)}`.trim();
}

function issuesIn(text: string): SchemaIssue[] {
  try {
    const issues: unknown = JSON.parse(text);
    return Array.isArray(issues) ? (issues as SchemaIssue[]) : [];
  } catch {
    return [];
  }
}

function describeTimeout(data: unknown): string {
  const { timeout } = (data ?? {}) as { timeout?: unknown };
  return typeof timeout === 'number' ? `it did not answer within ${timeout / 1_000} s` : 'it did not answer in time';
}

/** An answer to the first request that is not in MCP's form; undefined for every other failure. */
function describeOther(chain: readonly Error[]): string | undefined {
  const isOpening = chain.some((entry) => entry instanceof SdkError && entry.code === SdkErrorCode.EraNegotiationFailed);
  if (!isOpening) return undefined;
  const unexpected = chain.find((entry) => entry instanceof SdkError && entry.code === SdkErrorCode.ClientHttpUnexpectedContent);
  if (unexpected instanceof SdkError) return describeContent((unexpected.data as { contentType?: string | null }).contentType ?? '');
  if (chain.some((entry) => entry instanceof SyntaxError)) return 'with JSON that cannot be read';
  return chain.some(({ name }) => name === 'ZodError' || name === '$ZodError') ? 'with JSON that is not an MCP message' : undefined;
}

function describeContent(contentType: string): string {
  const type = contentType.split(';')[0]?.trim() ?? '';
  if (type === '') return 'without a content type';
  return type === 'text/html' ? 'with a web page (text/html)' : `with ${type}`;
}

/** 404 means that the server does not know the session any more; many servers return 400 or 410 for that. In all three cases nothing was executed. */
function kindOfStatus(status: number): McpFailure['kind'] {
  if (status === 404 || status === 400 || status === 410) return 'never-sent';
  return status >= 500 ? 'maybe-sent' : 'refused';
}

function kindOfSdkError(code: unknown): McpFailure['kind'] {
  switch (code) {
    case SdkErrorCode.NotConnected:
    case SdkErrorCode.NotInitialized:
    case SdkErrorCode.EraNegotiationFailed:
      return 'never-sent';
    case SdkErrorCode.UnsupportedResultType:
    case SdkErrorCode.InputRequiredRoundsExceeded:
    case SdkErrorCode.CapabilityNotSupported:
      return 'answered';
    default:
      return 'maybe-sent';
  }
}

function causesOf(error: unknown): (Error & { code?: unknown })[] {
  const chain: Error[] = [];
  for (let next = error; next instanceof Error && chain.length < maxCauses; next = next.cause) chain.push(next);
  return chain;
}
