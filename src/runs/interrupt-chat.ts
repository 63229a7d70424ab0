import type { Caller } from '../core/caller.ts';
import type { ChatMessage } from '../core/chat.ts';
import type { WaitingRunStore } from '../core/suspended-run.ts';
import type { ActiveRuns } from './active-runs.ts';
import type { ApprovalDecisions } from './approval-decisions.ts';

export interface InterruptChatOptions {
  runs: Pick<ActiveRuns, 'interrupt'>;
  decisions: Pick<ApprovalDecisions, 'cancel'>;
  waitingRuns: Pick<WaitingRunStore, 'openIdsOf'>;
}

/**
 * Ends the runs of a caller's chat, those that wait for an approval too, before a new message of the chat is answered. Resolves as `ActiveRuns.interrupt`.
 * @throws GatewayError as `ActiveRuns.interrupt`; `storage_unavailable`
 */
export type InterruptChat = (chatId: string, caller: Caller) => Promise<ChatMessage[]>;

export function createInterruptChat({ runs, decisions, waitingRuns }: InterruptChatOptions): InterruptChat {
  return async (chatId, caller) => {
    const rounds = await runs.interrupt(chatId, caller);
    for (const id of await waitingRuns.openIdsOf(caller.id, chatId)) await decisions.cancel(id);
    return rounds;
  };
}
