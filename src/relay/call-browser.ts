import type { JsonObject } from '../shared/json.ts';
import type { BrowserCall, CallBrowser, PreparedRequest } from '../core/browser-call.ts';
import type { ToolOutcome } from '../core/tool.ts';
import { disconnected, unavailable } from './browser-answer.ts';
import { longestTimerMs } from './bus-messages.ts';
import type { SessionMessage } from './bus-messages.ts';
import type { SessionRpc } from './session-rpc.ts';
import type { AskResult } from './pending-requests.ts';
import { watchRemote } from './watch-remote.ts';

export interface CallBrowserOptions {
  correspondence: SessionRpc;
  replicaId: string;
  newId: () => string;
  isHere: (sessionId: string) => boolean;
  /** Called with 1 when a call begins to wait for another replica, with -1 when it has settled. */
  onRemoteCall: (change: 1 | -1) => void;
}

/** The core's port over the relay. Every call has an id of its own: a model's call ids repeat, and a late answer must not meet another call. */
export function createCallBrowser({ correspondence, replicaId, newId, isHere, onRemoteCall }: CallBrowserOptions): CallBrowser {
  function watch(question: { id: string; sessionId: string; replyTo: string }, name: string): () => void {
    onRemoteCall(1);
    const stop = watchRemote(correspondence, question, { type: 'outcome', outcome: disconnected(name) });
    return () => {
      onRemoteCall(-1);
      stop();
    };
  }

  return async (call, invocation) => {
    const { sessionId, runId, caller } = invocation.run;
    const signal = AbortSignal.any([invocation.run.signal, invocation.signal]);
    signal.throwIfAborted();
    if (sessionId === undefined) return unavailable(call.offeredName);
    const question = { id: newId(), sessionId, replyTo: replicaId };
    const timeoutMs = Math.min(Math.max(invocation.timeoutMs, 1), longestTimerMs);
    const message: SessionMessage = { type: 'call', ...question, callerId: caller.id, runId, timeoutMs, data: callData(call) };
    const send = (): Promise<number> => correspondence.post(message);
    const cancel = (): void => {
      correspondence.post({ type: 'cancel', id: question.id, sessionId }).catch(() => undefined);
    };
    const stopWatching = isHere(sessionId) ? undefined : watch(question, call.offeredName);
    try {
      const result = await correspondence.ask({ id: question.id, sessionId, timeoutMs, signal, send });
      if (result.type === 'timeout' || result.type === 'closed') cancel();
      return outcomeOf(result, call.offeredName, invocation.timeoutMs);
    } catch (error) {
      cancel();
      throw error;
    } finally {
      stopWatching?.();
    }
  };
}

/** The data of `execute:tool` as far as the asking side knows it. */
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

function outcomeOf(result: AskResult, name: string, timeoutMs: number): ToolOutcome {
  if (result.type === 'timeout')
    return { type: 'error', code: 'tool_timeout', message: `Tool '${name}' timed out after ${timeoutMs / 1000}s` };
  if (result.type === 'closed') return disconnected(name);
  if (result.type === 'nobody') return unavailable(name);
  return result.reply.type === 'outcome' ? result.reply.outcome : unavailable(name);
}
