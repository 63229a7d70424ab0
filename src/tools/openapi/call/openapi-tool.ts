import { OutboundError } from '../../../core/errors.ts';
import type { SendOutbound, Trust } from '../../../core/outbound.ts';
import type { RecordedRequest } from '../../../core/runs/recorded-request.ts';
import type { RunContext } from '../../../core/runs/run.ts';
import type { PreparedRequest } from '../../../core/tools/browser-call.ts';
import type { CallState, Tool, ToolInvocation, ToolOutcome } from '../../../core/tools/tool.ts';
import { createSecretMask, type Secret, type SecretMask } from '../../../shared/secrets/secret-mask.ts';
import { isSecretHeader } from '../../../shared/secrets/secret-names.ts';
import { renamedSpec } from '../../definitions/lazy-spec.ts';
import { inLowerCase } from '../../outgoing/connection-headers.ts';
import { recordingSend, type Recording } from '../../outgoing/record-requests.ts';
import { isPublicHeader, sessionSecrets } from '../../outgoing/secrets-to-mask.ts';
import { laterLimit } from '../../../shared/async/timer-limits.ts';
import { withoutUndefined } from '../../../shared/json/without-undefined.ts';
import { isSafeMethod } from '../../definitions/server-rules.ts';
import { unmadeConnections } from '../../outgoing/unmade-connections.ts';
import { addressOfCall, ArgumentError, buildRequest } from './build-request.ts';
import { missingFromBody } from './choose-body.ts';
import { takesNothing, type CredentialSet, type Operation } from '../../definitions/operation.ts';
import { readResponse } from './read-response.ts';

/** Codes of a connection that was closed without a response. */
const brokenOff = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'UND_ERR_SOCKET']);

/** How the functions of one server reach it. */
export interface OpenApiConnection {
  /** Where an operation's path begins (`createBaseUrls`). */
  baseUrlFor(operation: Operation): string;
  trust: Trust;
  send: SendOutbound;
  /**
   * Headers of this call: credential, the connection's headers, ids of the run. They replace what a model set under the same name; cookies are joined.
   * `security`: what the operation requires.
   */
  headersFor(run: RunContext, security?: CredentialSet[]): Record<string, string>;
  /** Query parameters that carry a key. */
  queryFor(security?: CredentialSet[]): Record<string, string>;
  /** The user whose session token its requests carry; absent: they carry none. */
  sessionUserFor?(run: RunContext): string | undefined;
  /** The key itself, whatever its header or parameter is called: no result may show it. */
  key?: string | undefined;
  /** What no result may show of the headers that the connection adds, beside those that are named like credentials. */
  headerSecrets?: readonly Secret[];
  timeoutMs?: number;
  /** The part of a result that the model receives. More is read, so that the model can read the rest later. */
  maxResultBytes?: number;
}

interface OpenApiToolOptions {
  operation: Operation;
  offeredName: string;
  label: string;
  server: string;
  connection: OpenApiConnection;
}

/** An operation that the gateway executes itself. */
export function createOpenApiTool({ operation, offeredName, label, server, connection }: OpenApiToolOptions): Tool {
  const { timeoutMs, maxResultBytes } = connection;
  return {
    spec: renamedSpec(operation.spec, offeredName),
    label,
    server,
    kind: 'openapi',
    // RFC 9110 section 9.2: safe methods change nothing, and PUT and DELETE twice are as once.
    isReadOnly: isSafeMethod(operation.method),
    takesNothing: takesNothing(operation),
    missingFrom: (args) => missingFromBody(operation, args),
    isIdempotent: ['GET', 'HEAD', 'PUT', 'DELETE'].includes(operation.method),
    ...withoutUndefined({ timeoutMs, maxResultBytes, gateways: operation.gateways }),
    addressOf: (args) => addressOfCall(operation, args, connection.baseUrlFor(operation)),
    async run(invocation) {
      const carried: Carried = {
        hasSession: connection.sessionUserFor !== undefined,
        headers: inLowerCase(connection.headersFor(invocation.run, operation.security)),
        query: connection.queryFor(operation.security),
      };
      const baseUrl = connection.baseUrlFor(operation);
      try {
        const request = buildRequest(operation, invocation.args, baseUrl);
        return await call({ request, carried, connection }, invocation);
      } catch (error) {
        invocation.signal.throwIfAborted();
        if (error instanceof ArgumentError) return { type: 'error', code: 'args_invalid', message: error.message };
        if (error instanceof OutboundError) return explainFailure(error, new URL(baseUrl).host, carried);
        throw error;
      }
    },
  };
}

/** Headers in lower case, and query parameters, that the connection adds to a request. */
interface Carried {
  headers: Record<string, string>;
  query: Record<string, string>;
  /** Whether a session token is added when the request is sent. */
  hasSession: boolean;
}

interface Call {
  request: PreparedRequest;
  carried: Carried;
  connection: OpenApiConnection;
}

async function call({ request, carried, connection }: Call, invocation: ToolInvocation): Promise<ToolOutcome> {
  const { headers, query } = carried;
  const cookies = [request.headers['cookie'], headers['cookie']].filter((cookie) => cookie !== undefined);
  const { recordedRequests } = invocation.run;
  const send =
    recordedRequests === undefined ? connection.send : recordingSend(connection.send, toRecording(recordedRequests, carried, connection));
  const response = await send({
    method: request.method,
    url: withQuery(request.url, query),
    headers: { ...request.headers, ...headers, ...(cookies.length > 1 && { cookie: joinCookies(cookies) }) },
    ...bodyOf(request),
    sessionUser: connection.sessionUserFor?.(invocation.run),
    caller: invocation.run.caller.id,
    trace: invocation.run.trace?.headersOf(invocation.callId),
    trust: connection.trust,
    signal: invocation.signal,
    // The runtime ends the call at its limit, and says so.
    firstByteTimeoutMs: laterLimit(invocation.timeoutMs),
    idleTimeoutMs: laterLimit(invocation.timeoutMs),
  });
  // Servers that echo requests would give the operator's key to callers and models. Links to further pages repeat the query with its key.
  const outcome = await readResponse(response, maskFor(connection, carried));
  if (outcome.type === 'error') return { ...outcome, message: withoutSecrets(outcome.message, carried) };
  return { ...outcome, ...(outcome.note !== undefined && { note: withoutSecrets(outcome.note, carried) }) };
}

function toRecording(requests: RecordedRequest[], carried: Carried, { key = '' }: OpenApiConnection): Recording {
  return {
    requests,
    mask: createSecretMask([...everythingIn(carried), key]),
    isCarried: (part) => ('header' in part ? Object.hasOwn(carried.headers, part.header) : Object.hasOwn(carried.query, part.parameter)),
  };
}

/** Nearly every call of a connection carries the same credentials, and finding the forms in which a server may repeat them takes long. */
const lastMasks = new WeakMap<OpenApiConnection, { secrets: string[]; mask: SecretMask }>();

function maskFor(connection: OpenApiConnection, carried: Carried): SecretMask {
  const secrets = [...credentialsIn(carried), connection.key ?? ''];
  const last = lastMasks.get(connection);
  if (last?.secrets.length === secrets.length && secrets.every((secret, index) => secret === last.secrets[index])) return last.mask;
  const mask = createSecretMask([...secrets, ...(connection.headerSecrets ?? []), ...sessionSecrets(carried.hasSession)]);
  lastMasks.set(connection, { secrets, mask });
  return mask;
}

function bodyOf({ body, bodyEncoding }: PreparedRequest): { body?: string | Uint8Array } {
  if (body === undefined) return {};
  return { body: bodyEncoding === 'base64' ? Buffer.from(body, 'base64') : body };
}

/** The connection's cookie, which comes last, replaces the model's of the same name. */
function joinCookies(cookies: readonly string[]): string {
  const pairs = cookies.flatMap((cookie) => cookie.split(';')).map((pair) => pair.trim());
  return [...new Map(pairs.map((pair) => [pair.split('=', 1)[0], pair])).values()].join('; ');
}

/** The key's parameter replaces one of the same name that a model filled in. */
function withQuery(url: string, query: Record<string, string>): string {
  if (Object.keys(query).length === 0) return url;
  const [address = '', given = ''] = url.split('?', 2);
  const kept = given.split('&').filter((pair) => pair !== '' && !Object.hasOwn(query, decodeURIComponent(pair.split('=', 1)[0] ?? '')));
  const keys = Object.entries(query).map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  return `${address}?${[...kept, ...keys].join('&')}`;
}

function explainFailure(error: OutboundError, host: string, carried: Carried): ToolOutcome {
  const said = withoutSecrets(error.message, carried);
  const unknown = 'it is not known whether the call took effect';
  switch (error.failure) {
    case 'denied':
      return failed(said, 'not_started', 'egress_denied');
    case 'timeout':
      return failed(`The tool server ${host} did not answer in time. ${said}`, stateAfter(error), 'tool_timeout');
    case 'unreachable':
      // A server that crashed at the call closes the connection without a response, and so may one that did all of it. A model that reads that
      // nothing was reached would tell the user that nothing was done.
      if (brokenOff.has(codeOf(error))) return failed(`The tool server ${host} did not answer; ${unknown}. ${said}`, 'outcome_unknown');
      return failed(`The tool server ${host} cannot be reached. ${said}`, stateAfter(error));
    case 'no_files':
      return failed(said, 'not_started');
    case 'cut':
      return failed(`The tool server ${host} closed the connection before its answer was complete; ${unknown}. ${said}`, 'outcome_unknown');
    case 'redirected':
      return failed(`The tool server ${host} redirected the request to another address. ${said}`);
    case 'invalid_request':
      return failed(`The request to the tool server ${host} could not be sent. ${said}`);
  }
}

function codeOf({ cause }: OutboundError): string {
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
}

/** Without a connection nothing was sent; with one the outcome is not known. */
function stateAfter(error: OutboundError): CallState {
  return unmadeConnections.has(codeOf(error)) ? 'not_started' : 'outcome_unknown';
}

type ErrorCode = Extract<ToolOutcome, { type: 'error' }>['code'];

function failed(message: string, state?: CallState, code: ErrorCode = 'tool_error'): ToolOutcome {
  return { type: 'error', code, message, ...(state !== undefined && { state }) };
}

/** Messages reach the model and the caller; credentials must not, whatever the error or the server says. */
function withoutSecrets(message: string, carried: Carried): string {
  return createSecretMask(everythingIn(carried)).text(message);
}

function everythingIn({ headers, query, hasSession }: Carried): Secret[] {
  const sent = Object.entries(headers).flatMap(([name, value]) => (isPublicHeader(name) ? [] : [value]));
  return [...sent, ...Object.values(query), ...sessionSecrets(hasSession)];
}

/** The values that one call can have for itself; what is the same in all calls of the connection is in its `headerSecrets`. */
function credentialsIn({ headers, query }: Carried): string[] {
  return [...Object.entries(headers).flatMap(([name, value]) => (isSecretHeader(name) ? [value] : [])), ...Object.values(query)];
}
