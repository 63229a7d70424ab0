import type { JsonObject } from '../shared/json.ts';
import type { RunContext } from './run.ts';

/** An elicitation, without its id. Fields as in the frames `confirmation` and `input`. */
export interface ElicitationRequest {
  type: 'confirmation' | 'input';
  data: JsonObject;
}

/** `answered`: with the data of the answering frame. `unavailable`: this caller has no such session. */
export type ElicitationReply = { type: 'answered'; data: JsonObject } | { type: 'unavailable' | 'disconnected' | 'expired' };

/**
 * Sends an elicitation to the session `run.sessionId`. Settles once. Only that session may answer, and only runs of its owner may use it.
 * Rejects with the signal's reason.
 */
export type SendElicitation = (
  request: ElicitationRequest,
  options: { run: RunContext; signal: AbortSignal; timeoutMs: number },
) => Promise<ElicitationReply>;
