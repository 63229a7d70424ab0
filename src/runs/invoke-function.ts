import type { ChatServices } from '../chat/loop/prepared-chat.ts';
import { prepareToolCall } from '../chat/tool-calls/prepare-tool-call.ts';
import { runToolCall } from '../chat/tool-calls/run-tool-call.ts';
import type { ToolCallScope } from '../chat/tool-calls/tool-call-scope.ts';
import type { Caller } from '../core/callers/caller.ts';
import type { MakeConnectLink, PendingConnect } from '../core/user-input/connect.ts';
import type { AskClient } from '../core/user-input/elicitation.ts';
import type { Tracing } from '../core/runs/trace.ts';
import { GatewayError, shownId } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { Metrics } from '../core/runs/metrics.ts';
import { makeCallId } from '../shared/text/call-ids.ts';
import { plainRequest } from '../core/chat/plain-request.ts';
import type { RecordedRequest } from '../core/runs/recorded-request.ts';
import type { ReadRequestHeader } from '../core/chat/request-headers.ts';
import type { RunContext } from '../core/runs/run.ts';
import type { ListedTool, ToolErrorCode, ToolFinder, ToolOffer, ToolOutcome } from '../core/tools/tool.ts';
import type { JsonObject } from '../shared/json/json.ts';
import type { ActiveInvocations } from './active-invocations.ts';
import { TokenTally } from './token-tally.ts';

/** Runs one function for a caller outside of a chat, with the checks of a chat. @throws GatewayError `not_found`, `forbidden`, and as `runToolCall` */
export type InvokeFunction = (
  { idOrName, args }: { idOrName: string; args: JsonObject },
  invoker: FunctionInvoker,
) => Promise<InvokedFunction>;

export interface FunctionInvoker {
  caller: Caller;
  signal: AbortSignal;
  /** Reads the headers of the request. */
  readHeader?: ReadRequestHeader | undefined;
  emit?: ToolCallScope['emit'];
  /** Where people reach the gateway, for links. */
  address?: (() => string | undefined) | undefined;
  /** Absent if the client cannot be asked. */
  askClient?: AskClient | undefined;
  /** Where requests to tool servers are added. */
  recordedRequests?: RecordedRequest[] | undefined;
}

export interface InvokedFunction {
  id: string;
  name: string;
  outcome: ToolOutcome;
  /** As `Tool.outputSchema`. */
  output?: JsonObject;
  durationMs: number;
  /** Texts to show before the result: arguments that were renamed or ignored. */
  notices?: readonly string[];
  /** What the caller has to connect to before the function can run. */
  connect?: Pick<PendingConnect, 'servers'>;
}

interface InvokeOptions {
  tools: ToolFinder;
  calls: Pick<ActiveInvocations, 'run'>;
  newId: () => string;
  toolTimeoutMs: number;
  makeConnectLink: MakeConnectLink;
  /** Shared by all calls of all runs, as in a chat: hooks, the result cache, and the log of masked exceptions. */
  runtime?: ChatServices['runtime'];
  metrics?: Pick<Metrics, 'countCall' | 'countToolUse'>;
  tracing?: Pick<Tracing, 'beginCall'> | undefined;
  now: () => number;
}

export function createInvokeFunction({
  tools,
  calls,
  newId,
  toolTimeoutMs,
  makeConnectLink,
  runtime,
  metrics,
  tracing,
  now,
}: InvokeOptions): InvokeFunction {
  async function invoke(
    { idOrName, args }: { idOrName: string; args: JsonObject },
    { caller, signal, readHeader, address, emit, askClient, recordedRequests }: FunctionInvoker,
  ): Promise<InvokedFunction> {
    const tokens = new TokenTally();
    const without = { chatId: undefined, messageId: undefined, sessionId: undefined };
    const run: RunContext = {
      runId: newId(),
      caller,
      ...without,
      readHeader,
      address,
      askClient,
      recordedRequests,
      signal,
      modelRequests: tokens.counting(),
    };
    const { id, helper } = await findListed(idOrName, run, tools);
    const offer: ToolOffer = helper === undefined ? await offerOf(id, run, tools) : { tools: new Map([[id, helper]]), warnings: [] };
    const tool = offer.tools.values().next().value;
    if (tool === undefined) return { id, name: id.slice(id.indexOf('/') + 1), outcome: unavailable(offer), durationMs: 0 };
    const { spec, label } = tool;
    const call = { id: makeCallId(), name: spec.name, arguments: JSON.stringify(args) };
    const trace = tracing?.beginCall({ callId: call.id, tool: spec.name, server: tool.server, readHeader });
    const settings = { ...runtime, run: { ...run, trace }, requestTimeoutMs: undefined, defaultTimeoutMs: toolTimeoutMs, now };
    const prepared = await prepareToolCall(call, new Map([[spec.name, tool]]), run);
    const { outcome, durationMs, notices } = await runToolCall(prepared, settings, { emit }).finally(() => {
      const { spent } = tokens;
      const isUsed = (spent.usage ?? spent.estimated ?? spent.fallbacks) !== undefined;
      if (isUsed) metrics?.countToolUse({ caller, model: id.replace(/^preset:/, ''), ...spent });
    });
    const code = outcome.type === 'error' ? outcome.code : undefined;
    trace?.end(code);
    metrics?.countCall({ caller, server: tool.server, tool: spec.name, code, durationMs });
    signal.throwIfAborted();
    const needed = outcome.type === 'error' ? outcome.connect : undefined;
    const url = needed && (await makeConnectLink(caller, needed.server, address?.()));
    const connect = needed && { servers: [{ ...needed, ...(url !== undefined && { url }) }] };
    return {
      id: isToolId(id) ? id : label,
      name: spec.name,
      outcome,
      ...(tool.outputSchema && { output: tool.outputSchema }),
      durationMs,
      ...(notices && { notices }),
      ...(connect && { connect }),
    };
  }
  return (call, invoker) => calls.run(invoker.caller, invoker.signal, (signal) => invoke(call, { ...invoker, signal }));
}

/** Whether this is an entry of `tool_ids`, which names functions that belong to no server. */
function isToolId(text: string): boolean {
  return /^(?:function|toolset|preset):/.test(text);
}

/** Looks up a name among all functions that this caller may use. @throws GatewayError `not_found` */
async function findListed(idOrName: string, { caller, signal }: RunContext, tools: ToolFinder): Promise<Pick<ListedTool, 'id' | 'helper'>> {
  if (isToolId(idOrName)) return { id: idOrName };
  const text = idOrName.replace(/^server:(?:openapi:|mcp:)?/, '');
  if (text.includes('/')) return { id: text };
  const listed = await tools.list(caller, AbortSignal.any([signal, AbortSignal.timeout(2 * limits.documentTimeoutMs)]));
  const found = listed.find(({ id, name }) => name === text || id === text);
  if (found === undefined) throw unknownTool(idOrName);
  return found;
}

/** @throws GatewayError `not_found`, `forbidden` */
async function offerOf(id: string, run: RunContext, tools: ToolFinder): Promise<ToolOffer> {
  try {
    const toolIds = [isToolId(id) ? id : `server:${id}`];
    return await tools.offerFor(plainRequest({ model: '', messages: [], stream: false, toolIds }), run, 'client');
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (error.code === 'unknown_tool_id') throw unknownTool(id);
    if (error.code !== 'forbidden') throw error;
    throw new GatewayError('forbidden', `This key may not use the tool "${shownId(id)}".`, { cause: error });
  }
}

function unknownTool(id: string): GatewayError {
  return new GatewayError('not_found', `There is no tool "${shownId(id)}". GET /api/tools lists those you may use.`);
}

/** Warnings of an offer that explain why a function is not in it, and the error code of a call. */
const errorCodes: ReadonlyMap<string, ToolErrorCode> = new Map([
  ['tool_server_disabled', 'tool_disabled'],
  ['tool_disabled', 'tool_disabled'],
  ['mcp_unavailable', 'mcp_unavailable'],
  ['definition_changed', 'definition_changed'],
]);

/** The server is known, but the function is not on offer at the moment; a warning of the offer says why. */
function unavailable({ warnings: [warning] }: ToolOffer): ToolOutcome {
  const code = errorCodes.get(warning?.code ?? '') ?? 'tool_error';
  return { type: 'error', code, message: warning?.message ?? 'The tool is not available at the moment.', state: 'not_started' };
}
