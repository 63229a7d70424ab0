import type { SendElicitation, ElicitationReply } from '../core/elicitation.ts';
import { longestTimerMs } from './bus-messages.ts';
import type { SessionMessage } from './bus-messages.ts';
import type { SessionRpc } from './session-rpc.ts';
import type { AskResult } from './pending-requests.ts';
import { watchRemote } from './watch-remote.ts';

export interface AskBrowserOptions {
  correspondence: SessionRpc;
  replicaId: string;
  newId: () => string;
  isHere: (sessionId: string) => boolean;
}

/** The core's port over the relay: a question under an id of its own, which nobody can guess, to the session of its run. */
export function createAskBrowser({ correspondence, replicaId, newId, isHere }: AskBrowserOptions): SendElicitation {
  return async ({ type, data }, { run, signal: ownSignal, timeoutMs: wantedMs }) => {
    const { sessionId, runId, caller } = run;
    const signal = AbortSignal.any([run.signal, ownSignal]);
    signal.throwIfAborted();
    if (sessionId === undefined) return { type: 'unavailable' };
    const question = { id: newId(), sessionId, replyTo: replicaId };
    const timeoutMs = Math.min(Math.max(wantedMs, 1), longestTimerMs);
    const message: SessionMessage = { type: 'ask', ...question, callerId: caller.id, runId, timeoutMs, question: type, data };
    const cancel = (): void => {
      correspondence.post({ type: 'cancel', id: question.id, sessionId }).catch(() => undefined);
    };
    const stopWatching = isHere(sessionId) ? undefined : watchRemote(correspondence, question, { type: 'unanswered', isThere: true });
    try {
      const send = (): Promise<number> => correspondence.post(message);
      const result = await correspondence.ask({ id: question.id, sessionId, timeoutMs, signal, send });
      if (result.type === 'timeout' || result.type === 'closed') cancel();
      return toReply(result);
    } catch (error) {
      cancel();
      throw error;
    } finally {
      stopWatching?.();
    }
  };
}

function toReply(result: AskResult): ElicitationReply {
  if (result.type === 'timeout') return { type: 'expired' };
  if (result.type === 'closed') return { type: 'disconnected' };
  if (result.type === 'nobody') return { type: 'unavailable' };
  const { reply } = result;
  if (reply.type === 'answer') return { type: 'answered', data: reply.data };
  return { type: reply.type === 'unanswered' && reply.isThere ? 'disconnected' : 'unavailable' };
}
