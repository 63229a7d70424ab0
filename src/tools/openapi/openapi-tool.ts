import { OutboundError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { SendOutbound, Trust } from '../../core/outbound.ts';
import type { RunContext } from '../../core/run.ts';
import type { PreparedRequest, Tool, ToolInvocation, ToolOutcome } from '../../core/tool.ts';
import { ArgumentError, buildRequest } from './build-request.ts';
import type { Operation } from './operation.ts';
import { readResponse } from './read-response.ts';

/** How the functions of one server reach it. */
export interface OpenApiConnection {
  /** Where the document's paths begin (`serverBaseUrl`). */
  baseUrl: string;
  trust: Trust;
  send: SendOutbound;
  /** Headers of this call: credential, own headers, ids of the run. They replace what a model set under the same name. */
  headersFor(run: RunContext): Record<string, string>;
  /** Query parameters that carry a key. */
  query: Record<string, string>;
  timeoutMs?: number;
  /** Default: `limits.toolResultBytes`. */
  maxResultBytes?: number;
}

export interface OpenApiToolOptions {
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
    spec: { ...operation.spec, name: offeredName },
    label,
    server,
    kind: 'openapi',
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(maxResultBytes === undefined ? {} : { maxResultBytes }),
    async run(invocation) {
      try {
        const request = buildRequest(operation, invocation.args, connection.baseUrl);
        return await call(request, connection, invocation);
      } catch (error) {
        invocation.signal.throwIfAborted();
        if (error instanceof ArgumentError) return { type: 'error', code: 'args_invalid', message: error.message };
        if (error instanceof OutboundError) return explainFailure(error, connection, invocation.run);
        throw error;
      }
    },
  };
}

async function call(request: PreparedRequest, connection: OpenApiConnection, invocation: ToolInvocation): Promise<ToolOutcome> {
  const response = await connection.send({
    method: request.method,
    url: withQuery(request.url, connection.query),
    headers: { ...request.headers, ...inLowerCase(connection.headersFor(invocation.run)) },
    ...(request.body === undefined ? {} : { body: request.body }),
    trust: connection.trust,
    signal: invocation.signal,
    firstByteTimeoutMs: invocation.timeoutMs,
    idleTimeoutMs: invocation.timeoutMs,
  });
  const outcome = await readResponse(response, connection.maxResultBytes ?? limits.toolResultBytes);
  return outcome.type === 'error' ? { ...outcome, message: withoutSecrets(outcome.message, connection, invocation.run) } : outcome;
}

/** The key's parameter replaces one of the same name that a model filled in. */
function withQuery(url: string, query: Record<string, string>): string {
  if (Object.keys(query).length === 0) return url;
  const [address = '', given = ''] = url.split('?', 2);
  const kept = given.split('&').filter((pair) => pair !== '' && !Object.hasOwn(query, decodeURIComponent(pair.split('=', 1)[0] ?? '')));
  const keys = Object.entries(query).map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  return `${address}?${[...kept, ...keys].join('&')}`;
}

function inLowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function explainFailure(error: OutboundError, connection: OpenApiConnection, run: RunContext): ToolOutcome {
  const { host } = new URL(connection.baseUrl);
  const said = withoutSecrets(error.message, connection, run);
  switch (error.failure) {
    case 'denied':
      return { type: 'error', code: 'egress_denied', message: said };
    case 'timeout':
      return { type: 'error', code: 'tool_timeout', message: `The tool server ${host} did not answer in time. ${said}` };
    case 'unreachable':
      return failed(`The tool server ${host} cannot be reached. Is it running, and is its address right? ${said}`);
    case 'cut':
      return failed(`The tool server ${host} broke off amid its answer; whether the call took effect is not known. ${said}`);
    case 'redirected':
      return failed(`The tool server ${host} redirects, and redirects are not followed: register the address it points to. ${said}`);
    case 'invalid_request':
      return failed(`The request to the tool server ${host} could not be sent. ${said}`);
  }
}

function failed(message: string): ToolOutcome {
  return { type: 'error', code: 'tool_error', message };
}

/** Messages reach the model and the caller; no credential may, whatever the door or the server said. */
function withoutSecrets(message: string, connection: OpenApiConnection, run: RunContext): string {
  const values = [...Object.values(connection.headersFor(run)), ...Object.values(connection.query)];
  const secrets = values.flatMap((value) => [value, encodeURIComponent(value.toWellFormed()), ...value.split(' ')]);
  return secrets.filter((secret) => secret.length >= 8).reduce((text, secret) => text.replaceAll(secret, '[secret]'), message);
}
