import { withoutStructure } from '../../../core/tools/structured-result.ts';
import type { FastifyPluginAsync } from 'fastify';
import { GatewayError, invalidField } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import type { ListedTool, ToolErrorCode, ToolFile, ToolFinder } from '../../../core/tools/tool.ts';
import type { Caller } from '../../../core/callers/caller.ts';
import type { InvokedFunction, InvokeFunction } from '../../../runs/invoke-function.ts';
import { isDeeperThan, isJsonObject, ownValue, type JsonObject } from '../../../shared/json/json.ts';
import { readRequestHeader } from '../../auth/read-request-header.ts';
import { disconnectSignal } from '../../disconnect-signal.ts';
import { parseInput } from '../../parse-input.ts';
import { publicAddress } from '../../public-address.ts';
import { createListedTexts } from '../../listed-texts.ts';
import { sendPieces } from '../send-in-slices.ts';
import { toRecordedWire } from './recorded-request-wire.ts';
import { listQuery, pageOf } from '../list-page.ts';

export interface ToolRouteOptions {
  tools: ToolFinder;
  invoke: InvokeFunction;
  /** `PUBLIC_URL`. */
  publicUrl: string | undefined;
}

/** Ids contain a slash, so the route takes the rest of the path, which is the id and `/invoke`. */
const pathEnd = '/invoke';

const recordField = 'record_requests';

/** `GET /api/tools` lists the registered functions that the caller may use. `POST /api/tools/{id or name}/invoke` runs one, with the checks of a chat. */
export const toolRoutes: FastifyPluginAsync<ToolRouteOptions> = async (app, { tools, invoke, publicUrl }) => {
  const texts = createListedTexts(['data'], (tool) => ({ data: JSON.stringify(toListedWire(tool)) }));
  app.get('/api/tools', async ({ caller, query }, reply) => {
    const page = parseInput(listQuery, query);
    const listed = await tools.list(caller, AbortSignal.timeout(2 * limits.documentTimeoutMs));
    const { from, to, next } = pageOf(listed, page, 'function');
    const { data } = await texts.of(listed);
    return sendPieces(reply, [Buffer.from('{"data":['), data.part(from, to), Buffer.from(`],"next":${JSON.stringify(next)}}`)]);
  });

  app.post<{ Params: { '*': string } }>('/api/tools/*', async (request, reply) => {
    const signal = disconnectSignal(reply);
    const { caller, params, body } = request;
    const path = params['*'];
    if (!path.endsWith(pathEnd)) throw new GatewayError('not_found', 'To call a function, send POST /api/tools/{id or name}/invoke.');
    const call = { idOrName: path.slice(0, -pathEnd.length), args: argumentsIn(body) };
    const recordedRequests = isRecorded(body, caller) ? [] : undefined;
    const invoked = await invoke(call, {
      caller,
      signal,
      readHeader: readRequestHeader(request),
      address: () => publicAddress(request.headers, publicUrl),
      recordedRequests,
    });
    const status = statusOf(invoked);
    request.log.info({ tool: invoked.id, status, duration_ms: invoked.durationMs }, 'tool invoked');
    const requests = recordedRequests && { requests: recordedRequests.map(toRecordedWire) };
    return reply.code(status).send({ ...toInvokedWire(invoked), ...requests });
  });
};

function toListedWire({ id, name, description, parameters, server, kind }: ListedTool): JsonObject {
  return { id, name, description, parameters, server, kind };
}

/**
 * Whether the caller wants to see the requests to tool servers, as may whoever may read what is registered (`GET /api/tool-servers`).
 * @throws GatewayError `invalid_request`, `forbidden`
 */
function isRecorded(body: unknown, { role, isOpen }: Caller): boolean {
  const wanted = isJsonObject(body) ? (ownValue(body, recordField) ?? false) : false;
  if (typeof wanted !== 'boolean') throw invalidField(recordField, 'must be true or false.');
  if (wanted && role !== 'admin' && !isOpen)
    throw new GatewayError(
      'forbidden',
      `Only administrators see requests to tool servers. Leave ${recordField} out, or use an administrator key.`,
    );
  return wanted;
}

/** @throws GatewayError `invalid_request` */
function argumentsIn(body: unknown): JsonObject {
  const fields = isJsonObject(body) ? body : {};
  // If arguments were sent at the top level by mistake, a function that requires none would run without them.
  const isEmpty = isJsonObject(body) && Object.keys(body).every((key) => key === 'arguments' || key === recordField);
  const args = ownValue(fields, 'arguments') ?? (isEmpty ? {} : undefined);
  if (isDeeperThan(args, limits.jsonDepth)) throw invalidArguments(`nested deeper than ${limits.jsonDepth} levels`);
  if (isJsonObject(args)) return args;
  throw invalidArguments('must be an object, as in {"arguments": {"city": "Paris"}}');
}

function invalidArguments(problem: string): GatewayError {
  return invalidField('arguments', `${problem}.`);
}

/** A failed tool is a successful request; invalid arguments are the caller's error. */
function statusOf({ outcome }: InvokedFunction): number {
  if (outcome.type === 'result') return 200;
  if (isCallersMistake(outcome.code)) return 400;
  return outcome.code === 'approval_required' || outcome.code === 'credential_required' ? 409 : 200;
}

function isCallersMistake(code: ToolErrorCode): boolean {
  return code.startsWith('args_');
}

/** A call with its result, or with the error in its place. */
export function toInvokedWire({ id, name, outcome, durationMs, notices, connect }: InvokedFunction): JsonObject {
  const warnings = notices?.map((message) => ({ code: 'arguments_changed', message }));
  const head = { id, tool: name, ...(warnings && { warnings }) };
  if (outcome.type === 'result') {
    const { value, structured, isTruncated, files = [] } = outcome;
    const text = structured === undefined || typeof value !== 'string' ? undefined : withoutStructure(value, structured.value);
    return {
      ...head,
      ...(text === undefined || structured === undefined ? { result: value } : { result: structured.value, text }),
      ...(isTruncated === true && { truncated: true }),
      ...(files.length > 0 && { files: files.map(toWireFile) }),
      duration_ms: durationMs,
    };
  }
  const { code, message, detail } = outcome;
  const envelope = isCallersMistake(code) ? { type: 'invalid_request_error', param: 'arguments' } : {};
  return {
    ...head,
    error: { code, message, ...envelope, ...(detail !== undefined && { detail }) },
    ...(connect && { connect }),
    duration_ms: durationMs,
  };
}

/** The same fields as in the event of a result, but with the file itself however large it is. */
function toWireFile({ type, name, sizeBytes, url }: ToolFile): JsonObject {
  return { type, size_bytes: sizeBytes, ...(name !== undefined && { name }), url };
}
