import type { Caller } from '../core/callers/caller.ts';
import type { ChatMessage } from '../core/chat/chat.ts';
import { GatewayError } from '../core/errors.ts';
import type { WaitingRunStore } from '../core/runs/suspended-run.ts';
import type { ActiveRuns } from './active-runs.ts';
import type { SuspendedRuns } from './suspended/suspended-runs.ts';

interface InterruptChatOptions {
  runs: Pick<ActiveRuns, 'interrupt'>;
  suspended: Pick<SuspendedRuns, 'cancel'>;
  waitingRuns: Pick<WaitingRunStore, 'openIdsOf'>;
}

/**
 * Ends the runs of a caller's conversation, including those that wait for an approval, before a new message in it is answered. Resolves as
 * `ActiveRuns.interrupt`.
 * @throws GatewayError as `ActiveRuns.interrupt`; `storage_unavailable`; `run_cancelled` if a later message has come meanwhile that interrupts as well
 */
export type InterruptChat = (conversation: string, caller: Caller) => Promise<ChatMessage[]>;

export function createInterruptChat({ runs, suspended, waitingRuns }: InterruptChatOptions): InterruptChat {
  /** The latest message that waits, for each caller and conversation. */
  const latest = new Map<string, symbol>();
  return async (conversation, caller) => {
    const key = JSON.stringify([caller.id, conversation]);
    const message = Symbol(conversation);
    latest.set(key, message);
    try {
      const rounds = await runs.interrupt(conversation, caller);
      for (const id of await waitingRuns.openIdsOf(caller.id, conversation)) await suspended.cancel(id);
      if (latest.get(key) === message) return rounds;
      throw new GatewayError('run_cancelled', 'The message was cancelled because a later message interrupts it.');
    } finally {
      if (latest.get(key) === message) latest.delete(key);
    }
  };
}
