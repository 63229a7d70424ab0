import type { JsonObject } from '../shared/json.ts';
import type { RunContext } from './run.ts';

/** A question for the user, without its id. Fields as in the frames `confirmation` and `input`. */
export interface ElicitationRequest {
  type: 'confirmation' | 'input';
  data: JsonObject;
}

/** `answered`: the data of the frame that came. `unavailable`: there is no such session of this caller. */
export type ElicitationReply = { type: 'answered'; data: JsonObject } | { type: 'unavailable' | 'disconnected' | 'expired' };

/**
 * Asks the user behind `run.sessionId`. Settles once. Only the session that was asked may answer, and only its owner's runs may ask it.
 * Rejects with the signal's reason.
 */
export type SendElicitation = (
  question: ElicitationRequest,
  asker: { run: RunContext; signal: AbortSignal; timeoutMs: number },
) => Promise<ElicitationReply>;
