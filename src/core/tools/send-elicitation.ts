import type { ElicitationReply, ElicitationRequest } from '../user-input/elicitation.ts';
import type { RunContext } from '../runs/run.ts';

/**
 * Sends an elicitation to whoever answers for a run: its client (`run.askClient`), else the session `run.sessionId`. Settles once. Only they may
 * answer, and only runs of its owner may use a session. Rejects with the signal's reason.
 */
export type SendElicitation = (
  request: ElicitationRequest,
  options: { run: RunContext; signal: AbortSignal; timeoutMs: number },
) => Promise<ElicitationReply>;
