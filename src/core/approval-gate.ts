import type { JsonObject } from '../shared/json.ts';
import type { RunContext } from './run.ts';
import type { RunEvent } from './run-event.ts';
import type { Tool } from './tool.ts';

/** A call that could run: found, checked, and not yet begun. */
export interface ApprovalRequest {
  callId: string;
  tool: Tool;
  args: JsonObject;
  run: RunContext;
  /** Aborted when nobody waits for the decision any more. */
  signal: AbortSignal;
  /** Emits that somebody is asked, and what was answered. */
  emit(event: RunEvent): void;
}

/** `args`: as a human changed them; they are checked like a model's before they run. */
export type ApprovalDecision =
  | { type: 'approved'; args?: JsonObject }
  /** The decision comes in another request: the run is to be suspended. `definition`: by which the function is known again, since what was approved must be what runs. */
  | { type: 'waiting'; definition: string }
  | { type: 'refused'; code: 'approval_required' | 'approval_rejected' | 'approval_expired' | 'definition_changed'; message: string };

/** Asked for every call between its checks and its start; siblings that need no approval run meanwhile. Without a gate all may run. */
export interface ApprovalGate {
  decide(request: ApprovalRequest): Promise<ApprovalDecision>;
}
