import type { JsonObject } from '../shared/json/json.ts';
import type { BrowserCall, CallBrowser, PreparedRequest } from '../core/tools/browser-call.ts';
import type { ToolOutcome } from '../core/tools/tool.ts';
import { disconnected, unavailable } from './browser-answer.ts';
import { longestTimerMs } from '../shared/async/timer-limits.ts';
import type { RpcResult, SessionRpc } from './session-rpc.ts';

interface CallBrowserOptions {
  rpc: SessionRpc;
  replicaId: string;
  newId: () => string;
}

/** Runs calls in the browser of a session. Each gets a new id: models reuse call ids, and a late answer must not settle another call. */
export function createCallBrowser({ rpc, replicaId, newId }: CallBrowserOptions): CallBrowser {
  return async (call, invocation) => {
    const { sessionId, runId, caller } = invocation.run;
    const signal = AbortSignal.any([invocation.run.signal, invocation.signal]);
    signal.throwIfAborted();
    if (sessionId === undefined) return unavailable(call.offeredName);
    const timeoutMs = Math.min(Math.max(invocation.timeoutMs, 1), longestTimerMs);
    const request = { id: newId(), sessionId, replyTo: replicaId, callerId: caller.id, runId, timeoutMs, data: callData(call) };
    const lost = { type: 'outcome', outcome: disconnected(call.offeredName) } as const;
    const result = await rpc.request({ type: 'call', ...request }, { timeoutMs, signal, lost });
    return outcomeOf(result, call.offeredName, invocation.timeoutMs);
  };
}

/** The data of `execute:tool`, except what the session adds. */
function callData({ name, offeredName, params, server, request }: BrowserCall): JsonObject {
  const { url, info } = server;
  return {
    name,
    offered_name: offeredName,
    params,
    server: { url, ...(info === undefined ? {} : { info }) },
    ...(request === undefined ? {} : { request: wireRequest(request) }),
  };
}

function wireRequest({ bodyEncoding, ...request }: PreparedRequest): JsonObject {
  return { ...request, ...(bodyEncoding === undefined ? {} : { body_encoding: bodyEncoding }) };
}

function outcomeOf(result: RpcResult, name: string, timeoutMs: number): ToolOutcome {
  if (result.type === 'timeout')
    return { type: 'error', code: 'tool_timeout', message: `Tool '${name}' timed out after ${timeoutMs / 1000}s` };
  if (result.type === 'closed') return disconnected(name);
  if (result.type === 'no-session') return unavailable(name);
  return result.reply.type === 'outcome' ? result.reply.outcome : unavailable(name);
}
