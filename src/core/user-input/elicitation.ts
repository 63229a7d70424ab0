import type { JsonObject } from '../../shared/json/json.ts';

/** An elicitation, without its id. Fields as in the frames `confirmation`, `input` and `connect`. */
export interface ElicitationRequest {
  type: 'confirmation' | 'input' | 'connect';
  data: JsonObject;
}

/** `answered`: with the data of the answering frame. `unavailable`: this caller has no such session. */
export type ElicitationReply = { type: 'answered'; data: JsonObject } | { type: 'unavailable' | 'disconnected' | 'expired' };

/** Asks the client that started a run, which answers without a websocket session. Settles once. Rejects with the signal's reason. */
export type AskClient = (request: ElicitationRequest, options: { signal: AbortSignal; timeoutMs: number }) => Promise<ElicitationReply>;
