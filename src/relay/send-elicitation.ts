import type { ElicitationReply } from '../core/user-input/elicitation.ts';
import type { SendElicitation } from '../core/tools/send-elicitation.ts';
import { longestTimerMs } from '../shared/async/timer-limits.ts';
import type { RpcResult, SessionRpc } from './session-rpc.ts';

interface SendElicitationOptions {
  rpc: SessionRpc;
  replicaId: string;
  newId: () => string;
}

/** Sends elicitations to the client of a run, else to its session, each under a new unguessable id. */
export function createSendElicitation({ rpc, replicaId, newId }: SendElicitationOptions): SendElicitation {
  return async ({ type, data }, { run, signal: callSignal, timeoutMs: limitMs }) => {
    const { sessionId, runId, caller } = run;
    const signal = AbortSignal.any([run.signal, callSignal]);
    signal.throwIfAborted();
    if (run.askClient !== undefined)
      return run.askClient({ type, data }, { signal, timeoutMs: Math.min(Math.max(limitMs, 1), longestTimerMs) });
    if (sessionId === undefined) return { type: 'unavailable' };
    const timeoutMs = Math.min(Math.max(limitMs, 1), longestTimerMs);
    // A run that can be suspended need not wait for a browser that has left: a human decides it elsewhere.
    const isPatient = run.suspension === undefined;
    const request = {
      id: newId(),
      sessionId,
      replyTo: replicaId,
      callerId: caller.id,
      runId,
      timeoutMs,
      elicitation: type,
      isPatient,
      data,
    };
    return toReply(await rpc.request({ type: 'elicit', ...request }, { timeoutMs, signal, lost: { type: 'unanswered', isThere: true } }));
  };
}

function toReply(result: RpcResult): ElicitationReply {
  if (result.type === 'timeout') return { type: 'expired' };
  if (result.type === 'closed') return { type: 'disconnected' };
  if (result.type === 'no-session') return { type: 'unavailable' };
  const { reply } = result;
  if (reply.type === 'answer') return { type: 'answered', data: reply.data };
  return { type: reply.type === 'unanswered' && reply.isThere ? 'disconnected' : 'unavailable' };
}
