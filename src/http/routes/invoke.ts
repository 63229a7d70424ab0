import type { FastifyPluginCallback, FastifyRequest } from 'fastify';
import type { LiveEvents } from '../../chat/loop/live-events.ts';
import type { ChatServices } from '../../chat/loop/answer-chat.ts';
import { prepareToolCall } from '../../chat/tool-calls/prepare-tool-call.ts';
import { runToolCall } from '../../chat/tool-calls/run-tool-call.ts';
import type { Caller } from '../../core/caller.ts';
import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../shared/json.ts';
import { isDeeperThan, isJsonObject, ownValue } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import { plainRequest } from '../../core/plain-request.ts';
import type { RunContext } from '../../core/run.ts';
import type { ToolErrorCode, ToolFinder, ToolOffer, ToolOutcome } from '../../core/tool.ts';
import type { ActiveInvocations } from '../../runs/active-invocations.ts';
import { abortOnDisconnect } from '../abort-on-disconnect.ts';

export interface InvokeRouteOptions extends InvokeOptions {
  callerOf(request: FastifyRequest): Caller;
  calls: Pick<ActiveInvocations, 'run'>;
}

/** What invoking one function takes, by whatever protocol. */
export interface InvokeOptions {
  tools: ToolFinder;
  newId(): string;
  toolTimeoutMs: number;
  /** What calls have over all runs, as in a chat: hooks, the cache, and where masked exceptions are written down. */
  runtime?: ChatServices['runtime'];
  now: () => number;
}

/** Ids hold a slash, so the rest of the path is the id and the word `invoke`. */
const pathEnd = '/invoke';
const longestShownId = 200;

/** `POST /api/tools/{id or name}/invoke`: one function, with the checks of a chat. */
export const invokeRoute: FastifyPluginCallback<InvokeRouteOptions> = (app, options, done) => {
  app.post<{ Params: { '*': string } }>('/api/tools/*', (request, reply) =>
    abortOnDisconnect(reply, async (signal) => {
      const rest = request.params['*'];
      if (!rest.endsWith(pathEnd)) throw new GatewayError('not_found', 'A function is called at POST /api/tools/{id or name}/invoke.');
      const { status, body } = await options.calls.run(options.callerOf(request), signal, (callSignal) =>
        invoke(rest.slice(0, -pathEnd.length), request, { signal: callSignal, options }),
      );
      request.log.info({ tool: body['id'], status, duration_ms: body['duration_ms'] }, 'tool invoked');
      return reply.code(status).send(body);
    }),
  );
  done();
};

async function invoke(
  idOrName: string,
  request: FastifyRequest,
  { signal, options }: { signal: AbortSignal; options: InvokeRouteOptions },
): Promise<{ status: number; body: JsonObject }> {
  const caller = options.callerOf(request);
  const args = argumentsIn(request.body);
  const { id, name, outcome, durationMs } = await invokeFunction({ idOrName, args }, { caller, signal, options });
  return answer({ id, name }, outcome, durationMs);
}

export interface InvokedFunction {
  id: string;
  name: string;
  outcome: ToolOutcome;
  durationMs: number;
}

/**
 * Runs one function for a caller, with the checks of a chat.
 * @throws GatewayError `not_found`, `forbidden`, and as `runToolCall`
 */
export async function invokeFunction(
  { idOrName, args }: { idOrName: string; args: JsonObject },
  { caller, signal, options, live }: { caller: Caller; signal: AbortSignal; options: InvokeOptions; live?: LiveEvents },
): Promise<InvokedFunction> {
  const run: RunContext = { runId: options.newId(), caller, chatId: undefined, messageId: undefined, sessionId: undefined, signal };
  const id = await findId(idOrName, run, options.tools);
  const offer = await offerOf(id, run, options.tools);
  const tool = offer.tools.values().next().value;
  if (tool === undefined) return { id, name: nameIn(id), outcome: leftOut(offer), durationMs: 0 };
  const call = { id: `call_${options.newId()}`, name: tool.spec.name, arguments: JSON.stringify(args) };
  const settings = { ...options.runtime, run, requestTimeoutMs: undefined, defaultTimeoutMs: options.toolTimeoutMs, now: options.now };
  const prepared = await prepareToolCall(call, new Map([[tool.spec.name, tool]]), run);
  const { outcome, durationMs } = await runToolCall(prepared, settings, live === undefined ? {} : { live });
  return { id: ownEntry.test(id) ? id : tool.label, name: tool.spec.name, outcome, durationMs };
}

/** @throws GatewayError `invalid_request` */
function argumentsIn(body: unknown): JsonObject {
  const fields = isJsonObject(body) ? body : {};
  // Arguments that stand in the body itself would be missed, and a function that requires none would run without them.
  const isEmpty = isJsonObject(body) && Object.keys(body).every((key) => key === 'arguments');
  const args = ownValue(fields, 'arguments') ?? (isEmpty ? {} : undefined);
  if (isDeeperThan(args, limits.jsonDepth))
    throw new GatewayError('invalid_request', `arguments: nested deeper than ${limits.jsonDepth} levels.`, { param: 'arguments' });
  if (isJsonObject(args)) return args;
  throw new GatewayError('invalid_request', 'arguments: must be an object, as in {"arguments": {"city": "Paris"}}.', {
    param: 'arguments',
  });
}

/** A name is looked for among everything that this caller may use. @throws GatewayError `not_found` */
async function findId(idOrName: string, { caller, signal }: RunContext, tools: ToolFinder): Promise<string> {
  // What belongs to no server is named as in `tool_ids`.
  if (ownEntry.test(idOrName)) return idOrName;
  const text = idOrName.replace(/^server:(?:openapi:|mcp:)?/, '');
  if (text.includes('/')) return text;
  const patience = AbortSignal.any([signal, AbortSignal.timeout(2 * limits.documentTimeoutMs)]);
  const found = (await tools.list(caller, patience)).find(({ id, name }) => name === text || id === text);
  if (found === undefined) throw unknownTool(idOrName);
  return found.id;
}

const ownEntry = /^(?:function|toolset|preset):/;

/** @throws GatewayError `not_found`, `forbidden` */
async function offerOf(id: string, run: RunContext, tools: ToolFinder): Promise<ToolOffer> {
  try {
    const toolId = ownEntry.test(id) ? id : `server:${id}`;
    return await tools.offerFor(plainRequest({ model: '', messages: [], stream: false, toolIds: [toolId] }), run);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (error.code === 'unknown_tool_id') throw unknownTool(id);
    if (error.code !== 'forbidden') throw error;
    throw new GatewayError('forbidden', `This key may not use the tool "${id.slice(0, longestShownId)}".`, { cause: error });
  }
}

function unknownTool(id: string): GatewayError {
  return new GatewayError('not_found', `There is no tool "${id.slice(0, longestShownId)}". GET /api/tools lists those you may use.`);
}

/** What a warning of the offer is for whoever has named the function; of any other one nothing more is known. */
const codesOfWarnings: ReadonlyMap<string, ToolErrorCode> = new Map([
  ['tool_server_disabled', 'tool_disabled'],
  ['tool_disabled', 'tool_disabled'],
  ['mcp_unavailable', 'mcp_unavailable'],
  ['definition_changed', 'definition_changed'],
]);

/** A server that is known and gives nothing just now: the offer says why. */
function leftOut({ warnings: [warning] }: ToolOffer): ToolOutcome {
  const code = codesOfWarnings.get(warning?.code ?? '') ?? 'tool_error';
  return { type: 'error', code, message: warning?.message ?? 'The tool is not available just now.', state: 'not_started' };
}

/** A tool that fails is an answer; arguments that do not fit are the caller's mistake. */
function statusOf(code: ToolErrorCode): number {
  if (code.startsWith('args_')) return 400;
  return code === 'approval_required' ? 409 : 200;
}

function answer(
  { id, name }: { id: string; name: string },
  outcome: ToolOutcome,
  durationMs: number,
): { status: number; body: JsonObject } {
  const head = { id, tool: name };
  if (outcome.type === 'result') {
    const truncated = outcome.isTruncated === true ? { truncated: true } : {};
    return { status: 200, body: { ...head, result: outcome.value, ...truncated, duration_ms: durationMs } };
  }
  const { code, message, detail } = outcome;
  const status = statusOf(code);
  const envelope = status === 400 ? { type: 'invalid_request_error', param: 'arguments' } : {};
  const error = { code, message, ...envelope, ...(detail !== undefined && { detail }) };
  return { status, body: { ...head, error, duration_ms: durationMs } };
}

function nameIn(id: string): string {
  return id.slice(id.indexOf('/') + 1);
}
